"""The loss of gamma regression in the checker."""

from __future__ import annotations

import numpy as np

from sparsest.proofs import enclosures
from sparsest.proofs.enclosures import Number, above
from sparsest.proofs.losses.base import LossRule, x_log
from sparsest.proofs.rounding import UNIT, Array


class Gamma(LossRule):
    """``ye^{-u} + u - log y - 1`` with y > 0."""

    log_link = True
    positive = True

    def project(self, y: Array, alpha: Array, weights: Array) -> Array:
        return np.minimum(alpha, weights)

    def conjugate(self, y: Array, alpha: Array, weights: Array) -> tuple[Array, Array]:
        # With a = α/ω and r = 1 - a it is ω(r log r + a + a log y).
        a = alpha / weights
        rest, size = x_log(np.maximum(1.0 - a, 0.0), a)
        scale = a * np.log(y)
        return weights * (rest + a + scale), weights * (size + np.abs(a) + np.abs(scale))

    def value(self, y: Array, margin: Array, error: Array) -> tuple[Array, Array]:
        ratio, level = y * np.exp(-margin), np.log(y)
        values = ratio + margin - level - 1.0
        rounding = 32.0 * UNIT * (ratio + np.abs(margin) + np.abs(level) + 1.0)
        slope = np.abs(1.0 - ratio) + 16.0 * UNIT * (1.0 + ratio)
        return values, slope * error + 0.51 * error * error * ratio * np.exp(error) + rounding

    def derivative(self, y: Array, margin: Array) -> tuple[Array, Array]:
        ratio = y * np.exp(np.minimum(-margin, 700.0))
        return 1.0 - ratio, ratio

    def contains(self, y: Number, alpha: Number, weight: Number) -> bool:
        return bool(alpha <= weight)

    def exact_conjugate(self, y: Number, alpha: Number, weight: Number) -> Number:
        a = alpha / weight
        return weight * above(lambda: enclosures.x_log(1 - a) + a + a * enclosures.log(y))
