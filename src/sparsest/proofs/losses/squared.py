"""The squared loss in the checker."""

from __future__ import annotations

import numpy as np

from sparsest.proofs.enclosures import Number
from sparsest.proofs.losses.base import LossRule, half_square, quadratic
from sparsest.proofs.rounding import Array


class Squared(LossRule):
    """``½(y - u)²``."""

    def project(self, y: Array, alpha: Array, weights: Array) -> Array:
        return alpha

    def conjugate(self, y: Array, alpha: Array, weights: Array) -> tuple[Array, Array]:
        return quadratic(y, alpha, weights)

    def value(self, y: Array, margin: Array, error: Array) -> tuple[Array, Array]:
        return half_square(y - margin, error)

    def derivative(self, y: Array, margin: Array) -> tuple[Array, Array]:
        return margin - y, np.ones_like(margin)

    def contains(self, y: Number, alpha: Number, weight: Number) -> bool:
        return True

    def exact_conjugate(self, y: Number, alpha: Number, weight: Number) -> Number:
        return y * alpha + alpha * alpha / (2 * weight)
