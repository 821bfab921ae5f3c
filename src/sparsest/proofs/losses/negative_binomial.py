"""The loss of negative binomial regression in the checker."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsest.proofs import enclosures
from sparsest.proofs.enclosures import Number, above, rational
from sparsest.proofs.losses.base import LossRule, below, safe_log, x_log
from sparsest.proofs.rounding import UNIT, Array


@dataclass(frozen=True)
class NegativeBinomial(LossRule):
    """``(y+θ) log(θ+e^u) - yu - (y+θ) log(y+θ) + y log y`` with y ≥ 0."""

    theta: float

    log_link = True

    def accepts(self) -> bool:
        # Beyond these limits the loss is that of Poisson or loses all digits, and quotients by θ could overflow.
        return 1e-100 <= self.theta <= 1e100

    def project(self, y: Array, alpha: Array, weights: Array) -> Array:
        return np.minimum(np.maximum(alpha, -below(y * weights)), below(self.theta * weights))

    def conjugate(self, y: Array, alpha: Array, weights: Array) -> tuple[Array, Array]:
        # With a = α/ω, m = y + a and r = θ - a it is ω(m log m - y log y + r log r - r log θ).
        a = alpha / weights
        moved, size = x_log(np.maximum(y + a, 0.0), a)
        r = np.maximum(self.theta - a, 0.0)
        rest, other = x_log(r, a)
        still, scale = y * safe_log(y), r * np.log(self.theta)
        # An error of r changes the last term by log θ.
        spread = np.abs(still) + (r + np.abs(a)) * np.abs(np.log(self.theta))
        return weights * (moved - still + rest - scale), weights * (size + other + spread)

    def value(self, y: Array, margin: Array, error: Array) -> tuple[Array, Array]:
        level, total = np.log(self.theta), y + self.theta
        z, still, own = margin - level, y * safe_log(y), np.log1p(y / self.theta)
        softplus = np.maximum(z, 0.0) + np.log1p(np.exp(-np.abs(z)))
        values = total * (softplus - own) - (y * margin - still)
        # An error of z is an error of the softplus; each logarithm and exponential has an error of a few units.
        sizes = total * (np.abs(z) + 2.0 * np.abs(level) + softplus + own + 1.0) + np.abs(y * margin) + np.abs(still)
        slope = np.abs(self.derivative(y, margin)[0]) + 64.0 * UNIT * total * (1.0 + np.abs(z) + np.abs(level))
        return values, slope * error + 0.13 * total * error * error + 32.0 * UNIT * sizes

    def derivative(self, y: Array, margin: Array) -> tuple[Array, Array]:
        z = margin - np.log(self.theta)
        share = 1.0 / (1.0 + np.exp(np.minimum(-z, 700.0)))
        rest = 1.0 / (1.0 + np.exp(np.minimum(z, 700.0)))
        return self.theta * share - y * rest, (y + self.theta) * share * rest

    def contains(self, y: Number, alpha: Number, weight: Number) -> bool:
        return bool(-y * weight <= alpha <= rational(self.theta) * weight)

    def exact_conjugate(self, y: Number, alpha: Number, weight: Number) -> Number:
        a, theta = alpha / weight, rational(self.theta)
        m, r = y + a, theta - a
        return weight * above(
            lambda: enclosures.x_log(m) - enclosures.x_log(y) + enclosures.x_log(r) - r * enclosures.log(theta)
        )
