"""Bounds of coefficients: those that a user gives for the data, and those of the columns that solvers work on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sparsest.core.arrays import Array, Indices
from sparsest.core.checks import as_array, as_numbers, by_number, column_numbers, number, shown
from sparsest.core.designs import Design, shift_and_scale

# Squares of bounds must be numbers.
_SMALLEST, _LARGEST = 1e-150, 1e150


@dataclass(frozen=True, eq=False)
class Bounds:
    """``low_j ≤ w_j ≤ high_j`` with ``low_j ≤ 0 ≤ high_j``; both arrays are empty if no coefficient is bounded."""

    low: Array
    high: Array

    @cached_property
    def exist(self) -> bool:
        """Whether any coefficient is bounded."""
        return bool(self.low.size)

    @cached_property
    def conic(self) -> bool:
        """Whether every bound is 0 or infinite: multiples of admissible coefficients are then admissible."""
        return not any(bool((np.isfinite(side) & (side != 0.0)).any()) for side in (self.low, self.high))

    def closed(self, features: Indices | slice) -> bool:
        """Whether these coefficients are bounded on both sides."""
        return self.exist and bool(np.isfinite(self.high[features] - self.low[features]).all())

    def of(self, features: Indices) -> Bounds:
        """The bounds of some features."""
        return Bounds(self.low[features], self.high[features]) if self.exist else self

    def mirrored(self) -> Bounds:
        """The bounds of the coefficients with the opposite sign."""
        return Bounds(-self.high, -self.low)

    def times(self, scale: Array) -> Bounds:
        """The bounds of the coefficients in other units."""
        return Bounds(self.low * scale, self.high * scale) if self.exist else self

    def clip(self, w: Array) -> Array:
        """Move coefficients of all features to the nearest admissible ones."""
        return np.clip(w, self.low, self.high) if self.exist else w

    def limits(self, w: Array) -> Array:
        """The largest sizes of coefficients that have the signs of w."""
        return np.where(w < 0.0, -self.low, self.high) if self.exist else np.full(w.size, np.inf)


UNBOUNDED = Bounds(np.empty(0), np.empty(0))


def check_bound(value: Any, name: str, p: int, names: tuple[str, ...] | None = None) -> Array | None:
    """Return the lower or upper bounds of p coefficients, for the data as given; None if there are none.

    Parameters
    ----------
    value : a number for all columns, p numbers, or a dictionary by name or number of the columns that are bounded
    name : "lower" or "upper"
    names : names of the columns, if they have any
    """
    if value is None:
        return None
    sign = -1.0 if name == "lower" else 1.0
    if isinstance(value, Mapping):
        bounds = np.full(p, sign * np.inf)
        columns = column_numbers(by_number(list(value), name, names), name, p)
        if np.unique(columns).size < columns.size:
            raise ValueError(f"{name} names a column twice, once by its name and once by its number: {shown(value)}")
        bounds[columns] = [number(entry, f"{name} of column {shown(at)}", finite=False) for at, entry in value.items()]
    else:
        given = as_array(value, name)
        if given.ndim > 1 or given.size not in (1, p) or (given.ndim == 1 and given.size != p):
            raise ValueError(
                f"{name} must be a number, {p} numbers, one a column, or a dictionary by column, got {shown(value)}"
            )
        bounds = np.broadcast_to(as_numbers(given, name), p).copy()
    _check_values(bounds, name, sign, names)
    return None if np.isinf(bounds).all() else bounds


def _check_values(bounds: Array, name: str, sign: float, names: tuple[str, ...] | None) -> None:
    """Raise a ValueError that names the first column whose bound is none."""
    with np.errstate(invalid="ignore"):
        wrong = np.flatnonzero(~(sign * bounds >= 0.0))
        sizes = np.abs(bounds)
        extreme = np.flatnonzero((sizes != 0.0) & np.isfinite(sizes) & ~((sizes >= _SMALLEST) & (sizes <= _LARGEST)))
    if wrong.size:
        at, side = int(wrong[0]), ("at most 0", "-inf") if sign < 0.0 else ("at least 0", "inf")
        raise ValueError(
            f"{name} must be {side[0]} for every column, because a feature that is not in the model has the "
            f"coefficient 0; got {float(bounds[at])!r} for column {at if names is None else repr(names[at])}.  Use "
            f"{side[1]} where there is no bound"
        )
    if extreme.size:
        at = int(extreme[0])
        raise ValueError(
            f"{name} must be 0, infinite or between {_SMALLEST:g} and {_LARGEST:g} in size, got {float(bounds[at])!r} "
            f"for column {at if names is None else repr(names[at])}"
        )


def bounds_of(design: Design, lower: Array | None, upper: Array | None, max_coef: float | None) -> Bounds:
    """The bounds of the columns of a design: those for the data as given, in the design's units, and ``max_coef``.

    Bounds whose squares would overflow are infinite, and those whose squares would underflow are 0.
    """
    if lower is None and upper is None and max_coef is None:
        return UNBOUNDED
    p = design.shape[1]
    _, scale = shift_and_scale(design, np.arange(p))
    most = np.inf if max_coef is None else max_coef
    sides = []
    for bound in (None if lower is None else -lower, upper):
        with np.errstate(over="ignore", under="ignore"):
            side = np.full(p, np.inf) if bound is None else bound * scale
        side[side > _LARGEST] = np.inf
        side[side < _SMALLEST] = 0.0
        sides.append(np.minimum(side, most))
    # Adding zero turns -0.0 into 0.0.
    return Bounds(0.0 - sides[0], sides[1])
