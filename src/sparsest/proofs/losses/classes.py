"""Classification losses in the checker: logistic, hinge and its square."""

from __future__ import annotations

import numpy as np

from sparsest.proofs.enclosures import Number, above, x_log
from sparsest.proofs.losses.base import LossRule, at_most_curved, half_square, quadratic
from sparsest.proofs.rounding import UNIT, Array


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

    def value(self, y: Array, margin: Array, error: Array) -> tuple[Array, Array]:
        z = y * margin
        values, spread = at_most_curved(
            np.maximum(-z, 0.0) + np.log1p(np.exp(-np.abs(z))), np.ones_like(z), np.asarray(error)
        )
        return values, spread + 8.0 * UNIT

    def derivative(self, y: Array, margin: Array) -> tuple[Array, Array]:
        a = 1.0 / (1.0 + np.exp(np.minimum(y * margin, 700.0)))
        return -y * a, a * (1.0 - a)

    def contains(self, y: Number, alpha: Number, weight: Number) -> bool:
        return bool(-weight <= y * alpha <= 0)

    def exact_conjugate(self, y: Number, alpha: Number, weight: Number) -> Number:
        a = abs(alpha) / weight
        return weight * above(lambda: x_log(a) + x_log(1 - a))


class Hinge(LossRule):
    """``[1 - yu]_+`` with y in {-1, 1}."""

    classification = True

    def project(self, y: Array, alpha: Array, weights: Array) -> Array:
        return y * np.minimum(np.maximum(y * alpha, -weights), 0.0)

    def conjugate(self, y: Array, alpha: Array, weights: Array) -> tuple[Array, Array]:
        return y * alpha, np.abs(alpha)

    def value(self, y: Array, margin: Array, error: Array) -> tuple[Array, Array]:
        return at_most_curved(np.maximum(1.0 - y * margin, 0.0), np.ones_like(margin), error)

    def derivative(self, y: Array, margin: Array) -> tuple[Array, Array]:
        return -y * (y * margin < 1.0), np.zeros_like(margin)

    def contains(self, y: Number, alpha: Number, weight: Number) -> bool:
        return bool(-weight <= y * alpha <= 0)

    def exact_conjugate(self, y: Number, alpha: Number, weight: Number) -> Number:
        return y * alpha


class SquaredHinge(LossRule):
    """``½[1 - yu]_+²`` with y in {-1, 1}."""

    classification = True

    def project(self, y: Array, alpha: Array, weights: Array) -> Array:
        return y * np.minimum(y * alpha, 0.0)

    def conjugate(self, y: Array, alpha: Array, weights: Array) -> tuple[Array, Array]:
        return quadratic(y, alpha, weights)

    def value(self, y: Array, margin: Array, error: Array) -> tuple[Array, Array]:
        return half_square(np.maximum(1.0 - y * margin, 0.0), error)

    def derivative(self, y: Array, margin: Array) -> tuple[Array, Array]:
        z = np.maximum(1.0 - y * margin, 0.0)
        return -y * z, (z > 0.0).astype(np.float64)

    def contains(self, y: Number, alpha: Number, weight: Number) -> bool:
        return bool(y * alpha <= 0)

    def exact_conjugate(self, y: Number, alpha: Number, weight: Number) -> Number:
        return y * alpha + alpha * alpha / (2 * weight)
