"""The data as the checker reads them: blocks of columns, shifted and scaled so that rounding errors stay small.

With an intercept every dual point sums exactly to zero, so a column may be shifted by any number: ``x - c`` with c
near the mean is computed with a relative error of at most u (Sterbenz), however large the mean.  Columns are then
multiplied by a power of two, which is exact, so that their largest entry is between ½ and 1.  For these *scaled*
columns ``x̃_j = 2^-e (x_j - c_j)``, coefficients are ``w̃_j = 2^e w_j`` and the ridge is ``d_j w̃_j²/(2γ)``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sparsest.proofs.bounds import LARGEST_RIDGE, SMALLEST_RIDGE, Bounds
from sparsest.proofs.grid import Grid
from sparsest.proofs.losses import LossRule
from sparsest.proofs.reading import ColumnBlocks, RowBlocks, as_exposure, as_labels, as_matrix, as_vector, require_exact
from sparsest.proofs.rounding import UNIT, Array, Indices, growth, norms_above, two_sum
from sparsest.proofs.statement import Statement
from sparsest.proofs.stored import is_stored, stored_matrix
from sparsest.proofs.threads import cores

# If rows are contiguous, this many columns are read together unless they take more bytes than this: fewer columns
# would waste most of each cache line.
_COLUMNS_OF_ROWS, _BYTES_OF_ROWS = 64, 1 << 26
# A pass reads columns in spans of this size, and those of a matrix that is stored elsewhere are always read so.
_BYTES_OF_SPAN = 1 << 23
# Weights between these limits, and their products with data, neither underflow nor overflow.
_SMALLEST_WEIGHT, _LARGEST_WEIGHT = 1e-100, 1e100


class Room(NamedTuple):
    """Limits of a check: memory in bytes, work, and the number of threads.

    They do not change what is proved, but a step that needs more than ``most`` is refused, and one that needs more
    than ``work`` proves less.
    """

    # Columns read at a time: they and two copies fit into the cache.
    block: int = 1 << 19
    # Columns that a proof needs are kept in memory up to this size; beyond it they are read again each time.
    packed: int = 1 << 31
    # Gains computed at a time.
    gains: int = 1 << 24
    # Leaves of a regression tree that are bounded together, and the matrices of one group of them.
    leaves: int = 1 << 21
    matrices: int = 1 << 20
    # The largest square matrix, and all points of one combination.
    most: int = 1 << 31
    # Work of a step that tries its last features, after the first test of all choices, in multiplications.
    work: float = 3e11
    threads: int = cores()


_USUAL_ROOM = Room()


class Block(NamedTuple):
    """Scaled columns, each entry with a relative error of at most u, and their bounds."""

    values: Array
    bounds: Bounds


class Data:
    """Checked data without rows of weight zero; a loss of y - u has its offset subtracted from the response.

    ``room`` limits the memory of checks.
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        rule: LossRule,
        fit_intercept: bool,
        scaled: bool,
        offset: Any = None,
        exposure: Any = None,
        room: Room = _USUAL_ROOM,
    ) -> None:
        self.room, self.rule = room, rule
        self._reading = Lock()
        # Columns that the next pass over rows keeps, and those that are kept, in increasing order.
        self._wanted: Indices = np.empty(0, dtype=np.intp)
        self._kept: NDArray[Any] | None = None
        self._matrix = as_matrix(stored_matrix(X) if is_stored(X) else X)
        n, p = self._matrix.shape
        weights, target = _as_weights(sample_weight, n), _as_response(y, n, rule)
        given = None if offset is None else as_vector(offset, n, "offset")
        if given is not None and rule.shifts:
            # For a loss of y - u, the problem is stated for the response minus the offset.
            target, given = target - given, None
        self._rows: Indices | None = None if weights.all() else np.flatnonzero(weights)
        kept = slice(None) if self._rows is None else self._rows
        self.weights: Array = weights[kept]
        self.response: Array = target[kept]
        self.n, self.p = self.weights.size, p
        self.fit_intercept, self.scaled = fit_intercept, scaled
        self.total: float = float(self.weights.sum())
        self.given_offset = None if given is None else given[kept]
        self.given_exposure = None if exposure is None else as_exposure(exposure, n)[kept]
        # What is added to predictions, and its error: logarithms are accurate to 4 units in the last place.
        self.offset, self.offset_error = np.zeros(self.n), np.zeros(self.n)
        if self.given_offset is not None:
            self.offset = self.given_offset
        if self.given_exposure is not None:
            log = np.log(self.given_exposure)
            self.offset = self.offset + log
            self.offset_error = 9.0 * UNIT * np.abs(log) + 2.0 * UNIT * np.abs(self.offset)
        # The response of a loss of y - u may be shifted like the columns.
        self.y_shift = _center(self.response[None], self.weights)[0] if rule.shifts and fit_intercept else 0.0
        self.y: Array = self.response - self.y_shift
        if not np.isfinite(self.y).all():
            raise ValueError("y is too large")

    @classmethod
    def of(
        cls,
        statement: Statement,
        X: Any,
        y: Any,
        sample_weight: Any,
        offset: Any = None,
        exposure: Any = None,
        room: Room = _USUAL_ROOM,
    ) -> Data:
        """Read the data that a statement is about."""
        for name, given in (("offset", offset), ("exposure", exposure)):
            if getattr(statement, name) != (given is not None):
                wanted = "with" if getattr(statement, name) else "without"
                raise ValueError(f"the certificate is for data {wanted} {name}")
        settings = statement.rule, statement.fit_intercept, statement.standardize
        return cls(X, y, sample_weight, *settings, offset, exposure, room)

    def vectors(self) -> Iterator[Array]:
        """The vectors of the data apart from the columns, in the order of the fingerprint."""
        yield self.response
        yield self.weights
        for given in (self.given_offset, self.given_exposure):
            if given is not None:
                yield given

    @cached_property
    def y_norm(self) -> float:
        """An upper bound of ``‖√Ω y‖`` after the shift."""
        return float(norms_above(np.sqrt(self.weights) * self.y)) * (1.0 + growth(8))

    def stored(self, features: Indices | slice) -> NDArray[Any]:
        """Columns as given, in their own type; ValueError if double precision does not represent them."""
        block = self.unchecked(features)
        require_exact(block, "X")
        return block

    def unchecked(self, features: Indices | slice) -> NDArray[Any]:
        """Columns as given, in their own type, for those that check them."""
        if isinstance(self._matrix, (ColumnBlocks, RowBlocks)):
            # Reading from a file moves its position, so only one thread may read at a time.
            with self._reading:
                block = self._from_blocks(features)
        else:
            part = self._matrix[:, features]
            block = part.toarray() if sp.issparse(part) else part
        return block if self._rows is None else block[self._rows]

    @property
    def grid(self) -> Grid | None:
        """The blocks of the matrix, if it is stored in blocks that functions can be sent to."""
        return self._matrix.grid if isinstance(self._matrix, ColumnBlocks) else None

    @property
    def kept(self) -> Indices | None:
        """Numbers of the rows with positive weights; None if all have one."""
        return self._rows

    @property
    def in_memory(self) -> bool:
        """Whether columns can be read by several threads at a time."""
        return not isinstance(self._matrix, (ColumnBlocks, RowBlocks))

    @property
    def by_rows(self) -> bool:
        """Whether rows are read together, so that some columns take a pass over all."""
        return isinstance(self._matrix, RowBlocks)

    def row_blocks(self) -> Iterator[tuple[slice, NDArray[Any]]]:
        """All rows of positive weight in blocks, with their places among them."""
        assert isinstance(self._matrix, RowBlocks)
        place, kept_columns = 0, []
        for rows, block in self._matrix.blocks():
            require_exact(block, "X")
            if self._kept is None:
                kept_columns.append(np.take(block, self._wanted, axis=1))
            if self._rows is not None:
                kept = self._rows[np.searchsorted(self._rows, rows.start) : np.searchsorted(self._rows, rows.stop)]
                block = block[kept - rows.start]
            if block.shape[0]:
                yield slice(place, place + block.shape[0]), block
            place += block.shape[0]
        if self._kept is None:
            self._kept = np.concatenate(kept_columns)

    def want(self, features: Indices) -> None:
        """Let the next pass over rows keep some columns, so that these are not read again."""
        self._wanted, self._kept = np.unique(features[(features >= 0) & (features < self.p)]), None

    def _from_blocks(self, features: Indices | slice) -> NDArray[Any]:
        """Columns of a matrix that is stored elsewhere; a few that take a pass over rows are kept for the next call."""
        known = self._known(features)
        if known is not None:
            return known
        if isinstance(features, slice) or not self.by_rows or 8 * self.n * features.size > _BYTES_OF_ROWS:
            columns: NDArray[Any] = self._matrix.columns(features)
            return columns
        self._wanted = np.unique(features)
        self._kept = self._matrix.columns(self._wanted)
        return np.take(self._kept, np.searchsorted(self._wanted, features), axis=1)

    def _known(self, features: Indices | slice) -> NDArray[Any] | None:
        """Columns that a pass over rows has kept; None if these are not among them."""
        if self._kept is None or isinstance(features, slice) or not np.isin(features, self._wanted).all():
            return None
        return np.take(self._kept, np.searchsorted(self._wanted, features), axis=1)

    def parts(self, count: int) -> Iterator[slice]:
        """Slices of columns that are converted at a time."""
        return _slices(count, self._width)

    def spans(self, count: int) -> Iterator[slice]:
        """Slices of columns that a pass reads at a time: one or several parts."""
        return _slices(count, max(self._width, _BYTES_OF_SPAN // (8 * self.n)))

    @property
    def _width(self) -> int:
        if isinstance(self._matrix, np.ndarray):
            return columns_at_a_time(self._matrix, self.n, self.room.block)
        least = 0 if self.in_memory else _BYTES_OF_ROWS if self.by_rows else _BYTES_OF_SPAN
        return max(1, max(least, self.room.block) // (8 * self.n))

    def lines(self, features: Indices | slice) -> Array:
        """Columns as given, in double precision, each a contiguous line of a new array, with 0 for -0."""
        block = self.stored(features)
        return np.add(block.T, 0.0, out=np.empty(block.shape[::-1]), dtype=np.float64)

    def raw(self, features: Indices) -> Array:
        """Columns as given, in double precision; ValueError if they are not finite."""
        block = self.lines(features).T
        if not np.isfinite(block).all():
            raise ValueError("X contains NaN or infinity")
        return block

    def shifts(self, raw: Array) -> Array:
        """The shifts of columns: their approximate means, or exactly the common value of all entries."""
        if not self.fit_intercept:
            return np.zeros(raw.shape[1])
        return _center(np.ascontiguousarray(raw.T), self.weights)

    def scale(self, raw: Array) -> tuple[Array, NDArray[np.intc]]:
        """Scaled columns, and the exponents of their scales."""
        values = raw - self.shifts(raw)
        if not np.isfinite(values).all():
            raise ValueError("X is too large")
        _, exponents = np.frexp(np.abs(values).max(axis=0, initial=0.0))
        return np.ldexp(values, -exponents), exponents

    def exact_parts(self, features: Indices) -> tuple[Array, Array]:
        """Scaled columns as a rounded matrix and its exact error."""
        raw = self.raw(features)
        high, low = two_sum(raw, -self.shifts(raw) + np.zeros_like(raw))
        _, exponents = np.frexp(np.abs(high).max(axis=0, initial=0.0))
        return np.ldexp(high, -exponents), np.ldexp(low, -exponents)

    def block(self, features: Indices) -> Block:
        """Scaled columns with all bounds."""
        return self.prepare(self.raw(features))

    def prepare(self, raw: Array) -> Block:
        """Scale columns as given, with all bounds."""
        values, exponents = self.scale(raw)
        squares, sums = self.weights @ np.square(values), self.weights @ values
        constant = np.logical_not(np.any(values, axis=0))
        return Block(values, self.bounds(squares, sums, exponents, np.asarray(constant)))

    def bounds(self, squares: Array, sums: Array, exponents: NDArray[np.intc], constant: NDArray[np.bool_]) -> Bounds:
        """Bounds for scaled columns from ``Σωx̃²`` and ``Σωx̃``, summed in any order."""
        weighted = np.sqrt(squares) * (1.0 + growth(self.n + 16))
        if self.scaled:
            low, high = self._variance(squares / self.total, sums / self.total)
            low, high = np.where(constant, 1.0, low), np.where(constant, 1.0, high)
            units = 1.0 / np.sqrt(np.where(high > 0.0, 0.5 * (low + high), 1.0))
        else:
            low = high = np.where(constant, 1.0, np.ldexp(1.0, np.clip(-2 * exponents, -1074, 1023)))
            units = np.where(constant, 1.0, np.ldexp(1.0, exponents))
        # A ridge out of range may be anything from zero to infinity.
        fits = (low >= SMALLEST_RIDGE) & (high <= LARGEST_RIDGE)
        return Bounds(exponents, weighted, np.where(fits, low, 0.0), np.where(fits, high, np.inf), units)

    def _variance(self, square: Array, mean: Array) -> tuple[Array, Array]:
        """Lower and upper bounds of ``Σωx̃²/W - (Σωx̃/W)²``; the second term only with an intercept."""
        error = growth(3 * self.n + 24)
        if not self.fit_intercept:
            return square * (1.0 - error), square * (1.0 + error)
        # The error of the mean is relative to the mean of absolute values, which is at most the root mean square.
        slack = error * np.sqrt(square) * (1.0 + error)
        most, least = np.abs(mean) + slack, np.maximum(np.abs(mean) - slack, 0.0)
        low = square * (1.0 - error) - most * most * (1.0 + error)
        return np.maximum(low, 0.0), square * (1.0 + error) - least * least * (1.0 - error)


def _as_weights(sample_weight: Any, n: int) -> Array:
    """Weights that are zero or within the limits, not all zero."""
    weights = np.ones(n) if sample_weight is None else as_vector(sample_weight, n, "sample_weight")
    if (weights < 0).any() or not weights.any():
        raise ValueError("sample_weight must not be negative, nor zero everywhere")
    if weights[weights > 0].min() < _SMALLEST_WEIGHT or weights.max() > _LARGEST_WEIGHT:
        raise ValueError(f"sample_weight must be zero or between {_SMALLEST_WEIGHT} and {_LARGEST_WEIGHT}")
    return weights


def _as_response(y: Any, n: int, rule: LossRule) -> Array:
    """A response that the loss admits."""
    response = as_labels(y, n) if rule.classification else as_vector(y, n, "y")
    if rule.log_link and not (response > 0.0 if rule.positive else response >= 0.0).all():
        raise ValueError(f"y must be {'above zero' if rule.positive else 'zero or above'} for this loss")
    return response


def columns_at_a_time(matrix: NDArray[Any], height: int, block: int) -> int:
    """The number of columns that take a number of bytes in double precision; more if rows are contiguous."""
    width, by_rows = max(1, block // (8 * max(height, 1))), matrix.strides[1] < matrix.strides[0]
    return max(width, min(_COLUMNS_OF_ROWS, _BYTES_OF_ROWS // (8 * max(height, 1)))) if by_rows else width


def _slices(count: int, width: int) -> Iterator[slice]:
    for begin in range(0, count, width):
        yield slice(begin, min(begin + width, count))


def _center(lines: Array, weights: Array) -> Array:
    """Numbers near the weighted means of columns, given as lines; exactly the common value if all entries are equal.

    Each line is summed separately.  A matrix product could give a result that depends on the other columns, but the
    scale of a column must be the same whenever it is read.
    """
    first = lines[:, 0]
    with np.errstate(over="ignore", invalid="ignore"):
        terms = lines - first[:, None]
        terms *= weights / weights.sum()
        mean = first + terms.sum(axis=1)
    return np.where(np.isfinite(mean), mean, 0.0)
