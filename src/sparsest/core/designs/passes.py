"""Passes over a matrix that is read on demand: their counts, and the blocks they read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from sparsest.core.arrays import Indices
from sparsest.core.designs.base import PassStopped
from sparsest.core.designs.sources import PickingSource, Source

Listener = Callable[[float, int], Any]

# Unneeded lines between two needed ones are read if they have fewer bytes than this: one long read is faster than two.
_GAP_BYTES = 1 << 18


class Reading:
    """How much of a matrix was read so far, and how long it took; the seconds of all threads are added.

    Attributes
    ----------
    passes : number of passes over the matrix; a pass over a part counts as its share
    bytes : number of bytes read
    seconds_reading, seconds_computing : seconds of all threads
    stop : called after every block; if it returns True, the pass ends with :class:`PassStopped`
    listener : called after every block, with the passes and the bytes so far
    """

    def __init__(self, listener: Listener | None = None) -> None:
        self.stop: Callable[[], bool] = lambda: False
        self.listener = listener
        self.passes, self.bytes = 0.0, 0
        self.seconds_reading, self.seconds_computing = 0.0, 0.0

    def note(self, passes: float, n_bytes: int, seconds_reading: float, seconds_computing: float) -> None:
        """Count a block; raise :class:`PassStopped` if ``stop`` returns True."""
        self.passes += passes
        self.bytes += n_bytes
        self.seconds_reading += seconds_reading
        self.seconds_computing += seconds_computing
        if self.listener is not None:
            self.listener(self.passes, self.bytes)
        if self.stop():
            raise PassStopped

    def __getstate__(self) -> dict[str, float]:
        """The numbers."""
        return {name: value for name, value in self.__dict__.items() if name not in ("stop", "listener")}

    def __setstate__(self, state: dict[str, float]) -> None:
        self.__init__()  # type: ignore[misc]
        self.__dict__.update(state)

    def summary(self) -> dict[str, float]:
        """The numbers by name."""
        return {
            "passes": round(self.passes, 6), "bytes": self.bytes, "seconds_reading": self.seconds_reading,
            "seconds_computing": self.seconds_computing,
        }  # fmt: skip


class Part(NamedTuple):
    """Lines from ``begin`` to ``end`` of the source.

    ``at`` are their positions among the lines in use.  ``inside`` are the lines in use within the part; None means all.
    """

    begin: int
    end: int
    at: Indices | slice
    inside: Indices | None

    @property
    def rows(self) -> Indices | slice:
        """The positions as an index of rows that goes with one of columns."""
        return self.at if isinstance(self.at, slice) else self.at[:, None]


def parts_of(source: Source, index: Indices | None, block_bytes: int) -> Iterator[Part]:
    """Blocks with the lines of these numbers, or with all lines."""
    width = source.width(block_bytes)
    if index is None:
        for begin in range(0, source.n_lines, width):
            end = min(begin + width, source.n_lines)
            yield Part(begin, end, slice(begin, end), None)
        return
    order = np.argsort(index, kind="stable")
    ordered, first = index[order], 0
    direct = source.mapped or (isinstance(source, PickingSource) and not source.by_rows)
    gap = source.n_lines if direct else max(source.step, _GAP_BYTES // max(source.line_bytes, 1))
    while first < ordered.size:
        begin = int(ordered[first]) // source.step * source.step
        last = min(first + width, ordered.size)
        if not direct:
            last = min(last, int(np.searchsorted(ordered, begin + width)))
        jumps = np.flatnonzero(np.diff(ordered[first:last]) > gap)
        last = first + int(jumps[0]) + 1 if jumps.size else last
        yield Part(begin, int(ordered[last - 1]) + 1, order[first:last], ordered[first:last] - begin)
        first = last
