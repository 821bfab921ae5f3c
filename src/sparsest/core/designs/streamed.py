"""A matrix that is read in blocks, in one pass for each method, such as from disk.

Blocks are read and processed by a few threads: while some compute, others read ahead.  Results of blocks are combined
in order, so that they do not depend on the number of threads.  Only ``columns`` and the blocks being processed are in
memory; ``rows`` and ``take`` copy small selections, and otherwise store the indices.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from threading import Lock
from time import perf_counter
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sparsest.core.arrays import Mask
from sparsest.core.designs.base import Array, Design, Indices, Moments, Subset, Survey
from sparsest.core.designs.combining import RowSurveys, dense_array, digests_of, joined, touch
from sparsest.core.designs.dense import Dense, cores
from sparsest.core.designs.packs import DensePack
from sparsest.core.designs.passes import Listener, Part, Reading, parts_of
from sparsest.core.designs.recent import Recent, nothing_known
from sparsest.core.designs.row_sums import RowSums
from sparsest.core.designs.sources import BLOCK_BYTES, PickingSource, Source, as_block, in_memory
from sparsest.core.designs.sparse import Sparse
from sparsest.core.designs.summed_packs import SummedPack
from sparsest.proofs.fingerprint import Fingerprint
from sparsest.runtime.memory import store_limit
from sparsest.runtime.threads import single_threaded

T = TypeVar("T")
Words = NDArray[np.uint64]

# Work on a block is not divided among threads, because each block has its own thread.
_UNDIVIDED = 1 << 62
# Rows and columns that are chosen are copied if they take at most this many bytes, or less where memory is scarce.
COPY_BYTES = 1 << 27
# Columns that will probably be wanted take at most this part of them, as a new block of them is filled beside the last.
_PREFETCHED = 4
# Only the wanted columns of a mapped matrix are read if that is at most this share of each row.
_SMALL_SHARE = 0.25


@dataclass(frozen=True, eq=False)
class Streamed(Design):
    """The matrix of a source, or some of its rows and columns.

    Attributes
    ----------
    source : reads lines, which are columns or rows
    lines : numbers of the lines in use; None for all
    across : numbers of the entries of each line in use; None for all
    reading : counts what is read
    block_bytes : size of the blocks that are read
    copy_bytes : rows and columns that are chosen are copied if they take at most this many bytes
    digesting : whether a survey computes digests for the fingerprint as well
    """

    source: Source
    lines: Indices | None = None
    across: Indices | None = None
    reading: Reading = field(default_factory=Reading)
    block_bytes: int = BLOCK_BYTES
    copy_bytes: int = field(default_factory=lambda: store_limit(COPY_BYTES))
    digesting: bool = False
    _lock: Any = field(default_factory=Lock, repr=False)
    _digests: list[Words] = field(default_factory=list, repr=False)
    _recent: list[Recent] = field(default_factory=list, repr=False)

    accurate = True

    @property
    def shape(self) -> tuple[int, int]:
        n_lines = self.source.n_lines if self.lines is None else self.lines.size
        if self.across is None:
            n_across = self.source.shape[1] if self.source.by_rows else self.source.shape[0]
        else:
            n_across = self.across.size
        return (n_lines, n_across) if self.source.by_rows else (n_across, n_lines)

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the columns, or None."""
        names, index = self.source.names, self._index(np.arange(self.shape[1]))
        return None if names is None else tuple(names[j] for j in index)

    @property
    def resident_bytes(self) -> int:
        return 0

    @property
    def reads_rows(self) -> bool:
        """Whether rows are read together, and all of them are in use."""
        return self.source.by_rows and self.lines is None

    def read_rows(self, begin: int, end: int) -> NDArray[Any]:
        """Rows in their own type; only for a design that ``reads_rows``."""
        block = self.block(begin, end)
        return dense_array(block if self.across is None else block.take(self.across))

    def block(self, begin: int, end: int) -> Design:
        """Lines of the source, and all entries of each."""
        part = Part(begin, end, slice(begin, end), None)
        return self._noted(part, 1.0, self._processed(part, lambda block, part: block, _UNDIVIDED, 1.0))

    def counted(self) -> Streamed:
        """The same design with new counts of what is read."""
        return replace(self, reading=Reading(self.reading.listener), _digests=[], _recent=[])

    def reporting(self, listener: Listener) -> Streamed:
        """The same design, which calls a function after every block with the passes and the bytes so far."""
        return replace(self, reading=Reading(listener), _digests=[], _recent=[])

    def fingerprinted(self) -> Streamed:
        """The same design, whose survey also computes digests, so that a fingerprint needs no separate pass."""
        return replace(self, digesting=True)

    def __getstate__(self) -> dict[str, Any]:
        """The state without the lock, which cannot be sent to another process, and without recent columns."""
        return {name: value for name, value in self.__dict__.items() if name not in ("_lock", "_recent")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=Lock(), _recent=[])

    def survey(self, weights: Array, targets: Array | None = None) -> Survey:
        """Moments and products and, if this design is ``fingerprinted``, digests in one pass."""
        n, p = self.shape
        keys = Fingerprint(n, p).keys if self.digesting else None
        digests = np.zeros((2, p), dtype=np.uint64)
        survey = self._survey_rows if self.source.by_rows else self._survey_columns
        result = survey(weights, targets, keys, digests)
        if keys is not None:
            self._digests[:] = [keys, digests]
        return result

    def _survey_columns(self, weights: Array, targets: Array | None, keys: Words | None, digests: Words) -> Survey:
        p = self.shape[1]
        moments = Moments(*np.empty((3, p)))
        products = np.empty((p, *((0,) if targets is None else targets.shape[1:])))

        def work(block: Design, part: Part) -> tuple[Survey, Words | None]:
            chosen = block if part.inside is None else block.take(part.inside)
            return chosen.survey(weights, targets), None if keys is None else digests_of(chosen, keys)

        for part, (survey, found) in self._pass(self.lines, work):
            for whole, values in zip(moments, survey.moments, strict=True):
                whole[part.at] = values
            products[part.at] = survey.products
            if found is not None:
                digests[:, part.at] = found
        return Survey(moments, products)

    def _survey_rows(self, weights: Array, targets: Array | None, keys: Words | None, digests: Words) -> Survey:
        combined = RowSurveys(self.shape[1])

        def work(block: Design, part: Part) -> tuple[Survey, Words | None]:
            chosen, own = block if self.across is None else block.take(self.across), weights[part.at]
            chosen_targets = None if targets is None else targets[part.at]
            survey = chosen.survey(own if own.any() else np.ones(own.size), chosen_targets)
            return survey, None if keys is None else digests_of(chosen, keys[:, part.at])

        for part, (survey, found) in self._pass(self.lines, work):
            combined.add(survey, float(weights[part.at].sum()))
            if found is not None:
                digests += found
        return combined.survey()

    def digests(self, keys: Words) -> Words:
        if self._digests and np.array_equal(self._digests[0], keys):
            return self._digests[1].copy()
        out = np.zeros((2, self.shape[1]), dtype=np.uint64)
        if self.source.by_rows:
            for _, found in self._pass(self.lines, lambda block, part: self._digests_of_rows(block, keys[:, part.at])):
                out += found
            return out

        def work(block: Design, part: Part) -> Words:
            return digests_of(block if part.inside is None else block.take(part.inside), keys)

        for part, found in self._pass(self.lines, work):
            out[:, part.at] = found
        return out

    def _digests_of_rows(self, block: Design, keys: Words) -> Words:
        return digests_of(block if self.across is None else block.take(self.across), keys)

    def dot(self, w: Array, subset: Subset | None = None) -> Array:
        index = None if subset is None else np.asarray(subset, dtype=np.intp)
        out = np.zeros((self.shape[0], *w.shape[1:]))
        if self.source.by_rows:
            chosen = self.across if index is None else self._index(index)
            for part, product in self._pass(self.lines, lambda block, part: block.dot(w, chosen)):
                out[part.at] = product
            return out
        used = np.flatnonzero(w if w.ndim == 1 else w.any(axis=1))
        if index is not None or 3 * used.size < self.shape[1]:
            index, w = (used if index is None else index[used]), w[used]
        lines = self.lines if index is None else self._index(index)
        for _, product in self._pass(lines, lambda block, part: block.dot(w[part.at], part.inside)):
            out += product
        return out

    def tdot(self, r: Array, subset: Subset | None = None) -> Array:
        index = None if subset is None else np.asarray(subset, dtype=np.intp)
        if index is not None and self.source.by_rows and (self.at_hand(index).all() or self._worth_copying(index)):
            return self.columns(index).T @ r
        chosen = (self.across if self.source.by_rows else self.lines) if index is None else self._index(index)
        out = np.zeros((self.shape[1] if index is None else index.size, *r.shape[1:]))
        if self.source.by_rows:
            for _, product in self._pass(self.lines, lambda block, part: block.tdot(r[part.at], chosen)):
                out += product
        else:
            for part, product in self._pass(chosen, lambda block, part: block.tdot(r, part.inside)):
                out[part.at] = product
        return out

    def at_hand(self, subset: Indices) -> Mask:
        return self._known.places(subset) >= 0 if self.source.by_rows else super().at_hand(subset)

    def tdot_some(
        self, r: Array, wanted: Indices, others: Mask, likely: Callable[[], Indices]
    ) -> tuple[Indices, Array]:
        n_missing = int(np.count_nonzero(~self.at_hand(wanted)))
        few = self.source.share_of_rows(n_missing) <= _SMALL_SHARE and self._worth_copying(wanted)
        if not self.source.by_rows or not n_missing or few:
            return wanted, self.tdot(r, wanted)
        most = self.copy_bytes // _PREFETCHED // (8 * max(self.shape[0], 1))
        recent, unknown = self._known.extended(np.sort(likely()[:most]))
        missing = np.flatnonzero(unknown)
        fetched, out = self._index(recent.numbers[missing]), np.zeros(self.shape[1])

        def work(block: Design, part: Part) -> tuple[Array, Array]:
            return block.tdot(r[part.at], self.across), block.columns(fetched)

        for part, (product, columns) in self._pass(self.lines, work):
            out += product
            recent.block[part.rows, missing] = columns
        self._recent[:] = [recent]
        index = np.flatnonzero(others)
        return index, out[index]

    @property
    def _known(self) -> Recent:
        """Copies of columns."""
        return self._recent[0] if self._recent else nothing_known(self.shape[0])

    def _fit(self, count: int, share: int) -> bool:
        """Whether copies of so many columns take at most this part of the memory for copies."""
        return 8 * self.shape[0] * count <= self.copy_bytes // share

    def _worth_copying(self, index: Indices) -> bool:
        """Whether to copy columns of rows for a product: later products then need no pass."""
        return self.source.nbytes > self.copy_bytes and self._fit(index.size, 2)

    def columns(self, subset: Subset) -> Array:
        """Columns in float64; copies of some are kept for later calls if they take little memory."""
        index = np.asarray(subset, dtype=np.intp)
        numbers, places = np.unique(index, return_inverse=True)
        found, missing = self._known.extended(numbers)
        if missing.any():
            self._read_columns(self._index(numbers[missing]), found.block, np.flatnonzero(missing))
        remembered = missing.any() and self._remember(found)
        ordered = index.size == numbers.size and np.array_equal(index, numbers)
        return found.block if ordered and not remembered else found.take(places)

    def _remember(self, found: Recent) -> bool:
        """Keep these columns, and others too where rows are read, if they take little memory; whether they are kept."""
        if self.source.by_rows:
            both = np.union1d(self._known.numbers, found.numbers)
            if found.numbers.size < both.size and self._fit(both.size, 2):
                whole, missing = self._known.extended(both)
                whole.block[:, missing] = found.block[:, found.places(both[missing])]
                found = whole
        fits = found.block.nbytes <= self.copy_bytes
        if fits:
            self._recent[:] = [found]
        return fits

    def _read_columns(self, index: Indices, out: Array, places: Indices) -> None:
        """Read columns of the source into these columns of a matrix."""
        if self.source.by_rows:
            share = self.source.share_of_rows(index.size)
            for part, columns in self._pass(self.lines, lambda block, part: block.columns(index), share):
                out[part.rows, places] = columns
            return

        def work(block: Design, part: Part) -> Array:
            return block.columns(np.arange(block.shape[1]) if part.inside is None else part.inside)

        for part, columns in self._pass(index, work):
            out[:, places[part.at]] = columns

    def each_block_of_rows(self, subset: Indices, work: Callable[[Array, Indices | slice], T]) -> Iterator[T]:
        """What a function returns for blocks of rows of some columns, and the numbers of these rows, in one pass."""
        index = self._index(subset)
        share = self.source.share_of_rows(index.size)
        for _, found in self._pass(self.lines, lambda block, part: work(block.columns(index), part.at), share):
            yield found

    def rows(self, keep: Indices) -> Streamed:
        before = self.lines if self.source.by_rows else self.across
        kept = np.asarray(keep, dtype=np.intp) if before is None else before[keep]
        return replace(
            self, lines=kept if self.source.by_rows else self.lines, _digests=[], _recent=[],
            across=self.across if self.source.by_rows else kept,
        )._copied()  # fmt: skip

    def take(self, subset: Subset) -> Streamed:
        index = self._index(np.asarray(subset, dtype=np.intp))
        packed = (
            None if self.across is not None or self.nbytes_of(subset) > self.copy_bytes else self.source.taken(index)
        )
        if packed is not None:
            return replace(self, source=packed, lines=None, reading=Reading(), _digests=[], _recent=[])
        return replace(
            self, lines=self.lines if self.source.by_rows else index, _digests=[], _recent=[],
            across=index if self.source.by_rows else self.across,
        )._copied()  # fmt: skip

    def nbytes_of(self, subset: Subset) -> int:
        total = self.source.column_bytes(self._index(np.asarray(subset, dtype=np.intp)))
        return total * self.shape[0] // max(self.source.shape[0], 1)

    def pack(self, centred: bool) -> DensePack:
        p = self.shape[1]
        return self.pack_of_view(self, np.zeros(p), np.ones(p), centred)

    def pack_of_view(self, view: Design, shift: Array, scale: Array, centred: bool) -> DensePack:
        if self.source.by_rows:
            return SummedPack(RowSums(self), view, shift, scale, centred)
        return DensePack(view, centred)

    def _index(self, subset: Indices) -> Indices:
        """Numbers of columns of the source."""
        chosen = self.across if self.source.by_rows else self.lines
        return subset if chosen is None else chosen[subset]

    def _copied(self) -> Streamed:
        """A copy in memory if it is small; otherwise this design."""
        n, p = self.shape
        entries = self.source.shape[1 if self.source.by_rows else 0]
        unpacked = n * p * self.source.line_bytes // max(entries, 1)
        if max(self.nbytes_of(np.arange(p)), unpacked) > self.copy_bytes:
            return self
        found: list[tuple[Any, Any]] = []
        by_rows = self.source.by_rows

        def work(block: Design, part: Part) -> Design:
            if by_rows:
                return block if self.across is None else block.take(self.across)
            return block if part.inside is None else block.take(part.inside)

        share = 1.0 if self.across is None else self.source.share_of_rows(self.across.size)
        for part, block in self._pass(self.lines, work, share):
            stored = block.matrix if isinstance(block, Sparse) else dense_array(block)
            found.append((np.arange(self.source.n_lines)[part.at] if isinstance(part.at, slice) else part.at, stored))
        whole = in_memory(joined(found, (n, p), by_rows))
        whole.names = self.names
        return replace(self, source=whole, lines=None, across=None, reading=Reading(), _recent=[])

    def _pass(
        self, index: Indices | None, work: Callable[[Design, Part], T], share: float = 1.0
    ) -> Iterator[tuple[Part, T]]:
        """Read blocks and yield the results of ``work``, in order; ``share`` is that of each line which is read."""
        parts = list(parts_of(self.source, index, self.block_bytes))
        if len(parts) <= 1:
            for part in parts:
                yield part, self._noted(part, share, self._processed(part, work, Dense.thread_bytes, share))
            return
        waiting: deque[tuple[Part, Future[tuple[T, float, float]]]] = deque()
        threads = min(len(parts), max(cores(), 2))
        with single_threaded(), ThreadPoolExecutor(threads) as pool:
            try:
                for part in parts:
                    if len(waiting) > threads:
                        ready, done = waiting.popleft()
                        yield ready, self._noted(ready, share, done.result())
                    waiting.append((part, pool.submit(self._processed, part, work, _UNDIVIDED, share)))
                while waiting:
                    ready, done = waiting.popleft()
                    yield ready, self._noted(ready, share, done.result())
            finally:
                for _, done in waiting:
                    done.cancel()

    def _processed(
        self, part: Part, work: Callable[[Design, Part], T], thread_bytes: int, share: float
    ) -> tuple[T, float, float]:
        """The result of ``work`` for a part, and the seconds of reading and computing."""
        with nullcontext() if self.source.concurrent else self._lock:
            began = perf_counter()
            if isinstance(self.source, PickingSource) and part.inside is not None:
                stored, part = self.source.pick(part.begin + part.inside), part._replace(inside=None)
            else:
                stored = self.source.read(part.begin, part.end)
            if self.source.mapped and part.inside is None and share == 1.0:
                touch(stored)
            read = perf_counter()
        started = perf_counter()
        block = as_block(stored, thread_bytes)
        if self.source.by_rows:
            block = block if part.inside is None else block.rows(part.inside)
        elif self.across is not None:
            block = block.rows(self.across)
        result = work(block, part)
        return result, read - began, perf_counter() - started

    def _noted(self, part: Part, share: float, done: tuple[T, float, float]) -> T:
        """Count what was read for a part, and return its result."""
        result, reading, computing = done
        direct = part.inside is not None and (self.source.mapped or isinstance(self.source, PickingSource))
        lines = part.inside.size if part.inside is not None and direct else part.end - part.begin
        n_bytes = int(share * lines * (self.source.stored_line_bytes or self.source.line_bytes))
        self.reading.note(share * lines / max(self.source.n_lines, 1), n_bytes, reading, computing)
        return result
