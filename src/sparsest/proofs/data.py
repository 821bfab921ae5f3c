"""The data as the checker reads them: blocks of columns, shifted and scaled so that rounding errors stay small.

With an intercept every dual point sums exactly to zero, so a column may be shifted by any number: ``x - c`` with c
near the mean is computed without error, or with one of at most u of the result (Sterbenz), however large the mean.
Columns are then multiplied by a power of two, which is exact, so that their largest entry is between ½ and 1.  In
these *scaled* columns ``x̃_j = 2^-e (x_j - c_j)`` coefficients are ``w̃_j = 2^e w_j`` and the ridge is ``d_j w̃_j²/(2γ)``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from copy import copy
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sparsest.proofs.losses import LossRule
from sparsest.proofs.reading import ColumnBlocks, as_exposure, as_labels, as_matrix, as_vector, insist_on_exact
from sparsest.proofs.rounding import UNIT, Array, Indices, growth, norms_above, two_sum
from sparsest.proofs.statement import Statement

# Bytes of columns that are digested at a time: they stay in the cache.
_DIGESTED_AT_ONCE = 1 << 20
# Ridges of columns as they are can be as extreme as the squares of their scales; beyond these nothing is proved, for a
# number that underflows has no relative error, and one that overflows none at all.
SMALLEST_RIDGE, _LARGEST_RIDGE = 1e-280, 1e280
# Weights between these, and their products with data, are far from both.
_SMALLEST_WEIGHT, _LARGEST_WEIGHT = 1e-100, 1e100


class Room(NamedTuple):
    """Bytes that a check takes for its parts.

    What is read or computed in parts of other sizes is the same; what would need more than ``most`` is refused.
    """

    # Columns that are read at a time.
    block: int = 1 << 24
    # Columns that a proof needs are kept packed up to this size, and read again and again beyond it.
    packed: int = 1 << 31
    # Gains that are computed at a time.
    gains: int = 1 << 24
    # Leaves of a regression tree that are bounded together, and the matrices of those of one kind.
    leaves: int = 1 << 21
    matrices: int = 1 << 20
    # A square matrix, or the points of one combination: not without end.
    most: int = 1 << 31


_USUAL_ROOM = Room()


class Block(NamedTuple):
    """Scaled columns, with bounds of what is not computed exactly.

    ``values`` are within u of the exact ones, entry by entry.  ``norms`` and ``weighted_norms`` bound ``‖x̃_j‖`` and
    ``‖√Ω x̃_j‖`` from above, ``ridge_low ≤ d_j ≤ ridge_high``; ``units`` turns coefficients of standardised columns (of
    the columns as they are, if they are not standardised) into those of the scaled ones.
    """

    values: Array
    norms: Array
    weighted_norms: Array
    ridge_low: Array
    ridge_high: Array
    units: Array


class Data:
    """Checked data; rows of weight zero are left out, and losses of differences have their offset in the response.

    ``room`` is what checks of them may take.
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
        self.room = room
        self._matrix = as_matrix(X)
        n, p = self._matrix.shape
        weights = np.ones(n) if sample_weight is None else as_vector(sample_weight, n, "sample_weight")
        if (weights < 0).any() or not weights.any():
            raise ValueError("sample_weight must not be negative, nor zero everywhere")
        if weights[weights > 0].min() < _SMALLEST_WEIGHT or weights.max() > _LARGEST_WEIGHT:
            raise ValueError(f"sample_weight must be zero or between {_SMALLEST_WEIGHT} and {_LARGEST_WEIGHT}")
        target = as_labels(y, n) if rule.classification else as_vector(y, n, "y")
        if rule.log_link and not (target > 0.0 if rule.positive else target >= 0.0).all():
            raise ValueError(f"y must be {'above zero' if rule.positive else 'zero or above'} for this loss")
        given = None if offset is None else as_vector(offset, n, "offset")
        if given is not None and rule.shifts:
            # A loss of differences has its offset taken from the response; the problem is about what results.
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
        # What is added to predictions, and how far it may be off: logarithms are within 4 units of their last place.
        self.offset, self.offset_error = np.zeros(self.n), np.zeros(self.n)
        if self.given_offset is not None:
            self.offset = self.given_offset
        if self.given_exposure is not None:
            log = np.log(self.given_exposure)
            self.offset = self.offset + log
            self.offset_error = 9.0 * UNIT * np.abs(log) + 2.0 * UNIT * np.abs(self.offset)
        # The response of a loss of differences may be shifted like the columns.
        self.y_shift = _center(self.response[:, None], self.weights)[0] if rule.shifts and fit_intercept else 0.0
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
        """What belongs to the data beside the columns, in the order of the fingerprint."""
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
        """Columns as given, in their own type."""
        if isinstance(self._matrix, ColumnBlocks):
            block = self._matrix.columns(features)
        else:
            part = self._matrix[:, features]
            block = part.toarray() if sp.issparse(part) else part
        return block if self._rows is None else block[self._rows]

    def raw(self, features: Indices) -> Array:
        """Columns as given, in double precision."""
        block = self.stored(features)
        insist_on_exact(block, "X")
        block = np.array(block, dtype=np.float64, order="F")
        if not np.isfinite(block).all():
            raise ValueError("X contains NaN or infinity")
        return block

    def shifts(self, raw: Array) -> Array:
        """What is subtracted from columns: their approximate means, or exactly what all of their entries are."""
        return _center(raw, self.weights) if self.fit_intercept else np.zeros(raw.shape[1])

    def scale(self, raw: Array) -> tuple[Array, Array]:
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
        norms = norms_above(values)
        plain = (self.weights == 1.0).all()
        root = np.sqrt(self.weights)[:, None]
        weighted = (norms if plain else norms_above(root * values)) * (1.0 + growth(8))
        constant = norms == 0.0
        if self.scaled:
            low, high = self._variance(values)
            low, high = np.where(constant, 1.0, low), np.where(constant, 1.0, high)
            units = 1.0 / np.sqrt(np.where(high > 0.0, 0.5 * (low + high), 1.0))
        else:
            low = high = np.where(constant, 1.0, np.ldexp(1.0, np.clip(-2 * exponents, -1074, 1023)))
            units = np.where(constant, 1.0, np.ldexp(1.0, exponents))
        # A ridge out of range proves nothing: it may be none, and may be any.
        fits = (low >= SMALLEST_RIDGE) & (high <= _LARGEST_RIDGE)
        return Block(values, norms, weighted, np.where(fits, low, 0.0), np.where(fits, high, np.inf), units)

    def _variance(self, values: Array) -> tuple[Array, Array]:
        """Bounds of ``Σωx̃²/W - (Σωx̃/W)²`` from below and above, the latter term only with an intercept."""
        error = growth(3 * self.n + 16)
        square = self.weights @ np.square(values) / self.total
        if not self.fit_intercept:
            return square * (1.0 - error), square * (1.0 + error)
        mean, size = self.weights @ values / self.total, self.weights @ np.abs(values) / self.total
        most, least = np.abs(mean) + error * size, np.maximum(np.abs(mean) - error * size, 0.0)
        low = square * (1.0 - error) - most * most * (1.0 + error)
        return np.maximum(low, 0.0), square * (1.0 + error) - least * least * (1.0 - error)


class Columns:
    """Some scaled columns: packed, or read in blocks again where they would take too much memory."""

    def __init__(self, data: Data, features: Indices, fingerprint: Fingerprint | None = None) -> None:
        self.data, self.features = data, features
        self.position: Indices = np.full(data.p, -1)
        self.position[features] = np.arange(features.size)
        self._packed: Array | None = None
        if 8 * data.n * features.size <= data.room.packed:
            self._packed = np.empty((data.n, features.size), order="F")
        bounds: list[tuple[Array, ...]] = []
        for part in self._parts():
            raw = data.raw(features[part])
            if fingerprint is not None:
                fingerprint.add(raw)
            values, *rest = data.prepare(raw)
            bounds.append(tuple(rest))
            if self._packed is not None:
                self._packed[:, part] = values
        joined = [np.concatenate(arrays) for arrays in zip(*bounds, strict=True)] if bounds else [np.empty(0)] * 5
        self.norms: Array = joined[0]
        self.weighted_norms: Array = joined[1]
        self.ridge_low: Array = joined[2]
        self.ridge_high: Array = joined[3]
        self.units: Array = joined[4]

    def _parts(self) -> Iterator[slice]:
        width = max(1, self.data.room.block // (8 * self.data.n))
        for begin in range(0, self.features.size, width):
            yield slice(begin, min(begin + width, self.features.size))

    def narrowed(self, features: Indices) -> Columns:
        """Fewer of these columns."""
        if self._packed is None:
            return Columns(self.data, features)
        at = self.position[features]
        fewer = copy(self)
        fewer.features, fewer._packed = features, np.asfortranarray(self._packed[:, at])
        fewer.position = np.full(self.data.p, -1)
        fewer.position[features] = np.arange(features.size)
        for name in ("norms", "weighted_norms", "ridge_low", "ridge_high", "units"):
            setattr(fewer, name, getattr(self, name)[at])
        return fewer

    def products(self, vectors: Array) -> Array:
        """``A'X̃``: a row for each column of A."""
        if self._packed is not None:
            return vectors.T @ self._packed
        none = np.empty((vectors.shape[1], 0))
        blocks = (self.data.block(self.features[part]).values for part in self._parts())
        return np.concatenate([none, *(vectors.T @ values for values in blocks)], axis=1)

    def values(self, positions: Indices) -> Array:
        """The scaled columns at some positions."""
        if self._packed is not None:
            return self._packed[:, positions]
        return self.data.block(self.features[positions]).values


class Fingerprint:
    """A digest of the data that does not depend on how they are stored.

    Columns, response (labels as -1 and 1), weights, and offset and exposure where there are such, in double precision,
    with 0 for -0.  Each is multiplied by two vectors of keys modulo 2^64, and SHA-256 of these products is the
    fingerprint: any change of one entry changes it, and any other with a probability of all but 2^-80 or less, at five
    times the speed of SHA-256 over all of the data.  It guards against mistakes.  Whoever forges data for it gains
    nothing, as all else is computed from these.
    """

    def __init__(self, n: int, p: int) -> None:
        self._hash = hashlib.sha256(b"sparsest data 2" + n.to_bytes(8, "little") + p.to_bytes(8, "little"))
        self.keys = _keys(n)

    def add(self, values: NDArray[Any]) -> None:
        """Go on with further columns, or with a vector."""
        block = values[:, None] if values.ndim == 1 else values
        n, count = block.shape
        width = max(1, _DIGESTED_AT_ONCE // (8 * n))
        numbers, mixed = np.empty((min(width, count), n)), np.empty((min(width, count), n), dtype=np.uint64)
        for begin in range(0, count, width):
            part = block[:, begin : begin + width].T
            words = np.add(part, 0.0, out=numbers[: len(part)]).view(np.uint64)
            # The last digits of many numbers are zeros, which products would only shift.
            folded = np.right_shift(words, np.uint64(32), out=mixed[: len(part)])
            folded ^= words
            self.add_products(np.stack([np.einsum("ij,j->i", folded, key) for key in self.keys]))

    def add_products(self, products: NDArray[np.uint64]) -> None:
        """Go on with the products of further columns with the keys, a row for each key."""
        self._hash.update(np.ascontiguousarray(products.T, dtype="<u8").data)

    def text(self) -> str:
        """The digest."""
        return self._hash.hexdigest()


def _keys(n: int) -> NDArray[np.uint64]:
    """Two vectors of odd numbers: the first 2n outputs of the generator SplitMix64 from 0, with the last bit set."""
    z = np.arange(1, 2 * n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((z ^ (z >> np.uint64(31))) | np.uint64(1)).reshape(2, n)


def ridge_below(ridge: Array, gamma: float) -> Array:
    """A lower bound of ``d_j/γ`` within the range in which it can be divided by; 0 below it."""
    with np.errstate(over="ignore"):
        quotient = ridge / gamma * (1.0 - 4.0 * UNIT)
    return np.where(quotient >= SMALLEST_RIDGE, np.minimum(quotient, _LARGEST_RIDGE), 0.0)


def box_above(ridge: Array, max_coef: float | None) -> Array:
    """An upper bound of ``M/√d_j``, the largest coefficient of a scaled column; infinite where there is none."""
    if max_coef is None:
        return np.full(ridge.size, np.inf)
    with np.errstate(over="ignore", divide="ignore"):
        box = max_coef / np.sqrt(ridge) * (1.0 + 8.0 * UNIT)
    # What would underflow is not so small.
    return np.maximum(box, SMALLEST_RIDGE)


def fingerprint(
    data: Data, digests: Callable[[NDArray[np.uint64]], NDArray[np.uint64] | None] = lambda keys: None
) -> str:
    """The fingerprint of data, in a pass of its own; ``digests`` may know the products of all columns with the keys."""
    found = Fingerprint(data.n, data.p)
    products = digests(found.keys)
    if products is not None:
        found.add_products(products)
    else:
        width = max(1, data.room.block // (8 * data.n))
        for begin in range(0, data.p, width):
            found.add(data.stored(slice(begin, min(begin + width, data.p))))
    for vector in data.vectors():
        found.add(vector)
    return found.text()


def _center(columns: Array, weights: Array) -> Array:
    """Numbers near the weighted means of columns; of a column of equal entries exactly their value.

    They must not depend on the other columns that are read at the same time, as a product of matrices may: a scale that
    is another one at the next reading would turn a diagonal into a wrong one.  So each column is summed by itself.
    """
    first = columns[0]
    with np.errstate(over="ignore", invalid="ignore"):
        terms = np.asfortranarray((weights / weights.sum())[:, None] * (columns - first))
        mean = first + np.array([term.sum() for term in terms.T])
    mean = np.where(np.isfinite(mean), mean, 0.0)
    return np.where((columns == first).all(axis=0), first, mean)
