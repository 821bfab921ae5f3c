"""One BLAS thread for small matrices, where more cost more than they bring; all for large products."""

from __future__ import annotations

import os
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
