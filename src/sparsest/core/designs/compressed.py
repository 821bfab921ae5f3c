"""Compressed sparse columns in the form that kernels use, and buffers for the columns in use."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sparsest.core.arrays import Array, Indices, frozen
from sparsest.core.kernels.sparse import Stored, stored_keep

# Initial room for entries: this many, or this share of all entries if that is more.
_LEAST_ROOM, _ROOM_SHARE = 4096, 1.0 / 16.0


def stored_columns(matrix: sp.csc_array) -> tuple[NDArray[Any], NDArray[np.uint32], Indices]:
    """The entries, rows and starts of compressed columns in the form that kernels use, without copies."""
    # With unsigned numbers, kernels need not check for negative indices.
    rows = matrix.indices.view(np.uint32) if matrix.indices.dtype == np.int32 else matrix.indices.astype(np.uint32)
    return frozen(matrix.data), frozen(rows), frozen(matrix.indptr.astype(np.intp))


def make_stored(matrix: sp.csc_array, shift: Array, scale: Array, h: Array, centred: bool) -> Stored:
    """Columns ``(x_j - shift_j)/scale_j`` of a matrix of float32 or float64 under the weights h, none in use yet."""
    entries, rows, starts = stored_columns(matrix)
    n, p = matrix.shape
    # Two arrays, one of them empty, so that large kernels are compiled for one type only.
    single = entries.dtype == np.float32
    doubles, singles = (np.empty(0) if single else entries), (entries if single else np.empty(0, dtype=np.float32))
    room = min(max(_LEAST_ROOM, int(_ROOM_SHARE * entries.size)), entries.size)
    centre, mass, curvature, step = np.empty((4, p))
    return Stored(
        frozen(np.asarray(doubles, dtype=np.float64)), frozen(singles), rows, starts, shift, scale,
        np.empty(p, dtype=np.intp), np.empty(room), np.empty(room, dtype=np.uint32), np.zeros(p + 1, dtype=np.intp),
        centre, mass, curvature, step, np.sqrt(h), centred, np.zeros(n), np.zeros(1),
    )  # fmt: skip


def enlarged_stored(columns: Stored, used: int, wanted: int) -> Stored:
    """The same columns with room for at least ``wanted`` entries; the first ``used`` columns are in use."""
    room, end = columns.values.size, columns.begins[used]
    if wanted <= room:
        return columns
    # Buffers at least double, up to the size of the whole matrix; a column may be in use more than once.
    room = max(wanted, min(2 * room, columns.rows.size))
    values, places = np.empty(room), np.empty(room, dtype=np.uint32)
    values[:end], places[:end] = columns.values[:end], columns.places[:end]
    return columns._replace(values=values, places=places)


def kept_stored(columns: Stored, positions: Indices) -> None:
    """Drop all columns in use except those at these increasing positions."""
    k = positions.size
    stored_keep(columns.values, columns.places, columns.begins, positions)
    for part in (columns.names, columns.centre, columns.mass, columns.curvature, columns.step):
        part[:k] = part[positions]
