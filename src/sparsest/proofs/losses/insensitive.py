"""Losses of support vector regression in the checker."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsest.proofs.enclosures import Number, rational
from sparsest.proofs.losses.base import LossRule, at_most_curved, half_square, quadratic
from sparsest.proofs.rounding import Array


@dataclass(frozen=True)
class EpsilonInsensitive(LossRule):
    """``[|y - u| - ε]_+``."""

    epsilon: float

    def accepts(self) -> bool:
        return self.epsilon >= 0.0

    def project(self, y: Array, alpha: Array, weights: Array) -> Array:
        return np.minimum(np.maximum(alpha, -weights), weights)

    def conjugate(self, y: Array, alpha: Array, weights: Array) -> tuple[Array, Array]:
        linear, zone = y * alpha, self.epsilon * np.abs(alpha)
        return linear + zone, np.abs(linear) + zone

    def value(self, y: Array, margin: Array, error: Array) -> tuple[Array, Array]:
        return at_most_curved(np.maximum(np.abs(y - margin) - self.epsilon, 0.0), np.ones_like(margin), error)

    def derivative(self, y: Array, margin: Array) -> tuple[Array, Array]:
        r = margin - y
        return np.sign(r) * (np.abs(r) > self.epsilon), np.zeros_like(margin)

    def contains(self, y: Number, alpha: Number, weight: Number) -> bool:
        return bool(abs(alpha) <= weight)

    def exact_conjugate(self, y: Number, alpha: Number, weight: Number) -> Number:
        return y * alpha + rational(self.epsilon) * abs(alpha)


@dataclass(frozen=True)
class SquaredEpsilonInsensitive(LossRule):
    """``½[|y - u| - ε]_+²``."""

    epsilon: float

    def accepts(self) -> bool:
        return self.epsilon >= 0.0

    def project(self, y: Array, alpha: Array, weights: Array) -> Array:
        return alpha

    def conjugate(self, y: Array, alpha: Array, weights: Array) -> tuple[Array, Array]:
        terms, sizes = quadratic(y, alpha, weights)
        zone = self.epsilon * np.abs(alpha)
        return terms + zone, sizes + zone

    def value(self, y: Array, margin: Array, error: Array) -> tuple[Array, Array]:
        return half_square(np.maximum(np.abs(y - margin) - self.epsilon, 0.0), error)

    def derivative(self, y: Array, margin: Array) -> tuple[Array, Array]:
        r = margin - y
        z = np.maximum(np.abs(r) - self.epsilon, 0.0)
        return np.sign(r) * z, (z > 0.0).astype(np.float64)

    def contains(self, y: Number, alpha: Number, weight: Number) -> bool:
        return True

    def exact_conjugate(self, y: Number, alpha: Number, weight: Number) -> Number:
        return y * alpha + alpha * alpha / (2 * weight) + rational(self.epsilon) * abs(alpha)
