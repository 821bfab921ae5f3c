"""Losses of support vector regression: nothing within ε, beyond it linear or square."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsest.core.arrays import Array
from sparsest.core.losses.base import facts


@facts("smoothed_epsilon_insensitive", conjugate_is_quadratic=True)
class SmoothedEpsilonInsensitive(NamedTuple):
    """The ε-insensitive loss with ``μα²/2`` added to its conjugate."""

    epsilon: float
    mu: float

    @property
    def smoothness(self) -> float:
        return 1.0 / self.mu

    def value(self, y, u):
        z = np.maximum(np.abs(y - u) - self.epsilon, 0.0)
        t = np.minimum(z, self.mu)
        return t * (z - 0.5 * t) / self.mu

    def derivative(self, y, u):
        r = u - y
        return np.sign(r) * np.minimum(np.maximum((np.abs(r) - self.epsilon) / self.mu, 0.0), 1.0)

    def second_derivative(self, y, u):
        z = np.abs(y - u) - self.epsilon
        return ((z > 0.0) & (z < self.mu)) / self.mu

    def conjugate(self, y, alpha):
        return (0.5 * self.mu * alpha + y) * alpha + self.epsilon * np.abs(alpha)

    def conjugate_derivative(self, y, alpha):
        return self.mu * alpha + y + self.epsilon * np.sign(alpha)

    def project(self, y, alpha):
        return np.minimum(np.maximum(alpha, -1.0), 1.0)

    def smoothed(self, mu):
        return self


@facts("epsilon_insensitive", conjugate_is_quadratic=True, limits={"epsilon": {"least": 0.0}})
class EpsilonInsensitive(NamedTuple):
    """Support vector regression's ``[|y - u| - ε]_+``."""

    epsilon: float = 0.1

    def value(self, y, u):
        return np.maximum(np.abs(y - u) - self.epsilon, 0.0)

    def derivative(self, y, u):
        r = u - y
        return np.sign(r) * (np.abs(r) > self.epsilon)

    def second_derivative(self, y, u):
        return 0.0 * u

    def conjugate(self, y, alpha):
        return y * alpha + self.epsilon * np.abs(alpha)

    def conjugate_derivative(self, y, alpha):
        return y + self.epsilon * np.sign(alpha)

    def project(self, y, alpha):
        return np.minimum(np.maximum(alpha, -1.0), 1.0)

    def smoothed(self, mu):
        return SmoothedEpsilonInsensitive(self.epsilon, mu)

    def pieces(self, y: Array) -> list[tuple[Array, Array]]:
        """``(a, s)`` with ``ℓ(y, u) = Σ max(0, a - s u)``."""
        one = np.ones_like(y)
        return [(y - self.epsilon, one), (-y - self.epsilon, -one)]


@facts(
    "squared_epsilon_insensitive",
    smoothness=1.0,
    domain_is_cone=True,
    conjugate_is_quadratic=True,
    limits={"epsilon": {"least": 0.0}},
)
class SquaredEpsilonInsensitive(NamedTuple):
    """``½[|y - u| - ε]_+²``."""

    epsilon: float = 0.1

    def value(self, y, u):
        z = np.maximum(np.abs(y - u) - self.epsilon, 0.0)
        return 0.5 * z * z

    def derivative(self, y, u):
        r = u - y
        return np.sign(r) * np.maximum(np.abs(r) - self.epsilon, 0.0)

    def second_derivative(self, y, u):
        return 1.0 * (np.abs(y - u) > self.epsilon)

    def conjugate(self, y, alpha):
        return (0.5 * alpha + y) * alpha + self.epsilon * np.abs(alpha)

    def conjugate_derivative(self, y, alpha):
        return alpha + y + self.epsilon * np.sign(alpha)

    def project(self, y, alpha):
        return alpha + 0.0

    def smoothed(self, mu):
        return self
