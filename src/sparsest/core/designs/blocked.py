"""A matrix in blocks, which may be on the workers of a cluster: functions go to the blocks, and sums come back.

Rows and columns may be chosen without copying: a vector of chosen rows is extended by zeros, and results are reduced to
the chosen columns.  Sums over blocks are taken here and in order, so they do not depend on where blocks are.
"""

from __future__ import annotations

import sys
from functools import partial
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsest.core.arrays import Array, Indices
from sparsest.core.designs.base import Design, Subset, Survey
from sparsest.core.designs.block_work import (
    block_digests,
    block_dot,
    block_gram,
    block_squares,
    block_survey,
    block_tdot,
    block_third_moments,
    combined_moments,
    side_by_side,
    unless_all,
)
from sparsest.core.designs.counted_grid import CountedGrid
from sparsest.core.designs.dense import Dense
from sparsest.core.designs.packs import DensePack, Pack
from sparsest.core.designs.passes import Listener, Reading
from sparsest.core.designs.summed_packs import SummedPack
from sparsest.proofs.grid import ArrayGrid, Call, Grid, Work
from sparsest.runtime.memory import store_limit

# Size in bytes up to which fetched columns are cached, less where memory is scarce, and designs of few columns copied.
_CACHE_BYTES, _COPY_BYTES = 1 << 28, 1 << 26
# Packs copy columns up to this size.  Larger Gram matrices are computed by the workers that hold the rows.
_PACK_BYTES = 1 << 28


class Blocked(Design):
    """The matrix of a grid, or some of its rows and columns.

    Parameters
    ----------
    grid : the blocks, of types that :class:`Dense` stores.
    row_numbers, column_numbers : the chosen rows and columns of the grid; None for all.
    copy_bytes : designs of chosen columns are copied here if they take at most this many bytes.
    pack_bytes : packs copy their columns if these could take at most this many bytes, or if rows are not divided.
    reading : counts what is read; by default from zero.
    """

    accurate = True

    def __init__(
        self,
        grid: Grid,
        row_numbers: Indices | None = None,
        column_numbers: Indices | None = None,
        copy_bytes: int = _COPY_BYTES,
        pack_bytes: int = _PACK_BYTES,
        reading: Reading | None = None,
    ) -> None:
        self.reading = Reading() if reading is None else reading
        self.grid, self._rows, self._columns = CountedGrid(grid, self.reading), row_numbers, column_numbers
        self._copy_bytes, self._pack_bytes = copy_bytes, pack_bytes
        self._cache, self._given = _Cache(), grid

    @property
    def shape(self) -> tuple[int, int]:
        n, p = self.grid.shape
        return n if self._rows is None else self._rows.size, p if self._columns is None else self._columns.size

    @property
    def whole_grid(self) -> Grid | None:
        """The grid, if this design has all of its rows and columns."""
        return self.grid if self._rows is None and self._columns is None else None

    @property
    def resident_bytes(self) -> int:
        return 0

    def tdot(self, r: Array, subset: Subset | None = None) -> Array:
        vectors = self._spread(r)
        shared = [(np.ascontiguousarray(vectors[rows]), kept) for rows, kept in self._kept()]
        index = self._numbers(subset)
        located = self.grid.located(index)
        work = self._work(block_tdot)
        calls = [Call(i, j, unless_all(inside, self._width(j))) for i in self._present() for j, _, inside in located]
        found = iter(self.grid.run_some(work, calls, shared, index.size))
        out = np.zeros((index.size, *r.shape[1:]))
        for _ in self._present():
            for _, at, _ in located:
                out[at] += next(found)
        return out

    def dot(self, w: Array, subset: Subset | None = None) -> Array:
        index = self._numbers(subset)
        used = np.flatnonzero(w if w.ndim == 1 else w.any(axis=1))
        located = self.grid.located(index[used])
        present = self._present()
        work = self._work(block_dot)
        calls = [
            Call(i, j, (unless_all(inside, self._width(j)), w[used[at]])) for i in present for j, at, inside in located
        ]
        found = iter(self.grid.run_some(work, calls, None, used.size))
        out = np.zeros((self.grid.shape[0], *w.shape[1:]))
        for i in present:
            for _ in located:
                out[self.grid.row_slices[i]] += next(found)
        return out if self._rows is None else out[self._rows]

    def columns(self, subset: Subset) -> Array:
        return np.asfortranarray(self._fetched(self._numbers(subset)), dtype=np.float64)

    def _fetched(self, index: Indices) -> NDArray[Any]:
        """Columns of the grid in their own type, as new arrays; those of a cluster are kept for further calls."""
        found = self._cache.columns(self.grid, index) if self.grid.parallel else self.grid.gather(index)
        return found if self._rows is None else np.take(found.T, self._rows, axis=1).T

    def survey(self, weights: Array, targets: Array | None = None) -> Survey:
        n = weights.size
        Y = np.empty((n, 0)) if targets is None else targets.reshape(n, -1)
        omega, vectors = self._spread(weights), self._spread(Y)
        shared = [(omega[rows], np.ascontiguousarray(vectors[rows]), kept) for rows, kept in self._kept()]
        index = self._numbers(None)
        located, present = self.grid.located(index), self._present()
        work = self._work(block_survey)
        calls = [Call(i, j, unless_all(inside, self._width(j))) for i in present for j, _, inside in located]
        found = iter(self.grid.run_some(work, calls, shared, index.size))
        parts = []
        for _ in present:
            row = [next(found) for _ in located]
            parts.append(side_by_side(row, [at for _, at, _ in located], index.size, Y.shape[1]))
        moments = combined_moments(parts)
        products = np.sum([part.products for part in parts], axis=0)
        return Survey(moments, products if targets is None or targets.ndim == 2 else products[:, 0])

    def gram(self, subset: Subset, other: Subset | None = None, weights: Array | None = None) -> Array:
        if self.grid.size[1] > 1:
            return super().gram(subset, other, weights)
        left = self._numbers(subset)
        right = left if other is None else self._numbers(other)
        ones = np.ones(self.shape[0]) if weights is None else weights
        none = np.zeros(left.size), np.zeros(right.size)
        return self._summed(block_gram, ones, (left, right, *none), _distinct(left, right))[0]

    def about(self, subset: Indices, other: Indices, shift: Array, weights: Array) -> tuple[Array, Array]:
        """``(X_S - c_S)' diag(ω) (X_T - c_T)`` and ``(X_S - c_S)'ω``, summed where the rows are."""
        left, right = self._numbers(subset), self._numbers(other)
        own = left, right, shift[subset], shift[other]
        gram, mass = self._summed(block_gram, weights, own, _distinct(left, right))
        return gram, mass

    def squares_about(self, subset: Indices, shift: Array, weights: Array) -> Array:
        """``Σ_i ω_i (x_ij - c_j)²`` of some columns."""
        return self._summed(block_squares, weights, (self._numbers(subset), shift[subset]), subset.size)[0]

    def third_moments_about(self, subset: Indices, shift: Array, scale: Array, weights: Array) -> Array:
        """``Σ_i ω_i z_ij² z_ik`` of all pairs of some columns, with ``z = (x - c) / scale``."""
        own = self._numbers(subset), shift[subset], scale[subset]
        return self._summed(block_third_moments, weights, own, subset.size)[0]

    def _summed(self, work: Work[tuple[Array, ...]], weights: Array, own: Any, n_columns: int) -> tuple[Array, ...]:
        """Add what a function returns for the blocks of a grid with a single column of blocks."""
        omega = self._spread(weights)
        calls = [Call(i, 0, own) for i in self._present()]
        shared = [omega[rows] for rows in self.grid.row_slices]
        found = self.grid.run_some(work, calls, shared, n_columns)
        return tuple(np.sum(parts, axis=0) for parts in zip(*found, strict=True))

    def rows(self, keep: Indices) -> Blocked:
        numbers = np.asarray(keep, dtype=np.intp) if self._rows is None else self._rows[keep]
        return self._part(numbers, self._columns, self.reading)

    def counted(self) -> Blocked:
        """The same design with new counts of what is read."""
        return self._part(self._rows, self._columns, Reading(self.reading.listener))

    def reporting(self, listener: Listener) -> Blocked:
        """The same design, which calls a function after every pass with the passes and the bytes so far."""
        return self._part(self._rows, self._columns, Reading(listener))

    def _part(self, row_numbers: Indices | None, column_numbers: Indices | None, reading: Reading | None) -> Blocked:
        part = Blocked(self._given, row_numbers, column_numbers, self._copy_bytes, self._pack_bytes, reading)
        part._cache = self._cache
        return part

    def take(self, subset: Subset) -> Blocked:
        numbers, n = self._numbers(subset), self.shape[0]
        limits = self._copy_bytes, self._pack_bytes
        if n * numbers.size * self.grid.dtype.itemsize <= self._copy_bytes and numbers.size:
            return Blocked(ArrayGrid([[np.asfortranarray(self._fetched(numbers))]]), None, None, *limits)
        return self._part(self._rows, numbers, self.reading)

    def nbytes_of(self, subset: Subset) -> int:
        return self.shape[0] * len(subset) * self.grid.dtype.itemsize

    def digests(self, keys: NDArray[np.uint64]) -> NDArray[np.uint64] | None:
        full = np.zeros((self.grid.shape[0], 2), dtype=np.uint64)
        if self._rows is None:
            full[:] = keys.T
        else:
            np.add.at(full, self._rows, keys.T)
        index = self._numbers(None)
        located, present = self.grid.located(index), self._present()
        calls = [Call(i, j, inside) for i in present for j, _, inside in located]
        shared = [np.ascontiguousarray(full[rows].T) for rows in self.grid.row_slices]
        found = iter(self.grid.run_some(block_digests, calls, shared, index.size))
        out = np.zeros((2, index.size), dtype=np.uint64)
        for _ in present:
            for _, at, _ in located:
                out[:, at] += next(found)
        return out

    def pack(self, centred: bool) -> Pack:
        p = self.shape[1]
        return self.pack_of_view(self, np.zeros(p), np.ones(p), centred)

    def pack_of_view(self, view: Design, shift: Array, scale: Array, centred: bool) -> Pack:
        n, p = self.shape
        if self.grid.size[0] > 1 and self.grid.size[1] == 1 and 8 * n * p > self._pack_bytes:
            return SummedPack(self, view, shift, scale, centred, copy_bytes=0)
        return DensePack(view, centred, max(self._pack_bytes, _CACHE_BYTES))

    def _numbers(self, subset: Subset | None) -> Indices:
        """Numbers of columns in the grid."""
        if self._columns is None:
            return np.arange(self.grid.shape[1]) if subset is None else np.asarray(subset, dtype=np.intp)
        return self._columns if subset is None else self._columns[np.asarray(subset, dtype=np.intp)]

    def _width(self, j: int) -> int:
        columns = self.grid.column_slices[j]
        return columns.stop - columns.start

    def _present(self) -> list[int]:
        """The rows of blocks that have chosen rows."""
        if self._rows is None:
            return list(range(self.grid.size[0]))
        return np.unique(np.searchsorted(self.grid.row_bounds, self._rows, side="right") - 1).tolist()

    def _kept(self) -> list[tuple[slice, Indices | None]]:
        """For each row of blocks, its rows in the grid, and the chosen ones among them; None for all."""
        slices = self.grid.row_slices
        if self._rows is None:
            return [(rows, None) for rows in slices]
        numbers = np.unique(self._rows)
        cuts = np.searchsorted(numbers, self.grid.row_bounds)
        return [(rows, numbers[cuts[i] : cuts[i + 1]] - rows.start) for i, rows in enumerate(slices)]

    def _spread(self, r: Array) -> Array:
        """Vectors of the chosen rows, extended by zeros to all rows of the grid; rows chosen twice are added."""
        if self._rows is None:
            return r
        full = np.zeros((self.grid.shape[0], *r.shape[1:]))
        np.add.at(full, self._rows, r)
        return full

    def _work(self, work: Any) -> Any:
        """Bind whether the function may start threads."""
        return partial(work, sys.maxsize if self.grid.parallel else Dense.thread_bytes)


def _distinct(left: Indices, right: Indices) -> int:
    """The number of columns in the union of two subsets."""
    return np.union1d(left, right).size


class _Cache:
    """A cache of fetched columns, up to a number of bytes; the oldest are dropped first."""

    def __init__(self) -> None:
        self._lock, self._known = Lock(), dict[int, NDArray[Any]]()

    def __reduce__(self) -> tuple[type[_Cache], tuple[()]]:
        """A copy in another process is empty."""
        return _Cache, ()

    def columns(self, grid: Grid, index: Indices) -> NDArray[Any]:
        """Columns of a grid; those that are not in the cache are fetched."""
        out = np.empty((grid.shape[0], index.size), dtype=grid.dtype, order="F")
        with self._lock:
            known = {j: self._known[j] for j in set(index.tolist()) if j in self._known}
        missing = np.array(sorted(set(index.tolist()) - set(known)), dtype=np.intp)
        if missing.size:
            fetched = grid.gather(missing)
            known |= {int(j): fetched[:, q] for q, j in enumerate(missing)}
            self._keep(missing, fetched)
        for q, j in enumerate(index.tolist()):
            out[:, q] = known[j]
        return out

    def _keep(self, missing: Indices, fetched: NDArray[Any]) -> None:
        size = fetched.shape[0] * fetched.itemsize
        most = store_limit(_CACHE_BYTES)
        if missing.size * size > most:
            return
        with self._lock:
            # Copies: a column must not keep all others in memory that were fetched with it.
            self._known |= {int(j): fetched[:, q].copy() for q, j in enumerate(missing)}
            for j in list(self._known)[: max(0, len(self._known) - most // size)]:
                del self._known[j]
