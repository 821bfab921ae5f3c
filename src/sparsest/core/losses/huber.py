"""Huber's loss: square for small residuals, linear for outliers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsest.core.losses.base import facts


@facts("huber", smoothness=1.0, conjugate_is_quadratic=True, limits={"delta": {"above": 0.0}})
class Huber(NamedTuple):
    """``½r²`` for residuals ``r = u - y`` up to δ, and ``δ|r| - δ²/2`` beyond."""

    delta: float = 1.35

    def value(self, y, u):
        r = np.abs(u - y)
        t = np.minimum(r, self.delta)
        return t * (r - 0.5 * t)

    def derivative(self, y, u):
        return np.minimum(np.maximum(u - y, -self.delta), self.delta)

    def second_derivative(self, y, u):
        return 1.0 * (np.abs(u - y) < self.delta)

    def conjugate(self, y, alpha):
        return (0.5 * alpha + y) * alpha

    def conjugate_derivative(self, y, alpha):
        return alpha + y

    def project(self, y, alpha):
        return np.minimum(np.maximum(alpha, -self.delta), self.delta)

    def smoothed(self, mu):
        return self
