"""Rational numbers, and enclosures of irrational ones, for the check in exact arithmetic; needs python-flint."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

Number = Any  # flint.fmpq
Enclosure = Any  # flint.arb

# Precision of enclosures, in bits: four times that of the numbers they are compared with.
_BITS = 256


@cache
def library() -> Any:
    """The module ``flint``, None if it is not installed; imported on first use, because solvers do without it."""
    try:
        import flint
    except ImportError:
        return None
    return flint


def rational(value: float) -> Number:
    """A floating-point number as a rational."""
    return library().fmpq(*float(value).as_integer_ratio())


def above(enclose: Callable[[], Enclosure]) -> Number:
    """A rational upper bound of the number that a function encloses."""
    flint = library()
    before, flint.ctx.prec = flint.ctx.prec, _BITS
    try:
        mantissa, exponent = flint.arb(enclose()).upper().man_exp()
    finally:
        flint.ctx.prec = before
    power = int(exponent)
    return flint.fmpq(int(mantissa) * 2**power) if power >= 0 else flint.fmpq(int(mantissa), 2**-power)


def log(x: Number) -> Enclosure:
    """The logarithm of a positive rational."""
    return library().arb(x).log()


def x_log(x: Number) -> Enclosure:
    """``x log x``, which is 0 at 0."""
    return library().arb(x) * log(x) if x != 0 else library().arb(0)


def root(x: Number) -> Enclosure:
    """The square root of a nonnegative rational."""
    return library().arb(x).sqrt()
