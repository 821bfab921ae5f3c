"""Least squares."""

from __future__ import annotations

from typing import NamedTuple

from sparsest.core.losses.base import facts


@facts(
    "squared", deviance=True, dispersion="estimated", smoothness=1.0, domain_is_cone=True, conjugate_is_quadratic=True
)
class Squared(NamedTuple):
    """Least squares, ``½(y - u)²``."""

    def value(self, y, u):
        return 0.5 * (y - u) * (y - u)

    def derivative(self, y, u):
        return u - y

    def second_derivative(self, y, u):
        return 1.0 + 0.0 * u

    def conjugate(self, y, alpha):
        return (0.5 * alpha + y) * alpha

    def conjugate_derivative(self, y, alpha):
        return alpha + y

    def project(self, y, alpha):
        return alpha + 0.0

    def smoothed(self, mu):
        return self
