"""The walk along a path of a quadratic loss: steps for falling λ until one needs help, compiled as a whole."""

from __future__ import annotations

from typing import NamedTuple

from sparsest.core.arrays import Array, Indices
from sparsest.core.kernels.lines import entries_in_use
from sparsest.paths.kernels.price import newton_price
from sparsest.paths.kernels.rules import FEW_FEATURES, MAX_CROWDING
from sparsest.paths.kernels.step import DONE, FULL, SLOW, begin, solve
from sparsest.runtime.jit import inlined, kernel

# Multiplications after which a walk returns, so that the caller can check its time limit: about 30 ms.
_WALK_WORK = 3e7


class Track(NamedTuple):
    """What a walk leaves behind, with room for some alphas, and at first for all features at least.

    Attributes
    ----------
    features, w : nonzero coefficients and their features, those of one alpha after those of the other.
    ends : where those of each alpha end.
    sweeps, violations, losses, gaps : for each alpha.
    """

    features: Indices
    w: Array
    ends: Indices
    sweeps: Indices
    violations: Array
    losses: Array
    gaps: Array


class Limits(NamedTuple):
    """Where a walk stops.

    Attributes
    ----------
    tol, convex : see :func:`~sparsest.paths.kernels.step.solve`.
    sweeps : for each alpha.
    features : no alpha is begun after a solution with this many nonzero coefficients.
    loss : nor after one whose loss is smaller than this.
    """

    tol: float
    convex: bool
    sweeps: int
    features: int
    loss: float


@inlined
def _record(columns, at, track, k, start):
    """Note the nonzero coefficients from this place on; returns the end."""
    end = start
    for q in range(at.size[0]):
        if at.w[q] != 0.0:
            track.features[end], track.w[end] = columns.names[q], at.w[q]
            end += 1
    track.ends[k] = end
    return end


@kernel
def crowded(columns, at, fixed):
    """Whether the working set has many features at zero that may go."""
    wanted = 0
    for q in range(at.size[0]):
        wanted += at.w[q] != 0.0 or fixed.factor[columns.names[q]] == 0.0
    return at.size[0] > MAX_CROWDING * wanted + FEW_FEATURES


@kernel
def walk(columns, penalty, at, fixed, memory, track, alphas, before, last, limits, price):
    """Solve for falling alphas; returns how many are done, and what the next returned if it needs help.

    Parameters
    ----------
    alphas : the alphas to solve for.
    before, last : the two alphas before them.
    """
    work, end = 0.0, 0
    for k in range(alphas.size):
        alpha, ratio = alphas[k], 0.0
        if before > last:
            ratio = max(last - alpha, 0.0) / (before - last)
        if not begin(columns, at, fixed, memory, alpha, last, ratio):
            return k, FULL, 0, 0.0
        patience = newton_price(price, at.w[: at.size[0]])
        code, sweeps, worst, loss, gap = solve(
            columns, penalty, at, fixed, memory, alpha, limits.tol, limits.convex, False, limits.sweeps, patience
        )
        if code in (FULL, SLOW):
            return k, code, sweeps, worst
        track.sweeps[k], track.violations[k], track.losses[k], track.gaps[k] = sweeps, worst, loss, gap
        start, end = end, _record(columns, at, track, k, end)
        work += (sweeps + 1) * entries_in_use(columns, at.size[0]) + at.tau.size * at.size[0]
        before, last = last, alpha
        if end - start >= limits.features or loss < limits.loss or crowded(columns, at, fixed):
            return k + 1, DONE, 0, 0.0
        if work > _WALK_WORK or track.w.size - end < fixed.origin.size:
            return k + 1, DONE, 0, 0.0
    return alphas.size, DONE, 0, 0.0
