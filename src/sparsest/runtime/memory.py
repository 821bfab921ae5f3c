"""How much memory a search may take."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

# A search takes at most this part of the memory that is available when it begins, and may always take this many bytes.
_SHARE, _LEAST = 0.5, 2e9


_limit: ContextVar[float | None] = ContextVar("memory_limit", default=None)


@contextmanager
def limiting_memory(n_bytes: float) -> Iterator[None]:
    """Let everything that is copied within the context take at most this many bytes at a time."""
    token = _limit.set(n_bytes)
    try:
        yield
    finally:
        _limit.reset(token)


def memory_limit() -> float:
    """Bytes that a copy may take: the limit of the search, or by default half of the available memory."""
    limit = _limit.get()
    return default_max_memory() if limit is None else limit


def default_max_memory() -> float:
    """Half of the memory that is available now, but not less than 2e9 bytes."""
    return max(_LEAST, _SHARE * available_memory())


def available_memory() -> float:
    """Bytes of memory that are available to this process, as far as the system tells; otherwise 0."""
    known = [found for found in (_of_machine(), _of_group()) if found is not None]
    return min(known, default=0.0)


def _of_machine() -> float | None:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024.0 * float(line.split()[1])
    except OSError:
        pass
    try:
        return 0.5 * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _of_group(folder: Path = Path("/sys/fs/cgroup")) -> float | None:
    """What the limit of a container leaves; None without a limit."""
    try:
        limit, used = ((folder / name).read_text().strip() for name in ("memory.max", "memory.current"))
        return None if limit == "max" else max(float(limit) - float(used), 0.0)
    except (OSError, ValueError):
        return None
