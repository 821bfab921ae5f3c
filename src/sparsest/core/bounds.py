"""Bounds of the coefficients of the columns that solvers work on; :mod:`sparsest.core.limits` has those of users."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sparsest.core.arrays import Array, Indices
from sparsest.core.designs import Design, shift_and_scale
from sparsest.core.limits import LARGEST_LIMIT, SMALLEST_LIMIT


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
        side[side > LARGEST_LIMIT] = np.inf
        side[side < SMALLEST_LIMIT] = 0.0
        sides.append(np.minimum(side, most))
    # Adding zero turns -0.0 into 0.0.
    return Bounds(0.0 - sides[0], sides[1])
