"""Reading of the given data: real numbers of at most double precision, without rounding; anything else is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sparsest.proofs.cluster import DaskGrid, is_dask_array
from sparsest.proofs.grid import Grid, is_sequence_of_matrices, row_chunks
from sparsest.proofs.rounding import Array, Indices

_EXACT_INTEGER = 2**53
# Arrays of at least this many bytes in row order are read by rows, in blocks of about the second number of bytes and at
# least the third number of rows: reading some columns of a large file would read most of it.
_MANY_BYTES, BLOCK_BYTES, _LEAST_ROWS = 1 << 28, 1 << 25, 64


@dataclass(frozen=True)
class ColumnBlocks:
    """A matrix that is stored elsewhere, such as on disk; ``read`` returns the columns with the given numbers.

    If there is a ``grid``, passes over all columns send functions to its blocks instead of reading them.
    """

    shape: tuple[int, int]
    read: Callable[[Indices], NDArray[Any]]
    grid: Grid | None = None

    def columns(self, features: Indices | slice) -> NDArray[Any]:
        """Some columns, in the type that ``read`` returns."""
        chosen = np.arange(self.shape[1])[features]
        block = np.asarray(self.read(chosen))
        if block.shape != (self.shape[0], chosen.size):
            raise ValueError(f"a block of X has shape {block.shape}, expected {(self.shape[0], chosen.size)}")
        require_real(block)
        return block


@dataclass(frozen=True)
class RowBlocks:
    """A matrix whose rows are stored together, elsewhere or mapped; ``read`` returns the rows from begin to end.

    ``height`` rows are read at a time.  ``pick`` returns some columns, if that is faster than reading all rows.
    """

    shape: tuple[int, int]
    read: Callable[[int, int], NDArray[Any]]
    height: int
    pick: Callable[[Indices], NDArray[Any]] | None = None

    def blocks(self) -> Iterator[tuple[slice, NDArray[Any]]]:
        """All rows in blocks, in the type that ``read`` returns."""
        for begin in range(0, self.shape[0], self.height):
            rows = slice(begin, min(begin + self.height, self.shape[0]))
            block = np.asarray(self.read(rows.start, rows.stop))
            if block.shape != (rows.stop - rows.start, self.shape[1]):
                expected = (rows.stop - rows.start, self.shape[1])
                raise ValueError(f"a block of X has shape {block.shape}, expected {expected}")
            require_real(block)
            yield rows, block

    def columns(self, features: Indices | slice) -> NDArray[Any]:
        """Some columns, in one pass."""
        chosen = np.arange(self.shape[1])[features]
        if self.pick is not None:
            return ColumnBlocks(self.shape, self.pick).columns(chosen)
        parts = [np.take(block, chosen, axis=1) for _, block in self.blocks()]
        return np.concatenate(parts)


def _in_rows(array: NDArray[Any]) -> RowBlocks:
    """The blocks of an array in C order, which are not copied."""
    height = max(1, BLOCK_BYTES // max(1, array.strides[0]))
    return RowBlocks(array.shape, lambda begin, end: array[begin:end], max(height, _LEAST_ROWS))


def _of_object(X: Any) -> ColumnBlocks | RowBlocks:
    """The blocks of an object with a method ``columns`` and, if it ``reads_rows``, a method ``read_rows``."""
    if getattr(X, "reads_rows", False):
        return RowBlocks(X.shape, X.read_rows, max(1, BLOCK_BYTES // (8 * X.shape[1])), X.columns)
    return ColumnBlocks(X.shape, X.columns, getattr(X, "whole_grid", None))


def as_matrix(X: Any, many_bytes: int = _MANY_BYTES) -> Any:
    """A matrix that can be indexed by columns; sparse ones in compressed columns, with valid indices.

    Arrays in row order of at least ``many_bytes`` are read by rows.
    """
    if isinstance(X, (ColumnBlocks, RowBlocks)):
        matrix: Any = X
    elif is_dask_array(X):
        matrix = _of_grid(DaskGrid(X))
    elif isinstance(X, Grid):
        matrix = _of_grid(X)
    elif is_sequence_of_matrices(X):
        matrix = _of_grid(row_chunks(X))
    elif callable(getattr(X, "columns", None)) and hasattr(X, "shape"):
        matrix = _of_object(X)
    elif sp.issparse(X):
        matrix = _as_compressed_columns(X)
    else:
        matrix = np.asarray(X)
    if len(matrix.shape) != 2 or 0 in matrix.shape:
        raise ValueError(f"X must be a matrix with rows and columns, got shape {matrix.shape}")
    if isinstance(matrix, (ColumnBlocks, RowBlocks)):
        return matrix
    require_real(matrix)
    by_rows = isinstance(matrix, np.ndarray) and matrix.flags.c_contiguous and matrix.shape[1] > 1
    return _in_rows(matrix) if by_rows and matrix.nbytes >= many_bytes else matrix


def _of_grid(grid: Grid) -> ColumnBlocks:
    return ColumnBlocks(grid.shape, grid.gather, grid)


def require_real(matrix: Any) -> None:
    """Refuse other types than real numbers of at most double precision."""
    if matrix.dtype.kind not in "buif" or matrix.dtype.itemsize > 8:
        raise ValueError("X must hold real numbers of at most double precision")


def _as_compressed_columns(X: Any) -> Any:
    """Compressed columns without duplicate entries.

    Duplicates are added in double precision: small integer types would overflow, and Booleans would lose a count.
    """
    require_real(X)
    if X.format in ("csc", "csr"):
        _check_compressed(X)
    else:
        # Conversions from other formats add duplicates in the type of X.
        if X.format == "bsr":
            X.check_format(full_check=True)
        require_exact(X.tocoo().data, "X")
        X = X.astype(np.float64)
    columns = sp.csc_array(X)
    # A new container determines for itself whether entries are sorted and distinct: X may claim it wrongly.
    columns = sp.csc_array((columns.data, columns.indices, columns.indptr), shape=columns.shape)
    if not columns.has_sorted_indices:
        columns = columns.sorted_indices()
    if not columns.has_canonical_format:
        require_exact(columns.data, "X")
        columns = columns.astype(np.float64)
        columns.sum_duplicates()
    return columns


def _check_compressed(matrix: Any) -> None:
    """Refuse indices outside of the matrix: compiled code would access memory there."""
    outer, inner = matrix.shape if matrix.format == "csr" else matrix.shape[::-1]
    indptr, indices = np.asarray(matrix.indptr), np.asarray(matrix.indices)
    fits = indptr.shape == (outer + 1,) and indptr[0] == 0 and (np.diff(indptr) >= 0).all()
    fits = fits and indptr[-1] <= min(indices.size, np.asarray(matrix.data).size)
    if not fits or (indices.size and not (indices.min() >= 0 and indices.max() < inner)):
        raise ValueError("X is a sparse matrix with indices outside of its shape")


def require_exact(array: NDArray[Any], name: str) -> None:
    """Refuse integers that double precision may not represent."""
    large = array.dtype.kind in "iu" and array.dtype.itemsize == 8 and array.size > 0
    if large and not -_EXACT_INTEGER < int(array.min()) <= int(array.max()) < _EXACT_INTEGER:
        raise ValueError(f"{name} holds integers that double precision cannot represent")


def as_vector(values: Any, n: int, name: str) -> Array:
    """Finite numbers in double precision, one for each observation; a single number is repeated."""
    array = np.asarray(values)
    if array.dtype.kind not in "buif" or array.dtype.itemsize > 8:
        raise ValueError(f"{name} must hold real numbers of at most double precision")
    require_exact(array, name)
    array = array.astype(np.float64)
    array = array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array
    array = np.full(n, float(array)) if array.ndim == 0 and name != "y" else array
    if array.shape != (n,):
        raise ValueError(f"{name} must have {n} entries, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} contains NaN or infinity")
    return array


def as_exposure(exposure: Any, n: int) -> Array:
    """Exposures, which must be positive."""
    values = as_vector(exposure, n, "exposure")
    if not (values > 0.0).all():
        raise ValueError("exposure must be above zero")
    return values


def as_labels(y: Any, n: int) -> Array:
    """Two labels as -1 and 1, in sorted order."""
    array = np.asarray(y)
    array = array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array
    if array.shape != (n,):
        raise ValueError(f"y must have {n} entries, got shape {array.shape}")
    try:
        classes, codes = np.unique(array, return_inverse=True)
    except TypeError as error:
        raise ValueError(f"the labels of y cannot be sorted: {error}") from error
    if classes.size != 2:
        raise ValueError(f"y must have two classes, got {classes.size}")
    return np.where(codes == 1, 1.0, -1.0)
