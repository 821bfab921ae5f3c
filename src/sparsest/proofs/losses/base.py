"""What the checker asks of a loss, and what several of them share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np

from sparsest.proofs.enclosures import Number
from sparsest.proofs.rounding import UNIT, Array

# Every term of ``conjugate`` is within this many u of the sizes given with it.
ROUNDINGS = 16
# Products of domains' borders that are smaller are taken for zero: below, they might be rounded up.
_SMALLEST_BORDER = 1e-290


@dataclass(frozen=True)
class LossRule(ABC):
    """A loss; its fields are its parameters.

    ``classification`` losses have labels -1 and 1.  Those with a logarithmic link have responses that are not negative,
    ``positive`` ones above zero.  All others depend on ``y - u`` alone.
    """

    classification: ClassVar[bool] = False
    log_link: ClassVar[bool] = False
    positive: ClassVar[bool] = False

    @classmethod
    def parameters(cls) -> tuple[str, ...]:
        """The names of the parameters."""
        return tuple(field.name for field in fields(cls))

    def accepts(self) -> bool:
        """Whether the parameters, which are finite numbers, are those of a loss."""
        return True

    @property
    def shifts(self) -> bool:
        """Whether a constant may be taken from response and predictions."""
        return not (self.classification or self.log_link)

    @abstractmethod
    def project(self, y: Array, alpha: Array, weights: Array) -> Array:
        """The point of the conjugate's domain nearest to α, or one slightly within it; never outside, also exactly."""

    @abstractmethod
    def conjugate(self, y: Array, alpha: Array, weights: Array) -> tuple[Array, Array]:
        """``ωℓ*(y, α/ω)`` for α in the domain, and the sizes that its rounding errors are relative to."""

    @abstractmethod
    def value(self, y: Array, margin: Array, error: Array) -> tuple[Array, Array]:
        """``ℓ(y, u)``, and how far ℓ can be from it at any prediction within an error of u, rounding included."""

    @abstractmethod
    def derivative(self, y: Array, margin: Array) -> tuple[Array, Array]:
        """``ℓ'(y, u)`` and ``ℓ''(y, u)``: where a dual point comes from; nothing is proved with them."""

    @abstractmethod
    def contains(self, y: Number, alpha: Number, weight: Number) -> bool:
        """Whether α/ω is in the domain, in rational arithmetic."""

    @abstractmethod
    def exact_conjugate(self, y: Number, alpha: Number, weight: Number) -> Number:
        """``ωℓ*(y, α/ω)`` in rational arithmetic, or a rational slightly above it."""


def below(border: Array) -> Array:
    """What is not above a product of up to three numbers that was computed with rounding errors."""
    return np.where(border >= _SMALLEST_BORDER, border * (1.0 - 8.0 * UNIT), 0.0)


def quadratic(y: Array, alpha: Array, weights: Array) -> tuple[Array, Array]:
    """``α²/(2ω) + yα``."""
    square, linear = 0.5 * (alpha / weights) * alpha, y * alpha
    return square + linear, square + np.abs(linear)


def at_most_curved(values: Array, slopes: Array, error: Array) -> tuple[Array, Array]:
    """Values of a loss with these slopes and a curvature of at most 1, right to some digits, with their spread."""
    return values, slopes * error + 0.5 * error * error + 32.0 * UNIT * values


def half_square(z: Array, error: Array) -> tuple[Array, Array]:
    """``½z²`` with its spread."""
    return at_most_curved(0.5 * z * z, np.abs(z), error)


def safe_log(x: Array) -> Array:
    """The logarithm, with 0 for that of 0."""
    return np.log(np.where(x > 0.0, x, 1.0))


def x_log(x: Array, change: Array) -> tuple[Array, Array]:
    """``x log x`` and the size of its error, for ``x ≥ 0`` that was computed as a sum to which ``change`` was added.

    With ``e = u(|change| + x)``, what x may be off, it changes by at most ``6e(|log e| + 3)``: by its slope where
    x > 2e, and below that because ``x(|log x| + 1)`` grows with x.  The logarithm's error adds 9u of the product.
    """
    size = np.abs(change) + x
    floor = np.maximum(x, UNIT * size)
    return x * safe_log(x), 2.0 * size * (np.abs(safe_log(floor)) + 3.0)
