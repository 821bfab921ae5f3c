"""The Poisson loss in the checker."""

from __future__ import annotations

import numpy as np

from sparsest.proofs import enclosures
from sparsest.proofs.enclosures import Number, above
from sparsest.proofs.losses.base import LossRule, below, safe_log, x_log
from sparsest.proofs.rounding import UNIT, Array


class Poisson(LossRule):
    """``e^u - yu - y + y log y`` with y ≥ 0."""

    log_link = True

    def project(self, y: Array, alpha: Array, weights: Array) -> Array:
        return np.maximum(alpha, -below(y * weights))

    def conjugate(self, y: Array, alpha: Array, weights: Array) -> tuple[Array, Array]:
        # With a = α/ω and m = y + a it is ω(m log m - y log y - a).
        a = alpha / weights
        moved, size = x_log(np.maximum(y + a, 0.0), a)
        still = y * safe_log(y)
        return weights * (moved - still - a), weights * (size + np.abs(still) + np.abs(a))

    def value(self, y: Array, margin: Array, error: Array) -> tuple[Array, Array]:
        mean, still = np.exp(margin), y * safe_log(y)
        values = mean - y * margin - y + still
        rounding = 32.0 * UNIT * (mean + np.abs(y * margin) + y + np.abs(still))
        slope = np.abs(mean - y) + 16.0 * UNIT * (mean + y)
        return values, slope * error + 0.51 * error * error * mean * np.exp(error) + rounding

    def derivative(self, y: Array, margin: Array) -> tuple[Array, Array]:
        mean = np.exp(np.minimum(margin, 700.0))
        return mean - y, mean

    def contains(self, y: Number, alpha: Number, weight: Number) -> bool:
        return bool(alpha >= -y * weight)

    def exact_conjugate(self, y: Number, alpha: Number, weight: Number) -> Number:
        a = alpha / weight
        return weight * above(lambda: enclosures.x_log(y + a) - enclosures.x_log(y) - a)
