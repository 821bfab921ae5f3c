"""Triples of features on which a matrix with unit diagonal is not proved to be positive semidefinite.

If its entries are at most 1, it is positive semidefinite on j, a, b if ``|R_ab - R_ja R_jb| ≤ h_a h_b`` with
``h_a² = 1 - R_ja²``.  If x, y, z are the largest absolute entries between three blocks of features and
``1 - x² - y² - z² - 2xyz ≥ 0``, that holds for all triples of these blocks.  Other triples are tested in single
precision, and those that fail in double precision.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparsest.proofs.data import Room
from sparsest.proofs.rounding import UNIT, Array, Indices
from sparsest.proofs.threads import mapped

Single = NDArray[np.float32]
Mask = NDArray[np.bool_]

_UNIT_SINGLE = 2.0**-24
# Features in a block, and rows of products that are computed together.
_BLOCK, _ROWS = 64, 512
# All rounding errors together are less than this many units.
_UNITS = 128.0
_NEARLY_ONE = 0.999
# Smaller squares of h are not used as divisors.
_LEAST_SQUARE = np.float32(1e-12)
# The check ends if more triples than this fail in single precision.
_MOST_TRIPLES = 2_000_000
# With fewer features, threads cost more than they save.
_WORTH_THREADS = 500


class TooMany(Exception):
    """Too many choices fail the common test to be tried one by one."""


def failing_triples(left: Array, right: Array, known: Indices, threads: int, room: Room) -> Indices:
    """The triples, by their positions, on which ``left @ right.T`` with unit diagonal fails the test.

    Triples that contain a ``known`` pair, one in each row, are skipped.
    """
    size = left.shape[0]
    if size < 3:
        return np.empty((0, 3), dtype=np.intp)
    if 4 * size * size > room.most:
        raise ValueError(f"a step needs a matrix of order {size}, which is too large")
    threads = threads if size > _WORTH_THREADS else 1
    R = _single(left, right, threads)
    R[known[:, 0], known[:, 1]] = R[known[:, 1], known[:, 0]] = 0.0
    peaks = _peaks(R, threads)
    # A feature is not paired with itself; with this entry such a pair hardly ever fails.
    R.flat[:: size + 1] = _NEARLY_ONE
    # Start with the last blocks, which take longest.
    blocks = range(peaks.shape[0] - 1, -1, -1)
    found = [np.empty((0, 3), dtype=np.intp), *mapped(lambda J: _scan(R, peaks, J), blocks, threads)]
    if sum(part.shape[0] for part in found) > _MOST_TRIPLES:
        raise TooMany
    triples = np.concatenate(found)
    if known.size:
        codes = known.max(axis=1) * size + known.min(axis=1)
        triples = triples[~np.isin(triples[:, [0, 0, 1]] * size + triples[:, [1, 2, 2]], codes).any(axis=1)]
    return triples[~_hold(left, right, triples)]


def _single(left: Array, right: Array, threads: int) -> Single:
    """``left @ right.T`` in single precision, with 0 on its diagonal."""
    size = left.shape[0]
    R = np.empty((size, size), dtype=np.float32)

    def fill(begin: int) -> None:
        R[begin : begin + _ROWS] = left[begin : begin + _ROWS] @ right.T

    list(mapped(fill, range(0, size, _ROWS), threads))
    R.flat[:: size + 1] = 0.0
    return R


def _peaks(R: Single, threads: int) -> Array:
    """The largest absolute entries between blocks of features; infinite if one is NaN."""
    starts = np.arange(0, R.shape[0], _BLOCK)

    def of_rows(begin: int) -> Array:
        rows = R[begin : begin + _BLOCK]
        above, below = (np.maximum.reduceat(side, starts) for side in (rows.max(axis=0), -rows.min(axis=0)))
        return np.maximum(above, below).astype(np.float64)

    peaks = np.array(list(mapped(of_rows, starts.tolist(), threads)))
    return np.where(np.isnan(peaks), np.inf, peaks)


def _open_blocks(peaks: Array, J: int) -> list[tuple[int, int]]:
    """Blocks A ≤ J, and the first B ≤ A such that triples of J, A and the blocks from B to A must be tested."""
    margin = 1.0 - _UNITS * _UNIT_SINGLE
    x, y, z = peaks[J, : J + 1, None], peaks[J, None, : J + 1], peaks[: J + 1, : J + 1]
    closed = margin - x * x - y * y - z * z - 2.0 * x * y * z >= 0.0
    first = [np.flatnonzero(~closed[A, : A + 1])[:1] for A in range(J + 1)]
    return [(A, int(B[0])) for A, B in enumerate(first) if B.size]


def _scan(R: Single, peaks: Array, J: int) -> Indices:
    """Triples ``j > a > b`` with j in a block that fail in single precision."""
    e = R[J * _BLOCK : (J + 1) * _BLOCK]
    squares = np.float32(1.0 - _UNITS * _UNIT_SINGLE) - e * e
    # All triples with a nearly dependent pair are tested in double precision.
    bad = ~(squares >= _LEAST_SQUARE)
    inverse = 1.0 / np.sqrt(np.where(bad, _LEAST_SQUARE, squares))
    limits = np.sqrt(np.where(bad, 0.0, squares)) * np.float32(1.0 - 8.0 * _UNIT_SINGLE)
    # With a limit of 0, differences that single precision rounds to 0 would hold.
    limits[bad] = -1.0
    ratios = e * inverse
    found, count = [np.empty((0, 3), dtype=np.intp)], 0
    for A, B in _open_blocks(peaks, J):
        rows = slice(A * _BLOCK, min((A + 1) * _BLOCK, R.shape[0]))
        columns = slice(B * _BLOCK, rows.stop)
        block = R[rows, columns]
        products, scaled = np.empty_like(block), np.empty_like(block)
        for i in range(e.shape[0]):
            np.multiply(block, inverse[i, columns], out=scaled)
            np.multiply(e[i, rows, None], ratios[i, columns], out=products)
            np.subtract(scaled, products, out=scaled)
            limit = limits[i, rows]
            held = (scaled.max(axis=1) <= limit) & (scaled.min(axis=1) >= -limit)
            if not held.all() or bad[i, columns].any():
                fails = ~(np.abs(scaled) <= limit[:, None]) | bad[i, columns]
                found.append(_listed(fails, J * _BLOCK + i, rows.start, columns.start))
                count += found[-1].shape[0]
                if count > _MOST_TRIPLES:
                    raise TooMany
    return np.concatenate(found)


def _listed(fails: Mask, j: int, first_row: int, first_column: int) -> Indices:
    """The triples ``j > a > b`` of a feature j and the pairs that fail with it."""
    a, b = np.nonzero(fails)
    a, b = a + first_row, b + first_column
    ordered = (b < a) & (a < j)
    return np.column_stack([np.full(int(ordered.sum()), j), a[ordered], b[ordered]])


def _hold(left: Array, right: Array, triples: Indices) -> Mask:
    """Whether triples hold in double precision."""
    held = np.zeros(triples.shape[0], dtype=bool)
    for begin in range(0, held.size, 4096):
        part = triples[begin : begin + 4096]
        j, a, b = (part[:, i] for i in range(3))
        e_a, e_b, r = (np.einsum("ij,ij->i", left[x], right[y]) for x, y in ((j, a), (j, b), (a, b)))
        margin = 1.0 - _UNITS * UNIT
        square_a, square_b = margin - e_a * e_a, margin - e_b * e_b
        product = np.sqrt(np.maximum(square_a, 0.0)) * np.sqrt(np.maximum(square_b, 0.0))
        held[begin : begin + 4096] = (square_a > 0.0) & (square_b > 0.0) & (np.abs(r - e_a * e_b) <= product)
    return held
