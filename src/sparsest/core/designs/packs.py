"""Packs: the columns of a working set, and the quadratic over them.

:meth:`Design.pack` makes a pack in the form that suits the storage:

===============  ============================================================================================
``DensePack``    standardised columns side by side in float64, up to a number of bytes, and their Gram matrix
``SparsePack``   copies of the columns' stored entries; nothing is made dense, and the Gram matrix is never formed
===============  ============================================================================================
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from sparsest.core.arrays import Array, Indices, Mask, frozen
from sparsest.core.designs.compressed import enlarged_stored, kept_stored, make_stored, stored_columns
from sparsest.core.kernels.descent import Gram
from sparsest.core.kernels.sparse import Stored, stored_products, stored_sum, stored_take_in
from sparsest.runtime.memory import store_limit

if TYPE_CHECKING:
    from sparsest.core.designs.base import Design

# A dense pack copies columns to float64 if the copy takes at most this many bytes, or at most as many as the stored
# matrix.  Otherwise products read the matrix, and Gram matrices are computed from blocks of this size.
_COPY_BYTES, _BLOCK_BYTES = 1 << 28, 1 << 26
# Replaces a curvature of zero, whose inverse would be infinite.
_LEAST_CURVATURE = float(np.finfo(np.float64).tiny)


class Pack(ABC):
    """Columns E of a design, and the quadratic ``G = X_E' diag(h) X_E`` over them; empty at first.

    With ``centred`` the columns of G are centred under the weights h.  All other products are those of the design.
    Numbers are float64 for every storage.

    Attributes
    ----------
    has_gram : whether G is kept as a matrix; then ``model`` has it as ``gram``.
    """

    has_gram: bool

    @abstractmethod
    def append(self, index: Indices) -> None:
        """Add these columns of the design."""

    @abstractmethod
    def keep(self, positions: Indices) -> None:
        """Drop all columns but those at these positions."""

    @abstractmethod
    def weigh(self, h: Array) -> None:
        """Set the weights of the observations, which are one at first."""

    @abstractmethod
    def dot(self, w: Array) -> Array:
        """``X_E w``."""

    @abstractmethod
    def tdot(self, r: Array, first: int = 0) -> Array:
        """``X_E' r`` from this column on."""

    @abstractmethod
    def squares(self, h: Array) -> Array:
        """``Σ_i h_i x_ij²`` of every column, for any weights h."""

    @abstractmethod
    def third_moments(self, positions: Indices, chosen: Mask, h: Array) -> Array:
        """``Σ_i h_i x_ij² x_ik`` for the columns k at these positions, and the j that are chosen among them."""

    @abstractmethod
    def gram(self, positions: Indices, h: Array | None = None) -> Array:
        """``G`` over the columns at these positions, or the same with other weights h."""

    @abstractmethod
    def model(self, theta: Array | None) -> Any:
        """The model for coordinate descent, where ``X_E'θ`` is the gradient; with a Gram matrix, θ may be None."""


class SparsePack(Pack):
    """Copies of the columns' stored entries; shift and scale are applied in the products, nothing is made dense.

    Parameters
    ----------
    matrix : the matrix in compressed sparse columns, of float32 or float64.
    shift, scale : the design's columns are ``(x_j - shift_j) / scale_j``.
    centred : whether G is that of centred columns.
    """

    has_gram = False

    def __init__(self, matrix: sp.csc_array, shift: Array, scale: Array, centred: bool) -> None:
        if shift.any() and not centred:
            raise ValueError("a sparse design whose view shifts columns needs a centred pack")
        self._matrix, self._whole, self._size = matrix, stored_columns(matrix), 0
        self._columns = make_stored(matrix, shift, scale, np.ones(matrix.shape[0]), centred)

    @property
    def _index(self) -> Indices:
        return self._columns.names[: self._size]

    def append(self, index: Indices) -> None:
        """Add these columns of the design."""
        first, self._size = self._size, self._size + index.size
        self._columns.names[first : self._size] = index
        self._copy(first)

    def _copy(self, first: int) -> None:
        """Copy the columns in use from this one on, with the current weights."""
        columns, counts = self._columns, np.diff(self._whole[2])[self._index[first:]]
        columns.begins[first + 1 : self._size + 1] = columns.begins[first] + counts.cumsum()
        self._columns = enlarged_stored(columns, first, int(columns.begins[self._size]))
        stored_take_in(self._columns, first, self._size - first)

    def keep(self, positions: Indices) -> None:
        """Drop all columns but those at these positions."""
        kept_stored(self._columns, positions)
        self._size = positions.size

    def weigh(self, h: Array) -> None:
        """Take these weights of the observations."""
        self._columns.root[:] = np.sqrt(h)
        self._copy(0)

    def dot(self, w: Array) -> Array:
        """``X_E w``."""
        v = w / self._columns.scale_of[self._index]
        out = np.full(self._columns.root.size, -(self._columns.shift_of[self._index] @ v))
        stored_sum(*self._whole, self._index, v, out)
        return out

    def tdot(self, r: Array, first: int = 0) -> Array:
        """``X_E' r`` from this column on."""
        index = self._index[first:]
        out = np.empty(index.size)
        stored_products(*self._whole, frozen(index), frozen(r), out)
        return (out - self._columns.shift_of[index] * r.sum()) / self._columns.scale_of[index]

    def squares(self, h: Array) -> Array:
        """``Σ_i h_i x_ij²`` of every column, for any weights h."""
        part, shift = self._matrix[:, self._index].astype(np.float64), self._columns.shift_of[self._index]
        raw = part.power(2).T @ h - shift * (2.0 * (part.T @ h) - shift * h.sum())
        return raw / self._columns.scale_of[self._index] ** 2

    def third_moments(self, positions: Indices, chosen: Mask, h: Array) -> Array:
        """``Σ_i h_i x_ij² x_ik`` for the columns k at these positions, and the j that are chosen among them."""
        names = self._index[positions]
        part, shift = self._matrix[:, names].astype(np.float64), self._columns.shift_of[names]
        scale, weighted = self._columns.scale_of[names], sp.diags_array(h) @ part
        own, center = part[:, np.flatnonzero(chosen)], shift[chosen]
        sums, squares = own.T @ h, own.power(2).T @ h
        raw = (own.power(2).T @ weighted).toarray() - 2.0 * center[:, None] * (own.T @ weighted).toarray()
        raw += np.outer(center**2, part.T @ h) - np.outer(squares - center * (2.0 * sums - center * h.sum()), shift)
        return raw / np.outer(scale[chosen] ** 2, scale)

    def gram(self, positions: Indices, h: Array | None = None) -> Array:
        """``G`` over the columns at these positions, or the same with other weights h."""
        columns, names = self._columns, self._index[positions]
        part = self._matrix[:, names].astype(np.float64) @ sp.diags_array(1.0 / columns.scale_of[names])
        weighted = sp.diags_array(columns.root if h is None else np.sqrt(h)) @ part
        gram, mass, centre = (weighted.T @ weighted).toarray(), columns.mass[positions], columns.centre[positions]
        if h is not None and columns.centred:
            mass = part.T @ h
            centre = mass / h.sum()
        return gram - np.outer(mass, centre)

    def model(self, theta: Array | None) -> Stored:
        """The stored columns with θ as residual."""
        if theta is None:
            raise ValueError("without a Gram matrix the model needs θ")
        return self._columns._replace(carried=theta / self._columns.root, constant=np.zeros(1))


class DensePack(Pack):
    """The Gram matrix, and copies of the columns up to a number of bytes.

    Both are in buffers that double when they are full.  A large matrix of a short type such as int8 is never copied in
    float64 as a whole: beyond ``copy_bytes`` the columns are read from the design.

    Parameters
    ----------
    design : the design, usually a standardised view.
    centred : whether G is that of centred columns.
    copy_bytes : bytes that copies may take; by default as many as the design itself takes in memory, or 256 MB if that
        is more, but at most an eighth of the available memory.
    block_bytes : bytes of the columns that are read at a time if there are no copies; by default 64 MB, or an eighth of
        the available memory if that is less.
    """

    has_gram = True

    def __init__(
        self, design: Design, centred: bool, copy_bytes: int | None = None, block_bytes: int | None = None
    ) -> None:
        n, p = design.shape
        self._design, self._centred, self._block_bytes = design, centred, block_bytes or store_limit(_BLOCK_BYTES)
        if copy_bytes is None:
            copy_bytes = max(design.resident_bytes, store_limit(min(_COPY_BYTES, 8 * n * p)))
        self._most_copies = copy_bytes // (8 * n)
        self._h, self._index = np.ones(n), np.empty(0, dtype=np.intp)
        # Copies of the columns in a buffer, which may be longer; None if there are too many.
        self._copies: Array | None = np.empty((n, 0), order="F")
        self._gram, self._mass = np.empty((0, 0)), np.empty(0)
        self._note_curvature()

    def append(self, index: Indices) -> None:
        """Add these columns of the design."""
        first = self._index.size
        self._index = np.concatenate([self._index, index])
        self._make_room(first)
        if self._copies is not None:
            self._copies[:, first : self._index.size] = self._design.columns(index)
        self._fill(first)

    def _make_room(self, used: int) -> None:
        """Enlarge the buffers if necessary; they hold ``used`` columns."""
        size = self._index.size
        if size > self._gram.shape[0]:
            room = max(size, 2 * used, 32)
            gram = np.empty((room, room))
            gram[:used, :used] = self._gram[:used, :used]
            self._gram = gram
        if size > self._most_copies:
            self._copies = None
        if self._copies is not None and size > self._copies.shape[1]:
            room = min(max(size, 2 * used, 32), self._most_copies)
            copies = np.empty((self._h.size, room), order="F")
            copies[:, :used] = self._copies[:, :used]
            self._copies = copies

    def _columns(self, part: slice | Indices) -> Array:
        """Some of the columns, in float64."""
        return self._design.columns(self._index[part]) if self._copies is None else self._copies[:, part]

    def _blocks(self, first: int) -> Iterator[slice]:
        """Blocks of the columns from this one on; copies form a single block."""
        size = self._index.size
        width = size if self._copies is not None else max(1, self._block_bytes // (8 * self._h.size))
        for begin in range(first, size, max(width, 1)):
            yield slice(begin, min(begin + width, size))

    def _fill(self, first: int) -> None:
        """Compute the Gram matrix from this column on."""
        self._mass = np.concatenate([self._mass[:first], np.empty(self._index.size - first)])
        if first == 0 and self._copies is not None:
            # The product of a matrix with its own transpose takes half the time of a general product.
            part, root = self._columns(slice(0, self._index.size)), np.sqrt(self._h)
            self._mass[:] = self._h @ part
            half = root[:, None] * part
            np.matmul(half.T, half, out=self._gram[: self._index.size, : self._index.size])
        for new in self._blocks(first) if first or self._copies is None else ():
            columns, old = self._columns(new), slice(0, new.stop)
            # Columns that were read for this may be changed.
            weighted = np.multiply(self._h[:, None], columns, out=columns if self._copies is None else None)
            self._mass[new] = weighted.sum(axis=0)
            if self._copies is None:
                cross = self._design.tdot(weighted, self._index[old])
            else:
                cross = self._columns(old).T @ weighted
            self._gram[old, new] = cross
            self._gram[new, old] = cross.T
        if self._centred:
            size = self._index.size
            correction = np.outer(self._mass[first:], self._mass / self._h.sum())
            self._gram[first:size, :size] -= correction
            self._gram[:first, first:size] -= correction[:, :first].T
        self._note_curvature()

    def _note_curvature(self) -> None:
        diagonal = self._gram.diagonal()[: self._index.size].copy()
        self._model = Gram(self._gram, diagonal, 1.0 / np.maximum(diagonal, _LEAST_CURVATURE))

    def keep(self, positions: Indices) -> None:
        """Drop all columns but those at these positions."""
        k = positions.size
        if self._copies is not None:
            self._copies[:, :k] = self._copies[:, positions]
        self._gram[:k, :k] = self._gram[np.ix_(positions, positions)]
        self._mass, self._index = self._mass[positions], self._index[positions]
        self._note_curvature()

    def weigh(self, h: Array) -> None:
        """Take these weights of the observations."""
        self._h = h
        self._fill(0)

    def dot(self, w: Array) -> Array:
        """``X_E w``."""
        if self._copies is None:
            return self._design.dot(w, self._index)
        return self._copies[:, : w.size] @ w

    def tdot(self, r: Array, first: int = 0) -> Array:
        """``X_E' r`` from this column on."""
        if self._copies is None:
            return self._design.tdot(r, self._index[first:])
        return self._copies[:, first : self._index.size].T @ r

    def squares(self, h: Array) -> Array:
        """``Σ_i h_i x_ij²`` of every column, for any weights h."""
        out = np.empty(self._index.size)
        for part in self._blocks(0):
            columns = self._columns(part)
            out[part] = h @ columns**2
        return out

    def third_moments(self, positions: Indices, chosen: Mask, h: Array) -> Array:
        """``Σ_i h_i x_ij² x_ik`` for the columns k at these positions, and the j that are chosen among them."""
        part = self._columns(positions)
        return (h[:, None] * part[:, chosen] ** 2).T @ part

    def gram(self, positions: Indices, h: Array | None = None) -> Array:
        """``G`` over the columns at these positions, or the same with other weights h."""
        if h is None:
            return self._gram[np.ix_(positions, positions)]
        part = self._columns(positions)
        half = np.sqrt(h)[:, None] * part
        gram = half.T @ half
        if self._centred:
            mass = h @ part
            gram -= np.outer(mass, mass / h.sum())
        return gram

    def model(self, theta: Array | None = None) -> Gram:
        """``G``, in a buffer that may be larger."""
        return self._model
