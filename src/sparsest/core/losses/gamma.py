"""Gamma regression for costs and durations, with a logarithmic link."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsest.core.losses.base import LARGEST_EXPONENT, TINY, facts


@facts("gamma", log_link=True, positive=True, deviance=True, dispersion="estimated")
class Gamma(NamedTuple):
    """Half the gamma deviance of the mean ``e^u``: ``ye^{-u} + u - log y - 1``, ``y > 0``."""

    def value(self, y, u):
        # The linear term is clipped too: otherwise the loss would be negative where the exponential is clipped.
        u = np.maximum(u, -LARGEST_EXPONENT)
        return y * np.exp(-u) + (u - np.log(y)) - 1.0

    def derivative(self, y, u):
        return 1.0 - y * np.exp(np.minimum(-u, LARGEST_EXPONENT))

    def second_derivative(self, y, u):
        return y * np.exp(np.minimum(-u, LARGEST_EXPONENT))

    def conjugate(self, y, alpha):
        r = np.maximum(1.0 - alpha, 0.0)
        return r * np.log(np.maximum(r, TINY)) + alpha * (1.0 + np.log(y))

    def conjugate_derivative(self, y, alpha):
        return np.log(y) - np.log(np.maximum(1.0 - alpha, TINY))

    def project(self, y, alpha):
        return np.minimum(alpha, 1.0)

    def smoothed(self, mu):
        return self
