"""Losses of two classes, -1 and 1: logistic, hinge and its square."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsest.core.arrays import Array
from sparsest.core.losses.base import facts


@facts("logistic", classification=True, dispersion="one", smoothness=0.25)
class Logistic(NamedTuple):
    """Logistic regression, ``log(1 + e^{-yu})`` with ``y`` in {-1, 1}."""

    def value(self, y, u):
        z = y * u
        return np.maximum(-z, 0.0) + np.log1p(np.exp(-np.abs(z)))

    def derivative(self, y, u):
        return -y / (1.0 + np.exp(np.minimum(y * u, 700.0)))

    def second_derivative(self, y, u):
        e = np.exp(-np.abs(u))
        return e / ((1.0 + e) * (1.0 + e))

    def conjugate(self, y, alpha):
        a = np.minimum(np.maximum(-y * alpha, 0.0), 1.0)
        # a log a is 0 at a = 0: the floor keeps the logarithm finite and changes no value.
        return a * np.log(np.maximum(a, 1e-300)) + (1.0 - a) * np.log(np.maximum(1.0 - a, 1e-300))

    def conjugate_derivative(self, y, alpha):
        a = np.minimum(np.maximum(-y * alpha, 1e-15), 1.0 - 1e-15)
        return y * np.log((1.0 - a) / a)

    def project(self, y, alpha):
        return y * np.minimum(np.maximum(y * alpha, -1.0), 0.0)

    def smoothed(self, mu):
        return self


@facts("smoothed_hinge", classification=True, conjugate_is_quadratic=True)
class SmoothedHinge(NamedTuple):
    """The hinge loss with ``μα²/2`` added to its conjugate: quadratic on ``0 < 1 - yu < μ``."""

    mu: float

    @property
    def smoothness(self) -> float:
        return 1.0 / self.mu

    def value(self, y, u):
        z = np.maximum(1.0 - y * u, 0.0)
        t = np.minimum(z, self.mu)
        return t * (z - 0.5 * t) / self.mu

    def derivative(self, y, u):
        return -y * np.minimum(np.maximum((1.0 - y * u) / self.mu, 0.0), 1.0)

    def second_derivative(self, y, u):
        z = 1.0 - y * u
        return ((z > 0.0) & (z < self.mu)) / self.mu

    def conjugate(self, y, alpha):
        return (0.5 * self.mu * alpha + y) * alpha

    def conjugate_derivative(self, y, alpha):
        return self.mu * alpha + y

    def project(self, y, alpha):
        return y * np.minimum(np.maximum(y * alpha, -1.0), 0.0)

    def smoothed(self, mu):
        return self


@facts("hinge", classification=True, conjugate_is_quadratic=True)
class Hinge(NamedTuple):
    """The support vector machine's ``[1 - yu]_+`` with ``y`` in {-1, 1}."""

    def value(self, y, u):
        return np.maximum(1.0 - y * u, 0.0)

    def derivative(self, y, u):
        return -y * (y * u < 1.0)

    def second_derivative(self, y, u):
        return 0.0 * u

    def conjugate(self, y, alpha):
        return y * alpha

    def conjugate_derivative(self, y, alpha):
        return y + 0.0 * alpha

    def project(self, y, alpha):
        return y * np.minimum(np.maximum(y * alpha, -1.0), 0.0)

    def smoothed(self, mu):
        return SmoothedHinge(mu)

    def pieces(self, y: Array) -> list[tuple[Array, Array]]:
        """``(a, s)`` with ``ℓ(y, u) = Σ max(0, a - s u)``."""
        return [(np.ones_like(y), y)]


@facts("squared_hinge", classification=True, smoothness=1.0, domain_is_cone=True, conjugate_is_quadratic=True)
class SquaredHinge(NamedTuple):
    """``½[1 - yu]_+²`` with ``y`` in {-1, 1}."""

    def value(self, y, u):
        z = np.maximum(1.0 - y * u, 0.0)
        return 0.5 * z * z

    def derivative(self, y, u):
        return -y * np.maximum(1.0 - y * u, 0.0)

    def second_derivative(self, y, u):
        return 1.0 * (y * u < 1.0)

    def conjugate(self, y, alpha):
        return (0.5 * alpha + y) * alpha

    def conjugate_derivative(self, y, alpha):
        return alpha + y

    def project(self, y, alpha):
        return y * np.minimum(y * alpha, 0.0)

    def smoothed(self, mu):
        return self
