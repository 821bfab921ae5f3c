"""Columns of a design in the forms in which whole steps of a path are compiled."""

from __future__ import annotations

import numpy as np

from sparsest.arrays import Array
from sparsest.designs.base import Design
from sparsest.designs.dense import Dense
from sparsest.designs.packs import stored_columns
from sparsest.designs.sparse import Sparse
from sparsest.designs.standardized import take_apart
from sparsest.kernels.descent import Stored
from sparsest.kernels.path import Lines

# A dense matrix whose columns are not lines in memory is copied if it takes no more bytes than this.
_COPY_BYTES = 1 << 28
# Bytes that copies of the columns in use may take, beyond those of the whole matrix.
_ROOM = 32


def path_columns(view: Design, weights: Array, centred: bool) -> Lines | Stored | None:
    """Return the columns of a view for a path with these weights, which sum to one; none of them is in use yet.

    None if no compiled form takes what is stored.
    """
    stored, shift, scale = take_apart(view)
    n, p = view.shape
    if isinstance(stored, Sparse):
        room = [np.empty(p) for _ in range(4)]
        centre, scales, mass, curvature = room
        return Stored(
            *stored_columns(stored.matrix), shift, scale, np.empty(p, dtype=np.intp), centre, scales, mass, curvature,
            weights, bool((weights == weights[0]).all()), centred, np.zeros(n), np.zeros(1),
        )  # fmt: skip
    if not isinstance(stored, Dense):
        return None
    lines = stored.as_lines(_COPY_BYTES)
    if lines is None:
        return None
    return _with_room(Lines(lines, shift, scale, np.sqrt(weights), *_buffers(0, n)), _ROOM)


def _buffers(room: int, n: int) -> tuple:
    return np.empty(room, dtype=np.intp), np.empty((room, n)), np.empty((room, room)), np.empty(room)


def _with_room(columns: Lines, room: int) -> Lines:
    """Copy the columns in use into larger buffers."""
    used = columns.index.size
    index, copies, gram, curvature = _buffers(room, columns.root.size)
    index[:used], copies[:used], curvature[:used] = columns.index, columns.copies, columns.curvature
    gram[:used, :used] = columns.gram
    return columns._replace(index=index, copies=copies, gram=gram, curvature=curvature)


def enlarged(columns: Lines | Stored, most: int) -> Lines | Stored:
    """The same columns with room for more, up to a number."""
    return columns if isinstance(columns, Stored) else _with_room(columns, min(2 * columns.index.size, most))


def keep(columns: Lines | Stored, positions: np.ndarray) -> None:
    """Drop all columns in use but those at these positions."""
    k = positions.size
    columns.index[:k], columns.curvature[:k] = columns.index[positions], columns.curvature[positions]
    if isinstance(columns, Stored):
        columns.centre[:k], columns.scale[:k] = columns.centre[positions], columns.scale[positions]
        columns.mass[:k] = columns.mass[positions]
    else:
        columns.copies[:k] = columns.copies[positions]
        columns.gram[:k, :k] = columns.gram[np.ix_(positions, positions)]
