"""Columns of a design in the forms in which whole steps of a path are compiled."""

from __future__ import annotations

import numpy as np

from sparsest.arrays import Array, Indices
from sparsest.designs.base import Design
from sparsest.designs.dense import Dense
from sparsest.designs.packs import float64_columns
from sparsest.designs.sparse import Sparse
from sparsest.designs.standardized import take_apart
from sparsest.kernels.descent import Stored
from sparsest.kernels.path import Lines

# A dense matrix whose columns are not lines of float64 in memory is copied if that takes no more bytes than this.
# Columns in use may take as many, or as many as the whole matrix as it is stored; of a path they are seldom more than
# twice as many as there are observations.
_COPY_BYTES = 1 << 28
# Columns in use for which there is room at first.
_ROOM = 32


def path_columns(view: Design, weights: Array, centred: bool) -> Lines | Stored | None:
    """Return the columns of a view for a path with these weights, which sum to one; none of them is in use yet.

    None if no compiled form takes what is stored.
    """
    stored, shift, scale = take_apart(view)
    n, p = view.shape
    if isinstance(stored, Sparse):
        centre, scales, mass, curvature, step = np.empty((5, p))
        uniform = bool((weights == weights[0]).all())
        return Stored(
            *float64_columns(stored.matrix), shift, scale, np.empty(p, dtype=np.intp), centre, scales, mass,
            curvature, step, weights, uniform, centred, np.zeros(n), np.zeros(1),
        )  # fmt: skip
    if not isinstance(stored, Dense) or 8 * n * min(p, 2 * n) > max(stored.array.nbytes, _COPY_BYTES):
        return None
    lines = stored.as_lines(_COPY_BYTES)
    if lines is None:
        return None
    return _with_room(Lines(lines, shift, scale, np.sqrt(weights), *_buffers(0, n)), _ROOM)


def _buffers(room: int, n: int) -> tuple[Indices, Array, Array, Array, Array]:
    return np.empty(room, dtype=np.intp), np.empty((room, n)), np.empty((room, room)), np.empty(room), np.empty(room)


def _with_room(columns: Lines, room: int) -> Lines:
    """Copy the columns in use into larger buffers."""
    used = columns.names.size
    names, copies, gram, curvature, step = _buffers(room, columns.root.size)
    names[:used], copies[:used], gram[:used, :used] = columns.names, columns.copies, columns.gram
    curvature[:used], step[:used] = columns.curvature, columns.step
    return columns._replace(names=names, copies=copies, gram=gram, curvature=curvature, step=step)


def enlarged(columns: Lines | Stored, most: int) -> Lines | Stored:
    """The same columns with room for more, up to a number."""
    return columns if isinstance(columns, Stored) else _with_room(columns, min(2 * columns.names.size, most))


def keep(columns: Lines | Stored, positions: Indices) -> None:
    """Drop all columns in use but those at these positions."""
    k = positions.size
    columns.names[:k], columns.curvature[:k] = columns.names[positions], columns.curvature[positions]
    columns.step[:k] = columns.step[positions]
    if isinstance(columns, Stored):
        columns.centre[:k], columns.scale[:k] = columns.centre[positions], columns.scale[positions]
        columns.mass[:k] = columns.mass[positions]
    else:
        columns.copies[:k] = columns.copies[positions]
        columns.gram[:k, :k] = columns.gram[np.ix_(positions, positions)]
