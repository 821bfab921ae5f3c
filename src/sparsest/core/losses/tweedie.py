"""Tweedie regression of power 1.5 for totals that are often zero, with a logarithmic link."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsest.core.losses.base import LARGEST_EXPONENT, TINY, facts


@facts("tweedie", log_link=True, deviance=True, dispersion="estimated", domain_is_cone=True)
class Tweedie(NamedTuple):
    """Half the deviance of ``y ≥ 0`` of mean ``μ = e^u`` and variance ``μ^{1.5}``: between Poisson and gamma.

    ``2e^{u/2} + 2ye^{-u/2} - 4√y``.  Of the powers between 1 and 2 it is the one whose conjugate has a closed form:
    with t the positive root of ``t² - αt - y``, ``2α log t - 2t - 2y/t + 4√y``.
    """

    def value(self, y, u):
        u = np.minimum(np.maximum(u, -LARGEST_EXPONENT), LARGEST_EXPONENT)
        # As a square: no digits are lost where it is small.
        root = np.exp(0.25 * u) - np.sqrt(y) * np.exp(-0.25 * u)
        return 2.0 * root * root

    def derivative(self, y, u):
        u = np.minimum(np.maximum(u, -LARGEST_EXPONENT), LARGEST_EXPONENT)
        return np.exp(0.5 * u) - y * np.exp(-0.5 * u)

    def second_derivative(self, y, u):
        u = np.minimum(np.maximum(u, -LARGEST_EXPONENT), LARGEST_EXPONENT)
        return 0.5 * (np.exp(0.5 * u) + y * np.exp(-0.5 * u))

    def conjugate(self, y, alpha):
        # The roots of t² - αt - y are ±large and ∓small, without cancellation.
        large = 0.5 * (np.abs(alpha) + np.sqrt(alpha * alpha + 4.0 * y))
        small = y / np.maximum(large, TINY)
        t = (alpha >= 0.0) * large + (alpha < 0.0) * small
        return 2.0 * (alpha * np.log(np.maximum(t, TINY)) - large - small) + 4.0 * np.sqrt(y)

    def conjugate_derivative(self, y, alpha):
        large = 0.5 * (np.abs(alpha) + np.sqrt(alpha * alpha + 4.0 * y))
        t = (alpha >= 0.0) * large + (alpha < 0.0) * (y / np.maximum(large, TINY))
        return 2.0 * np.log(np.maximum(t, TINY))

    def project(self, y, alpha):
        return np.where(y > 0.0, alpha, np.maximum(alpha, 0.0))

    def smoothed(self, mu):
        return self
