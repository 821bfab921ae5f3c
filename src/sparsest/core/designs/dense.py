"""A dense matrix in its own type and order; kernels convert entries to float64 in registers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsest.core.arrays import frozen
from sparsest.core.designs.base import Array, Design, Indices, Subset, Survey, refuse_entries, settled
from sparsest.core.designs.packs import DensePack
from sparsest.core.kernels.dense import line_digests, line_products, line_sums, survey_across, survey_lines

# Types that are not converted: float64, and all shorter types that it represents exactly.
STORED_TYPES = (
    np.float64, np.float32, np.bool_, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32,
)  # fmt: skip

# More vectors than this are multiplied by BLAS with blocks of converted columns.  On 1000 × 20000 in float32 (int8) a
# kernel takes 1.5 (6) ms for each vector, converting alone takes 30 ms and BLAS 1 ms for each vector.
FEW_VECTORS = 16

# From this share of the columns on, whole rows are multiplied instead of packed columns: 4-byte entries at this
# distance touch every cache line.
_MANY_COLUMNS = 1 / 16

# From this share of the columns of float64 on, BLAS multiplies all of them: it is as fast as the kernel and needs no
# threads here (1000 × 5000: 2.2 ms for all, 1.5 ms for 3000 chosen columns, 3.6 ms for 4500 in threads).
_ALMOST_ALL_COLUMNS = 3 / 4

# Threads take lines in parts of about this size, and work across lines in this many parts of whole cache lines.  The
# parts do not depend on the number of threads.
_PART_BYTES, _PARTS_ACROSS, _CACHE_LINE = 1 << 20, 8, 16


@dataclass(frozen=True, eq=False)
class Dense(Design):
    """A dense matrix of one of the stored types, in C or Fortran order or with any strides, possibly read-only.

    Attributes
    ----------
    array : the matrix.
    block_bytes : size of the blocks of columns that are converted if no kernel accepts the matrix as it is.
    thread_bytes : work on fewer bytes than this is not divided among threads.  Kernels read 10 bytes per nanosecond;
        starting threads takes 0.2 ms on an idle machine and several ms on a busy one.
    """

    array: NDArray[Any]
    block_bytes: int = 1 << 24
    thread_bytes: int = 1 << 25

    accurate = True

    @property
    def shape(self) -> tuple[int, int]:
        return self.array.shape

    @property
    def _lines(self) -> NDArray[Any] | None:
        """The lines for kernels: columns in Fortran order, rows in C order; None for other strides."""
        flags = self.array.flags
        if not (flags.aligned and (flags.f_contiguous or flags.c_contiguous)):
            return None
        lines = self.array.T if flags.f_contiguous else self.array
        return frozen(lines.view(np.uint8) if lines.dtype == np.bool_ else lines)

    def as_lines(self, copy_bytes: int) -> Array | None:
        """All columns in float64, one in each line, copied if necessary; None if a copy needs more bytes than this."""
        lines = self._lines
        if self._by_column and lines is not None and lines.dtype == np.float64:
            return lines
        if 8 * self.array.size > copy_bytes:
            return None
        return frozen(np.asfortranarray(self.array, dtype=np.float64).T)

    def stored_columns(self) -> Array | None:
        """The matrix itself where it is one of float64 in Fortran order."""
        usable = self._by_column and self.array.flags.aligned and self.array.dtype == np.float64
        return self.array if usable else None

    @property
    def _by_column(self) -> bool:
        return bool(self.array.flags.f_contiguous)

    def _blocks(self, count: int) -> Iterator[slice]:
        """Slices of columns that fit into a block."""
        width = max(1, self.block_bytes // (8 * max(self.shape[0], 1)))
        for begin in range(0, count, width):
            yield slice(begin, min(begin + width, count))

    def _converted(self, columns: Indices | slice) -> Array:
        """Columns as float64 in any order; runs of neighbours are converted together."""
        return self.array[:, columns].astype(np.float64) if isinstance(columns, slice) else self.columns(columns)

    def dot(self, w: Array, subset: Subset | None = None) -> Array:
        n, p = self.shape
        index = np.arange(p) if subset is None else np.asarray(subset, dtype=np.intp)
        used = np.flatnonzero(w if w.ndim == 1 else w.any(axis=1))
        whole = subset is None and 3 * used.size >= p
        if not whole:
            index, w = index[used], w[used]
        lines, n_vectors = self._lines, _width(w)
        if whole and lines is not None and lines.dtype == np.float64:
            return self.array @ w
        if lines is not None and n_vectors <= FEW_VECTORS and (self._by_column or whole):
            if self._by_column:
                return self._sums(lines, index, w)
            return self._products(lines, np.arange(n), w)
        out = np.zeros((n, *w.shape[1:]))
        for part in self._blocks(index.size):
            out += self._converted(part if whole else index[part]) @ w[part]
        return out

    def tdot(self, r: Array, subset: Subset | None = None) -> Array:
        n, p = self.shape
        index = np.arange(p) if subset is None else np.asarray(subset, dtype=np.intp)
        lines, n_vectors = self._lines, _width(r)
        if lines is not None and subset is None and lines.dtype == np.float64:
            return self.array.T @ r
        if lines is not None and n_vectors <= FEW_VECTORS:
            if lines.dtype == np.float64 and index.size >= _ALMOST_ALL_COLUMNS * p:
                return self.tdot(r)[index]
            if self._by_column:
                return self._products(lines, index, r)
            if subset is None:
                return self._sums(lines, np.arange(n), r)
            if index.size >= _MANY_COLUMNS * p:
                return self.tdot(r)[index]
        out = np.empty((index.size, *r.shape[1:]))
        for part in self._blocks(index.size):
            out[part] = self._converted(part if subset is None else index[part]).T @ r
        return out

    def columns(self, subset: Subset) -> Array:
        index = np.asarray(subset, dtype=np.intp)
        if self.array.dtype == np.float64:
            return np.asfortranarray(self._taken(index))
        out = np.empty((index.size, self.shape[0]))
        for part in self._blocks(index.size):
            out[part] = self._taken(index[part]).T
        return out.T

    def _taken(self, index: Indices) -> NDArray[Any]:
        """Columns in their own type; of a matrix in C order each row is read once, not once for every column."""
        return np.take(self.array, index, axis=1) if self.array.flags.c_contiguous else self.array[:, index]

    def rows(self, keep: Indices) -> Dense:
        if self._by_column:
            return Dense(np.take(self.array.T, keep, axis=1).T)
        return Dense(np.take(self.array, keep, axis=0))

    def take(self, subset: Subset) -> Dense:
        index = np.asarray(subset, dtype=np.intp)
        if self._by_column:
            return Dense(np.take(self.array.T, index, axis=0).T)
        return Dense(np.take(self.array, index, axis=1))

    def nbytes_of(self, subset: Subset) -> int:
        return self.shape[0] * len(subset) * self.array.itemsize

    def digests(self, keys: NDArray[np.uint64]) -> NDArray[np.uint64] | None:
        lines = self._lines
        if lines is None or lines.dtype != np.float64:
            return None
        out = np.zeros((2, self.shape[1]), dtype=np.uint64)
        line_digests(lines.view(np.uint64), frozen(keys), self._by_column, out)
        return out

    def pack(self, centred: bool) -> DensePack:
        return DensePack(self, centred)

    def survey(self, weights: Array, targets: Array | None = None) -> Survey:
        n = self.shape[0]
        Y = np.empty((n, 0)) if targets is None else targets.reshape(n, _width(targets))
        share = weights / weights.sum()
        with np.errstate(over="ignore", invalid="ignore"):
            about, sums = self._sums_about_first_rows(share, Y)
            rest, second, products = sums[0], sums[1], sums[2:].T + np.outer(about, Y.sum(axis=0))
            variance = second - rest**2
            # The first rows differ from the others, or numbers are too large for differences of squares.
            unlike = np.flatnonzero(~(rest**2 <= variance))
            for part in self._blocks(unlike.size):
                index = unlike[part]
                block = self.columns(index)
                if not np.isfinite(block).all():
                    refuse_entries()
                products[index] = block.T @ Y
                about[index], rest[index], variance[index] = _careful_moments(block, share)
        constant = second == 0.0
        # Squares of small deviations may underflow.
        doubtful = np.flatnonzero(constant)
        for part in self._blocks(doubtful.size):
            entries = self.array[:, doubtful[part]]
            constant[doubtful[part]] = (entries == entries[0]).all(axis=0)
        moments = settled(about, rest, variance, constant, self.array[0])
        return Survey(moments, products if targets is None or targets.ndim == 2 else products[:, 0])

    def _sums_about_first_rows(self, share: Array, targets: Array) -> tuple[Array, Array]:
        """The mean of the first rows of each column, and the sums of the deviations from it."""
        about, sums = np.empty(self.shape[1]), np.zeros((2 + targets.shape[1], self.shape[1]))
        lines = self._lines
        if lines is None:
            for part in self._blocks(about.size):
                # A copy in any case: columns that are contiguous may still not be aligned.
                block = Dense(np.array(self.array[:, part], order="F"))
                about[part], sums[:, part] = block._sums_about_first_rows(share, targets)
            return about, sums
        kernel, step = (survey_lines, _by_line(lines)) if self._by_column else (survey_across, _across(about.size))
        fixed = frozen(share), _as_lines(targets)
        self._divide(lambda begin, end: kernel(lines, begin, end, *fixed, about, sums), about.size, step, lines.nbytes)
        return about, sums

    def _products(self, lines: NDArray[Any], index: Indices, vectors: Array) -> Array:
        """Inner products of the chosen lines with vectors."""
        rows = _as_lines(vectors)
        chosen, out = frozen(index), np.empty((rows.shape[0], index.size))
        step, nbytes = _by_line(lines), index.size * lines.shape[1] * lines.itemsize
        self._divide(lambda begin, end: line_products(lines, chosen, begin, end, rows, out), index.size, step, nbytes)
        return out[0] if vectors.ndim == 1 else out.T

    def _sums(self, lines: NDArray[Any], index: Indices, vectors: Array) -> Array:
        """Sums of the chosen lines, multiplied by the entries of vectors."""
        rows = _as_lines(vectors)
        chosen, out = frozen(index), np.empty((rows.shape[0], lines.shape[1]))
        count = lines.shape[1]
        step, nbytes = _across(count), index.size * count * lines.itemsize
        self._divide(lambda begin, end: line_sums(lines, chosen, begin, end, rows, out), count, step, nbytes)
        return out[0] if vectors.ndim == 1 else out.T

    def _divide(self, work: Callable[[int, int], None], count: int, step: int, nbytes: int) -> None:
        """Call ``work(begin, end)`` for parts of 0 to count, on all cores if there is enough work."""
        if nbytes < self.thread_bytes or step >= count or cores() == 1:
            work(0, count)
            return
        with ThreadPoolExecutor(cores()) as pool:
            for done in [pool.submit(work, begin, min(begin + step, count)) for begin in range(0, count, step)]:
                done.result()


def _careful_moments(block: Array, share: Array) -> tuple[Array, Array, Array]:
    """Means of columns in two parts, and their variances, from deviations that are computed twice."""
    about = share @ block
    rest = share @ (block - about)
    return about, rest, share @ ((block - about) - rest) ** 2


def _as_lines(vectors: Array) -> Array:
    """A vector or a block of vectors, one in each line."""
    return frozen(np.ascontiguousarray(vectors[None] if vectors.ndim == 1 else vectors.T, dtype=np.float64))


def _width(vectors: Array) -> int:
    """The number of vectors."""
    return 1 if vectors.ndim == 1 else vectors.shape[1]


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _by_line(lines: NDArray[Any]) -> int:
    """The number of lines that a thread takes at a time, a multiple of the four that kernels process together."""
    return max(1, _PART_BYTES // (4 * lines.shape[1] * lines.itemsize)) * 4


def _across(count: int) -> int:
    """The number of entries of each line that a thread takes at a time."""
    return -(-count // (_PARTS_ACROSS * _CACHE_LINE)) * _CACHE_LINE


def compile_kernels() -> None:
    """Compile the kernels for matrices of float32 and float64 in both orders; other types are compiled on first use."""
    for dtype in (np.float32, np.float64):
        for order in ("C", "F"):
            design = Dense(np.ones((2, 4), dtype=dtype, order=order))
            design.survey(np.ones(2))
            design.dot(np.ones(4))
            design.dot(np.ones(1), [0])
            design.tdot(np.ones(2))
            design.tdot(np.ones(2), [0])
    design.digests(np.ones((2, 2), dtype=np.uint64))
