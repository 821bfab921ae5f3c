"""Matrices in rectangular blocks: functions are sent to the blocks, and their results come back.

A ``Grid`` says where rows and columns are divided and runs functions on blocks, wherever those are: in memory, in
mapped files (``ArrayGrid``), or on the workers of a cluster (:class:`sparsest.proofs.cluster.DaskGrid`).  The checker
sends its own functions, and solvers send theirs; a grid computes nothing itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from sparsest.proofs.rounding import Indices

T = TypeVar("T")

# Called with a block, what the calls of its row of blocks share, and the call's own argument.
Work = Callable[[NDArray[Any], Any, Any], T]


class Call(NamedTuple):
    """A call for one block: its row and column in the grid, and the call's own argument."""

    i: int
    j: int
    own: Any = None


class Grid(ABC):
    """An n × p matrix that is divided into blocks.

    Parameters
    ----------
    heights, widths : rows of each row of blocks, and columns of each column of blocks; none is zero.
    dtype : the type of the entries.
    """

    # Whether blocks are processed at the same time, so that the functions called should not start further threads.
    parallel: bool

    def __init__(self, heights: Sequence[int], widths: Sequence[int], dtype: np.dtype[Any]) -> None:
        self.row_bounds: Indices = np.array([0, *accumulate(heights)], dtype=np.intp)
        self.column_bounds: Indices = np.array([0, *accumulate(widths)], dtype=np.intp)
        self.dtype = dtype

    @abstractmethod
    def run(self, work: Work[T], calls: Sequence[Call], shared: Sequence[Any] | None = None) -> list[T]:
        """``work(block_ij, shared[i], own)`` for each call, in order.

        Parameters
        ----------
        work : a function of a module, or a ``partial`` of one; it must not change the block
        calls : the blocks, each at most once
        shared : one argument for each row of blocks; None by default
        """

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the matrix."""
        return int(self.row_bounds[-1]), int(self.column_bounds[-1])

    @property
    def size(self) -> tuple[int, int]:
        """Rows and columns of blocks."""
        return self.row_bounds.size - 1, self.column_bounds.size - 1

    @cached_property
    def row_slices(self) -> list[slice]:
        """The rows of each row of blocks."""
        return [slice(int(a), int(b)) for a, b in zip(self.row_bounds[:-1], self.row_bounds[1:], strict=True)]

    @cached_property
    def column_slices(self) -> list[slice]:
        """The columns of each column of blocks."""
        return [slice(int(a), int(b)) for a, b in zip(self.column_bounds[:-1], self.column_bounds[1:], strict=True)]

    def located(self, index: Indices) -> list[tuple[int, Indices, Indices]]:
        """Divide column numbers among blocks: for each block that has some, j, positions in ``index``, numbers inside.

        The numbers may be in any order, and repeated.
        """
        block = np.searchsorted(self.column_bounds, index, side="right") - 1
        found = []
        for j in np.unique(block).tolist():
            at = np.flatnonzero(block == j)
            found.append((j, at, index[at] - self.column_bounds[j]))
        return found

    def gather(self, index: Indices) -> NDArray[Any]:
        """Copy some columns here, in their own type and Fortran order."""
        out = np.empty((self.shape[0], index.size), dtype=self.dtype, order="F")
        located = self.located(index)
        calls = [Call(i, j, inside) for i in range(self.size[0]) for j, _, inside in located]
        places = [(i, at) for i in range(self.size[0]) for _, at, _ in located]
        for (i, at), part in zip(places, self.run(_columns_of, calls), strict=True):
            out[self.row_slices[i], at] = part
        return out

    def gather_row(self, row: int) -> NDArray[Any]:
        """Copy one row here."""
        i = int(np.searchsorted(self.row_bounds, row, side="right")) - 1
        calls = [Call(i, j, row - int(self.row_bounds[i])) for j in range(self.size[1])]
        return np.concatenate(self.run(_row_of, calls))


class ArrayGrid(Grid):
    """Arrays of this process, in memory or mapped from files.

    Parameters
    ----------
    blocks : rows of blocks; all blocks have the same type.
    """

    parallel = False

    def __init__(self, blocks: Sequence[Sequence[NDArray[Any]]]) -> None:
        super().__init__([row[0].shape[0] for row in blocks], [b.shape[1] for b in blocks[0]], blocks[0][0].dtype)
        self._blocks = blocks
        for i, row in enumerate(blocks):
            for j, block in enumerate(row):
                expected = (int(np.diff(self.row_bounds)[i]), int(np.diff(self.column_bounds)[j]))
                if block.shape != expected or block.dtype != self.dtype:
                    raise ValueError(f"block ({i}, {j}) has shape {block.shape} and type {block.dtype}")

    def run(self, work: Work[T], calls: Sequence[Call], shared: Sequence[Any] | None = None) -> list[T]:
        """Call the function for one block after another."""
        return [work(self._blocks[i][j], None if shared is None else shared[i], own) for i, j, own in calls]


def is_sequence_of_matrices(X: Any) -> bool:
    """Whether an object is a list or tuple of two-dimensional arrays: chunks of the rows of a matrix."""
    return (
        isinstance(X, (list, tuple)) and bool(X) and all(isinstance(part, np.ndarray) and part.ndim == 2 for part in X)
    )


def row_chunks(parts: Sequence[NDArray[Any]]) -> ArrayGrid:
    """The grid of matrices that are stacked on top of each other; empty ones are left out."""
    widths, types = {part.shape[1] for part in parts}, {part.dtype for part in parts}
    if len(widths) > 1 or len(types) > 1:
        raise ValueError(
            f"chunks of rows must have the same number of columns and the same type, got {sorted(widths)} columns and "
            f"types {', '.join(sorted(map(str, types)))}"
        )
    filled = [part for part in parts if part.size]
    if not filled:
        raise ValueError("X must have at least one row and one column: all chunks of rows are empty")
    return ArrayGrid([[part] for part in filled])


def _columns_of(block: NDArray[Any], shared: None, inside: Indices) -> NDArray[Any]:
    """Some columns of a block, each contiguous."""
    return np.take(block.T, inside, axis=0).T


def _row_of(block: NDArray[Any], shared: None, row: int) -> NDArray[Any]:
    return block[row].copy()
