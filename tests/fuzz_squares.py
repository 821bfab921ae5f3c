"""The exact value of every support with the squared loss, in whole numbers.

Floating-point data are whole numbers times powers of two.  So the normal equations are whole numbers too, once they
are multiplied by their common denominator, and fraction-free elimination (Bareiss) decides each rank and gives each
value without any rounding.  Supports share their elimination: each has one pivot more than the one it extends.
"""

from __future__ import annotations

from fractions import Fraction
from math import lcm


def whole(values):
    """Return whole numbers m and an exponent e with ``values = m · 2^e``."""
    ratios = [float(value).as_integer_ratio() for value in values]
    # Every denominator is a power of two, so the largest is the common one.
    common = max(denominator for _, denominator in ratios)
    return [numerator * (common // denominator) for numerator, denominator in ratios], 1 - common.bit_length()


def power_of_two(exponent):
    return Fraction(2) ** exponent


class Elimination:
    """The normal equations of a question with the squared loss, ready to be eliminated."""

    def __init__(self, question):
        weights, weight_exponent = whole(question.weights)
        columns, exponents = zip(*(whole(column) for column in [*question.X.T, question.y]), strict=True)
        gram = _gram(columns, weights, question.fit_intercept)
        total = sum(weights)
        # The sum of squares is this factor times the quadratic form of ``gram``.
        factor = power_of_two(weight_exponent) / (total if question.fit_intercept else 1)
        ridges = [Fraction(0)] * (len(columns) - 1)
        if question.gamma != float("inf"):
            for j, exponent in enumerate(exponents[:-1]):
                if question.standardize and gram[j][j]:
                    mean_square = Fraction(gram[j][j], total**2 if question.fit_intercept else total)
                else:
                    mean_square = power_of_two(-2 * exponent)
                ridges[j] = mean_square / Fraction(question.gamma) / factor
        common = lcm(*(ridge.denominator for ridge in ridges)) if ridges else 1
        self.matrix = [[common * entry for entry in row] for row in gram]
        for j, ridge in enumerate(ridges):
            self.matrix[j][j] += ridge.numerator * (common // ridge.denominator)
        self.unit = factor * power_of_two(2 * exponents[-1]) / (2 * common)

    def values(self, include, candidates, size):
        """Return ``c(S)``, rounded once, of every support with ``include`` and ``size`` features (any if None)."""
        response = len(self.matrix) - 1
        features = [*include, *candidates, response]
        matrix = [[self.matrix[i][j] for j in features] for i in features]
        last = 1
        for _ in include:
            matrix, last = _eliminate(matrix, 0, last)
        found = {}
        room = None if size is None else size - len(include)
        self._extend(tuple(include), list(candidates), matrix, last, room, found)
        return found

    def value(self, support):
        """Return ``c(S)`` of one support, rounded once."""
        return self.values(tuple(support), (), None)[tuple(sorted(support))]

    def _extend(self, support, candidates, matrix, last, room, found):
        if not room:
            numerator, denominator = matrix[-1][-1] * self.unit.numerator, last * self.unit.denominator
            found[tuple(sorted(support))] = numerator / denominator
        if room == 0:
            return
        for position, feature in enumerate(candidates):
            if room is not None and len(candidates) - position < room:
                break
            smaller, pivot = _eliminate(matrix, position, last)
            rest = candidates[position + 1 :]
            self._extend((*support, feature), rest, smaller, pivot, None if room is None else room - 1, found)


def _gram(columns, weights, centred):
    """``Σ ω x_i x_j`` of whole numbers; ``Σω`` times that of the centred columns if asked for."""
    total = sum(weights)
    weighted = [[weight * entry for weight, entry in zip(weights, column, strict=True)] for column in columns]
    sums = [sum(column) for column in weighted]
    gram = []
    for i, left in enumerate(weighted):
        products = [sum(a * b for a, b in zip(left, right, strict=True)) for right in columns]
        if centred:
            products = [total * product - sums[i] * sums[j] for j, product in enumerate(products)]
        gram.append(products)
    return gram


def _eliminate(matrix, position, last):
    """Return the matrix without its rows up to ``position``, of which that one is eliminated, and the pivot.

    A pivot of zero is a column that depends on those before it: it changes nothing.
    """
    rest = range(position + 1, len(matrix))
    pivot, row = matrix[position][position], matrix[position]
    if pivot == 0:
        return [[matrix[i][j] for j in rest] for i in rest], last
    return [[(pivot * matrix[i][j] - row[i] * row[j]) // last for j in rest] for i in rest], pivot
