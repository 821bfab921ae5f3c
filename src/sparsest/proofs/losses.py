"""The losses as the checker knows them: conjugates, domains and values with bounds of their rounding errors.

Written once more, apart from :mod:`sparsest.losses`, so that solver and checker do not share a mistake.  ``y``,
``alpha`` and ``margin`` are matrices with a row for each observation, ``weights`` a column ω.  A dual point α belongs
to the weighted loss: its conjugate is ``ωℓ*(y, α/ω)``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from sparsest.proofs.rounding import Array

# Every term of ``conjugate`` and ``value`` is within this many u of the sizes given with it.
ROUNDINGS = 16


@dataclass(frozen=True)
class LossRule(ABC):
    """A loss; ``epsilon`` is the insensitive zone of those that have one."""

    epsilon: float = 0.0

    classification = False
    has_epsilon = False

    @abstractmethod
    def project(self, y: Array, alpha: Array, weights: Array) -> Array:
        """The point of the conjugate's domain nearest to α; exact, for it only compares."""

    @abstractmethod
    def conjugate(self, y: Array, alpha: Array, weights: Array) -> tuple[Array, Array]:
        """``ωℓ*(y, α/ω)`` for α in the domain, and the sizes that its rounding errors are relative to."""

    @abstractmethod
    def value(self, y: Array, margin: Array) -> tuple[Array, Array]:
        """``ℓ(y, u)``, and a Lipschitz constant of it near u."""

    @abstractmethod
    def derivative(self, y: Array, margin: Array) -> tuple[Array, Array]:
        """``ℓ'(y, u)`` and ``ℓ''(y, u)``: where a dual point comes from; nothing is proved with them."""


def _quadratic(y: Array, alpha: Array, weights: Array) -> tuple[Array, Array]:
    """``α²/(2ω) + yα``."""
    square, linear = 0.5 * (alpha / weights) * alpha, y * alpha
    return square + linear, square + np.abs(linear)


def _half_square(z: Array) -> tuple[Array, Array]:
    return 0.5 * z * z, np.abs(z)


class Squared(LossRule):
    """``½(y - u)²``."""

    def project(self, y: Array, alpha: Array, weights: Array) -> Array:
        return alpha

    def conjugate(self, y: Array, alpha: Array, weights: Array) -> tuple[Array, Array]:
        return _quadratic(y, alpha, weights)

    def value(self, y: Array, margin: Array) -> tuple[Array, Array]:
        return _half_square(y - margin)

    def derivative(self, y: Array, margin: Array) -> tuple[Array, Array]:
        return margin - y, np.ones_like(margin)


class Logistic(LossRule):
    """``log(1 + e^{-yu})`` with y in {-1, 1}."""

    classification = True

    def project(self, y: Array, alpha: Array, weights: Array) -> Array:
        return y * np.minimum(np.maximum(y * alpha, -weights), 0.0)

    def conjugate(self, y: Array, alpha: Array, weights: Array) -> tuple[Array, Array]:
        # With a = |α|/ω it is ω(a log a + (1 - a) log(1 - a)).  An error u of a changes the second term by at most
        # 2u·37 where 1 - a is as small as u; the logarithms have errors of at most 4 units in their last place.
        a = np.minimum(np.abs(alpha) / weights, 1.0)
        rest = 1.0 - a
        entropy = a * np.log(np.where(a > 0.0, a, 1.0)) + rest * np.log(np.where(rest > 0.0, rest, 1.0))
        return weights * entropy, np.broadcast_to(8.0 * weights, a.shape)

    def value(self, y: Array, margin: Array) -> tuple[Array, Array]:
        z = y * margin
        return np.maximum(-z, 0.0) + np.log1p(np.exp(-np.abs(z))), np.ones_like(z)

    def derivative(self, y: Array, margin: Array) -> tuple[Array, Array]:
        a = 1.0 / (1.0 + np.exp(np.minimum(y * margin, 700.0)))
        return -y * a, a * (1.0 - a)


class Hinge(LossRule):
    """``[1 - yu]_+`` with y in {-1, 1}."""

    classification = True

    def project(self, y: Array, alpha: Array, weights: Array) -> Array:
        return y * np.minimum(np.maximum(y * alpha, -weights), 0.0)

    def conjugate(self, y: Array, alpha: Array, weights: Array) -> tuple[Array, Array]:
        return y * alpha, np.abs(alpha)

    def value(self, y: Array, margin: Array) -> tuple[Array, Array]:
        return np.maximum(1.0 - y * margin, 0.0), np.ones_like(margin)

    def derivative(self, y: Array, margin: Array) -> tuple[Array, Array]:
        return -y * (y * margin < 1.0), np.zeros_like(margin)


class SquaredHinge(LossRule):
    """``½[1 - yu]_+²`` with y in {-1, 1}."""

    classification = True

    def project(self, y: Array, alpha: Array, weights: Array) -> Array:
        return y * np.minimum(y * alpha, 0.0)

    def conjugate(self, y: Array, alpha: Array, weights: Array) -> tuple[Array, Array]:
        return _quadratic(y, alpha, weights)

    def value(self, y: Array, margin: Array) -> tuple[Array, Array]:
        return _half_square(np.maximum(1.0 - y * margin, 0.0))

    def derivative(self, y: Array, margin: Array) -> tuple[Array, Array]:
        z = np.maximum(1.0 - y * margin, 0.0)
        return -y * z, (z > 0.0).astype(np.float64)


class EpsilonInsensitive(LossRule):
    """``[|y - u| - ε]_+``."""

    has_epsilon = True

    def project(self, y: Array, alpha: Array, weights: Array) -> Array:
        return np.minimum(np.maximum(alpha, -weights), weights)

    def conjugate(self, y: Array, alpha: Array, weights: Array) -> tuple[Array, Array]:
        linear, zone = y * alpha, self.epsilon * np.abs(alpha)
        return linear + zone, np.abs(linear) + zone

    def value(self, y: Array, margin: Array) -> tuple[Array, Array]:
        return np.maximum(np.abs(y - margin) - self.epsilon, 0.0), np.ones_like(margin)

    def derivative(self, y: Array, margin: Array) -> tuple[Array, Array]:
        r = margin - y
        return np.sign(r) * (np.abs(r) > self.epsilon), np.zeros_like(margin)


class SquaredEpsilonInsensitive(LossRule):
    """``½[|y - u| - ε]_+²``."""

    has_epsilon = True

    def project(self, y: Array, alpha: Array, weights: Array) -> Array:
        return alpha

    def conjugate(self, y: Array, alpha: Array, weights: Array) -> tuple[Array, Array]:
        terms, sizes = _quadratic(y, alpha, weights)
        zone = self.epsilon * np.abs(alpha)
        return terms + zone, sizes + zone

    def value(self, y: Array, margin: Array) -> tuple[Array, Array]:
        return _half_square(np.maximum(np.abs(y - margin) - self.epsilon, 0.0))

    def derivative(self, y: Array, margin: Array) -> tuple[Array, Array]:
        r = margin - y
        z = np.maximum(np.abs(r) - self.epsilon, 0.0)
        return np.sign(r) * z, (z > 0.0).astype(np.float64)


RULES: dict[str, type[LossRule]] = {
    "squared": Squared,
    "logistic": Logistic,
    "hinge": Hinge,
    "squared_hinge": SquaredHinge,
    "epsilon_insensitive": EpsilonInsensitive,
    "squared_epsilon_insensitive": SquaredEpsilonInsensitive,
}
