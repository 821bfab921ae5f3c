"""Negative binomial regression for counts that vary more than Poisson's, with a logarithmic link."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsest.core.losses.base import LARGEST_EXPONENT, TINY, facts


# The second derivative is at most (y + θ)/4, so there is no Lipschitz constant for all y.  For larger θ than the limit
# the loss equals Poisson's; for smaller θ it loses all digits.
@facts(
    "negative_binomial",
    log_link=True,
    deviance=True,
    dispersion="one",
    limits={"theta": {"least": 1e-8, "most": 1e8}},
)
class NegativeBinomial(NamedTuple):
    """Half the deviance of counts ``y ≥ 0`` of mean ``μ = e^u`` and variance ``μ + μ²/θ``.

    ``(y+θ) log(θ+e^u) - yu - (y+θ) log(y+θ) + y log y``; the limit of large θ is Poisson's.
    """

    theta: float = 1.0

    def value(self, y, u):
        z = u - np.log(self.theta)
        softplus = np.maximum(z, 0.0) + np.log1p(np.exp(-np.abs(z)))
        return (y + self.theta) * (softplus - np.log1p(y / self.theta)) - y * (u - np.log(np.maximum(y, TINY)))

    def derivative(self, y, u):
        z = u - np.log(self.theta)
        # Each share by itself: so the difference is in the domain without a rounding error.
        below = 1.0 / (1.0 + np.exp(np.minimum(z, LARGEST_EXPONENT)))
        above = 1.0 / (1.0 + np.exp(np.minimum(-z, LARGEST_EXPONENT)))
        return self.theta * above - y * below

    def second_derivative(self, y, u):
        e = np.exp(-np.abs(u - np.log(self.theta)))
        return (y + self.theta) * e / ((1.0 + e) * (1.0 + e))

    def conjugate(self, y, alpha):
        m, r = np.maximum(alpha + y, 0.0), np.maximum(self.theta - alpha, 0.0)
        counts = m * np.log(np.maximum(m, TINY)) - y * np.log(np.maximum(y, TINY))
        return counts + r * np.log(np.maximum(r, TINY) / self.theta)

    def conjugate_derivative(self, y, alpha):
        m, r = np.maximum(alpha + y, TINY), np.maximum(self.theta - alpha, TINY)
        return np.log(m) - np.log(r) + np.log(self.theta)

    def project(self, y, alpha):
        return np.minimum(np.maximum(alpha, -y), self.theta)

    def smoothed(self, mu):
        return self
