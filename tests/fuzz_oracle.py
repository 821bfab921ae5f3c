"""The oracle of the fuzz: what a best-subset problem with at most ten features is worth, by trying every support.

It shares no code with the library.  The squared loss is solved in whole numbers (``fuzz_squares``).  For the others
every support gets a basis that is orthonormal under the weights, in 70 digits, which takes the harm out of scales,
means and near dependence; all supports are then fitted at once in float64, and the best are polished and evaluated
in decimal arithmetic.  The value of a polished model is the objective of a model that exists, so no lower bound can
be above it; a dual point tells how far any other model of that support can be below.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from functools import cached_property
from itertools import chain, combinations
from typing import Any, NamedTuple

import numpy as np

from fuzz_losses import DIFFERENCES, Pieces
from fuzz_newton import fit_all, polish, solve_positive
from fuzz_squares import Elimination

# Float64 data with means of 1e12 and columns equal to 1e-16 need 2·(12 + 16) digits for squares, and some to spare.
GEOMETRY_DIGITS = 70
# A column whose squared distance from the span of others is smaller, relative to its size, depends on them.
DEPENDENT = Decimal("1e-58")
# Below this part of the objective without features a value counts as zero, which it is or tends to.
VANISHED = 1e-22
# The smallest eigenvalue of a scaled matrix that may be inverted in float64 to choose what is polished.
INVERTIBLE = 1e-4
# How many supports are polished that are as good in float64 as the best polished one, and that seem better than it.
EQUALS, EQUAL_WITHIN = 4, 1e-3
DOUBTFUL = 20

_decimal = np.vectorize(Decimal, otypes=[object])


@dataclass(frozen=True, eq=False)
class Question:
    """A best-subset problem: dense float64 data, observations of positive weight only, labels -1 and 1."""

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    loss: str
    gamma: float
    k: int | None = None
    l0_penalty: float | None = None
    parameter: float = 0.1
    fit_intercept: bool = True
    standardize: bool = False
    include: tuple[int, ...] = ()
    exclude: tuple[int, ...] = ()
    max_coef: float | None = None
    rules: Any = None
    lower: tuple[float, ...] | None = None
    upper: tuple[float, ...] | None = None

    @property
    def limited(self):
        """Whether coefficients have limits of any kind."""
        return any(limit is not None for limit in (self.max_coef, self.lower, self.upper))

    @property
    def limits(self):
        """The lower and the upper limits of coefficients for the data as given, apart from ``max_coef``."""
        endless = np.full(self.X.shape[1], np.inf)
        return (
            -endless if self.lower is None else np.array(self.lower),
            endless if self.upper is None else np.array(self.upper),
        )

    @property
    def candidates(self):
        """The features that may be chosen and need not be."""
        return [j for j in range(self.X.shape[1]) if j not in self.include and j not in self.exclude]

    @property
    def size(self):
        """The size of the supports to be tried: more features are never worse; None for any size, with a price."""
        if self.rules is not None or self.k is None:
            return None
        return min(self.k, len(self.include) + len(self.candidates))

    def price(self, support):
        """What the features of a support cost."""
        if self.rules is not None:
            return self.rules.price(support)
        return 0.0 if self.l0_penalty is None else self.l0_penalty * len(support)

    def supports(self):
        """Every support among which the best one is."""
        if self.rules is not None:
            return list(self.rules.supports(self.include, self.exclude))
        free = self.candidates
        most = len(free) if self.size is None else self.size - len(self.include)
        # Without a price the largest supports are the best.
        sizes = [most] if self.l0_penalty is None else range(most + 1)
        choices = chain.from_iterable(combinations(free, size) for size in sizes)
        return [tuple(sorted((*self.include, *choice))) for choice in choices]

    @cached_property
    def exact(self):
        """Columns, response and weights as decimals."""
        with localcontext(prec=GEOMETRY_DIGITS):
            return _decimal(self.X.T), _decimal(self.y), _decimal(self.weights)

    @cached_property
    def ridge_factors(self):
        """``d_j``: what a squared coefficient of each column costs, in units of 1/(2γ)."""
        columns, _, omega = self.exact
        with localcontext(prec=GEOMETRY_DIGITS):
            total = omega.sum()
            factors = []
            for raw, column in zip(self.X.T, columns, strict=True):
                same = np.ptp(raw) == 0.0 if self.fit_intercept else not raw.any()
                centre = (omega @ column) / total if self.fit_intercept else Decimal(0)
                apart = column - centre
                factors.append(Decimal(1) if same or not self.standardize else (omega @ (apart * apart)) / total)
            return factors

    @cached_property
    def empty_basis(self):
        """The basis of no column, from which all others grow."""
        return Basis.empty(self)

    @cached_property
    def rounded_factors(self):
        """``d_j`` in float64."""
        return np.array([float(factor) for factor in self.ridge_factors])


class Outside(NamedTuple):
    """A column seen from a basis: what is left of it, its coordinates, and the squared length of the rest."""

    rest: np.ndarray
    products: list
    squared: Decimal


@dataclass
class Basis:
    """An orthonormal basis of the span of some columns (and of the constant), and the ridge in its coordinates.

    The next vector is always that of the column with the longest rest, in units of what its coefficient costs.  So the
    ridge is steeper from one coordinate to the next, and well conditioned but for that: in any other order two columns
    that are nearly the same, of scales far apart, can take all the digits there are.

    Attributes
    ----------
    vectors : decimals; orthonormal under the weights, the constant first if there is an intercept
    coordinates : those of the columns that the vectors were made of
    rounded : the vectors in float64
    outside, longer : what is known already of other columns, and the bases with one of them more
    """

    vectors: list
    coordinates: dict = field(default_factory=dict)
    rounded: list = field(default_factory=list)
    outside: dict = field(default_factory=dict)
    longer: dict = field(default_factory=dict)
    shorter: Basis | None = None

    @classmethod
    def empty(cls, question):
        """Return the basis of no column."""
        _, y, omega = question.exact
        with localcontext(prec=GEOMETRY_DIGITS):
            constant = [(y * 0 + 1) / omega.sum().sqrt()] if question.fit_intercept else []
        return cls(constant, {}, [vector.astype(float) for vector in constant])

    @classmethod
    def of(cls, question, support=()):
        """Return the basis of a support."""
        basis, left = question.empty_basis, set(support)
        with localcontext(prec=GEOMETRY_DIGITS):
            while left:
                heights = {j: basis.seen(question, j).squared / question.ridge_factors[j] for j in sorted(left)}
                feature = max(heights, key=heights.get)
                if not heights[feature]:
                    break
                basis = basis.extended(question, feature)
                left.remove(feature)
        return basis

    def seen(self, question, feature):
        """What is left of a column; one that depends on the basis has no length."""
        if feature not in self.outside:
            columns, _, omega = question.exact
            column = columns[feature]
            known = Outside(column, [], Decimal(0)) if self.shorter is None else self.shorter.seen(question, feature)
            rest, products = known.rest, list(known.products)
            for vector in self.vectors[len(products) :]:
                products.append(vector @ (omega * rest))
                rest = rest - products[-1] * vector
            squared = rest @ (omega * rest)
            dependent = squared <= DEPENDENT * (column @ (omega * column))
            self.outside[feature] = Outside(rest, products, Decimal(0) if dependent else squared)
        return self.outside[feature]

    def extended(self, question, feature):
        """Return the basis with one more column, which does not depend on it."""
        if feature not in self.longer:
            rest, products, squared = self.seen(question, feature)
            length = squared.sqrt()
            vector = rest / length
            self.longer[feature] = Basis(
                [*self.vectors, vector],
                self.coordinates | {feature: [*products, length]},
                [*self.rounded, vector.astype(float)],
                shorter=self,
            )
        return self.longer[feature]

    def coordinates_of(self, question, support):
        """The coordinates of columns in the span, one row each."""
        r = len(self.vectors)
        rows = [self.coordinates.get(j) or self.seen(question, j).products for j in support]
        padded = [[*row, *[Decimal(0)] * (r - len(row))] for row in rows]
        return np.array(padded, dtype=object).reshape(len(support), r)

    def ridge(self, question, support):
        """The matrix of the ridge in the coordinates of the basis.

        Predictions with coordinates v cost at least ``v'N⁻¹v/(2γ)``, ``N = Σ_j t_j t_j'/d_j`` of the columns'
        coordinates t: also where columns depend on each other and share the cost.
        """
        r, first = len(self.vectors), int(question.fit_intercept)
        matrix = np.full((r, r), Decimal(0), dtype=object)
        if r == first or question.gamma == float("inf"):
            return matrix
        with localcontext(prec=GEOMETRY_DIGITS):
            columns, costs = self._inside(question, support)
            identity = np.where(np.eye(r - first, dtype=bool), Decimal(1), Decimal(0))
            matrix[first:, first:] = solve_positive((columns / costs) @ columns.T, identity) / Decimal(question.gamma)
        return matrix

    def _inside(self, question, support):
        """The coordinates of the columns without that of the constant, and what their coefficients cost."""
        costs = np.array([question.ridge_factors[feature] for feature in support], dtype=object)
        return self.coordinates_of(question, support)[:, int(question.fit_intercept) :].T, costs

    def model(self, question, support, v):
        """The coefficients and the intercept, in decimals, of the cheapest model with coordinates v."""
        first = int(question.fit_intercept)
        coef = np.full(question.X.shape[1], Decimal(0), dtype=object)
        with localcontext(prec=GEOMETRY_DIGITS):
            if len(v) > first:
                columns, costs = self._inside(question, support)
                inner = solve_positive((columns / costs) @ columns.T, v[first:, None])[:, 0]
                coef[list(support)] = (inner @ columns) / costs
            if not first:
                return coef, Decimal(0)
            taken = coef[list(support)] @ self.coordinates_of(question, support)[:, 0] if support else Decimal(0)
            return coef, (v[0] - taken) / question.exact[2].sum().sqrt()

    def rounded_ridge(self, question, support):
        """The same in float64: by decimals only where it has to be."""
        r, first = len(self.vectors), int(question.fit_intercept)
        matrix = np.zeros((r, r))
        if r == first or question.gamma == float("inf"):
            return matrix
        with localcontext(prec=GEOMETRY_DIGITS):
            t = self.coordinates_of(question, support).T.astype(float)
        spread = (t[first:] / question.rounded_factors[list(support)]) @ t[first:].T
        scale = 1.0 / np.sqrt(np.diagonal(spread))
        scaled = spread * np.multiply.outer(scale, scale)
        if not (np.isfinite(scaled).all() and np.linalg.eigvalsh(scaled)[0] > INVERTIBLE):
            return self.ridge(question, support).astype(float)
        matrix[first:, first:] = np.linalg.inv(scaled) * np.multiply.outer(scale, scale) / question.gamma
        return matrix


class Oracle:
    """Values of supports of a question; ``best`` is the lowest objective known of any model."""

    def __init__(self, question):
        self.question = question
        self._brackets = {}
        self._models = {}
        if question.loss == "squared":
            self._elimination = Elimination(question)
            found = self._elimination.values(question.include, question.candidates, question.size)
            if question.rules is not None:
                found = {support: found[support] for support in question.supports()}
            self.best = min(value + question.price(support) for support, value in found.items())
        else:
            self.best = self._search()

    def bracket(self, support):
        """Return numbers below and above the objective that the support can reach; -inf where none below is known."""
        question, support = self.question, tuple(support)
        if support not in self._brackets:
            if question.loss == "squared":
                low = high = self._elimination.value(support)
            else:
                low, high = self._polish(support)
            price = question.price(support)
            self._brackets[support] = low + price, high + price
        return self._brackets[support]

    def model(self, support):
        """The coefficients and the intercept, in decimals, that reach the upper number of ``bracket``.

        The squared loss is eliminated without them.
        """
        self.bracket(support)
        return self._models[tuple(support)]

    def _polish(self, support):
        question = self.question
        basis = Basis.of(question, support)
        ridge = basis.ridge(question, support)
        start = self._fit([(basis, ridge.astype(float))])[1][0, : len(basis.vectors)]
        _, y, omega = question.exact
        with localcontext(prec=GEOMETRY_DIGITS):
            v = _decimal(start) if start.size else np.empty(0, dtype=object)
            if question.fit_intercept:
                v[0] += self._centre * omega.sum().sqrt()
        n_free = len(v) if question.gamma == float("inf") else int(question.fit_intercept)
        vectors = np.array(basis.vectors, dtype=object).reshape(len(v), len(y)).T
        pieces = Pieces(question.loss, y, Decimal(question.parameter))
        low, high, v = polish(pieces, omega, vectors, ridge, n_free, v, self._size, self._vanished)
        self._models[support] = basis.model(question, support, v)
        return low, high

    def _search(self):
        """Polish supports in the order of their values in float64, until no other can be better."""
        values, supports = self._values()
        best = np.inf
        for position, i in enumerate(np.argsort(values)):
            seems_equal = values[i] > best * (1.0 - EQUAL_WITHIN)
            if values[i] > best * (1.0 + EQUAL_WITHIN) or position >= (EQUALS if seems_equal else DOUBTFUL):
                break
            best = min(best, self.bracket(supports[i])[1])
        return best

    def _values(self):
        """The values of all supports in float64."""
        question = self.question
        supports = question.supports()
        bases = [Basis.of(question, support) for support in supports]
        ridges = [basis.rounded_ridge(question, support) for basis, support in zip(bases, supports, strict=True)]
        fitted = self._fit(list(zip(bases, ridges, strict=True)))[0]
        return fitted + np.array([question.price(support) for support in supports]), supports

    @cached_property
    def _centre(self):
        """What is taken from the response in float64: the intercept takes it up."""
        question = self.question
        _, y, omega = question.exact
        if not question.fit_intercept or question.loss not in DIFFERENCES:
            return Decimal(0)
        with localcontext(prec=GEOMETRY_DIGITS):
            return (omega @ y) / omega.sum()

    @cached_property
    def _centred(self):
        with localcontext(prec=GEOMETRY_DIGITS):
            return (self.question.exact[1] - self._centre).astype(float)

    @cached_property
    def _size(self):
        return float(np.abs(self._centred).max()) or 1.0

    @cached_property
    def _vanished(self):
        pieces = Pieces(self.question.loss, self._centred, self.question.parameter)
        empty = pieces.value(pieces.arguments(0.0 * self._centred)).sum(axis=1)
        return VANISHED * float(self.question.weights @ empty)

    def _fit(self, geometries):
        """Fit bases with their ridges in float64; return values and coordinates."""
        question = self.question
        r = max(len(basis.vectors) for basis, _ in geometries)
        stacked = np.zeros((len(geometries), len(question.y), r))
        ridges = np.zeros((len(geometries), r, r))
        for position, (basis, ridge) in enumerate(geometries):
            for i, vector in enumerate(basis.rounded):
                stacked[position, :, i] = vector
            ridges[position, : len(ridge), : len(ridge)] = ridge
        pieces = Pieces(question.loss, self._centred, question.parameter)
        return fit_all(pieces, question.weights, stacked, ridges, self._size, self._vanished)


def objective_of(question, support, coef, intercept):
    """Return the objective of a model in 70 digits, and how much rounding its coefficients may have changed it.

    ``coef`` and ``intercept``, floats or decimals, are for the data as given.  Rounding moves a residual by some
    units in the last place of its terms, those of the columns' centres among them, and the loss by its slope times
    that; with columns of large means, or where the objective vanishes, this can be all there is.
    """
    columns, y, omega = question.exact
    with localcontext(prec=GEOMETRY_DIGITS):
        w = [Decimal(value) for value in coef]
        terms = [columns[j] * w[j] for j in range(len(w)) if w[j]] + [y * 0 + Decimal(intercept)]
        pieces = Pieces(question.loss, y, Decimal(question.parameter))
        z = pieces.arguments(sum(terms))
        ridge = sum((d * a * a for d, a in zip(question.ridge_factors, w, strict=True)), Decimal(0))
        if question.gamma == float("inf"):
            ridge = Decimal(0)
        value = omega @ pieces.value(z).sum(axis=1) + ridge / (2 * Decimal(question.gamma))
        centres = [abs(omega @ columns[j] * w[j]) / omega.sum() for j in range(len(w)) if w[j]]
        moved = (len(w) + 4) * Decimal(2) ** -52 * (sum(abs(term) for term in [y, *terms]) + sum(centres))
        if pieces.lipschitz:
            change = omega @ moved
        else:
            first, second = (abs(slopes).max(axis=1) for slopes in pieces.slopes(z))
            # A response that is not subtracted is not rounded; its curvature hardly changes within so little.
            change = omega @ (first * moved + np.maximum(second, 1) * moved * moved)
            change += Decimal(2) ** -46 * (omega @ pieces.sizes(z).sum(axis=1))
        return float(value) + question.price(support), float(change)
