"""The Boolean relaxation of smooth losses, as a source of supports: no bound is computed.

A round takes the gradients of all features, adds those that exceed the threshold ``1/(2σ²)`` to a working set, and
makes proximal Newton steps on it.  It ends when none exceeds it, or steps win nothing: the support is polished anyway.
"""

from __future__ import annotations

import numpy as np

from sparsest.core.arrays import Array, Indices, Mask
from sparsest.subset.grid.relaxed import Relaxed, working_set
from sparsest.subset.grid.smooth import Smooth
from sparsest.subset.relaxation.kernels.fista import Regulariser, largest_eigenvalue, penalty_value, relax_quadratic

# A step that is to win less than this part of the losses without features is the last; and how many there may be on a
# working set, iterations of each, and working sets.
_PRECISION, _MOST_STEPS, _MOST_ITERATIONS, _MOST_ROUNDS = 1e-4, 10, 300, 6
# Features enter whose gains exceed the threshold by this factor.
_EXCESS = 1.01


def relax(smooth: Smooth, ridge: float, budget: int, forced: Indices, free: Mask, start: Relaxed | None) -> Relaxed:
    """Relax "at most ``budget`` of the free features beside the forced ones"; start from another relaxation."""
    best = start or Relaxed(forced, np.zeros(forced.size), 0.0, smooth.data.null.b)
    margin = best.w @ smooth.columns[best.features] + best.b
    for rounds in range(_MOST_ROUNDS):
        q = smooth.data.design.tdot(smooth.slopes(margin)) ** 2 / (2.0 * ridge)
        if rounds:
            outside = free.copy()
            outside[best.features] = False
            if not (q[outside] > _EXCESS * best.threshold).any():
                break
        features = working_set(best, q, forced, free, budget)
        w = np.zeros(features.size)
        _, here, there = np.intersect1d(features, best.features, assume_unique=True, return_indices=True)
        w[here] = best.w[there]
        omega = Regulariser(np.full(w.size, np.sqrt(ridge)), np.isin(features, forced), budget, 0.0)
        steps = _Steps(smooth, smooth.columns[features], omega)
        w, b, margin = steps.descend(w, best.b)
        sigma = penalty_value(w, omega, 0.0)[1]
        best = Relaxed(features, w, 0.5 / sigma**2 if 0.0 < sigma < np.inf else 0.0, b)
    return best


class _Steps:
    """Proximal Newton steps on a working set."""

    def __init__(self, smooth: Smooth, X: Array, omega: Regulariser) -> None:
        self.smooth, self.X, self.omega = smooth, X, omega

    def descend(self, w: Array, b: float) -> tuple[Array, float, Array]:
        """Step until that wins little; coefficients, intercept and predictions."""
        margin = w @ self.X + b
        penalty = penalty_value(w, self.omega, 0.0)[0]
        value = self.smooth.value(margin) + penalty
        little = _PRECISION * self.smooth.null
        for _ in range(_MOST_STEPS):
            step_w, step_b, expected = self._step(w, margin, penalty, 0.3 * little)
            move, t = step_w @ self.X + step_b, 1.0
            while t > 1e-3 and expected < 0.0:
                trial = w + t * step_w
                its_penalty = penalty_value(trial, self.omega, 0.0)[0]
                reached = self.smooth.value(margin + t * move) + its_penalty
                if reached <= value + 0.1 * t * expected:
                    break
                t *= 0.5
            else:
                break
            won = value - reached
            w, b, margin, penalty, value = trial, b + t * step_b, margin + t * move, its_penalty, reached
            if won <= little:
                break
        return w, b, margin

    def _step(self, w: Array, margin: Array, penalty: float, tolerance: float) -> tuple[Array, float, float]:
        """The way to the relaxation of the quadratic model, and what it is expected to change."""
        at, X = self.smooth.model(margin), self.X
        weighted = X * at.curvature
        H, gradient = weighted @ X.T, X @ at.alpha
        sums, excess = weighted.sum(axis=1), 0.0
        if self.smooth.data.fit_intercept:
            excess = float(at.alpha.sum()) / at.total
            H -= np.outer(sums, sums) / at.total
            gradient -= excess * sums
        target, c = w.copy(), H @ w - gradient
        length = 1.02 * largest_eigenvalue(H, 12) + 1e-300
        relax_quadratic(H, c, self.omega, target, length, tolerance, np.inf, _MOST_ITERATIONS)
        step = target - w
        expected = float(gradient @ step) + penalty_value(target, self.omega, 0.0)[0] - penalty
        step_b = -excess - float(sums @ step) / at.total if self.smooth.data.fit_intercept else 0.0
        return step, step_b, expected
