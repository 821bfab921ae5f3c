"""Bounds for scaled columns: their norms, ridges, and the limits of their coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsest.proofs.rounding import TINY, UNIT, Array, Indices

# Without standardisation, ridges can be as extreme as the squares of the scales of columns.  Outside of these limits
# they may underflow or overflow, and nothing is proved.
SMALLEST_RIDGE, LARGEST_RIDGE = 1e-280, 1e280


class Bounds(NamedTuple):
    """Bounds for scaled columns ``2^-exponents (x_j - c_j)``, for some c_j.

    ``weighted_norms`` bound ``‖√Ω x̃_j‖`` from above, and ``ridge_low ≤ d_j ≤ ridge_high``.  Multiplied by ``units``,
    coefficients of columns divided by ``√d_j`` become coefficients of the scaled columns.
    """

    exponents: NDArray[np.intc]
    weighted_norms: Array
    ridge_low: Array
    ridge_high: Array
    units: Array

    def at(self, positions: Indices) -> Bounds:
        """The bounds of some columns."""
        return Bounds(self.exponents[positions], *(array[positions] for array in self[1:]))

    def scaled_limits(self, limits: Array) -> Array:
        """Limits of the coefficients of scaled columns, from those for columns as given; underflow is rounded up."""
        scaled = np.ldexp(limits, self.exponents)
        return np.where((limits > 0.0) & (scaled < TINY), TINY, scaled)

    def put(self, positions: Indices, others: Bounds) -> None:
        """Replace the bounds of some columns."""
        arrays: tuple[NDArray[Any], ...] = tuple(self)
        for array, values in zip(arrays, others, strict=True):
            array[positions] = values

    @classmethod
    def joined(cls, parts: Sequence[Bounds]) -> Bounds:
        """The bounds of the columns of all parts."""
        exponents = np.concatenate([np.empty(0, dtype=np.intc), *(part.exponents for part in parts)])
        others = (np.concatenate([np.empty(0), *(part[i] for part in parts)]) for i in range(1, 5))
        return cls(exponents, *others)


def ridge_below(ridge: Array, gamma: float) -> Array:
    """A lower bound of ``d_j/γ`` within the range of safe divisors; 0 below that range."""
    with np.errstate(over="ignore"):
        quotient = ridge / gamma * (1.0 - 4.0 * UNIT)
    return np.where(quotient >= SMALLEST_RIDGE, np.minimum(quotient, LARGEST_RIDGE), 0.0)


def box_above(ridge: Array, max_coef: float | None) -> Array:
    """An upper bound of ``M/√d_j``, the largest coefficient of a scaled column; infinite without ``max_coef``."""
    if max_coef is None:
        return np.full(ridge.size, np.inf)
    with np.errstate(over="ignore", divide="ignore"):
        box = max_coef / np.sqrt(ridge) * (1.0 + 8.0 * UNIT)
    # A larger box is safe, and this one does not underflow.
    return np.maximum(box, SMALLEST_RIDGE)
