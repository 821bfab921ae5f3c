"""Matrices that are read on demand, such as from disk: the interface of readers, and the sources for arrays.

A source reads *lines*: columns, or rows if rows are contiguous.  :class:`~sparsest.core.designs.streamed`
makes a design of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sparsest.core.arrays import Indices
from sparsest.core.checks import as_numbers, check_sparse
from sparsest.core.designs.base import Design
from sparsest.core.designs.dense import STORED_TYPES, Dense
from sparsest.core.designs.sparse import Sparse
from sparsest.runtime.sizes import sizes

# Blocks of lines that are read at a time.  Larger ones use more memory, smaller ones more calls.
BLOCK_BYTES = 1 << 25
# Smallest number of bytes that are read from disk at a time.
PAGE = 4096
_LARGEST_INDEX = int(np.iinfo(np.int32).max)


class Source(ABC):
    """An n × p matrix whose lines are read on demand.

    Attributes
    ----------
    shape : rows and columns.
    by_rows : whether lines are rows.
    mapped : whether ``read`` returns views of memory, possibly mapped, so that it costs nothing for lines not in use.
    concurrent : whether several threads may read at a time.
    step : lines are read in multiples of this number, such as those of a chunk.
    line_bytes : bytes of a line as ``read`` returns it.
    stored_line_bytes : bytes of a line as it is stored, if different.
    block_bytes : size of blocks, if it is not the default.
    imputes : how missing values are replaced, such as "mean"; None if they are not.
    names : names of the columns, or None.
    """

    shape: tuple[int, int]
    by_rows: bool = False
    mapped: bool = False
    concurrent: bool = False
    step: int = 1
    line_bytes: int
    stored_line_bytes: int | None = None
    block_bytes: int | None = None
    imputes: str | None = None
    names: tuple[str, ...] | None = None

    @abstractmethod
    def read(self, begin: int, end: int) -> Any:
        """Lines from ``begin`` to ``end`` as a part of the matrix: an array, a compressed sparse array, or a design."""

    def taken(self, index: Indices) -> Source | None:
        """Some columns, copied in the form in which they are stored; None if there is no such copy."""
        return None

    @property
    def n_lines(self) -> int:
        """Number of lines."""
        return self.shape[0] if self.by_rows else self.shape[1]

    def width(self, block_bytes: int) -> int:
        """Number of lines that are read at a time."""
        lines = min(block_bytes, self.block_bytes or block_bytes) // max(self.line_bytes, 1)
        if self.mapped and self.by_rows:
            lines = max(lines, sizes().rows_of_map)
        return max(lines // self.step, 1) * self.step

    @property
    def nbytes(self) -> int:
        """Bytes of the matrix as it is stored."""
        return (self.stored_line_bytes or self.line_bytes) * self.n_lines

    def share_of_rows(self, n_columns: int) -> float:
        """The share of each row that is read for some of its columns: a page for each of them if rows are mapped."""
        return min(1.0, n_columns * PAGE / self.line_bytes) if self.mapped and self.by_rows else 1.0

    def column_bytes(self, index: Indices) -> int:
        """Bytes of some columns as they are stored."""
        each = self.line_bytes if not self.by_rows else -(-self.nbytes // max(self.shape[1], 1))
        return each * index.size


class PickingSource(Source):
    """A source that reads some lines without those between them."""

    @abstractmethod
    def pick(self, index: Indices) -> Any:
        """Lines of these increasing numbers."""

    def read(self, begin: int, end: int) -> Any:
        """Lines from ``begin`` to ``end``."""
        return self.pick(np.arange(begin, end))


@dataclass(eq=False)
class ArraySource(Source):
    """An array in either order, usually mapped."""

    array: NDArray[Any]

    def __post_init__(self) -> None:
        self.shape, self.mapped, self.concurrent = self.array.shape, True, True
        n, p = self.shape
        self.by_rows = not self.array.flags.f_contiguous
        self.line_bytes = self.array.itemsize * (p if self.by_rows else n)

    def read(self, begin: int, end: int) -> Any:
        return self.array[begin:end] if self.by_rows else self.array[:, begin:end]


@dataclass(eq=False)
class SlicedSource(Source):
    """Anything with shape, dtype and slices, such as a dataset of h5py or an array of zarr.

    Lines are rows unless chunks are tall: a block is at least as wide as a chunk.
    """

    array: Any
    chunks: tuple[int, int] | None = None
    names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if len(self.array.shape) != 2:
            raise ValueError(f"X must be a matrix with two dimensions, got {len(self.array.shape)}")
        n, p = (int(size) for size in self.array.shape)
        self.shape = n, p
        dtype = np.dtype(self.array.dtype)
        if dtype.kind not in "fiub":
            raise ValueError(f"X must hold real numbers, got entries of type {dtype}")
        height, width = (1, p) if self.chunks is None else self.chunks
        self.by_rows = height * p <= n * width
        self.step = height if self.by_rows else width
        # Half precision is converted.
        self.line_bytes = max(dtype.itemsize, 4 if dtype.kind == "f" else 1) * (p if self.by_rows else n)

    def read(self, begin: int, end: int) -> Any:
        return np.asarray(self.array[begin:end] if self.by_rows else self.array[:, begin:end])


@dataclass(eq=False)
class CompressedSource(Source):
    """Compressed sparse rows or columns in three arrays that can be sliced, such as mapped ones or those of HDF5."""

    data: Any
    indices: Any
    starts: NDArray[np.int64]
    shape: tuple[int, int]
    by_rows: bool = False
    names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        lines = self.n_lines
        if self.starts.shape != (lines + 1,) or self.starts[0] != 0 or (np.diff(self.starts) < 0).any():
            raise ValueError("X is a broken sparse matrix: its indptr does not rise from 0 to the number of entries")
        if not self.starts[-1] <= min(len(self.data), len(self.indices)):
            raise ValueError("X is a broken sparse matrix: it has fewer entries than its indptr says")
        self._each = np.dtype(self.data.dtype).itemsize + np.dtype(self.indices.dtype).itemsize
        self.line_bytes = max(1, -(-int(self.starts[-1]) * self._each // max(lines, 1)))

    def read(self, begin: int, end: int) -> Any:
        part = slice(int(self.starts[begin]), int(self.starts[end]))
        make = sp.csr_array if self.by_rows else sp.csc_array
        shape = (end - begin, self.shape[1]) if self.by_rows else (self.shape[0], end - begin)
        indptr = self.starts[begin : end + 1] - self.starts[begin]
        if part.stop - part.start <= _LARGEST_INDEX:
            # SciPy would convert the indices of the entries to the type of these.
            indptr = indptr.astype(np.int32)
        # The constructor does not check, so that ``check_sparse`` reports errors.
        return make((np.asarray(self.data[part]), np.asarray(self.indices[part]), indptr), shape=shape)

    @property
    def nbytes(self) -> int:
        return int(self.starts[-1]) * self._each

    def column_bytes(self, index: Indices) -> int:
        if self.by_rows:
            # The number of entries is not known before all rows are read; this is the largest.
            return (self._each * self.shape[0] + 8) * index.size
        return int((self._each * (self.starts[index + 1] - self.starts[index]) + 8).sum())


def in_memory(matrix: Any) -> Source:
    """The source of an array, or of compressed sparse columns or rows."""
    if not sp.issparse(matrix):
        return ArraySource(matrix)
    starts = matrix.indptr.astype(np.int64)
    source = CompressedSource(matrix.data, matrix.indices, starts, matrix.shape, matrix.format == "csr")
    source.concurrent = True
    return source


def as_block(part: Any, thread_bytes: int) -> Design:
    """The design of a part of a matrix; ValueError if it does not hold real numbers."""
    if isinstance(part, Design):
        return part
    if sp.issparse(part):
        check_sparse(part, "X")
        return Sparse(compressed_columns(part))
    array = np.asarray(part)
    if array.dtype not in STORED_TYPES:
        array = array.astype(np.float32) if array.dtype == np.float16 else as_numbers(array, "X")
    return Dense(array, thread_bytes=thread_bytes)


def compressed_columns(X: Any) -> sp.csc_array:
    """Compressed columns of float32 or float64 without duplicate entries."""
    # Duplicates are added in double precision, so convert before a conversion of the format adds them.
    compressed = X.format in ("csc", "csr")
    if X.dtype != np.float64 and not (compressed and X.dtype == np.float32):
        X = X.astype(np.float64)
    columns = X.tocsc()
    # A new container determines for itself whether entries are sorted and distinct; X's own claim may be wrong.
    matrix = sp.csc_array((columns.data, columns.indices, columns.indptr), shape=columns.shape)
    if not matrix.has_sorted_indices:
        matrix = matrix.sorted_indices()
    if not matrix.has_canonical_format:
        matrix = matrix.astype(np.float64)
        matrix.sum_duplicates()
    return matrix
