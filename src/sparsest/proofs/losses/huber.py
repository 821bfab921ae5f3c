"""The Huber loss in the checker."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsest.proofs.enclosures import Number, rational
from sparsest.proofs.losses.base import LossRule, at_most_curved, below, quadratic
from sparsest.proofs.rounding import Array


@dataclass(frozen=True)
class Huber(LossRule):
    """``½r²`` for residuals up to δ, and ``δ|r| - δ²/2`` beyond."""

    delta: float

    def accepts(self) -> bool:
        return self.delta > 0.0

    def project(self, y: Array, alpha: Array, weights: Array) -> Array:
        border = below(self.delta * weights)
        return np.minimum(np.maximum(alpha, -border), border)

    def conjugate(self, y: Array, alpha: Array, weights: Array) -> tuple[Array, Array]:
        return quadratic(y, alpha, weights)

    def value(self, y: Array, margin: Array, error: Array) -> tuple[Array, Array]:
        r = np.abs(y - margin)
        t = np.minimum(r, self.delta)
        return at_most_curved(t * (r - 0.5 * t), t, error)

    def derivative(self, y: Array, margin: Array) -> tuple[Array, Array]:
        r = margin - y
        return np.minimum(np.maximum(r, -self.delta), self.delta), (np.abs(r) < self.delta).astype(np.float64)

    def contains(self, y: Number, alpha: Number, weight: Number) -> bool:
        return bool(abs(alpha) <= weight * rational(self.delta))

    def exact_conjugate(self, y: Number, alpha: Number, weight: Number) -> Number:
        return y * alpha + alpha * alpha / (2 * weight)
