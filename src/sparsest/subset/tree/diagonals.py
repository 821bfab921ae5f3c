"""Diagonals δ with ``G + λI - diag(δ) ⪰ 0``, which tighten the perspective terms of the relaxation.

The relaxation contains the terms ``½ δ_j w_j²/s_j``, so a larger δ gives a tighter bound.  If the Gram matrix G is well
conditioned, part of it can be moved into δ: ``spare_diagonal``.

With more features than observations G is singular and nothing can be moved, but the ridge can be redistributed among
features.  The derivative of the bound with respect to δ_j is ``½w_j²(1/s_j - 1)``, which is positive only for
fractional features; call their set S.  A smaller δ_j suffices for other features as long as their gains
``u_j²/(2δ_j)`` stay below the price of a feature.  :class:`LoweredRidge` therefore lowers the ridge of every feature by
some ``F_j > 0``, once for many regions.  Each region may then raise δ on its set S by E as long as

    diag(E) ⪯ ((G + diag(F))^{-1}_SS)^{-1},   (G + diag(F))^{-1} = F^{-1} - F^{-1}X'(I + XF^{-1}X')^{-1}XF^{-1}.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg as la

from sparsest.core.arrays import Array, Indices
from sparsest.proofs.rounding import growth
from sparsest.proofs.splits import reduction_error
from sparsest.subset.fits.linear_algebra import cholesky, largest_eigenvalue_of_square
from sparsest.subset.relaxation.kernels.fista import largest_eigenvalue
from sparsest.subset.tree.bounder import NodeOutcome, State

# Smallest shares of its ridge that every feature keeps and that it gives up.
_LEAST_KEPT, _LEAST_GIVEN = 0.02, 0.05
# A feature keeps this multiple of the δ at which its gain would reach the price of a feature.
_KEPT_OVER_NEED = 1.15
# Largest number of features whose δ is raised: absolute, and as a share of the number of observations.
_MOST_RAISED, _MOST_RAISED_PER_ROW = 400, 0.5
# Exponents of the growth that are tried for E.
_POWERS = (0.25, 0.5)
# Relative distance of E from its limit, large enough to absorb rounding errors, and the largest number of shrinkings.
_INSIDE, _MOST_SHRINKINGS = 0.005, 20
# Steps of the power method.  Shrinking E corrects an eigenvalue that is estimated slightly too small, but after 20
# steps some estimates were too small by a seventh.
_POWER_STEPS = 60
# A column counts as linearly dependent if projecting off the others leaves less than this share of its squared norm.
_DEPENDENT = 1e-11
# Smallest difference 1 - h that is computed reliably; smaller ones have lost too many digits to cancellation.
_RELIABLE = 1e-8


@dataclass(slots=True, eq=False)
class Diagonal:
    """A diagonal δ of all survivors; with a ``base`` only the entries that differ from the base are stored."""

    features: Indices
    delta: Array
    base: Diagonal | None = None
    # Index among the splits of the proof; -1 until the proof uses this diagonal.
    number: int = -1

    def full(self) -> Array:
        """δ for all survivors."""
        if self.base is None:
            return self.delta
        delta = self.base.delta.copy()
        delta[self.features] = self.delta
        return delta


def spare_diagonal(A: Array, unit: Indices | None = None) -> Array | None:
    """``δ_j = θ/(A^{-1})_jj`` with ``A - diag(δ)`` positive semidefinite; None if A is singular.

    With the unit of each column, δ is equal within units, and ``(A^{-1})_jj`` is the largest eigenvalue of the block of
    ``A^{-1}`` for the unit.
    """
    factor = cholesky(A)
    if factor is None:
        return None
    inverse = la.solve_triangular(factor, np.eye(A.shape[0]), lower=True, check_finite=False)
    diagonal = 1.0 / np.einsum("ij,ij->j", inverse, inverse)
    # The remainder of a nearly dependent column consists of rounding errors.
    if (diagonal < _DEPENDENT * A.diagonal()).any():
        return None
    if unit is not None:
        diagonal = _equal_in_units(inverse, unit)
    # θ is the smallest eigenvalue of the scaled matrix: the reciprocal of the largest eigenvalue of its inverse.
    scaled = inverse * np.sqrt(diagonal)
    theta = 1.0 / largest_eigenvalue_of_square(scaled)
    # Slightly smaller than the exact factor, so that rounding cannot make the remainder indefinite.
    theta = theta * (1.0 - 1e-7) - 1e-10
    return theta * diagonal if theta > 1e-8 else None


def _equal_in_units(half: Array, unit: Indices) -> Array:
    """The reciprocals of the largest eigenvalues of the blocks of ``half'half`` for the units, by column."""
    found = np.empty(unit.size)
    for g in np.unique(unit):
        columns = np.flatnonzero(unit == g)
        found[columns] = 1.0 / np.linalg.norm(half[:, columns], 2) ** 2
    return found


class LoweredRidge:
    """The ridge, lowered for every feature by the amount that it did not need in the sampled regions."""

    def __init__(self, columns: Array, ridge: float, regions: Sequence[tuple[NodeOutcome, State]]) -> None:
        n, m = columns.shape
        need = np.zeros(m)
        for outcome, state in regions:
            _raise_need(need, outcome, state)
        delta = np.clip(_KEPT_OVER_NEED * need, _LEAST_KEPT * ridge, (1.0 - _LEAST_GIVEN) * ridge)
        self.diagonal = Diagonal(np.arange(m), delta)
        self.lowered_by = ridge - delta
        scaled = columns / np.sqrt(self.lowered_by)
        A = scaled @ scaled.T
        A.flat[:: n + 1] += 1.0
        self._trace = float(np.trace(A))
        self._reduction_error = reduction_error(n, m, self._trace)
        # If rounding errors are comparable to the distance of E from its limit, the check might reject the diagonal.
        self.reliable = self._reduction_error <= 0.1 * _INSIDE
        factor = cholesky(A)
        self.reliable &= factor is not None
        self.half = scaled
        if factor is not None:
            self.half = la.solve_triangular(factor, scaled, lower=True, overwrite_b=True, check_finite=False)

    def raised(self, outcome: NodeOutcome) -> Diagonal | None:
        """Return a diagonal that lifts the region's bound; None if there is no suitable one."""
        features, growth = _growth(outcome, self.half.shape[0])
        if not features.size:
            return None
        root = np.sqrt(self.lowered_by[features])
        half = self.half[:, features]
        scaled = np.eye(features.size) - half.T @ half
        if scaled.diagonal().min() < _RELIABLE:
            return None
        scaled.flat[:: features.size + 1] += self._check_error(features.size)
        more = _large_diagonal(scaled / np.outer(root, root), growth)
        if more is None:
            return None
        return Diagonal(features, self.diagonal.delta[features] + more, self.diagonal)

    def _check_error(self, size: int) -> float:
        """An upper bound of the errors, relative to the given ridge F, that the check allows for.

        They matter where E is much larger than F: with ``K = F - F(G + diag(F))^{-1}_SS F`` the check requires
        ``(1 - η)K ⪰ F - F²/E``, which follows from ``1/E ⪰ (G + diag(F))^{-1}_SS + ηF^{-1}`` because ``K ⪯ F``.
        """
        n = self.half.shape[0]
        solving = size * growth(n + 8) * (1.0 + 2.0 * np.sqrt(self._trace))
        return 4.0 * (self._reduction_error + float(solving))


def _growth(outcome: NodeOutcome, n: int) -> tuple[Indices, Array]:
    """Return the fractional features whose δ affects the bound most, and the derivatives of the bound."""
    used, w = outcome.point.used, outcome.point.w
    s = outcome.indicator[used]
    growth = np.where(s > 0.0, 0.5 * w**2 * (1.0 / np.maximum(s, 1e-300) - 1.0), 0.0)
    order = np.argsort(-growth, kind="stable")[: min(_MOST_RAISED, int(_MOST_RAISED_PER_ROW * n))]
    chosen = np.sort(order[growth[order] > 1e-3 * growth.max(initial=0.0)])
    return used[chosen], growth[chosen]


def _raise_need(need: Array, outcome: NodeOutcome, state: State) -> None:
    """Raise ``need`` to the δ below which the relaxed indicators of this region would change."""
    point, s = outcome.point, outcome.indicator
    fractional = point.used[(s[point.used] > 0.0) & (s[point.used] < 1.0)]
    if not fractional.size:
        return
    price = float(np.median(0.5 * (point.u[fractional] / point.roots[fractional]) ** 2))
    if not 0.0 < price < np.inf:
        return
    w = np.zeros(need.size)
    w[point.used] = point.w
    free = state == 0
    # Below u²/(2·price) a feature without a coefficient would enter; below 2·price/w² an indicator of 1 would become
    # fractional.  For features without a coefficient the second limit is infinite.
    with np.errstate(over="ignore"):
        most = 2.0 * price / np.maximum(w[free] ** 2, 1e-300)
        need[free] = np.maximum(need[free], np.minimum(0.5 * point.u[free] ** 2 / price, most))


def _large_diagonal(inverse: Array, growth: Array) -> Array | None:
    """Return E with ``diag(E) ⪯ K = inverse^{-1}`` and a large ``growth'E``: ``θ·growth^a/(K^{-1})_jj``, the best a.

    The optimal E, the solution of a semidefinite program, lifted bounds by a fifth more but took five times as long.
    """
    best, value = np.empty(0), 0.0
    for power in _POWERS:
        E = (growth / growth.max()) ** power / inverse.diagonal()
        root = np.sqrt(E)
        E /= largest_eigenvalue(inverse * np.outer(root, root), _POWER_STEPS)
        if growth @ E > value:
            best, value = E, float(growth @ E)
    for _ in range(_MOST_SHRINKINGS):
        best = best / (1.0 + _INSIDE)
        if cholesky(np.diag(1.0 / best) - inverse) is not None:
            return best / (1.0 + _INSIDE)
    return None
