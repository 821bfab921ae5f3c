"""The Boolean relaxation of the squared loss in Gram space, as a source of supports: no proof is kept of it.

A round solves the relaxation on a working set, computes the gradients of all features, and adds those that exceed the
threshold ``1/(2σ²)``.  It ends at a relative gap, or after so many iterations: large γ have relaxations that tell
nothing and take thousands.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsest.core.arrays import Array, Indices, Mask
from sparsest.subset.grid.gram import Gram
from sparsest.subset.relaxation.kernels.fista import Regulariser, largest_eigenvalue, relax_quadratic

# Relative gap, and iterations, at which a relaxation is good enough to be rounded; and rounds of a growing working set.
_GAP, _MOST_ITERATIONS, _MOST_ROUNDS = 1e-3, 300, 10
# Features whose gains are at least this part of the threshold stay in a working set.
_NEAR = 0.6
_MIN_ADMITTED = 100


class Relaxed(NamedTuple):
    """Relaxed coefficients of a working set, and the threshold that gains of other features must exceed to enter.

    The intercept of the squared loss is that of the data.
    """

    features: Indices
    w: Array
    threshold: float
    b: float


def relax(gram: Gram, ridge: float, budget: int, forced: Indices, free: Mask, start: Relaxed | None) -> Relaxed:
    """Relax "at most ``budget`` of the free features beside the forced ones"; start from another relaxation."""
    best = start or Relaxed(forced, np.zeros(forced.size), 0.0, gram.b)
    u = gram.residual(best.features, best.w)
    iterations = 0
    for _ in range(_MOST_ROUNDS):
        features = working_set(best, u**2 / (2.0 * ridge), forced, free, budget)
        w = np.zeros(features.size)
        _, here, there = np.intersect1d(features, best.features, assume_unique=True, return_indices=True)
        w[here] = best.w[there]
        omega = Regulariser(np.full(w.size, np.sqrt(ridge)), np.isin(features, forced), budget, 0.0, np.inf)
        H, c = gram.between(features), gram.c[features]
        step = 1.02 * largest_eigenvalue(H, 12) + 1e-300
        tolerance = 0.3 * _GAP * 0.5 * gram.square
        most = _MOST_ITERATIONS - iterations
        primal, _, used, _, sigma = relax_quadratic(H, c, omega, w, step, tolerance, np.inf, most)
        iterations += used
        best = Relaxed(features, w, 0.5 / sigma**2 if 0.0 < sigma < np.inf else 0.0, gram.b)
        u = gram.residual(features, w)
        largest = np.partition(u[free] ** 2, -budget)[-budget:].sum() + (u[forced] ** 2).sum()
        fitted = float(c @ w)
        residual = max(gram.square - 2.0 * fitted + float(w @ (c - u[features])), 0.0)
        dual = (gram.square - fitted) ** 2 / (2.0 * (residual + largest / ridge) + 1e-300)
        if primal + 0.5 * gram.square - dual <= _GAP * 0.5 * gram.square or iterations >= _MOST_ITERATIONS:
            break
    return best


def working_set(best: Relaxed, q: Array, forced: Indices, free: Mask, budget: int) -> Indices:
    """Forced and nonzero features, those near the threshold, and the largest of those above it."""
    keep = best.features[(best.w != 0.0) | (q[best.features] > _NEAR * best.threshold)]
    most = max(_MIN_ADMITTED, keep.size, 2 * budget if best.threshold == 0.0 else 0)
    above = np.flatnonzero(free & (q > best.threshold))
    if above.size > most:
        above = above[np.argpartition(-q[above], most)[:most]]
    return np.union1d(np.union1d(keep, above), forced)
