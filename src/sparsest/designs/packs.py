"""Packs: changing sets of columns that a solver works on again and again, with the quadratic over them.

A pack is made by :meth:`Design.pack`, which chooses the form that suits the storage:

===============  ============================================================================================
``DensePack``    standardised columns side by side in float64, up to a number of bytes, and their Gram matrix
``SparsePack``   the columns' places; nothing is copied or made dense, and the Gram matrix is never formed
===============  ============================================================================================
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sparsest.arrays import Array, Indices, frozen
from sparsest.kernels.descent import (
    Gram,
    Stored,
    stored_moments,
    stored_products,
    stored_sum,
)

if TYPE_CHECKING:
    from sparsest.designs.base import Design

# A dense pack copies columns to float64 while the copy takes no more bytes than this, or than the whole matrix as it
# is stored.  Beyond that, products read the matrix and Gram matrices are computed from blocks of so many bytes.
_COPY_BYTES, _BLOCK_BYTES = 1 << 28, 1 << 26


class Pack(ABC):
    """Columns E of a design, and the quadratic ``G = X_E' diag(h) X_E`` over them; empty at first.

    With ``centred`` the columns of G are centred under the weights h.  All other products are those of the design.
    Numbers are float64, whatever the storage.

    Attributes
    ----------
    has_gram : whether G is kept as a matrix; then ``model`` has it as ``gram``.
    """

    has_gram: bool

    @abstractmethod
    def append(self, index: Indices) -> None:
        """Take in these columns of the design."""

    @abstractmethod
    def keep(self, positions: Indices) -> None:
        """Drop all columns but those at these positions."""

    @abstractmethod
    def weigh(self, h: Array) -> None:
        """Take these weights of the observations, which are one at first."""

    @abstractmethod
    def dot(self, w: Array) -> Array:
        """``X_E w``."""

    @abstractmethod
    def tdot(self, r: Array, first: int = 0) -> Array:
        """``X_E' r`` from this column on."""

    @abstractmethod
    def gram(self, positions: Indices) -> Array:
        """``G`` over the columns at these positions."""

    @abstractmethod
    def model(self, theta: Array | None) -> Any:
        """What the kernels of coordinate descent work on, where ``X_E'θ`` is the gradient; with a G, θ may be None."""


def _inverse(curvature: Array) -> Array:
    """The length of a step in each column; constant columns have none."""
    return 1.0 / np.maximum(curvature, np.finfo(np.float64).tiny)


class SparsePack(Pack):
    """The columns' places in the matrix; shift and scale enter the products, nothing is made dense.

    Parameters
    ----------
    matrix : the matrix in compressed sparse columns, of float32 or float64.
    shift, scale : the design's columns are ``(x_j - shift_j) / scale_j``.
    centred : whether G is that of centred columns.
    """

    has_gram = False

    def __init__(self, matrix: sp.csc_array, shift: Array, scale: Array, centred: bool) -> None:
        if shift.any() and not centred:
            raise ValueError("the quadratic over stored columns that a view shifts is known only when it is centred")
        self._matrix, self._stored, self._centred = matrix, float64_columns(matrix), centred
        self._all_shifts, self._all_scales = shift, scale
        self._h, self._uniform = np.ones(matrix.shape[0]), True
        self._mass, self._squares = np.empty(0), np.empty(0)
        self._take(np.empty(0, dtype=np.intp))

    def append(self, index: Indices) -> None:
        """Take in these columns of the design."""
        first = self._index.size
        self._take(np.concatenate([self._index, index]))
        self._measure(first)

    def keep(self, positions: Indices) -> None:
        """Drop all columns but those at these positions."""
        self._take(self._index[positions])
        self._mass, self._squares = self._mass[positions], self._squares[positions]

    def _take(self, index: Indices) -> None:
        self._index, self._shift, self._scale = index, self._all_shifts[index], self._all_scales[index]

    def _measure(self, first: int) -> None:
        """Weighted sums of the stored entries and of their squares, from this column on."""
        new = self._index[first:]
        mass, squares = np.empty(new.size), np.empty(new.size)
        stored_moments(*self._stored, new, self._h, mass, squares)
        self._mass = np.concatenate([self._mass[:first], mass])
        self._squares = np.concatenate([self._squares[:first], squares])

    def weigh(self, h: Array) -> None:
        """Take these weights of the observations."""
        self._h, self._uniform = h.copy(), bool((h == h[0]).all())
        self._measure(0)

    @property
    def _centre(self) -> Array:
        """What centring takes from the stored columns."""
        return self._mass / self._h.sum() if self._centred else np.zeros(self._mass.size)

    def dot(self, w: Array) -> Array:
        """``X_E w``."""
        v = w / self._scale
        out = np.full(self._h.size, -(self._shift @ v))
        stored_sum(*self._stored, self._index, v, out)
        return out

    def tdot(self, r: Array, first: int = 0) -> Array:
        """``X_E' r`` from this column on."""
        out = np.empty(self._index.size - first)
        stored_products(*self._stored, frozen(self._index[first:]), frozen(r), out)
        return (out - self._shift[first:] * r.sum()) / self._scale[first:]

    def gram(self, positions: Indices) -> Array:
        """``G`` over the columns at these positions."""
        part, scale = self._matrix[:, self._index[positions]].astype(np.float64), self._scale[positions]
        product = (part.T @ (sp.diags_array(self._h) @ part)).toarray()
        product -= np.outer(self._mass[positions], self._centre[positions])
        return product / np.outer(scale, scale)

    def model(self, theta: Array | None) -> Stored:
        """The stored columns with θ as residual."""
        if theta is None:
            raise ValueError("without a Gram matrix the model needs θ")
        centre = self._centre
        curvature = (self._squares - self._mass * centre) / self._scale**2
        return Stored(
            *self._stored, self._all_shifts, self._all_scales, self._index, centre, self._scale, self._mass, curvature,
            _inverse(curvature), self._h, self._uniform, self._centred, theta.copy(), np.zeros(1),
        )  # fmt: skip


def stored_columns(matrix: sp.csc_array) -> tuple[NDArray[Any], NDArray[np.uint32], Indices]:
    """The entries, rows and starts of compressed columns as kernels take them; what is stored is not copied."""
    # Unsigned numbers spare the kernels a look at each sign.
    rows = matrix.indices.view(np.uint32) if matrix.indices.dtype == np.int32 else matrix.indices.astype(np.uint32)
    return frozen(matrix.data), frozen(rows), frozen(matrix.indptr.astype(np.intp))


def float64_columns(matrix: sp.csc_array) -> tuple[Array, NDArray[np.uint32], Indices]:
    """The same with entries of float64: large kernels are compiled for these alone."""
    entries, rows, starts = stored_columns(matrix)
    return frozen(np.asarray(entries, dtype=np.float64)), rows, starts


class DensePack(Pack):
    """The Gram matrix, and copies of the columns while these are few enough.

    Both are in buffers that double when they are full.  A matrix of small numbers such as int8 never becomes a whole
    copy in float64: beyond ``copy_bytes`` the columns are read from the design.

    Parameters
    ----------
    design : the design, usually a standardised view.
    centred : whether G is that of centred columns.
    copy_bytes : bytes that copies may take; by default as many as the design itself, or 256 MB if that is more.
    block_bytes : bytes of the columns that are read at a time where there are no copies.
    """

    has_gram = True

    def __init__(
        self, design: Design, centred: bool, copy_bytes: int | None = None, block_bytes: int = _BLOCK_BYTES
    ) -> None:
        n, p = design.shape
        self._design, self._centred, self._block_bytes = design, centred, block_bytes
        allowed = max(design.nbytes_of(np.arange(p)), _COPY_BYTES) if copy_bytes is None else copy_bytes
        self._most_copies = allowed // (8 * n)
        self._h, self._index = np.ones(n), np.empty(0, dtype=np.intp)
        # Copies of the columns, in a buffer that may be longer; None once there are too many.
        self._copies: Array | None = np.empty((n, 0), order="F")
        self._gram, self._mass, self._diagonal = np.empty((0, 0)), np.empty(0), np.empty(0)

    def append(self, index: Indices) -> None:
        """Take in these columns of the design."""
        first = self._index.size
        self._index = np.concatenate([self._index, index])
        self._make_room(first)
        if self._copies is not None:
            self._copies[:, first : self._index.size] = self._design.columns(index)
        self._fill(first)

    def _make_room(self, used: int) -> None:
        """Let the buffers grow if they are too short; ``used`` columns are in them."""
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

    def _columns(self, part: slice) -> Array:
        """Some of the columns, in float64."""
        return self._design.columns(self._index[part]) if self._copies is None else self._copies[:, part]

    def _blocks(self, first: int) -> Iterator[slice]:
        """Parts of the columns from this one on; of copies one part is enough."""
        size = self._index.size
        width = size if self._copies is not None else max(1, self._block_bytes // (8 * self._h.size))
        for begin in range(first, size, max(width, 1)):
            yield slice(begin, min(begin + width, size))

    def _fill(self, first: int) -> None:
        """Compute the Gram matrix from this column on."""
        self._mass = np.concatenate([self._mass[:first], np.empty(self._index.size - first)])
        if first == 0 and self._copies is not None:
            # A matrix times its own transpose costs half of what two matrices cost.
            part, root = self._columns(slice(0, self._index.size)), np.sqrt(self._h)
            self._mass[:] = self._h @ part
            half = root[:, None] * part
            np.matmul(half.T, half, out=self._gram[: self._index.size, : self._index.size])
        for new in self._blocks(first) if first or self._copies is None else ():
            weighted = self._h[:, None] * self._columns(new)
            self._mass[new] = weighted.sum(axis=0)
            for old in self._blocks(0):
                cross = self._columns(old).T @ weighted
                self._gram[old, new] = cross
                self._gram[new, old] = cross.T
        if self._centred:
            size = self._index.size
            correction = np.outer(self._mass[first:], self._mass / self._h.sum())
            self._gram[first:size, :size] -= correction
            self._gram[:first, first:size] -= correction[:, :first].T
        self._diagonal = self._gram.diagonal()[: self._index.size].copy()

    def keep(self, positions: Indices) -> None:
        """Drop all columns but those at these positions."""
        k = positions.size
        if self._copies is not None:
            self._copies[:, :k] = self._copies[:, positions]
        self._gram[:k, :k] = self._gram[np.ix_(positions, positions)]
        self._mass, self._index = self._mass[positions], self._index[positions]
        self._diagonal = self._diagonal[positions]

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

    def gram(self, positions: Indices) -> Array:
        """``G`` over the columns at these positions."""
        return self._gram[np.ix_(positions, positions)]

    def model(self, theta: Array | None = None) -> Gram:
        """``G`` itself, in memory that may be larger."""
        return Gram(self._gram, self._diagonal, _inverse(self._diagonal))
