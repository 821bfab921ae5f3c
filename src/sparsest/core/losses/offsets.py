"""Offsets: numbers that are added to the predictions, as a part of the loss.

Solvers need not know about them.  For a loss of ``y - u`` alone the offset is subtracted from y instead.
"""

from __future__ import annotations

from typing import NamedTuple

from sparsest.core.arrays import Array
from sparsest.core.losses.base import Loss, PiecewiseLinear


class Offset(NamedTuple):
    """``ℓ(y, u + o)``, whose conjugate is ``ℓ*(y, α) - oα``; arguments have an entry for each observation."""

    loss: Loss
    offset: Array

    conjugate_is_quadratic = property(lambda self: self.loss.conjugate_is_quadratic)
    domain_is_cone = property(lambda self: self.loss.domain_is_cone)
    classification = property(lambda self: self.loss.classification)
    smoothness = property(lambda self: self.loss.smoothness)
    log_link = property(lambda self: self.loss.log_link)
    positive = property(lambda self: self.loss.positive)
    deviance = property(lambda self: self.loss.deviance)
    dispersion = property(lambda self: self.loss.dispersion)
    limits = property(lambda self: self.loss.limits)
    name = property(lambda self: self.loss.name)

    def value(self, y, u):
        return self.loss.value(y, u + self.offset)

    def derivative(self, y, u):
        return self.loss.derivative(y, u + self.offset)

    def second_derivative(self, y, u):
        return self.loss.second_derivative(y, u + self.offset)

    def conjugate(self, y, alpha):
        return self.loss.conjugate(y, alpha) - self.offset * alpha

    def conjugate_derivative(self, y, alpha):
        return self.loss.conjugate_derivative(y, alpha) - self.offset

    def project(self, y, alpha):
        return self.loss.project(y, alpha)

    def smoothed(self, mu):
        return Offset(self.loss.smoothed(mu), self.offset)


class PiecewiseOffset(Offset):
    """The same for a sum of hinges."""

    def pieces(self, y: Array) -> list[tuple[Array, Array]]:
        """``(a, s)`` with ``ℓ(y, u + o) = Σ max(0, a - s u)``."""
        return [(a - s * self.offset, s) for a, s in self.loss.pieces(y)]


def with_offset(loss: Loss, offset: Array) -> Loss:
    """The loss of predictions to which an offset is added."""
    return (PiecewiseOffset if isinstance(loss, PiecewiseLinear) else Offset)(loss, offset)
