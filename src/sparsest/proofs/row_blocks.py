"""A pass over data whose rows are stored together: sums over all columns, added up over blocks of rows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsest.proofs.data import Data
from sparsest.proofs.rounding import Array
from sparsest.proofs.threads import mapped

Words = NDArray[np.uint64]

# Columns of a block that are converted at a time: they and two copies fit into the cache.
_COLUMNS = 256


class RowSums(NamedTuple):
    """``R(X - 1c')`` for given rows R, the weighted sums of squares of ``X - 1c'``, and digests; c is the first row."""

    products: Array
    squares: Array
    digests: Words


class _RowBlock(NamedTuple):
    """A block of rows, its part of R, its weights and its keys, and c."""

    values: NDArray[Any]
    rows: Array
    weights: Array
    keys: Words | None
    first: Array


def row_sums(data: Data, rows: Array, *, shifted: bool, keys: Words | None) -> RowSums:
    """Read all rows once and return their sums.

    Parameters
    ----------
    rows : R, m × n
    shifted : whether the first row is subtracted from all; otherwise c is zero
    keys : two vectors of keys for the digests; None if no digests are needed
    """
    p, first = data.p, np.zeros(data.p)
    sums = RowSums(np.zeros((rows.shape[0], p)), np.zeros(p), np.zeros((2, p), dtype=np.uint64))
    for at, values in data.row_blocks():
        if at.start == 0 and shifted:
            first = np.asarray(values[0], dtype=np.float64) + 0.0
        own_keys = None if keys is None else keys[:, at]
        block = _RowBlock(values, np.ascontiguousarray(rows[:, at]), data.weights[at], own_keys, first)
        for _ in mapped(partial(_add, sums, block), _parts(p), data.room.threads):
            pass
    return sums


# Later checks detect overflow; no thread should warn about it.
@np.errstate(all="ignore")
def _add(sums: RowSums, block: _RowBlock, part: slice) -> None:
    """Add the contribution of a block of rows to the sums of some columns."""
    values = np.add(block.values[:, part], 0.0, dtype=np.float64, order="C")
    if block.keys is not None:
        words = folded(values)
        for digests, key in zip(sums.digests, block.keys, strict=True):
            digests[part] += np.einsum("ij,i->j", words, key)
    values -= block.first[part]
    sums.products[:, part] += block.rows @ values
    sums.squares[part] += block.weights @ np.square(values)


def folded(values: Array, room: Words | None = None) -> Words:
    """The words that are multiplied by the keys of a fingerprint, of contiguous numbers without -0.

    The low bits of many numbers are zero, and products would only shift the others: the high bits are folded into them.
    The result is in ``room`` if that is given.
    """
    words = values.view(np.uint64)
    result = np.right_shift(words, np.uint64(32), out=room)
    result ^= words
    return result


def _parts(p: int) -> Iterator[slice]:
    for begin in range(0, p, _COLUMNS):
        yield slice(begin, min(begin + _COLUMNS, p))
