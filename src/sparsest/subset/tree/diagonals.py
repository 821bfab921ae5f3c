"""How much of the quadratic each feature's indicator divides: diagonals δ that leave ``G + λI - diag(δ)`` semidefinite.

The relaxation charges ``½ δ_j w_j²/s_j``; the larger δ, the better its bound.  Where the Gram matrix G is well
conditioned, ``spare_diagonal`` adds to the ridge what G can spare.

With more features than observations G can spare nothing, but the ridge can be shifted.  A bound grows with δ_j by
``½w_j²(1/s_j - 1)``: for fractional features, the set S.  All others do not mind less as long as their gains
``u_j²/(2δ_j)`` stay below the price of a feature.  So :class:`LoweredRidge` takes ``F > 0`` from every feature, once
for many regions, and each of them may then raise its own S by E as long as

    diag(E) ⪯ ((G + diag(F))^{-1}_SS)^{-1},   (G + diag(F))^{-1} = F^{-1} - F^{-1}X'(I + XF^{-1}X')^{-1}XF^{-1}.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg as la

from sparsest.core.arrays import Array, Indices
from sparsest.proofs.splits import reduction_error
from sparsest.subset.fits.linear_algebra import cholesky, largest_eigenvalue_of_square
from sparsest.subset.relaxation.kernels.fista import largest_eigenvalue
from sparsest.subset.tree.bounder import NodeOutcome, State

# Every feature keeps at least the first part of its ridge and gives at least the second.
_LEAST_KEPT, _LEAST_GIVEN = 0.02, 0.05
# A feature keeps this many times the ridge at which its gain would reach the price of a feature.
_KEPT_OVER_NEED = 1.15
# At most so many features, and so large a part of the number of observations, get more.
_MOST_RAISED, _MOST_RAISED_PER_ROW = 400, 0.5
# Powers of the growth to try for E.
_POWERS = (0.25, 0.5)
# E stays so far inside its bound, relatively, that rounding errors cannot matter; it shrinks so often at most.
_INSIDE, _MOST_SHRINKINGS = 0.005, 20
# Steps of the power method: an estimate a little too small is mended by shrinking E, but after 20 it was too small by
# a seventh now and then.
_POWER_STEPS = 60
# A column counts as dependent on the others where they leave less than this part of its square.
_DEPENDENT = 1e-11
# Below this, what differences leave is too small to be precise.
_RELIABLE = 1e-8


@dataclass(slots=True, eq=False)
class Division:
    """A diagonal δ: of all survivors, or of those where it differs from another one."""

    features: Indices
    delta: Array
    base: Division | None = None
    # Its place among the splits of the proof, once it is used there.
    number: int = -1

    def whole(self) -> Array:
        """δ of all survivors."""
        if self.base is None:
            return self.delta
        delta = self.base.delta.copy()
        delta[self.features] = self.delta
        return delta


def spare_diagonal(M: Array) -> Array | None:
    """``δ_j = c/(M^{-1})_jj`` with ``M - diag(δ)`` positive semidefinite; None when M is singular."""
    factor = cholesky(M)
    if factor is None:
        return None
    inverse = la.solve_triangular(factor, np.eye(M.shape[0]), lower=True, check_finite=False)
    diagonal = 1.0 / np.einsum("ij,ij->j", inverse, inverse)
    # Where a column leaves hardly anything of itself, what it leaves is rounding error.
    if (diagonal < _DEPENDENT * M.diagonal()).any():
        return None
    # c is the smallest eigenvalue of the scaled matrix: 1 over the largest of its inverse.
    scaled = inverse * np.sqrt(diagonal)
    c = 1.0 / largest_eigenvalue_of_square(scaled)
    # Below the exact factor, so that rounding cannot make the remainder indefinite.
    c = c * (1.0 - 1e-7) - 1e-10
    return c * diagonal if c > 1e-8 else None


class LoweredRidge:
    """A ridge from which every feature gave what it did not need in some regions."""

    def __init__(self, columns: Array, ridge: float, regions: Sequence[tuple[NodeOutcome, State]]) -> None:
        n, m = columns.shape
        need = np.zeros(m)
        for outcome, state in regions:
            _raise_need(need, outcome, state)
        delta = np.clip(_KEPT_OVER_NEED * need, _LEAST_KEPT * ridge, (1.0 - _LEAST_GIVEN) * ridge)
        self.division = Division(np.arange(m), delta)
        self.given = ridge - delta
        scaled = columns / np.sqrt(self.given)
        A = scaled @ scaled.T
        A.flat[:: n + 1] += 1.0
        # Where rounding would hide as much as what E stays inside its bound, a check might refuse it.
        self.reliable = reduction_error(n, m, float(np.trace(A))) <= 0.1 * _INSIDE
        factor = cholesky(A)
        self.reliable &= factor is not None
        self.half = scaled
        if factor is not None:
            self.half = la.solve_triangular(factor, scaled, lower=True, overwrite_b=True, check_finite=False)

    def raised(self, outcome: NodeOutcome) -> Division | None:
        """Return a diagonal that lifts a region's bound; None when there is no good one."""
        features, growth = _growth(outcome, self.half.shape[0])
        if not features.size:
            return None
        root = np.sqrt(self.given[features])
        half = self.half[:, features]
        scaled = np.eye(features.size) - half.T @ half
        if scaled.diagonal().min() < _RELIABLE:
            return None
        more = _large_diagonal(scaled / np.outer(root, root), growth)
        if more is None:
            return None
        return Division(features, self.division.delta[features] + more, self.division)


def _growth(outcome: NodeOutcome, n: int) -> tuple[Indices, Array]:
    """Return the fractional features whose δ matters most, and by how much the bound grows with it."""
    used, w = outcome.point.used, outcome.point.w
    s = outcome.indicator[used]
    growth = np.where(s > 0.0, 0.5 * w**2 * (1.0 / np.maximum(s, 1e-300) - 1.0), 0.0)
    order = np.argsort(-growth, kind="stable")[: min(_MOST_RAISED, int(_MOST_RAISED_PER_ROW * n))]
    chosen = np.sort(order[growth[order] > 1e-3 * growth.max(initial=0.0)])
    return used[chosen], growth[chosen]


def _raise_need(need: Array, outcome: NodeOutcome, state: State) -> None:
    """Raise ``need`` to the δ below which features of a region would change sides."""
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
    # Below the first a feature without coefficient would get one, below the second a whole one lose a part.
    # Features without a coefficient have no such limit: it is infinite.
    with np.errstate(over="ignore"):
        most = 2.0 * price / np.maximum(w[free] ** 2, 1e-300)
        need[free] = np.maximum(need[free], np.minimum(0.5 * point.u[free] ** 2 / price, most))


def _large_diagonal(inverse: Array, growth: Array) -> Array | None:
    """Return E with ``diag(E) ⪯ K = inverse^{-1}`` and a large ``growth'E``: ``c·growth^a/(K^{-1})_jj`` for the best a.

    The largest one, a semidefinite program, lifted bounds by a fifth more and took five times as long.
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
