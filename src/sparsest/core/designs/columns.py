"""Columns of a design in the forms that compiled kernels of a path use."""

from __future__ import annotations

import numpy as np

from sparsest.core.arrays import Array, Indices
from sparsest.core.designs.base import Design
from sparsest.core.designs.compressed import enlarged_stored, kept_stored, make_stored
from sparsest.core.designs.dense import Dense
from sparsest.core.designs.sparse import Sparse
from sparsest.core.designs.standardized import take_apart
from sparsest.core.kernels.lines import Lines
from sparsest.core.kernels.sparse import Stored

# A dense matrix whose columns are not contiguous float64 is copied if the copy takes at most this many bytes.  The
# columns in use may take the same number, or as much as the stored matrix; a path seldom uses more than 2n columns.
_COPY_BYTES = 1 << 28
# Initial room for columns in use; with a quarter of it, paths over 71 × 4088 took a tenth longer.
_ROOM = 128


def path_columns(view: Design, weights: Array, centred: bool, copy_bytes: int = _COPY_BYTES) -> Lines | Stored | None:
    """Return the columns of a view for a path with these weights, which sum to one; no column is in use yet.

    None if there is no compiled form for the storage.
    """
    stored, shift, scale = take_apart(view)
    n, p = view.shape
    if isinstance(stored, Sparse):
        return make_stored(stored.matrix, shift, scale, weights, centred)
    if not isinstance(stored, Dense) or 8 * n * min(p, 2 * n) > max(stored.array.nbytes, copy_bytes):
        return None
    lines = stored.as_lines(copy_bytes)
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


def start(columns: Lines | Stored, target: Array) -> None:
    """Set all coefficients to zero, where the residual is minus this target."""
    if isinstance(columns, Stored):
        columns.carried[:], columns.constant[:] = -target, 0.0


def enlarged(columns: Lines | Stored, used: int) -> Lines | Stored:
    """The same columns with room for more; ``used`` of them are in use."""
    if isinstance(columns, Stored):
        return enlarged_stored(columns, used, 2 * columns.values.size)
    return _with_room(columns, 2 * columns.names.size)


def keep(columns: Lines | Stored, positions: Indices) -> None:
    """Drop all columns in use except those at these increasing positions."""
    if isinstance(columns, Stored):
        kept_stored(columns, positions)
        return
    k = positions.size
    columns.names[:k], columns.curvature[:k] = columns.names[positions], columns.curvature[positions]
    columns.step[:k], columns.copies[:k] = columns.step[positions], columns.copies[positions]
    columns.gram[:k, :k] = columns.gram[np.ix_(positions, positions)]
