"""Many rows as few: p + 2 weighted rows with the moments of all rows, for the squared loss.

The squared loss of any model is a quadratic form of its coefficients with the matrix of moments
``M = Σ_i ω_i z_i z_i'``, ``z = (1, x, y)``.  Rows with the same matrix have the same loss for every model, so they have
the same best subsets and the same paths, with any weights, with or without an intercept, and with any standardisation.
One pass over the data computes M, about a point near the means and with compensated sums; ``p + 2`` rows with this
matrix follow from its eigenvectors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import helmert

from sparsest.core.arrays import Array
from sparsest.core.checks import as_array, as_numbers
from sparsest.core.designs import as_design
from sparsest.core.designs.base import Design, refuse_entries
from sparsest.core.designs.row_chunks import as_stored, stored_type
from sparsest.proofs.cluster import DaskGrid, is_dask_array
from sparsest.proofs.grid import Call, is_sequence_of_matrices
from sparsest.proofs.rounding import growth, two_sum
from sparsest.runtime.threads import single_threaded

# Rows are multiplied in blocks of about this many bytes and at most this many rows: errors grow with their number.
_PART_BYTES, _PART_ROWS = 1 << 22, 1 << 13
# Rows of a matrix that are read at a time, and the first rows, from which the point near the means comes.
_CHUNK_BYTES, _HEAD_ROWS = 1 << 26, 1000
# Outside of these limits, squares and their errors may overflow or underflow.
_SMALLEST, _LARGEST = 1e-120, 1e120


class Chunk(NamedTuple):
    """Some rows: features, responses and weights."""

    X: NDArray[Any]
    y: Array
    weights: Array


class _Moments(NamedTuple):
    """``M`` about a point, as the sum of two matrices.

    Attributes
    ----------
    longest, parts : the largest number of rows that were added plainly, and the number of such sums, which were added
        with compensation.
    """

    high: Array
    low: Array
    n_rows: int
    longest: int
    parts: int

    def plus(self, other: _Moments) -> _Moments:
        """The moments of the rows of both."""
        high, error = two_sum(self.high, other.high)
        low = self.low + other.low + error
        n_rows, parts = self.n_rows + other.n_rows, self.parts + other.parts
        return _Moments(high, low, n_rows, max(self.longest, other.longest), parts)

    @property
    def error(self) -> float:
        """A bound of ``|ΔM_jk| / (s_j s_k)``: by Cauchy's inequality, sums of absolute products are at most s_j s_k.

        Entries have two roundings (the difference from the center, the root of the weight), and their products and
        sums ``longest`` more.  The errors of compensated sums are of second order.
        """
        return growth(self.longest + 24) + growth(self.parts + 8) ** 2


@dataclass(frozen=True, eq=False)
class RowSummary:
    """A few rows that replace many: give ``X``, ``y`` and ``sample_weight`` to functions and estimators.

    Certificates are about these rows.  What they prove about the data follows from ``relative_error``.

    Attributes
    ----------
    X, y, sample_weight : the p + 2 rows.
    n_rows : the number of rows that they replace; their weights have the same sum as those of all these rows.
    relative_error : ε, a bound of the errors of all moments: ``|ΔM_jk| ≤ ε s_j s_k`` with ``s_j² = M_jj`` about
        ``center``.  It includes all rounding errors.
    center, spread : the point near the means of the columns and the response, and ``s``; the first entry of ``spread``
        is that of the constant.

    Examples
    --------
    >>> import numpy as np
    >>> import sparsest
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((10_000, 3))
    >>> rows = sparsest.reduce_rows(X, X[:, 0] + rng.standard_normal(10_000))
    >>> rows.n_rows, rows.X.shape, rows.relative_error < 1e-10
    (10000, (5, 3), True)
    """

    X: Array
    y: Array
    sample_weight: Array
    n_rows: int
    relative_error: float
    center: Array
    spread: Array

    def error_of(self, coef: Any, intercept: float = 0.0) -> float:
        """A bound of the difference between a model's losses on these rows and on the data: ``½ ε (Σ_j |v_j| s_j)²``.

        Here v are the coefficients of the residual ``y - b - x'w`` about ``center``: those of the constant, of the
        features and of the response.

        Parameters
        ----------
        coef, intercept : the model, for the data as given

        Examples
        --------
        >>> import numpy as np
        >>> import sparsest
        >>> X = np.random.default_rng(0).standard_normal((10_000, 3))
        >>> rows = sparsest.reduce_rows(X, X[:, 0] - X[:, 1])
        >>> rows.error_of([1.0, -0.5, 0.0]) < 1e-6
        True
        """
        w = np.ravel(np.asarray(coef, dtype=np.float64))
        constant = float(self.center[-1] - self.center[:-1] @ w) - float(intercept)
        v = np.concatenate([[constant], -w, [1.0]])
        return float(0.5 * self.relative_error * (np.abs(v) @ self.spread) ** 2 * (1.0 + growth(4 * v.size + 16)))

    def compare(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The relative error against data, in one pass over them.

        For the data of the summary the result is close to ``relative_error``; for any data it is a rigorous bound.

        Parameters
        ----------
        X, y, sample_weight : as in :func:`sparsest.reduce_rows`
        """
        found, _ = _moments_of(X, y, sample_weight, self.center)
        rows = Chunk(self.X, self.y, self.sample_weight)
        if found.high.shape[0] != self.spread.size:
            raise ValueError(f"the summary has {self.spread.size - 2} features, these data {found.high.shape[0] - 2}")
        return _relative_error(found, _moments(rows, self.center), self.spread)


def reduce_rows(X: Any, y: Any = None, sample_weight: Any = None) -> RowSummary:
    """Reduce n rows to p + 2 weighted rows with the same squared loss for every model, in one pass.

    Use it if n is much larger than p: best subsets and penalty paths of the squared loss then need the new rows only.

    Parameters
    ----------
    X : a matrix of any kind that :func:`sparsest.best_subset` takes (in memory, mapped, on a cluster), a list of
        matrices with some of the rows each, or, if y is None, an iterable of pairs ``(X, y)`` or triples
        ``(X, y, weight)`` with some of the rows each, such as a generator
    y : n responses
    sample_weight : n weights, not negative

    Returns
    -------
    RowSummary

    Notes
    -----
    γ, information criteria and everything else that depends on the sum of the weights are those of the data.
    Cross-validation, the bootstrap, standard errors and other losses depend on single rows, so they need the data.

    Examples
    --------
    >>> import numpy as np
    >>> import sparsest
    >>> def chunks():
    ...     rng = np.random.default_rng(0)
    ...     for _ in range(100):
    ...         X = rng.standard_normal((1000, 20))
    ...         yield X, X[:, 3] - X[:, 7] + rng.standard_normal(1000)
    >>> rows = sparsest.reduce_rows(chunks())
    >>> result = sparsest.best_subset(rows.X, rows.y, k=2, sample_weight=rows.sample_weight)
    >>> rows.X.shape, result.support.tolist(), result.status.name
    ((22, 20), [3, 7], 'OPTIMAL')
    """
    moments, center = _moments_of(X, y, sample_weight, None)
    M = moments.high + moments.low
    spread = np.sqrt(np.diag(M))
    _check_range(spread)
    total, size = M[0, 0], M.shape[0]
    mean = M[0, 1:] / total
    G = M[1:, 1:] - np.outer(M[0, 1:], mean)
    scale = np.sqrt(np.maximum(np.diag(G), 0.0))
    units = np.where(scale > 0.0, scale, 1.0)
    values, vectors = np.linalg.eigh(G / np.outer(units, units))
    root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T * scale
    # The columns of the transposed Helmert matrix are orthonormal, and orthogonal to the constant.
    rows = (helmert(size).T @ root) * np.sqrt(size / total) + (mean + center)
    chunk = Chunk(rows[:, :-1].copy(), rows[:, -1].copy(), np.full(size, total / size))
    error = _relative_error(moments, _moments(chunk, center), spread)
    return RowSummary(*chunk, moments.n_rows, error, center, spread)


def _check_range(spread: Array) -> None:
    """Refuse columns whose squares overflow or underflow."""
    bad = np.flatnonzero(~((spread == 0.0) | ((spread > _SMALLEST) & (spread < _LARGEST))))
    if bad.size:
        j, last = int(bad[0]), spread.size - 1
        name = "sample_weight" if j == 0 else "y" if j == last else f"column {j - 1} of X"
        raise ValueError(f"{name} is too large or too small to be squared: rescale it to numbers nearer to 1")


def _relative_error(data: _Moments, rows: _Moments, spread: Array) -> float:
    """A bound of ``max |ΔM_jk| / (s_j s_k)`` between the exact moments of data and of the rows that stand for them."""
    difference = np.abs((data.high - rows.high) + (data.low - rows.low))
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = difference / np.outer(spread, spread)
    relative[difference == 0.0] = 0.0
    # The differences have rounding errors themselves, and so have the spreads, of the data and of the rows.
    largest = float(relative.max())
    return float((largest + (data.error + rows.error) * (1.0 + 4.0 * largest) + growth(16)) * (1.0 + 1e-6))


def _moments_of(X: Any, y: Any, sample_weight: Any, center: Array | None) -> tuple[_Moments, Array]:
    """The moments of data about a point; by default about one near the means, which is returned."""
    if is_dask_array(X):
        return _moments_of_dask(X, y, sample_weight, center)
    total: _Moments | None = None
    for chunk in _chunks(X, y, sample_weight):
        if not chunk.y.size:
            continue
        center = _near_means(chunk) if center is None else center
        if chunk.X.shape[1] + 1 != center.size:
            raise ValueError(f"a chunk has {chunk.X.shape[1]} columns, expected {center.size - 1}")
        part = _moments(chunk, center)
        total = part if total is None else total.plus(part)
    if total is None or center is None:
        raise ValueError("there is no row with a positive weight")
    return total, center


def _moments_of_dask(X: Any, y: Any, sample_weight: Any, center: Array | None) -> tuple[_Moments, Array]:
    """The moments of an array of Dask, added up on the workers for each chunk of rows."""
    grid = DaskGrid(X.rechunk({1: -1}), as_stored, stored_type(X.dtype), most_memory=0.0)
    n = grid.shape[0]
    target, weights = _vector(y, n, "y"), _weights(sample_weight, n)
    # Only rows of positive weight count, so the first of them are read for the point near the means.
    first = np.flatnonzero(weights)[:_HEAD_ROWS]
    at = int(np.searchsorted(grid.row_bounds, first[0], side="right")) - 1
    first = first[first < grid.row_bounds[at + 1]]
    if center is None:
        [head] = grid.run(_some_rows, [Call(at, 0, first - grid.row_bounds[at])])
        center = _near_means(Chunk(head, target[first], weights[first]))
    shared = [(center, target[rows], weights[rows]) for rows in grid.row_slices]
    calls = [Call(i, 0) for i, (_, _, omega) in enumerate(shared) if omega.any()]
    found = grid.run(_moments_of_block, calls, shared)
    return reduce(_Moments.plus, found), center


def _some_rows(block: NDArray[Any], shared: None, rows: NDArray[np.intp]) -> NDArray[Any]:
    return block[rows]


def _moments_of_block(block: NDArray[Any], shared: tuple[Array, Array, Array], own: None) -> _Moments:
    center, y, weights = shared
    return _moments(_positive(block, y, weights), center)


def _chunks(X: Any, y: Any, sample_weight: Any) -> Iterator[Chunk]:
    """The rows of positive weight, in chunks."""
    if y is None:
        for given in X:
            if not isinstance(given, (tuple, list)) or len(given) not in (2, 3):
                raise ValueError("without y, X must yield pairs (X, y) or triples (X, y, weight)")
            block = as_stored(as_array(given[0], "X"))
            if block.ndim != 2:
                raise ValueError(f"a chunk of X must be a matrix with two dimensions, got {block.ndim}")
            n = block.shape[0]
            weights = _weights(given[2] if len(given) == 3 else None, n)
            yield _positive(block, _vector(given[1], n, "y"), weights)
        return
    n = sum(len(part) for part in X) if is_sequence_of_matrices(X) else as_design(X).shape[0]
    target, weights, begin = _vector(y, n, "y"), _weights(sample_weight, n), 0
    for block in _row_blocks(X):
        rows = slice(begin, begin + block.shape[0])
        yield _positive(block, target[rows], weights[rows])
        begin = rows.stop


def _row_blocks(X: Any) -> Iterator[NDArray[Any]]:
    """All rows of a matrix in blocks."""
    parts: Iterable[Any] = X if is_sequence_of_matrices(X) else (X,)
    for part in parts:
        if isinstance(part, np.ndarray) and part.ndim == 2:
            height = max(1, _CHUNK_BYTES // (8 * max(part.shape[1], 1)))
            yield from (as_stored(part[begin : begin + height]) for begin in range(0, part.shape[0], height))
            continue
        design = as_design(part)
        n, p = design.shape
        height = max(1, _CHUNK_BYTES // (8 * p))
        for begin in range(0, n, height):
            yield _rows_of(design, begin, min(begin + height, n))


def _rows_of(design: Design, begin: int, end: int) -> NDArray[Any]:
    return design.rows(np.arange(begin, end)).columns(np.arange(design.shape[1]))


def _positive(block: NDArray[Any], y: Array, weights: Array) -> Chunk:
    """The rows with a positive weight."""
    if weights.all():
        return Chunk(block, y, weights)
    keep = np.flatnonzero(weights)
    return Chunk(block[keep], y[keep], weights[keep])


def _vector(values: Any, n: int, name: str) -> Array:
    if isinstance(values, (list, tuple)) and all(isinstance(part, np.ndarray) and part.ndim == 1 for part in values):
        values = np.concatenate(values)
    array = as_numbers(as_array(values, name), name)
    array = array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array
    if array.shape != (n,):
        raise ValueError(f"{name} must have {n} entries, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} contains NaN or infinity")
    return array


def _weights(values: Any, n: int) -> Array:
    if values is None:
        return np.ones(n)
    weights = np.full(n, float(values)) if np.ndim(values) == 0 else _vector(values, n, "sample_weight")
    if not (weights >= 0.0).all() or not np.isfinite(weights).all():
        raise ValueError("sample_weight must be finite and not negative")
    return weights


def _near_means(chunk: Chunk) -> Array:
    """A point near the means of columns and response: exactly the common value of columns whose entries are equal."""
    head = np.column_stack([chunk.X[:_HEAD_ROWS], chunk.y[:_HEAD_ROWS]]).astype(np.float64)
    with np.errstate(all="ignore"):
        mean = head.mean(axis=0)
    return np.where((head == head[0]).all(axis=0) | ~np.isfinite(mean), head[0], mean)


@np.errstate(over="ignore", invalid="ignore")
def _moments(chunk: Chunk, center: Array) -> _Moments:
    """The moments of some rows about a point; ValueError if entries are not finite."""
    n, size = chunk.y.size, center.size + 1
    height = max(1, min(_PART_ROWS, _PART_BYTES // (8 * size)))
    total = _Moments(np.zeros((size, size)), np.zeros((size, size)), 0, 0, 0)
    for begin in range(0, n, height):
        part = slice(begin, min(begin + height, n))
        z = np.empty((part.stop - begin, size))
        z[:, 0], z[:, 1:-1], z[:, -1] = 1.0, chunk.X[part], chunk.y[part]
        z[:, 1:] -= center
        omega = chunk.weights[part]
        if not (omega == 1.0).all():
            z *= np.sqrt(omega)[:, None]
        # Products of so few columns gain nothing by threads, and lose much by them on a busy machine.
        with single_threaded():
            moments = z.T @ z
        if not np.isfinite(moments).all():
            if not np.isfinite(chunk.X[part]).all():
                refuse_entries()
            raise ValueError("X or y is too large to be squared: rescale it to numbers nearer to 1")
        total = total.plus(_Moments(moments, np.zeros_like(moments), z.shape[0], z.shape[0], 1))
    return total
