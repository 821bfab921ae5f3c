"""Columns of the data for a check: their bounds, and products with dual points.

``AllColumns`` reads the data in passes and keeps no columns.  Its first pass computes the products with the first dual
points, the bounds of every column and the fingerprint, nearly as fast as a product.  ``PackedColumns`` keeps the few
columns that later steps need.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from threading import Lock
from typing import TypeVar

import numpy as np

from sparsest.proofs.bounds import Bounds
from sparsest.proofs.data import Block, Data
from sparsest.proofs.fingerprint import Fingerprint
from sparsest.proofs.passes import Part, Wanted, read_block, read_grid
from sparsest.proofs.rounding import Array, Indices
from sparsest.proofs.row_blocks import row_sums
from sparsest.proofs.threads import mapped

T = TypeVar("T")

# Weighted sums of squares between these neither overflow nor underflow: such columns need no scale.
_SMALLEST_SQUARES, _LARGEST_SQUARES = 1e-200, 1e200
# A column is shifted by its first entry if that is within this many standard deviations of the mean.  Norms, and bounds
# of errors, are then at most √10 times as large as with the mean; claims allow for that.
_NEAR_MEAN = 3.0
# With fewer bytes, threads cost more than they save: at 160 MB two took a tenth longer than one.
_WORTH_THREADS = 1 << 28


class Columns(ABC):
    """Some columns ``x̃_j = 2^-e (x_j - c_j)``, with any c_j if there is an intercept, and ``c_j = 0`` otherwise."""

    def __init__(self, data: Data, features: Indices) -> None:
        self.data, self.features = data, features
        self.position: Indices = np.full(data.p, -1)
        self.position[features] = np.arange(features.size)

    @property
    @abstractmethod
    def bounds(self) -> Bounds:
        """Bounds for every column."""

    @abstractmethod
    def products(self, vectors: Array) -> Array:
        """``A'X̃``: a row for each column of A.  With an intercept, the columns of A sum to zero.

        Errors are at most ``γ_{n+8} ‖√Ω x̃_j‖ ‖Ω^{-½} a‖``.
        """

    @abstractmethod
    def block(self, positions: Indices) -> Block:
        """The columns at some positions, scaled by their largest entries."""


class PackedColumns(Columns):
    """Columns that are read when first needed, and kept if there is room."""

    def __init__(self, data: Data, features: Indices) -> None:
        super().__init__(data, features)
        self._packed: Array | None = None
        self._bounds: Bounds | None = None
        self._lock = Lock()

    @property
    def bounds(self) -> Bounds:
        with self._lock:
            if self._bounds is None:
                count = self.features.size
                if 8 * self.data.n * count <= self.data.room.packed:
                    self._packed = np.empty((count, self.data.n))
                self._bounds = Bounds.joined(_mapped(self.data, count, self.data.parts(count), self._prepare))
            return self._bounds

    # Later checks detect overflow; no thread should warn about it.
    @np.errstate(all="ignore")
    def _prepare(self, part: slice) -> Bounds:
        values, bounds = self.data.block(self.features[part])
        if self._packed is not None:
            self._packed[part] = values.T
        return bounds

    def products(self, vectors: Array) -> Array:
        _ = self.bounds
        if self._packed is not None:
            return vectors.T @ self._packed.T
        blocks = (self.data.block(self.features[part]).values for part in self.data.parts(self.features.size))
        return np.concatenate([np.empty((vectors.shape[1], 0)), *(vectors.T @ values for values in blocks)], axis=1)

    def block(self, positions: Indices) -> Block:
        bounds = self.bounds
        if self._packed is None:
            return self.data.block(self.features[positions])
        return Block(self._packed[positions].T, bounds.at(positions))


class AllColumns(Columns):
    """All columns, read in passes.

    Ordinary columns have no scale (``e = 0``) and, with an intercept, c is their first entry.  The others, whose
    squares are out of range or whose first entry is far from the mean, are read separately.
    """

    def __init__(self, data: Data, fingerprint: Fingerprint | None = None) -> None:
        super().__init__(data, np.arange(data.p))
        self._fingerprint = fingerprint
        self._bounds: Bounds | None = None
        self._apart: Indices = np.empty(0, dtype=np.intp)

    def read(self) -> Bounds:
        """The bounds from the first pass, which runs now if it has not yet; ValueError if entries are not finite."""
        if self._bounds is None:
            self._pass(np.empty((self.data.n, 0)))
        assert self._bounds is not None
        return self._bounds

    @property
    def bounds(self) -> Bounds:
        return self.read()

    def products(self, vectors: Array) -> Array:
        products = self._pass(vectors)
        for part in self.data.parts(self._apart.size):
            features = self._apart[part]
            products[:, features] = vectors.T @ self.data.block(features).values
        return products

    def block(self, positions: Indices) -> Block:
        return self.data.block(positions)

    def _pass(self, vectors: Array) -> Array:
        """Read all columns and return their products; the first pass also stores the bounds."""
        weights = self.data.weights
        rows = np.ascontiguousarray(np.concatenate([vectors, weights[:, None]], axis=1).T)
        keys = None if self._fingerprint is None else self._fingerprint.keys
        wanted = Wanted(rows, keys, self._bounds is None, bool((weights == weights[0]).all()))
        if self.data.grid is not None:
            parts = [read_grid(self.data.grid, self.data.kept, self.data.fit_intercept, wanted)]
        elif self.data.by_rows:
            parts = [self._read_rows(rows)]
        else:
            p = self.data.p
            parts = _mapped(self.data, p, self.data.spans(p), lambda span: self._read(span, wanted))
        if self._fingerprint is not None:
            for part in parts:
                assert part.digests is not None
                self._fingerprint.add(part.digests)
            for vector in self.data.vectors():
                self._fingerprint.add_vector(vector)
            self._fingerprint = None
        if self._bounds is None:
            self._note(*(np.concatenate([part[i] for part in parts]) for i in (1, 2)))
        return np.concatenate([part.products for part in parts], axis=1)

    def _read(self, span: slice, wanted: Wanted) -> Part:
        block = self.data.unchecked(span)
        shift = np.add(block[0], 0.0, dtype=np.float64) if self.data.fit_intercept else None
        room = self.data.room.block
        # Each operation of NumPy waits for the interpreter's lock, so two threads need longer ones: 30,000 float32
        # columns of 10,000 rows take 1.1 s with one thread, and 1.4 or 1.0 s with two and the same or twice the room.
        return read_block(block, wanted, shift, 2 * room if _threads(self.data, self.data.p) > 1 else room)

    def _read_rows(self, rows: Array) -> Part:
        """The results for all columns of data that are read by rows."""
        keys = None if self._fingerprint is None else self._fingerprint.keys
        products, squares, digests = row_sums(self.data, rows, shifted=self.data.fit_intercept, keys=keys)
        return Part(products[:-1], squares, products[-1], None if keys is None else digests)

    def _note(self, squares: Array, sums: Array) -> None:
        """Derive the bounds of all columns."""
        ordinary = (squares >= _SMALLEST_SQUARES) & (squares <= _LARGEST_SQUARES)
        if self.data.fit_intercept:
            square, mean = squares / self.data.total, sums / self.data.total
            ordinary &= square <= (1.0 + _NEAR_MEAN**2) * (square - mean * mean)
        self._apart = np.flatnonzero(~ordinary)
        bounds = self.data.bounds(squares, sums, np.zeros(squares.size, dtype=np.intc), np.zeros(squares.size, bool))
        for part in self.data.parts(self._apart.size):
            features = self._apart[part]
            bounds.put(features, self.data.block(features).bounds)
        self._bounds = bounds


def _threads(data: Data, count: int) -> int:
    """All cores if this many columns are enough data."""
    return data.room.threads if 8 * data.n * count >= _WORTH_THREADS else 1


def _mapped(data: Data, count: int, slices: Iterable[slice], work: Callable[[slice], T]) -> list[T]:
    """Call a function for slices of some columns, on all cores if there are enough data."""
    threads = _threads(data, count)
    # Only one thread at a time reads what is stored elsewhere, while the others compute; a thread of BLAS for each.
    return list(mapped(work, slices, threads, threads > 1 or not data.in_memory))
