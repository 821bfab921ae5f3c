"""Poisson regression for counts and rates, with a logarithmic link."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsest.core.losses.base import LARGEST_EXPONENT, TINY, facts


@facts("poisson", log_link=True, deviance=True, dispersion="one")
class Poisson(NamedTuple):
    """Half the Poisson deviance of the mean ``e^u``: ``e^u - yu - y + y log y``, ``y ≥ 0``."""

    def value(self, y, u):
        # The linear term is clipped too: otherwise the loss would be negative where the exponential is clipped.
        u = np.minimum(u, LARGEST_EXPONENT)
        return np.exp(u) - y - y * (u - np.log(np.maximum(y, TINY)))

    def derivative(self, y, u):
        return np.exp(np.minimum(u, LARGEST_EXPONENT)) - y

    def second_derivative(self, y, u):
        return np.exp(np.minimum(u, LARGEST_EXPONENT)) + 0.0 * y

    def conjugate(self, y, alpha):
        m = np.maximum(alpha + y, 0.0)
        return m * np.log(np.maximum(m, TINY)) - y * np.log(np.maximum(y, TINY)) - alpha

    def conjugate_derivative(self, y, alpha):
        return np.log(np.maximum(alpha + y, TINY))

    def project(self, y, alpha):
        return np.maximum(alpha, -y)

    def smoothed(self, mu):
        return self
