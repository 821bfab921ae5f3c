"""A grid of blocks that counts how much of it is read, by designs and by the checker."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsest.core.arrays import Indices
from sparsest.core.designs.passes import Reading
from sparsest.proofs.grid import Call, Grid, T, Work


class CountedGrid(Grid):
    """Another grid, and counts of its passes.

    Blocks are read by the workers that compute results, so reading and computing cannot be timed separately:
    ``seconds_computing`` is the time from the call until all results are returned.

    Parameters
    ----------
    grid : the blocks.
    reading : the counts; its ``stop`` is called after every call.
    """

    def __init__(self, grid: Grid, reading: Reading) -> None:
        super().__init__(np.diff(grid.row_bounds).tolist(), np.diff(grid.column_bounds).tolist(), grid.dtype)
        self.parallel, self.reading, self._grid = grid.parallel, reading, grid

    def run(self, work: Work[T], calls: Sequence[Call], shared: Sequence[Any] | None = None) -> list[T]:
        """Call a function that reads whole blocks."""
        heights, widths = np.diff(self.row_bounds), np.diff(self.column_bounds)
        entries = sum(int(heights[call.i]) * int(widths[call.j]) for call in calls)
        return self._noted(work, calls, shared, entries)

    def run_some(self, work: Work[T], calls: Sequence[Call], shared: Sequence[Any] | None, n_columns: int) -> list[T]:
        """Call a function that reads this many columns of the blocks."""
        heights = np.diff(self.row_bounds)
        n_rows = int(heights[sorted({call.i for call in calls})].sum())
        return self._noted(work, calls, shared, n_rows * n_columns)

    def gather(self, index: Indices) -> NDArray[Any]:
        """Copy columns into this process, and count them."""
        began = perf_counter()
        found = self._grid.gather(index)
        self._note(began, found.size)
        return found

    def gather_row(self, row: int) -> NDArray[Any]:
        """Copy a row into this process, and count it."""
        began = perf_counter()
        found = self._grid.gather_row(row)
        self._note(began, found.size)
        return found

    def _noted(self, work: Work[T], calls: Sequence[Call], shared: Sequence[Any] | None, entries: int) -> list[T]:
        began = perf_counter()
        found = self._grid.run(work, calls, shared)
        self._note(began, entries)
        return found

    def _note(self, began: float, entries: int) -> None:
        share, n_bytes = entries / (self.shape[0] * self.shape[1]), entries * self.dtype.itemsize
        self.reading.note(share, n_bytes, 0.0, perf_counter() - began)
