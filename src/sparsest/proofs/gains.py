"""Gains of columns from points: upper bounds of what each column can add to the bound of a point.

For a product ``u = x'α``, a ridge r and limits ``l ≤ 0 ≤ h`` of the coefficient, the gain is the largest
``-uw - ½rw²`` for ``l ≤ w ≤ h``.  For a split, ``-g`` takes the place of u, and δ that of the ridge.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsest.proofs.bounds import box_above, ridge_below
from sparsest.proofs.columns import Columns
from sparsest.proofs.data import Data
from sparsest.proofs.points import Witnesses, witnesses
from sparsest.proofs.rounding import TINY, UNDERFLOW, UNIT, Array, growth
from sparsest.proofs.splits import Diagonals
from sparsest.proofs.statement import Statement
from sparsest.proofs.steps import Point, SplitPoint


class Box(NamedTuple):
    """Upper bounds of how far coefficients of scaled columns may be from zero, on either side."""

    below: Array
    above: Array

    def where(self, covered: NDArray[np.bool_]) -> Box:
        """The same box for some columns, and none for the others."""
        return Box(*(np.where(covered, side, np.inf) for side in self))


class Gains:
    """The gains of the points of a proof; ``caution`` multiplies the bounds of rounding errors."""

    def __init__(self, data: Data, statement: Statement, diagonals: Diagonals, caution: float) -> None:
        self.data, self.statement, self.diagonals, self.caution = data, statement, diagonals, caution

    def of(self, points: Sequence[Point], columns: Columns) -> tuple[Array, Array]:
        """Upper bounds of all gains ``q``, a row for each point, and lower bounds of the constants."""
        found = witnesses(self.data, self.statement.rule, points, columns, self.caution)
        return self.from_witnesses(points, found, columns)

    def from_witnesses(self, points: Sequence[Point], found: Witnesses, columns: Columns) -> tuple[Array, Array]:
        """The same from the exactly feasible dual points."""
        data, gamma = self.data, self.statement.gamma
        # Gains overwrite products.
        gains = columns.products(found.alpha)
        # Rounding of the column, of n products and of their sum.  Underflow of each product and of the
        # bounds themselves, so that the error is zero for constant columns and for α = 0 only.
        errors = self.caution * growth(data.n + 8) * found.norms
        underflow = (data.n + 8) * TINY * (columns.bounds.weighted_norms > 0.0)
        constants = found.constants - found.lost
        bounds, low = columns.bounds, self._ridge_low(columns)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ridge, box = ridge_below(low, gamma), self._box(columns, low)
            for i, point in enumerate(points):
                error = errors[i] * bounds.weighted_norms + underflow * (found.norms[i] > 0.0)
                if isinstance(point, SplitPoint):
                    gains[i], lost = self._split_gains(point, found, i, gains[i], error, columns)
                    constants[i] -= lost
                else:
                    gains[i] = self._gain(gains[i], error, ridge, box)
        return gains, constants

    def _ridge_low(self, columns: Columns) -> Array:
        """Lower bounds of ``d_j``; variances (3n roundings) are reduced, as other checks may find them smaller."""
        low = columns.bounds.ridge_low
        return low * (1.0 - 2.0 * (self.caution - 1.0) * growth(3 * self.data.n + 24)) if self.data.scaled else low

    def _split_gains(
        self, point: SplitPoint, found: Witnesses, i: int, products: Array, error: Array, columns: Columns
    ) -> tuple[Array, float]:
        """The gains of ``g = -X'α - (ridge - δ)w`` and δ, and an upper bound of ``½Σ(ridge - δ)w²``."""
        delta, bounds = self.diagonals.diagonal(point.split, columns), columns.bounds
        used, w = columns.position[found.used[i]], found.coefficients[i]
        if (used < 0).any() and w[used < 0].any():
            raise ValueError("a point has coefficients for features that are forced out")
        exponents, given, used = found.exponents[i][used >= 0], w[used >= 0], used[used >= 0]
        moved = bounds.exponents[used] - exponents
        w = np.ldexp(given, moved)
        if (np.ldexp(w, -moved) != given).any():
            raise ValueError("a point's coefficients are out of range")
        gamma = self.statement.gamma
        low, high = (
            np.zeros(used.size) if np.isinf(gamma) else ridge[used] / gamma
            for ridge in (bounds.ridge_low, bounds.ridge_high)
        )
        if not np.isfinite(low).all() or not (delta[used] > 0.0).all():
            raise ValueError("a point has coefficients for features that its split does not cover")
        shift = high - delta[used]
        g = products.copy()
        g[used] += shift * w
        error = error + bounds.weighted_norms * found.spreads[i] * 1.01
        spread = self.caution * ((high - low) + 8.0 * UNIT * (high + delta[used]))
        error[used] += np.abs(w) * spread + 8.0 * self.caution * UNIT * (np.abs(products[used]) + np.abs(shift * w))
        terms, sizes = 0.5 * shift * w * w, 0.5 * (high + delta[used]) * w * w
        lost = float(terms.sum()) + self.caution * growth(used.size + 16) * float(sizes.sum()) * 1.01
        # The split gives no bound for features that it does not cover, whatever their box.
        box = self._box(columns, self._ridge_low(columns)).where(delta > 0.0)
        return self._gain(g, error, delta, box), lost

    def _box(self, columns: Columns, ridge: Array) -> Box:
        """The limits of coefficients of scaled columns, which are ``2^e`` times those of the columns as given."""
        box = box_above(ridge, self.statement.max_coef)
        if not self.statement.bounds_coefficients:
            return Box(box, box)
        sides = -self.statement.limits_below, self.statement.limits_above
        return Box(*(np.minimum(box, columns.bounds.scaled_limits(side[columns.features])) for side in sides))

    def _gain(self, u: Array, error: Array, ridge: Array, box: Box) -> Array:
        """Upper bounds of ``max {-uw - ½ ridge w²}`` over the box, for all u within the error."""
        if not self.statement.bounds_coefficients:
            return _gain_above(np.abs(u) + error, ridge, box.above)
        sides = (u, box.below), (-u, box.above)
        below, above = (_gain_above(np.maximum(side + error, 0.0), ridge, most) for side, most in sides)
        return np.maximum(below, above)


def _gain_above(u: Array, ridge: Array, box: Array) -> Array:
    """An upper bound of ``max {uw - ½ ridge w²: |w| ≤ box}`` for u ≥ 0; infinite without ridge and box, unless u is 0.

    It is at most ``u²/(2 ridge)``, which is attained if that w is in the box.
    """
    q = np.where(ridge > 0.0, 0.5 * u / ridge * u * (1.0 + growth(8)) + UNDERFLOW, np.inf)
    if np.isfinite(box).any():
        outside = np.isfinite(box) & (u > ridge * box * (1.0 + growth(8)))
        q = np.where(outside, box * (u - 0.5 * ridge * box) * (1.0 + growth(8)) + UNDERFLOW, q)
    return np.where((u == 0.0) | (box == 0.0), 0.0, q)
