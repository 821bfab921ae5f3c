"""The quantile loss in the checker."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsest.proofs.enclosures import Number, rational
from sparsest.proofs.losses.base import LossRule, at_most_curved, below
from sparsest.proofs.rounding import Array


@dataclass(frozen=True)
class Quantile(LossRule):
    """``τ[y - u]_+ + (1-τ)[u - y]_+``."""

    quantile: float

    def accepts(self) -> bool:
        return 0.0 < self.quantile < 1.0

    def project(self, y: Array, alpha: Array, weights: Array) -> Array:
        return np.minimum(np.maximum(alpha, -below(self.quantile * weights)), below((1.0 - self.quantile) * weights))

    def conjugate(self, y: Array, alpha: Array, weights: Array) -> tuple[Array, Array]:
        return y * alpha, np.abs(y * alpha)

    def value(self, y: Array, margin: Array, error: Array) -> tuple[Array, Array]:
        r = y - margin
        values = self.quantile * np.maximum(r, 0.0) + (1.0 - self.quantile) * np.maximum(-r, 0.0)
        return at_most_curved(values, np.ones_like(margin), error)

    def derivative(self, y: Array, margin: Array) -> tuple[Array, Array]:
        first = (1.0 - self.quantile) * (margin > y) - self.quantile * (margin < y)
        return first, np.zeros_like(margin)

    def contains(self, y: Number, alpha: Number, weight: Number) -> bool:
        tau = rational(self.quantile)
        return bool(-tau * weight <= alpha <= (1 - tau) * weight)

    def exact_conjugate(self, y: Number, alpha: Number, weight: Number) -> Number:
        return y * alpha
