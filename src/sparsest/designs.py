"""Design matrices: column and matrix products over dense, sparse and lazily standardised data.

A design never changes and never copies the user's matrix, except where it must be converted (integers,
booleans, other sparse layouts).  All products return float64, whatever the storage.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sparsest.checks import as_array, as_numbers, check_sparse

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_BLOCK_BYTES = 1 << 24


class Design(ABC):
    """An n × p matrix known by its products.

    ``dot(w) = Xw``, ``tdot(r) = X'r``, ``columns(S)`` the packed float64 columns in Fortran order.
    """

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""

    @abstractmethod
    def dot(self, w: Array) -> Array:
        """``Xw``; columns with a zero weight cost nothing when most are zero."""

    @abstractmethod
    def tdot(self, r: Array) -> Array:
        """``X'r`` for a vector (n,) or a block of vectors (n, m)."""

    @abstractmethod
    def columns(self, subset: Sequence[int] | Indices) -> Array:
        """The chosen columns, packed, float64, Fortran order."""

    @abstractmethod
    def moments(self, weights: Array) -> tuple[Array, Array]:
        """Weighted column means, and weighted means of squares about them."""

    def column_norms(self) -> Array:
        """Euclidean norm of every column."""
        n = self.shape[0]
        mean, variance = self.moments(np.ones(n))
        return np.sqrt(n * (variance + mean**2))

    def gram(self, subset: Sequence[int] | Indices, weights: Array | None = None) -> Array:
        """``X_S' diag(ω) X_S`` for the chosen columns."""
        block = self.columns(subset)
        return block.T @ (block if weights is None else weights[:, None] * block)

    @abstractmethod
    def max_row_norm(self) -> float:
        """The largest Euclidean norm of a row."""


@dataclass(frozen=True, eq=False)
class Dense(Design):
    """A dense matrix, C or Fortran order, float32 or float64, possibly read-only."""

    array: NDArray[Any]

    @property
    def shape(self) -> tuple[int, int]:
        return self.array.shape

    def _blocks(self) -> Iterator[tuple[slice, Array]]:
        """Blocks of columns as float64 matrices: the whole matrix where it is float64 already."""
        n, p = self.shape
        width = max(1, p if self.array.dtype == np.float64 else _BLOCK_BYTES // (8 * max(n, 1)))
        for start in range(0, p, width):
            part = slice(start, min(start + width, p))
            yield part, self.array[:, part].astype(np.float64, copy=False)

    def dot(self, w: Array) -> Array:
        used = np.flatnonzero(w)
        if 3 * used.size < w.size:
            return self.columns(used) @ w[used]
        out = np.zeros(self.shape[0])
        for part, block in self._blocks():
            out += block @ w[part]
        return out

    def tdot(self, r: Array) -> Array:
        out = np.empty((self.shape[1], *r.shape[1:]))
        for part, block in self._blocks():
            np.matmul(block.T, r, out=out[part])
        return out

    def columns(self, subset: Sequence[int] | Indices) -> Array:
        return np.asfortranarray(self.array[:, np.asarray(subset, dtype=np.intp)], dtype=np.float64)

    def moments(self, weights: Array) -> tuple[Array, Array]:
        n, p = self.shape
        total = weights.sum()
        mean, variance = np.empty(p), np.empty(p)
        width = max(1, _BLOCK_BYTES // (8 * n))
        for start in range(0, p, width):
            part = slice(start, min(start + width, p))
            block = self.array[:, part].astype(np.float64)
            mean[part] = weights @ block / total
            block -= mean[part]
            np.square(block, out=block)
            variance[part] = weights @ block / total
        return mean, variance

    def max_row_norm(self) -> float:
        squares = np.zeros(self.shape[0])
        for _, block in self._blocks():
            squares += np.einsum("ij,ij->i", block, block)
        return float(np.sqrt(squares.max()))


@dataclass(frozen=True, eq=False)
class Sparse(Design):
    """A matrix in compressed sparse column form."""

    matrix: sp.csc_array

    @property
    def shape(self) -> tuple[int, int]:
        return self.matrix.shape

    def dot(self, w: Array) -> Array:
        used = np.flatnonzero(w)
        if 3 * used.size < w.size:
            return np.asarray(self.matrix[:, used] @ w[used], dtype=np.float64)
        return np.asarray(self.matrix @ w, dtype=np.float64)

    def tdot(self, r: Array) -> Array:
        return np.asarray(self.matrix.T @ r, dtype=np.float64)

    def columns(self, subset: Sequence[int] | Indices) -> Array:
        part = self.matrix[:, np.asarray(subset, dtype=np.intp)]
        return np.asarray(part.toarray(order="F"), dtype=np.float64)

    def moments(self, weights: Array) -> tuple[Array, Array]:
        total = weights.sum()
        mean = self.tdot(weights) / total
        # Deviations of the stored entries, plus those of the zeros: no cancellation of large squares.
        column = np.repeat(np.arange(self.shape[1]), np.diff(self.matrix.indptr))
        entry_weight = weights[self.matrix.indices]
        deviation = self.matrix.data.astype(np.float64) - mean[column]
        p = self.shape[1]
        stored = np.bincount(column, entry_weight * deviation**2, p)
        zeros = total - np.bincount(column, entry_weight, p)
        return mean, (stored + np.maximum(zeros, 0.0) * mean**2) / total

    def max_row_norm(self) -> float:
        squares = np.bincount(self.matrix.indices, self.matrix.data.astype(np.float64) ** 2, self.shape[0])
        return float(np.sqrt(squares.max()))


@dataclass(frozen=True, eq=False)
class Standardized(Design):
    """The view ``(X - 1 shift') / scale`` of another design; nothing is copied or made dense."""

    base: Design
    shift: Array
    scale: Array

    @property
    def shape(self) -> tuple[int, int]:
        return self.base.shape

    def dot(self, w: Array) -> Array:
        v = w / self.scale
        return self.base.dot(v) - self.shift @ v

    def tdot(self, r: Array) -> Array:
        total = r.sum(axis=0)
        if r.ndim == 1:
            return (self.base.tdot(r) - self.shift * total) / self.scale
        return (self.base.tdot(r) - np.outer(self.shift, total)) / self.scale[:, None]

    def columns(self, subset: Sequence[int] | Indices) -> Array:
        index = np.asarray(subset, dtype=np.intp)
        block = self.base.columns(index)
        block -= self.shift[index]
        block /= self.scale[index]
        return block

    def moments(self, weights: Array) -> tuple[Array, Array]:
        mean, variance = self.base.moments(weights)
        return (mean - self.shift) / self.scale, variance / self.scale**2

    def max_row_norm(self) -> float:
        n, p = self.shape
        squares = np.zeros(n)
        width = max(1, _BLOCK_BYTES // (8 * n))
        for start in range(0, p, width):
            block = self.columns(np.arange(start, min(start + width, p)))
            squares += np.einsum("ij,ij->i", block, block)
        return float(np.sqrt(squares.max()))


def take_apart(view: Design) -> tuple[Design, Array, Array]:
    """Return the stored matrix of a view, and the shift and the scale that the view applies to it."""
    if isinstance(view, Standardized):
        return view.base, view.shift, view.scale
    return view, np.zeros(view.shape[1]), np.ones(view.shape[1])


def stored_matrix(design: Design) -> Any:
    """The matrix of a design as it is stored, for whoever reads it without the design's products."""
    if isinstance(design, Sparse):
        return design.matrix
    if isinstance(design, Dense):
        return design.array
    raise ValueError("a view has no matrix of its own: take it apart first")


def as_design(X: Any) -> Design:
    """Wrap a matrix, sparse matrix or data frame; convert only what has to be converted."""
    if isinstance(X, Design):
        return X
    design = Sparse(_sparse_matrix(X)) if sp.issparse(X) else Dense(_dense_matrix(X))
    n, p = design.shape
    if n == 0 or p == 0:
        raise ValueError(f"X must have at least one row and one column, got shape {design.shape}")
    if not _all_finite(design.matrix.data if isinstance(design, Sparse) else design.array):
        raise ValueError("X contains NaN or infinity: impute or drop those entries first")
    return design


def _sparse_matrix(X: Any) -> sp.csc_array:
    """Compressed columns of float32 or float64 without duplicate entries."""
    check_sparse(X, "X")
    columns = X.tocsc()
    if columns.dtype not in (np.float32, np.float64):
        columns = columns.astype(np.float64)
    # A new container looks for itself whether entries are sorted and distinct; X's own claim may be wrong.
    matrix = sp.csc_array((columns.data, columns.indices, columns.indptr), shape=columns.shape)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix


def _dense_matrix(X: Any) -> NDArray[Any]:
    """Two dimensions of float32 or float64."""
    array = as_array(X, "X")
    if array.ndim != 2:
        hint = "reshape a single column with X.reshape(-1, 1)"
        raise ValueError(f"X must be a matrix with two dimensions, got {array.ndim}; {hint}")
    return array if array.dtype in (np.float32, np.float64) else as_numbers(array, "X")


def _all_finite(values: NDArray[Any]) -> bool:
    """Whether every entry is finite, without a temporary of the matrix's size."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = values.sum(dtype=np.float64)
    if np.isfinite(total):
        return True
    flat = values.ravel(order="K")
    step = _BLOCK_BYTES // 8
    return all(np.isfinite(flat[i : i + step]).all() for i in range(0, flat.size, step))


def standardized(design: Design, weights: Array, *, center: bool, scale: bool) -> Design:
    """Return the view with weighted mean 0 (``center``) and mean square 1 (``scale``).

    Constant columns keep scale 1.
    """
    return view_with(design, *design.moments(weights), center=center, scale=scale)


def view_with(design: Design, mean: Array, variance: Array, *, center: bool, scale: bool) -> Design:
    """Return the standardised view from moments that are known already."""
    if not (center or scale):
        return design
    p = design.shape[1]
    shift = mean if center else np.zeros(p)
    factor = np.ones(p)
    if scale:
        factor = np.sqrt(variance if center else variance + mean**2)
        # A constant column's computed deviation is rounding error of its mean, not a scale.
        factor[factor <= 1e-12 * np.abs(mean)] = 1.0
        factor[factor == 0.0] = 1.0
    return Standardized(design, shift, factor)
