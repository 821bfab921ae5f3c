"""Number of BLAS threads: one for small matrices, where more are slower; all cores for large products.

BLAS has one number of threads for the whole process.  If several limits are active, nested or from different threads,
the newest one counts; after the last one ends, the original number is restored.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import cycle
from threading import RLock
from typing import Any

from threadpoolctl import ThreadpoolController


class _Limits:
    """The active limits, and the numbers of threads to restore after them."""

    def __init__(self) -> None:
        self.renew_lock()
        self._wanted: dict[object, int] = {}
        self._controller: ThreadpoolController | None = None
        self._before: list[int] = []

    def renew_lock(self) -> None:
        """Replace the lock: in a forked process its owner does not exist."""
        # Reentrant: a signal handler may run while the lock is held, and solve another problem.
        self._lock = RLock()

    @contextmanager
    def limit(self, count: int) -> Iterator[None]:
        """Give BLAS that many threads inside the context."""
        request = object()
        try:
            with self._lock:
                self._enter(request, count)
            yield
        finally:
            with self._lock:
                self._leave(request)

    def _enter(self, request: object, count: int) -> None:
        if self._controller is None:
            self._controller = ThreadpoolController().select(user_api="blas")
        if not self._wanted:
            # Not by the controller's own context manager, which takes ten times as long: limits are set for every
            # small system.
            self._before = [library.get_num_threads() for library in self._controller.lib_controllers]
            self._set(count)
        elif count != self._now():
            self._set(count)
        self._wanted[request] = count

    def _leave(self, request: object) -> None:
        if request not in self._wanted:
            return
        now = self._now()
        del self._wanted[request]
        if not self._wanted:
            self._set(*self._before)
        elif self._now() != now:
            self._set(self._now())

    def _now(self) -> int:
        return next(reversed(self._wanted.values()))

    def _set(self, *counts: int) -> None:
        """Give every library its number of threads, or all the same."""
        assert self._controller is not None
        for library, count in zip(self._controller.lib_controllers, cycle(counts), strict=False):
            library.set_num_threads(count)


_limits = _Limits()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_limits.renew_lock)


def single_threaded() -> AbstractContextManager[Any]:
    """Limit BLAS to one thread inside the context."""
    return _limits.limit(1)


def all_threads() -> AbstractContextManager[Any]:
    """Let BLAS use all cores inside the context."""
    return _limits.limit(os.cpu_count() or 1)


def is_worker() -> bool:
    """Whether this code runs in a worker of joblib or Dask, which shares its cores with other workers.

    A worker has imported its library already, so neither is imported here.
    """
    parallel = sys.modules.get("joblib.parallel")
    if parallel is not None and (parallel.get_active_backend()[0].nesting_level or 0) > 0:
        return True
    distributed = sys.modules.get("distributed.worker")
    if distributed is None:
        return False
    try:
        distributed.get_worker()
    except ValueError:
        return False
    return True
