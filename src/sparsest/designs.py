"""Design matrices: column and matrix products over dense, sparse and lazily standardised data.

A design never changes and never copies the user's matrix, except where it must be converted (integers,
booleans, other sparse layouts), and single columns whose means are far from zero.  All products return float64,
whatever the storage.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sparsest.checks import as_array, as_numbers, check_sparse

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_BLOCK_BYTES = 1 << 24

# Products with a column lose as many digits to its mean as this, times its deviation, has; columns with larger means
# are centred in a copy.  Three digits of sixteen are no loss, and such columns are rare.
FAR = 1e3

# Share of the variance that the square of a mean's rounding error may have: it is far below rounding itself.
_NEGLIGIBLE = 1e-18

# Deviations below this part of the mean may be rounding errors: whether the column is constant is looked up.
_DOUBTFUL = 1e-8


class Moments(NamedTuple):
    """Weighted moments of columns; the mean is ``mean + rest``, where ``mean`` is the float nearest to it.

    The variance is zero for columns whose entries are all equal and for no others, and to a few roundings right
    however large the means: deviations are taken from a float near the mean, which is exact for entries near it.
    """

    mean: Array
    rest: Array
    variance: Array

    def far(self) -> Indices:
        """Columns whose means are so large that plain products with them lose digits."""
        return np.flatnonzero(np.abs(self.mean) > FAR * np.sqrt(self.variance))


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
    def moments(self, weights: Array) -> Moments:
        """Weighted column means, and weighted means of squares about them."""

    def column_norms(self) -> Array:
        """Euclidean norm of every column."""
        n = self.shape[0]
        mean, _, variance = self.moments(np.ones(n))
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

    def moments(self, weights: Array) -> Moments:
        n, p = self.shape
        share = weights / weights.sum()
        about, rest, variance = np.empty(p), np.empty(p), np.empty(p)
        width = max(1, _BLOCK_BYTES // (8 * n))
        for start in range(0, p, width):
            part = slice(start, min(start + width, p))
            # One order for all: sums must not depend on how the data lie in memory.
            block = self.array[:, part].astype(np.float64, order="F")
            about[part] = share @ block
            block -= about[part]
            rest[part] = share @ block
            np.square(block, out=block)
            variance[part] = share @ block
        # Where the mean is too large for one rounding to be small beside the deviations, these are taken again.
        again = np.flatnonzero(rest**2 > _NEGLIGIBLE * variance)
        if again.size:
            variance[again] = share @ ((self.columns(again) - about[again]) - rest[again]) ** 2
        doubtful = _doubtful(about, variance)
        entries = self.array[:, doubtful]
        constant = entries.min(axis=0) == entries.max(axis=0)
        return _settled(about, rest, variance, doubtful[constant], self.array[0])

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

    def moments(self, weights: Array) -> Moments:
        p, matrix = self.shape[1], self.matrix
        share = weights / weights.sum()
        about = self.tdot(share)
        # Deviations of the stored entries, plus those of the zeros: no cancellation of large squares.
        column, count = np.repeat(np.arange(p), np.diff(matrix.indptr)), np.diff(matrix.indptr)
        entry_share = share[matrix.indices]
        zeros = np.maximum(share.sum() - np.bincount(column, entry_share, p), 0.0)
        # A full column has no zeros, not even by rounding.
        zeros[count == self.shape[0]] = 0.0
        deviation = matrix.data.astype(np.float64) - about[column]
        rest = np.bincount(column, entry_share * deviation, p) - zeros * about
        variance = np.bincount(column, entry_share * (deviation - rest[column]) ** 2, p) + zeros * (about + rest) ** 2
        first = np.zeros(p)
        first[count > 0] = matrix.data[matrix.indptr[:-1][count > 0]]
        empty = np.bincount(column, matrix.data != 0.0, p) == 0.0
        constant = [j for j in _doubtful(about, variance) if empty[j] or self._is_full_of(first[j], j)]
        return _settled(about, rest, variance, np.array(constant, dtype=np.intp), first)

    def _is_full_of(self, value: float, j: int) -> bool:
        entries = self.matrix.data[self.matrix.indptr[j] : self.matrix.indptr[j + 1]]
        return entries.size == self.shape[0] and bool((entries == value).all())

    def replaced(self, index: Indices, columns: Array) -> Sparse:
        """The matrix with these columns in the place of those stored."""
        kept = np.setdiff1d(np.arange(self.shape[1]), index)
        order = np.argsort(np.concatenate([kept, index]))
        return Sparse(sp.hstack([self.matrix[:, kept], sp.csc_array(columns)], format="csc")[:, order])

    def max_row_norm(self) -> float:
        squares = np.bincount(self.matrix.indices, self.matrix.data.astype(np.float64) ** 2, self.shape[0])
        return float(np.sqrt(squares.max()))


def _doubtful(mean: Array, variance: Array) -> Indices:
    """Columns that may be constant."""
    return np.flatnonzero(~(variance > (_DOUBTFUL * mean) ** 2))


def _settled(about: Array, rest: Array, variance: Array, constant: Indices, first: NDArray[Any]) -> Moments:
    """Return the moments with the mean rounded once, and those of constant columns as they are."""
    mean = about + rest
    rest = (about - mean) + rest
    # Squares that vanish are still no constant.
    variance[variance == 0.0] = np.finfo(np.float64).tiny
    mean[constant], rest[constant], variance[constant] = first[constant], 0.0, 0.0
    return Moments(mean, rest, variance)


@dataclass(frozen=True, eq=False)
class Standardized(Design):
    """The view ``(X - 1 shift') / scale`` of another design; nothing is made dense.

    Nothing is copied but the columns ``far``, whose means are too large for products with what is stored: ``packed``
    holds them centred and scaled.
    """

    base: Design
    shift: Array
    scale: Array
    far: Indices
    packed: Array

    @property
    def shape(self) -> tuple[int, int]:
        return self.base.shape

    def dot(self, w: Array) -> Array:
        v = w / self.scale
        v[self.far] = 0.0
        product = self.base.dot(v) - self.shift @ v
        return product + self.packed @ w[self.far] if self.far.size else product

    def tdot(self, r: Array) -> Array:
        total = r.sum(axis=0)
        if r.ndim == 1:
            products = (self.base.tdot(r) - self.shift * total) / self.scale
        else:
            products = (self.base.tdot(r) - np.outer(self.shift, total)) / self.scale[:, None]
        if self.far.size:
            products[self.far] = self.packed.T @ r
        return products

    def columns(self, subset: Sequence[int] | Indices) -> Array:
        index = np.asarray(subset, dtype=np.intp)
        block = self.base.columns(index)
        block -= self.shift[index]
        block /= self.scale[index]
        if self.far.size:
            place = np.minimum(np.searchsorted(self.far, index), self.far.size - 1)
            apart = self.far[place] == index
            block[:, apart] = self.packed[:, place[apart]]
        return block

    def moments(self, weights: Array) -> Moments:
        mean, rest, variance = self.base.moments(weights)
        mean, rest, variance = (mean - self.shift) / self.scale, rest / self.scale, variance / self.scale**2
        if self.far.size:
            mean[self.far], rest[self.far], variance[self.far] = Dense(self.packed).moments(weights)
        return Moments(mean, rest, variance)

    def max_row_norm(self) -> float:
        n, p = self.shape
        squares = np.zeros(n)
        width = max(1, _BLOCK_BYTES // (8 * n))
        for start in range(0, p, width):
            block = self.columns(np.arange(start, min(start + width, p)))
            squares += np.einsum("ij,ij->i", block, block)
        return float(np.sqrt(squares.max()))


def take_apart(view: Design) -> tuple[Design, Array, Array]:
    """Return the stored matrix of a view, and the shift and the scale that the view applies to it.

    Columns that a view keeps apart take their places in a sparse matrix; a dense matrix would have to be copied, and
    the view is returned itself.
    """
    if isinstance(view, Standardized):
        if view.far.size == 0:
            return view.base, view.shift, view.scale
        if isinstance(view.base, Sparse):
            shift, scale = view.shift.copy(), view.scale.copy()
            shift[view.far], scale[view.far] = 0.0, 1.0
            return view.base.replaced(view.far, view.packed), shift, scale
    return view, np.zeros(view.shape[1]), np.ones(view.shape[1])


def stored_matrix(design: Design) -> Any:
    """The matrix of a design or of what it is a view of, for whoever reads it without the design's products."""
    base = design.base if isinstance(design, Standardized) else design
    if isinstance(base, Sparse):
        return base.matrix
    if isinstance(base, Dense):
        return base.array
    raise ValueError("this design does not store a matrix")


def shift_and_scale(view: Design, index: Indices) -> tuple[Array, Array]:
    """What a view subtracts from some columns, and what it then divides them by."""
    if isinstance(view, Standardized):
        return view.shift[index], view.scale[index]
    return np.zeros(index.size), np.ones(index.size)


def in_units_of_data(view: Design, index: Indices | slice, w: Array) -> tuple[Array, float]:
    """Return what coefficients ``w`` of columns of a view are for the data, and the constant that goes with them."""
    if not isinstance(view, Standardized):
        return w, 0.0
    coef = w / view.scale[index]
    return coef, -float(view.shift[index] @ coef)


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
    return view_with(design, design.moments(weights), center=center, scale=scale)


def view_with(design: Design, moments: Moments, *, center: bool, scale: bool) -> Design:
    """Return the standardised view from moments that are known already."""
    if not (center or scale):
        return design
    mean, rest, variance = moments
    factor = np.ones(mean.size)
    if scale:
        factor = np.sqrt(variance if center else variance + mean**2)
        factor[factor == 0.0] = 1.0
    if not center:
        return Standardized(design, np.zeros(mean.size), factor, np.empty(0, dtype=np.intp), np.empty((0, 0)))
    far = moments.far()
    packed = np.empty((0, 0))
    if far.size:
        packed = design.columns(far)
        packed -= mean[far]
        packed -= rest[far]
        packed /= factor[far]
    return Standardized(design, mean, factor, far, packed)
