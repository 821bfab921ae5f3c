"""A second pass over the path of a concave penalty, from small alphas to large ones, that looks for better minima.

The solutions for falling alphas follow one local minimum until it vanishes, and then jump to another one.  That minimum
may have been the better one for some larger alphas too.  So wherever the coefficients of one solution have a smaller
objective at the next larger alpha than the solution there, the problem is solved again from them, and so on to larger
alphas.  A solution is replaced by one with a smaller objective only.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sparsest.core.arrays import Array
from sparsest.paths.task import Task
from sparsest.paths.walk import Fit, Walk
from sparsest.runtime.clock import Clock

# Solutions that may be computed, as a share of those of the path.  Each takes up to twice as long as one of the path:
# with 0.15 the CPU time of 14 paths with n < p is 1.2 times as much on average, with 0.25 up to 1.5 times.
_MAX_SHARE = 0.15
# An objective counts as smaller if the difference exceeds this share of it: less is not worth another solution.
_LEAST_GAIN = 1e-3


def improve(walk: Walk, alphas: Array, fits: list[Fit], max_features: int, clock: Clock) -> None:
    """Replace solutions by better ones to which the solution for the next smaller alpha leads.

    Parameters
    ----------
    alphas, fits : the alphas in falling order, and their solutions, which are replaced.
    max_features : no solution with more features replaces another.
    """
    task, m = walk.task, len(fits)
    first = next((i for i, fit in enumerate(fits) if not fit.locally_convex), m)
    if task.penalty.convex or first >= m - 1:
        return
    present, left = m - 1, int(_MAX_SHARE * m)
    here = _objectives(task, fits, alphas[:m])
    # Of the coefficients of the next smaller alpha.
    others = _objectives(task, fits[1:], alphas[: m - 1])
    for i in range(m - 2, first - 1, -1):
        if not others[i] < _smaller(here[i]):
            continue
        if left == 0 or clock.expired():
            return
        left -= 1
        if present != i + 1:
            walk.go_to(fits[i + 1])
        found, present = walk.solve_again(float(alphas[i])), m
        converged = found.kkt <= max(fits[i].kkt, task.tol)
        better = _objectives(task, [found], alphas[i : i + 1])[0] < _smaller(here[i])
        if converged and better and found.w.size <= max_features:
            fits[i], present = found, i
            if i > 0:
                others[i - 1] = _objectives(task, [found], alphas[i - 1 : i])[0]


def _smaller(objective: float) -> float:
    return objective - _LEAST_GAIN * abs(objective)


def _objectives(task: Task, fits: Sequence[Fit], alphas: Array) -> Array:
    """Loss plus penalty of each solution's coefficients at an alpha, which may be another than its own.

    A rescaled penalty keeps the curvature of the solution.
    """
    counts = np.array([fit.w.size for fit in fits])
    owner, features = np.repeat(np.arange(counts.size), counts), np.concatenate([fit.features for fit in fits])
    size, lam = np.concatenate([fit.w for fit in fits]), np.repeat(alphas, counts) * task.factor[features]
    curvatures = [fit.curvature for fit in fits if fit.curvature is not None]
    v = np.concatenate(curvatures) if curvatures else np.ones(size.size)
    if task.groups is not None:
        # One entry for each group of a solution: its norm, and what its features have in common.
        keys = owner * task.factor.size + task.groups[features]
        _, first, which = np.unique(keys, return_index=True, return_inverse=True)
        size, owner, lam, v = np.sqrt(np.bincount(which, size**2, first.size)), owner[first], lam[first], v[first]
    penalties = np.bincount(owner, task.plain.value(v * size, lam) / v, counts.size)
    return np.array([fit.loss for fit in fits]) + penalties
