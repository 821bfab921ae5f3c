"""The quantile (pinball) loss, whose best constant is a quantile of the response."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsest.core.arrays import Array
from sparsest.core.losses.base import facts


@facts("smoothed_quantile", conjugate_is_quadratic=True)
class SmoothedQuantile(NamedTuple):
    """The quantile loss with ``μα²/2`` added to its conjugate: quadratic for small residuals."""

    quantile: float
    mu: float

    @property
    def smoothness(self) -> float:
        return 1.0 / self.mu

    def value(self, y, u):
        alpha = np.minimum(np.maximum((u - y) / self.mu, -self.quantile), 1.0 - self.quantile)
        return alpha * (u - y - 0.5 * self.mu * alpha)

    def derivative(self, y, u):
        return np.minimum(np.maximum((u - y) / self.mu, -self.quantile), 1.0 - self.quantile)

    def second_derivative(self, y, u):
        ratio = (u - y) / self.mu
        return ((ratio > -self.quantile) & (ratio < 1.0 - self.quantile)) / self.mu

    def conjugate(self, y, alpha):
        return (0.5 * self.mu * alpha + y) * alpha

    def conjugate_derivative(self, y, alpha):
        return self.mu * alpha + y

    def project(self, y, alpha):
        return np.minimum(np.maximum(alpha, -self.quantile), 1.0 - self.quantile)

    def smoothed(self, mu):
        return self


@facts("quantile", deviance=True, conjugate_is_quadratic=True, limits={"quantile": {"above": 0.0, "below": 1.0}})
class Quantile(NamedTuple):
    """``τ[y - u]_+ + (1-τ)[u - y]_+``; ``quantile`` is τ."""

    quantile: float = 0.5

    def value(self, y, u):
        return self.quantile * np.maximum(y - u, 0.0) + (1.0 - self.quantile) * np.maximum(u - y, 0.0)

    def derivative(self, y, u):
        return (1.0 - self.quantile) * (u > y) - self.quantile * (u < y)

    def second_derivative(self, y, u):
        return 0.0 * u

    def conjugate(self, y, alpha):
        return y * alpha

    def conjugate_derivative(self, y, alpha):
        return y + 0.0 * alpha

    def project(self, y, alpha):
        return np.minimum(np.maximum(alpha, -self.quantile), 1.0 - self.quantile)

    def smoothed(self, mu):
        return SmoothedQuantile(self.quantile, mu)

    def pieces(self, y: Array) -> list[tuple[Array, Array]]:
        """``(a, s)`` with ``ℓ(y, u) = Σ max(0, a - s u)``."""
        one = np.ones_like(y)
        low, high = self.quantile, 1.0 - self.quantile
        return [(low * y, low * one), (-high * y, -high * one)]
