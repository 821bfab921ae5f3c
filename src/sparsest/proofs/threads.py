"""Work on several cores, with results in the order of the calls."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from functools import cache, partial
from threading import Lock
from types import TracebackType
from typing import Generic, TypeVar

from threadpoolctl import ThreadpoolController

T = TypeVar("T")
S = TypeVar("S")


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Workers(Generic[T]):
    """Threads that call functions; with one thread, functions are called immediately.

    At most twice as many calls as threads are pending, which limits the memory for their arguments.
    """

    def __init__(self, threads: int, small: bool = False) -> None:
        self._threads, self._small = threads, small
        self._waiting: deque[Future[T]] = deque()
        self._done: list[T] = []
        self._stack = ExitStack()
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> Workers[T]:
        if self._threads > 1 or self._small:
            # Threads of BLAS would compete with ours, and small products do not gain from them.
            self._stack.enter_context(_single_blas)
        if self._threads > 1:
            self._pool = self._stack.enter_context(ThreadPoolExecutor(self._threads))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for future in self._waiting:
            future.cancel()
        self._stack.close()

    def submit(self, work: Callable[[], T]) -> None:
        """Call a function in one of the threads."""
        if self._pool is None:
            self._done.append(work())
            return
        if len(self._waiting) >= 2 * self._threads:
            self._done.append(self._waiting.popleft().result())
        self._waiting.append(self._pool.submit(work))

    def collect(self) -> list[T]:
        """Wait for all calls and return their results; raise the exception of a failed one."""
        while self._waiting:
            self._done.append(self._waiting.popleft().result())
        done, self._done = self._done, []
        return done


@cache
def _blas() -> ThreadpoolController:
    """The BLAS libraries; finding them takes a millisecond."""
    return ThreadpoolController().select(user_api="blas")


class _SingleBlas:
    """Limits BLAS to one thread while it is in use: the first user changes the limit and the last one restores it."""

    def __init__(self) -> None:
        self._lock, self._users, self._limit = Lock(), 0, ExitStack()

    def __enter__(self) -> None:
        with self._lock:
            if not self._users:
                self._limit.enter_context(_blas().limit(limits=1))
            self._users += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._users -= 1
            if not self._users:
                self._limit.close()


_single_blas = _SingleBlas()


def mapped(work: Callable[[S], T], parts: Iterable[S], threads: int, small: bool = False) -> Iterator[T]:
    """Call a function for all parts, in order; products are ``small`` if threads of BLAS would slow them down."""
    with Workers[T](threads, small) as workers:
        for part in parts:
            workers.submit(partial(work, part))
        yield from workers.collect()
