"""Working sets of matrices that are stored by rows: the Gram matrix is a sum over blocks of rows."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from sparsest.core.arrays import Array, Indices, Mask
from sparsest.core.designs.base import Design
from sparsest.core.designs.packs import DensePack


class Sums(Protocol):
    """Sums over the rows of a design, each in one pass."""

    def about(self, subset: Indices, other: Indices, shift: Array, weights: Array) -> tuple[Array, Array]:
        """``(X_S - c_S)' diag(ω) (X_T - c_T)`` and ``(X_S - c_S)'ω``."""

    def squares_about(self, subset: Indices, shift: Array, weights: Array) -> Array:
        """``Σ_i ω_i (x_ij - c_j)²`` of some columns."""

    def third_moments_about(self, subset: Indices, shift: Array, scale: Array, weights: Array) -> Array:
        """``Σ_i ω_i z_ij² z_ik`` of all pairs of some columns, with ``z = (x - c) / scale``."""


class SummedPack(DensePack):
    """A working set whose Gram matrix is computed where the rows are, in one pass, once its columns are not copied.

    Parameters
    ----------
    base : sums over the rows.
    view : the design that the pack is for, ``(x_j - shift_j) / scale_j``.
    centred, copy_bytes : see :class:`DensePack`; with 0 bytes no column is copied.
    """

    def __init__(
        self, base: Sums, view: Design, shift: Array, scale: Array, centred: bool, copy_bytes: int | None = None
    ) -> None:
        super().__init__(view, centred, copy_bytes)
        self._base, self._shift, self._scale = base, shift, scale

    def _fill(self, first: int) -> None:
        """Compute the Gram matrix from this column on."""
        size, new = self._index.size, self._index[first:]
        if self._copies is not None or not new.size:
            super()._fill(first)
            return
        gram, mass = self._base.about(new, self._index, self._shift, self._h)
        mass /= self._scale[new]
        gram /= np.outer(self._scale[new], self._scale[self._index])
        self._mass = np.concatenate([self._mass[:first], mass])
        if self._centred:
            gram -= np.outer(mass, self._mass / self._h.sum())
        self._gram[first:size, :size] = gram
        self._gram[:first, first:size] = gram[:, :first].T
        self._note_curvature()

    def squares(self, h: Array) -> Array:
        if self._copies is not None:
            return super().squares(h)
        return self._base.squares_about(self._index, self._shift, h) / self._scale[self._index] ** 2

    def gram(self, positions: Indices, h: Array | None = None) -> Array:
        if self._copies is not None or h is None:
            return super().gram(positions, h)
        names = self._index[positions]
        gram, mass = self._base.about(names, names, self._shift, h)
        mass /= self._scale[names]
        gram /= np.outer(self._scale[names], self._scale[names])
        return gram - np.outer(mass, mass / h.sum()) if self._centred else gram

    def third_moments(self, positions: Indices, chosen: Mask, h: Array) -> Array:
        if self._copies is not None:
            return super().third_moments(positions, chosen, h)
        return self._base.third_moments_about(self._index[positions], self._shift, self._scale, h)[chosen]
