"""One BLAS thread for small matrices, where more cost more than they bring; all for large products."""

from __future__ import annotations

import os
import sys
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def single_threaded() -> AbstractContextManager[Any]:
    """Limit BLAS to one thread inside the context."""
    return _controller().limit(limits=1, user_api="blas")


def all_threads() -> AbstractContextManager[Any]:
    """Let BLAS use all cores inside the context."""
    return _controller().limit(limits=os.cpu_count() or 1, user_api="blas")


def is_worker() -> bool:
    """Whether this code runs in a worker of joblib or Dask, which has other workers beside it on the same cores.

    Who runs in a worker has imported what runs it, so neither library is imported here.
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
