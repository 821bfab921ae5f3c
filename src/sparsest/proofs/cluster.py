"""Arrays of Dask as grids of blocks.

With a client of ``distributed`` the blocks are computed once and stay on the workers.  A pass submits one task for each
worker, which calls a function for all blocks there; vectors go out and results come back.  With other schedulers, and
if the blocks do not fit into the workers' memory, they are computed for each pass and dropped.

If a worker is lost, the scheduler computes its blocks again from the array's graph, and the pass is repeated.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from sparsest.proofs.grid import Call, Grid, Work

T = TypeVar("T")

# Without workers, blocks are kept if they take at most this share of the memory of this machine.
_SHARE_OF_MACHINE, _USUAL_MEMORY = 0.25, 1 << 32
# More bytes than this, for all workers together, are sent to the workers directly, not through the scheduler.
_THROUGH_SCHEDULER = 1 << 21
# Largest number of attempts at a pass; an attempt fails only if workers are lost in the meantime.
_ATTEMPTS = 5


def is_dask_array(X: Any) -> bool:
    """Whether an object is an array of Dask, without importing Dask."""
    module = sys.modules.get("dask.array")
    return module is not None and isinstance(X, module.Array)


class _LostWorkerError(Exception):
    """A worker was lost while vectors were sent to it."""


class _Share(NamedTuple):
    """The calls of one task: the worker that holds the blocks, if known, their numbers, and the blocks' futures."""

    worker: str | None
    numbers: list[int]
    blocks: list[Any]


class DaskGrid(Grid):
    """The chunks of a two-dimensional array of Dask.

    Parameters
    ----------
    array : the array; its chunks must have known sizes and hold real numbers in NumPy arrays.
    convert : applied to every chunk when it is computed, for example to change its type.
    dtype : the type after the conversion.
    most_memory : the blocks stay on the workers if they take at most this share of the memory of all workers.
    """

    parallel = True

    def __init__(
        self,
        array: Any,
        convert: Callable[[NDArray[Any]], NDArray[Any]] | None = None,
        dtype: np.dtype[Any] | None = None,
        most_memory: float = 0.6,
    ) -> None:
        _check(array)
        array = _without_empty_chunks(array)
        heights, widths = array.chunks
        super().__init__(heights, widths, array.dtype if dtype is None else dtype)
        client = _client_for(array)
        # Chunks that are on workers already are used as they are: a second name for the same chunk would count twice
        # towards the limit of memory.
        if convert is not None and not (client is not None and _futures(array) and self.dtype == array.dtype):
            array = array.map_blocks(convert, dtype=self.dtype, meta=np.empty((0, 0), dtype=self.dtype))
        self._array, self._held = _persisted(array, client, most_memory)
        self._keys: list[list[Any]] = self._array.__dask_keys__()
        self._places: dict[Any, str] = {}
        self._workers: frozenset[str] = frozenset()

    def __getstate__(self) -> dict[str, Any]:
        """The state without what is known about the workers."""
        return self.__dict__ | {"_places": {}, "_workers": frozenset()}

    def run(self, work: Work[T], calls: Sequence[Call], shared: Sequence[Any] | None = None) -> list[T]:
        """Call the function on the workers, for all blocks of a worker in one task."""
        if not calls:
            return []
        given = [None if shared is None else shared[call.i] for call in calls]
        if not self._held:
            return self._computed(work, calls, given)
        from distributed import CancelledError, KilledWorker

        for attempt in range(_ATTEMPTS):
            try:
                with _outside_of_worker_thread():
                    return self._submitted(work, calls, given, pinned=attempt == 0)
            except (CancelledError, KilledWorker, OSError, _LostWorkerError):
                # Vectors that were sent to a lost worker are gone.  What is known about the others may be out of date,
                # so the scheduler places the tasks of the next attempt.
                self._workers = frozenset()
                if attempt == _ATTEMPTS - 1:
                    raise
        raise AssertionError

    def _computed(self, work: Work[T], calls: Sequence[Call], shared: Sequence[Any]) -> list[T]:
        """Compute the blocks of this pass by whichever scheduler Dask uses."""
        import dask

        blocks = self._array.to_delayed(optimize_graph=False)
        tasks = [
            dask.delayed(partial(_call, work, argument, call.own), pure=False)(blocks[call.i, call.j])
            for call, argument in zip(calls, shared, strict=True)
        ]
        return list(dask.compute(*tasks))

    def _submitted(self, work: Work[T], calls: Sequence[Call], shared: Sequence[Any], pinned: bool) -> list[T]:
        """One task for each worker, on the blocks that it holds; if not pinned, one for each block, on any worker."""
        futures = {future.key: future for future in _futures(self._array)}
        client = next(iter(futures.values())).client
        if pinned:
            shares = self._shares(client, futures, calls)
        else:
            shares = [_Share(None, [k], [futures[self._keys[call.i][call.j]]]) for k, call in enumerate(calls)]
        tasks = []
        for share, argument in zip(shares, _sent(client, shares, shared), strict=True):
            own = [calls[number].own for number in share.numbers]
            where = {} if share.worker is None else {"workers": [share.worker], "allow_other_workers": True}
            task = client.submit(_call_all, work, share.blocks, argument, own, pure=False, **where)
            tasks.append(task)
        results: list[Any] = [None] * len(calls)
        for share, found in zip(shares, client.gather(tasks), strict=True):
            for number, result in zip(share.numbers, found, strict=True):
                results[number] = result
        return results

    def _shares(self, client: Any, futures: dict[Any, Any], calls: Sequence[Call]) -> list[_Share]:
        """Divide calls among the workers that hold the blocks; ask where those are if workers have come or gone."""
        workers = frozenset(client.nthreads())
        if workers != self._workers:
            from distributed import wait

            wait(list(futures.values()))
            holders = client.who_has(list(futures.values()))
            self._places = {key: found[0] for key, found in holders.items() if found}
            self._workers = workers
        shares: dict[str, _Share] = {}
        anywhere = min(workers, default="")
        for number, call in enumerate(calls):
            key = self._keys[call.i][call.j]
            worker = self._places.get(key, anywhere)
            share = shares.setdefault(worker, _Share(worker, [], []))
            share.numbers.append(number)
            share.blocks.append(futures[key])
        return list(shares.values())


def _call(work: Work[T], shared: Any, own: Any, block: NDArray[Any]) -> T:
    return work(block, shared, own)


def _call_all(work: Work[T], blocks: list[NDArray[Any]], shared: list[Any], own: list[Any]) -> list[T]:
    """Call a function for all blocks of a worker; a single shared argument is for all of them."""
    every = shared * len(blocks) if len(shared) == 1 else shared
    return [work(*arguments) for arguments in zip(blocks, every, own, strict=True)]


def _sent(client: Any, shares: Sequence[_Share], shared: Sequence[Any]) -> list[Any]:
    """The shared arguments of each worker's calls; long ones are sent before the tasks, once to each worker."""
    if all(argument is shared[0] for argument in shared):
        common = [shared[0]]
        if _nbytes(shared[0]) * len(shares) > _THROUGH_SCHEDULER:
            common = _scattered(client, common, broadcast=True)
        return [common] * len(shares)
    sent: list[Any] = []
    directly = sum(map(_nbytes, shared)) > _THROUGH_SCHEDULER
    for share in shares:
        own = [shared[number] for number in share.numbers]
        if directly:
            sent.append(_scattered(client, own, workers=None if share.worker is None else [share.worker]))
        else:
            sent.append(own)
    return sent


def _scattered(client: Any, argument: list[Any], **where: Any) -> Any:
    """The future of an argument that is sent to workers."""
    try:
        [future] = client.scatter([argument], hash=False, **where)
    except KeyError as error:
        raise _LostWorkerError from error
    return future


def _nbytes(argument: Any) -> int:
    """Bytes of the arrays in an argument, which may be a tuple of them."""
    parts = argument if isinstance(argument, tuple) else (argument,)
    return sum(part.nbytes for part in parts if isinstance(part, np.ndarray))


def _check(array: Any) -> None:
    """Refuse arrays that are not matrices of numbers in chunks of known sizes."""
    if array.ndim != 2:
        raise ValueError(f"X must be a matrix with two dimensions, got a Dask array with {array.ndim}")
    if any(np.isnan(size) for sizes in array.chunks for size in sizes):
        raise ValueError("the chunks of X have unknown sizes: call X.compute_chunk_sizes() first")
    if 0 in array.shape:
        raise ValueError(f"X must have at least one row and one column, got shape {array.shape}")
    if not isinstance(array._meta, np.ndarray):
        kind = type(array._meta).__name__
        raise ValueError(f"the chunks of X must be NumPy arrays, not {kind}: convert them with X.map_blocks")
    if array.dtype.kind not in "buif" or array.dtype.itemsize > 8:
        raise ValueError(f"X must hold real numbers of at most double precision, not {array.dtype}")


def _without_empty_chunks(array: Any) -> Any:
    if all(size > 0 for sizes in array.chunks for size in sizes):
        return array
    return array.rechunk(tuple(tuple(size for size in sizes if size) for sizes in array.chunks))


def _client_for(array: Any) -> Any | None:
    """The client that holds the array, or the one that Dask uses now; None for other schedulers."""
    if "distributed" not in sys.modules:
        return None
    from dask.base import get_scheduler
    from distributed import Client

    held = _futures(array)
    if held:
        return held[0].client
    owner = getattr(get_scheduler(), "__self__", None)
    return owner if isinstance(owner, Client) else None


def _futures(array: Any) -> list[Any]:
    """The futures of an array's chunks, bound to a client: those of a copy from another process are not."""
    from distributed import futures_of, get_client

    futures = list(futures_of(array))
    for future in futures:
        if future.client is None:
            future.bind_client(get_client())
    return futures


def _persisted(array: Any, client: Any | None, most_memory: float) -> tuple[Any, bool]:
    """Compute the chunks where they are to stay, if they fit; return whether they are on workers."""
    if client is None:
        return (array.persist() if array.nbytes <= _SHARE_OF_MACHINE * _memory() else array), False
    from distributed import wait

    limits = [worker["memory_limit"] for worker in client.scheduler_info(n_workers=-1)["workers"].values()]
    if not _futures(array) and all(limits) and array.nbytes > most_memory * sum(limits):
        return array, False
    with _outside_of_worker_thread():
        array = client.persist(array)
        wait(array)
    return array, True


def _memory() -> int:
    """Bytes of memory of this machine; few if they are not known."""
    known = hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if known else _USUAL_MEMORY


@contextmanager
def _outside_of_worker_thread() -> Iterator[None]:
    """Inside a task of a worker, give its thread back while waiting, because the tasks waited for may need it."""
    from distributed import rejoin, secede
    from distributed.worker import thread_state

    left = bool(getattr(thread_state, "key", False))
    if left:
        try:
            secede()
        except KeyError:
            # The task has left the pool itself, for example by ``worker_client``.
            left = False
    try:
        yield
    finally:
        if left:
            rejoin()
