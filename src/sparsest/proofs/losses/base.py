"""The interface of a loss in the checker, and functions that several losses share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np

from sparsest.proofs.enclosures import Number
from sparsest.proofs.rounding import UNIT, Array

# The error of every term of ``conjugate`` is at most this many u times its size.
ROUNDINGS = 16
# Smaller ends of domains count as zero: as subnormal numbers they might be rounded up.
_SMALLEST_BORDER = 1e-290


@dataclass(frozen=True)
class LossRule(ABC):
    """A loss; its fields are its parameters.

    ``classification`` losses have labels -1 and 1.  Losses with a logarithmic link need nonnegative responses, and
    ``positive`` ones positive responses.  All others depend on ``y - u`` alone.
    """

    classification: ClassVar[bool] = False
    log_link: ClassVar[bool] = False
    positive: ClassVar[bool] = False

    @classmethod
    def parameters(cls) -> tuple[str, ...]:
        """The names of the parameters."""
        return tuple(field.name for field in fields(cls))

    def accepts(self) -> bool:
        """Whether the parameters, which are finite numbers, are valid."""
        return True

    @property
    def shifts(self) -> bool:
        """Whether the loss depends on ``y - u`` alone, so that both may be shifted."""
        return not (self.classification or self.log_link)

    @abstractmethod
    def project(self, y: Array, alpha: Array, weights: Array) -> Array:
        """The nearest point of the domain of the conjugate, or one slightly inside; never outside, even exactly."""

    @abstractmethod
    def conjugate(self, y: Array, alpha: Array, weights: Array) -> tuple[Array, Array]:
        """``ωℓ*(y, α/ω)`` for α in the domain, and the sizes to which its rounding errors are relative."""

    @abstractmethod
    def value(self, y: Array, margin: Array, error: Array) -> tuple[Array, Array]:
        """``ℓ(y, u)``, and a bound of its error if u has this error, rounding included."""

    @abstractmethod
    def derivative(self, y: Array, margin: Array) -> tuple[Array, Array]:
        """``ℓ'(y, u)`` and ``ℓ''(y, u)``, to find dual points; proofs do not depend on them."""

    @abstractmethod
    def contains(self, y: Number, alpha: Number, weight: Number) -> bool:
        """Whether α/ω is in the domain, in rational arithmetic."""

    @abstractmethod
    def exact_conjugate(self, y: Number, alpha: Number, weight: Number) -> Number:
        """``ωℓ*(y, α/ω)`` in rational arithmetic, or a rational slightly above it."""


def below(border: Array) -> Array:
    """A lower bound of the exact value of a computed product of up to three numbers."""
    return np.where(border >= _SMALLEST_BORDER, border * (1.0 - 8.0 * UNIT), 0.0)


def quadratic(y: Array, alpha: Array, weights: Array) -> tuple[Array, Array]:
    """``α²/(2ω) + yα``."""
    square, linear = 0.5 * (alpha / weights) * alpha, y * alpha
    return square + linear, square + np.abs(linear)


def at_most_curved(values: Array, slopes: Array, error: Array) -> tuple[Array, Array]:
    """Values of a loss with these slopes and a curvature of at most 1, and bounds of their errors."""
    return values, slopes * error + 0.5 * error * error + 32.0 * UNIT * values


def half_square(z: Array, error: Array) -> tuple[Array, Array]:
    """``½z²`` and a bound of its error."""
    return at_most_curved(0.5 * z * z, np.abs(z), error)


def safe_log(x: Array) -> Array:
    """The logarithm; 0 at 0."""
    return np.log(np.where(x > 0.0, x, 1.0))


def x_log(x: Array, change: Array) -> tuple[Array, Array]:
    """``x log x`` and the size of its error, for an ``x ≥ 0`` that was computed as a sum with ``change``.

    With ``e = u(|change| + x)``, the error of x, it changes by at most ``6e(|log e| + 3)``: by its slope if
    x > 2e, and otherwise because ``x(|log x| + 1)`` grows with x.  The logarithm's error adds 9u of the product.
    """
    size = np.abs(change) + x
    floor = np.maximum(x, UNIT * size)
    return x * safe_log(x), 2.0 * size * (np.abs(safe_log(floor)) + 3.0)
