"""Rational numbers, and enclosures of irrational ones, for the check in exact arithmetic; needs python-flint."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

try:
    import flint
except ImportError:  # the rest of the package does without
    flint = None  # type: ignore[assignment]

Number = Any  # flint.fmpq
Enclosure = Any  # flint.arb

# Precision of enclosures, in bits: four times that of the numbers they are compared with.
_BITS = 256


def rational(value: float) -> Number:
    """A floating-point number as a rational."""
    return flint.fmpq(*float(value).as_integer_ratio())


def above(enclose: Callable[[], Enclosure]) -> Number:
    """A rational upper bound of the number that a function encloses."""
    before, flint.ctx.prec = flint.ctx.prec, _BITS
    try:
        mantissa, exponent = flint.arb(enclose()).upper().man_exp()
    finally:
        flint.ctx.prec = before
    power = int(exponent)
    return flint.fmpq(int(mantissa) * 2**power) if power >= 0 else flint.fmpq(int(mantissa), 2**-power)


def log(x: Number) -> Enclosure:
    """The logarithm of a positive rational."""
    return flint.arb(x).log()


def x_log(x: Number) -> Enclosure:
    """``x log x``, which is 0 at 0."""
    return flint.arb(x) * log(x) if x != 0 else flint.arb(0)


def root(x: Number) -> Enclosure:
    """The square root of a nonnegative rational."""
    return flint.arb(x).sqrt()
