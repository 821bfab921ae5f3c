"""Choices of at most three features whose coefficients have limits; squared loss.

Let C and r be the Schur complements of ``last_columns``.  The limits of the forced features are ignored.  Adding
features T lowers the objective by ``max {r'w - ½w'Cw}`` over the coefficients w between their limits.  For any v, and
any diagonal δ with ``C - diag(δ) ⪰ 0``, this is at most

    ½v'(C - diag(δ))v + Σ_j max {g_j w_j - ½δ_j w_j²},      g = r - (C - diag(δ))v,

where each w_j is between its limits.  v is near the best w, but the bound holds for every v.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsest.proofs.bounds import box_above
from sparsest.proofs.data import Data
from sparsest.proofs.last_columns import LastColumns, Residuals
from sparsest.proofs.rounding import TINY, UNDERFLOW, UNIT, Array, Indices, growth
from sparsest.proofs.statement import Statement

Mask = NDArray[np.bool_]

# Rounds of the search for v; nearly all choices need at most three.
_MOST_ROUNDS = 8
# Choices that are tested together: their arrays fit into the cache.
_CHOICES = 4096
# With more coefficients than this, LAPACK is faster than elimination for many choices at a time.
MOST_AT_A_TIME = 3
# A ridge relative to the diagonal for solutions by LAPACK.
_SMALL_RIDGE = 1e-13
# Diagonals below this are not used as divisors.
_LEAST_DIAGONAL = 1e-200


class Limits(NamedTuple):
    """``low ≤ w ≤ high`` for the coefficients of lines, rounded outwards."""

    low: Array
    high: Array

    @classmethod
    def of(cls, data: Data, statement: Statement, columns: LastColumns, caution: float) -> Limits:
        """The limits of all columns: those of the data as given, and ``max_coef``."""
        bounds = data.block(columns.features).bounds
        ridge = bounds.ridge_low * (1.0 - 2.0 * caution * growth(3 * data.n + 24))
        box = box_above(np.maximum(ridge, 0.0), statement.max_coef)
        sides = []
        for given in (-statement.limits_below, statement.limits_above):
            limit = given[columns.features]
            size = np.minimum(box, bounds.scaled_limits(limit)) * columns.norms * (1.0 + 8.0 * UNIT)
            # Products that underflow are rounded up, too.
            sides.append(np.where(limit == 0.0, 0.0, np.maximum(size, TINY)))
        return cls(-sides[0], sides[1])


class LimitedChoices(NamedTuple):
    """The test of choices of some features.

    A choice passes if its objective without prices is provably at least ``needed``.  ``value`` is a lower bound of the
    objective on the forced features.
    """

    rows: Array
    products: Array
    squares: Array
    ridge: Array
    low: Array
    high: Array
    error: float
    product_error: float
    value: float
    needed: float

    @classmethod
    def of(
        cls, columns: LastColumns, limits: Limits, found: Residuals, others: Indices, needed: float, caution: float
    ) -> LimitedChoices:
        """The test of choices of other features, by position."""
        row = found.row_error
        error = 1.03 * caution * (2.03 * row + row * row + 1.1 * growth(found.response.size + 32))
        ridge = columns.ridge[others]
        squares = np.einsum("ij,ij->i", found.rows, found.rows) + ridge
        sides = limits.low[others], limits.high[others]
        errors = error, caution * found.product_error
        return cls(found.rows, found.products, squares, ridge, *sides, *errors, found.value, needed)

    def hold(self, choices: Indices, products: Array | None = None) -> Mask:
        """Whether each choice, a row of positions, passes; ``products`` are those of the rows of pairs, if known."""
        held = np.zeros(choices.shape[0], dtype=bool)
        for begin in range(0, held.size, _CHOICES):
            part = slice(begin, begin + _CHOICES)
            known = None if products is None else products[part]
            held[part] = self._gains_above(choices[part], known) <= self._most_gain
        return held

    def pairs_hold(self, pairs: Indices, i: int, j: int, size: int) -> Mask:
        """The same for pairs of two blocks of a size that begin with the features i and j."""
        if pairs.shape[0] < size:
            return self.hold(pairs)
        # One matrix product is faster than the products of many pairs.
        product = self.rows[i : i + size] @ self.rows[j : j + size].T
        return self.hold(pairs, product[pairs[:, 0] - i, pairs[:, 1] - j])

    def bound(self, choice: Indices) -> float:
        """A lower bound of the objective, without prices, of a choice."""
        gain = float(self._gains_above(choice[None])[0])
        return self.value - gain - 4.0 * UNIT * (self.value + gain) if np.isfinite(gain) else -np.inf

    @property
    def _most_gain(self) -> float:
        return self.value - self.needed - 8.0 * UNIT * (self.value + abs(self.needed))

    def _gains_above(self, choices: Indices, products: Array | None = None) -> Array:
        """Upper bounds of the gains of choices; ``products`` are those of the rows of pairs, if known."""
        count, q = choices.shape
        C = np.empty((count, q, q))
        for i in range(q):
            C[:, i, i] = self.squares[choices[:, i]]
            for j in range(i):
                known = products if products is not None else self._products(choices[:, i], choices[:, j])
                C[:, i, j] = C[:, j, i] = known
        # The ridge of a column may be much larger than the column.
        errors = self.error + 8.0 * UNIT * self.ridge[choices]
        error, low, high = errors.max(axis=1), self.low[choices], self.high[choices]
        r = self.products[choices]
        v = solution(C, r, low, high)
        delta = _part_of_diagonal(C, error)
        size, total = np.abs(v), np.abs(v).sum(axis=1)
        reached = np.einsum("cij,cj->ci", C, v) - delta * v
        terms = np.einsum("cij,cj->ci", np.abs(C), size) + delta * size
        quadratic = 0.5 * ((v * reached).sum(axis=1) + growth(32) * (size * terms).sum(axis=1) + error * total * total)
        g = r - reached
        g_error = self.product_error + error[:, None] * total[:, None] + growth(32) * (np.abs(r) + terms)
        above = _side(g + g_error, high, delta)
        below = _side(g_error - g, -low, delta)
        gains = (np.maximum(quadratic, 0.0) + np.maximum(above, below).sum(axis=1)) * (1.0 + growth(32)) + UNDERFLOW
        return np.where(np.isnan(gains), np.inf, gains)

    def _products(self, one: Indices, other: Indices) -> Array:
        return np.asarray(np.einsum("ij,ij->i", self.rows[one], self.rows[other]))


def solution(C: Array, r: Array, low: Array, high: Array) -> Array:
    """Coefficients near the best ones between the limits: those at limits are fixed and released in turn."""
    q = r.shape[1]
    # 0 for free coefficients, -1 and 1 for those at limits.
    side = np.zeros(r.shape)
    diagonal = np.maximum(C[:, np.arange(q), np.arange(q)], _LEAST_DIAGONAL)
    v = np.zeros(r.shape)
    for _ in range(_MOST_ROUNDS):
        fixed = np.where(side > 0.0, high, low)
        v = np.where(side == 0.0, 0.0, fixed)
        rest = r - np.einsum("cij,cj->ci", C, v)
        v = np.where(side == 0.0, _solved(C, rest, side == 0.0, diagonal), fixed)
        slope = r - np.einsum("cij,cj->ci", C, v)
        after = np.where(side == 0.0, (v > high).astype(float) - (v < low), np.where(side * slope < 0.0, 0.0, side))
        if (after == side).all():
            break
        side = after
    return np.clip(v, low, high)


def _solved(C: Array, r: Array, free: Mask, diagonal: Array) -> Array:
    """The solutions of the equations of free coefficients, by elimination; 0 for others and for dependent columns."""
    q = r.shape[1]
    if q > MOST_AT_A_TIME:
        return _solved_by_lapack(C, r, free, diagonal)
    M = np.where(free[:, :, None] & free[:, None, :], C, 0.0)
    s, v = np.where(free, r, 0.0), np.zeros(r.shape)
    pivots = []
    for i in range(q):
        usable = free[:, i] & (M[:, i, i] > 1e-13 * diagonal[:, i])
        inverse = np.where(usable, 1.0 / np.where(usable, M[:, i, i], 1.0), 0.0)
        pivots.append(inverse)
        for a in range(i + 1, q):
            factor = M[:, a, i] * inverse
            s[:, a] -= factor * s[:, i]
            M[:, a] -= factor[:, None] * M[:, i]
    for i in reversed(range(q)):
        v[:, i] = pivots[i] * (s[:, i] - sum((M[:, i, a] * v[:, a] for a in range(i + 1, q)), np.zeros(len(s))))
    return v


def _solved_by_lapack(C: Array, r: Array, free: Mask, diagonal: Array) -> Array:
    """The same for many coefficients; a small ridge allows for dependent columns."""
    q = r.shape[1]
    M = np.where(free[:, :, None] & free[:, None, :], C, 0.0)
    M[:, np.arange(q), np.arange(q)] += np.where(free, _SMALL_RIDGE * diagonal, 1.0)
    try:
        return np.asarray(np.linalg.solve(M, np.where(free, r, 0.0)[:, :, None])[:, :, 0])
    except np.linalg.LinAlgError:
        return np.zeros(r.shape)


def _part_of_diagonal(C: Array, error: Array) -> Array:
    """δ with ``C - diag(δ) ⪰ 0`` for all positive semidefinite matrices within an error of each entry.

    Divided by the roots of its diagonal, the matrix has a trace of about q and a determinant d, and so no eigenvalue
    below ``d/(trace/2)² ≥ 0.4d`` for q = 3, and larger ones for fewer.
    """
    q = C.shape[1]
    diagonal = C[:, np.arange(q), np.arange(q)]
    usable = diagonal.min(axis=1) > _LEAST_DIAGONAL
    safe = np.where(usable[:, None], diagonal, 1.0)
    root = np.sqrt(safe)
    entries = [C[:, i, j] / (root[:, i] * root[:, j]) for i in range(q) for j in range(i)]
    determinant = 1.0 - sum((entry * entry for entry in entries), np.zeros(len(C)))
    if q == 3:
        determinant += 2.0 * entries[0] * entries[1] * entries[2]
    relative = error / safe.min(axis=1) + 64.0 * UNIT
    share = np.where(usable & (relative < 1e-3), np.maximum(0.4 * (determinant - 24.0 * relative), 0.0), 0.0)
    return share[:, None] * safe


def _side(slope: Array, limit: Array, delta: Array) -> Array:
    """Upper bounds of ``max {slope·w - ½δw²: 0 ≤ w ≤ limit}``."""
    slope = np.maximum(slope, 0.0)
    inside = np.where(delta > 0.0, 0.5 * slope * (slope / np.where(delta > 0.0, delta, 1.0)), np.inf)
    closed = np.isfinite(limit)
    outer = np.where(closed, limit, 0.0)
    outside = np.where(closed, outer * (slope - 0.5 * delta * outer), np.inf)
    found = np.where(closed & (slope >= delta * outer), outside, inside)
    return np.where((slope == 0.0) | (limit == 0.0), 0.0, found * (1.0 + growth(16)))
