"""Sums over the rows of a matrix that is read in blocks of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from sparsest.core.arrays import Array, Indices
from sparsest.core.designs.summed_packs import Sums

if TYPE_CHECKING:
    from sparsest.core.designs.streamed import Streamed


class RowSums(Sums):
    """Sums over the rows of a design, one pass each; only some columns of a block are converted."""

    def __init__(self, design: Streamed) -> None:
        self._design = design

    def about(self, subset: Indices, other: Indices, shift: Array, weights: Array) -> tuple[Array, Array]:
        """``(X_S - c_S)' diag(ω) (X_T - c_T)`` and ``(X_S - c_S)'ω``."""
        both, places = np.unique(np.concatenate([subset, other]), return_inverse=True)
        left, right = places[: subset.size], places[subset.size :]

        def work(columns: Array, omega: Array) -> tuple[Array, ...]:
            weighted = omega[:, None] * columns[:, left]
            return weighted.T @ columns[:, right], weighted.sum(axis=0)

        gram, mass = self._summed(both, shift, weights, work)
        return gram, mass

    def squares_about(self, subset: Indices, shift: Array, weights: Array) -> Array:
        """``Σ_i ω_i (x_ij - c_j)²`` of some columns."""
        return self._summed(subset, shift, weights, lambda columns, omega: (omega @ columns**2,))[0]

    def third_moments_about(self, subset: Indices, shift: Array, scale: Array, weights: Array) -> Array:
        """``Σ_i ω_i z_ij² z_ik`` of all pairs of some columns, with ``z = (x - c) / scale``."""

        def work(columns: Array, omega: Array) -> tuple[Array, ...]:
            z = columns / scale[subset]
            return ((omega[:, None] * z**2).T @ z,)

        return self._summed(subset, shift, weights, work)[0]

    def _summed(
        self, subset: Indices, shift: Array, weights: Array, work: Callable[[Array, Array], tuple[Array, ...]]
    ) -> tuple[Array, ...]:
        about = shift[subset]

        def of_block(columns: Array, at: Indices | slice) -> tuple[Array, ...]:
            return work(columns - about, weights[at])

        parts = self._design.each_block_of_rows(subset, of_block)
        totals = next(parts)
        for sums in parts:
            for total, one in zip(totals, sums, strict=True):
                total += one
        return totals
