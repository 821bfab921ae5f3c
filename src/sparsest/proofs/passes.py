"""What one pass over columns computes, as functions of the columns alone: they run where the columns are.

Columns in memory are read by :class:`sparsest.proofs.columns.AllColumns` in spans; a grid of blocks gets ``read_block``
for each of its blocks.  The two differ only where a sum over rows is divided among blocks, which the bounds of rounding
errors allow.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsest.proofs.data import columns_at_a_time
from sparsest.proofs.fingerprint import Words, word_products
from sparsest.proofs.grid import Call, Grid
from sparsest.proofs.reading import require_exact
from sparsest.proofs.rounding import Array, Indices

# Bytes of the columns that are converted at a time: they and their words fit into the cache of a core.
_BYTES = 1 << 19


class Part(NamedTuple):
    """Results of a pass over some columns: products with vectors, ``Σωx̃²``, ``Σωx̃`` and digests."""

    products: Array
    squares: Array
    sums: Array
    digests: Words | None


class Wanted(NamedTuple):
    """What a pass computes for some rows.

    Attributes
    ----------
    rows : the vectors, one in each line, and after them the weights.
    keys : keys of the fingerprint; None if it is not wanted.
    squares : whether squares are wanted.
    equal : whether all weights are equal, also those of other rows.
    kept : numbers of the rows with positive weights; None for all.
    """

    rows: Array
    keys: Words | None
    squares: bool
    equal: bool
    kept: Indices | None = None


class _Lines:
    """Buffers for columns, as rows in double precision, and for their words; every part uses the same buffers.

    With new arrays for each part a pass took twice as long, because the operating system clears their pages.
    """

    def __init__(self, width: int, height: int) -> None:
        self._lines = np.empty((width, height))
        self._words = np.empty((width, height), dtype=np.uint64)

    def filled(self, columns: NDArray[Any]) -> Array:
        """The columns as lines, with 0 for -0."""
        lines = self._lines[: columns.shape[1]]
        if columns.dtype == np.float64:
            return np.add(columns.T, 0.0, out=lines)
        # Converting first and adding then is faster than both at once.
        np.copyto(lines, columns.T)
        lines += 0.0
        return lines

    def digests(self, lines: Array, keys: Words) -> Words:
        """The products of filled lines with the keys of the fingerprint."""
        return word_products(lines, keys, self._words[: lines.shape[0]])


@np.errstate(all="ignore")
def read_block(block: NDArray[Any], wanted: Wanted, shift: Array | None, bytes_at_a_time: int = _BYTES) -> Part:
    """The results for a block of columns and rows after subtracting ``shift``; it is read in parts."""
    height = block.shape[0] if wanted.kept is None else wanted.kept.size
    width = columns_at_a_time(block, height, bytes_at_a_time)
    room, parts = _Lines(min(width, block.shape[1]), height), []
    for begin in range(0, block.shape[1], width):
        some = block[:, begin : begin + width]
        some = some if wanted.kept is None else some[wanted.kept]
        require_exact(some, "X")
        lines = room.filled(some)
        digests = None if wanted.keys is None else room.digests(lines, wanted.keys)
        if shift is not None:
            lines -= shift[begin : begin + width, None]
        parts.append(_sums(lines, wanted, digests))
    return joined(parts)


def _sums(lines: Array, wanted: Wanted, digests: Words | None) -> Part:
    products = wanted.rows @ lines.T
    if not wanted.squares:
        return Part(products[:-1], np.empty(0), np.empty(0), digests)
    weights = wanted.rows[-1]
    squares = weights[0] * np.einsum("ij,ij->i", lines, lines) if wanted.equal else np.square(lines) @ weights
    return Part(products[:-1], squares, products[-1], digests)


def joined(parts: list[Part]) -> Part:
    """The results for the columns of all parts, side by side."""
    digests = [part.digests for part in parts if part.digests is not None]
    return Part(
        np.concatenate([part.products for part in parts], axis=1),
        np.concatenate([part.squares for part in parts]),
        np.concatenate([part.sums for part in parts]),
        np.concatenate(digests, axis=1) if digests else None,
    )


def read_grid(grid: Grid, kept: Indices | None, shifted: bool, wanted: Wanted) -> Part:
    """The results for all columns of a grid.

    Parameters
    ----------
    kept : numbers of the rows with positive weights, in order; None for all
    shifted : whether the first entry is subtracted from every column
    wanted : what to compute, for all kept rows
    """
    first = np.add(grid.gather_row(0 if kept is None else int(kept[0])), 0.0, dtype=np.float64) if shifted else None
    numbers = np.arange(grid.shape[0]) if kept is None else kept
    shared = []
    for rows in grid.row_slices:
        inside = slice(*np.searchsorted(numbers, [rows.start, rows.stop]))
        keys = None if wanted.keys is None else np.ascontiguousarray(wanted.keys[:, inside])
        local = None if kept is None else kept[inside] - rows.start
        shared.append(Wanted(np.ascontiguousarray(wanted.rows[:, inside]), keys, wanted.squares, wanted.equal, local))
    present = [i for i, part in enumerate(shared) if part.rows.shape[1]]
    calls = [
        Call(i, j, None if first is None else first[columns])
        for i in present
        for j, columns in enumerate(grid.column_slices)
    ]
    found = grid.run(read_block, calls, shared)
    across = grid.size[1]
    total = joined(found[:across])
    for begin in range(across, len(found), across):
        total = _added(total, joined(found[begin : begin + across]))
    return total


def _added(one: Part, other: Part) -> Part:
    """The results for the rows of both; digests are added modulo 2^64."""
    digests = None if one.digests is None or other.digests is None else one.digests + other.digests
    return Part(one.products + other.products, one.squares + other.squares, one.sums + other.sums, digests)
