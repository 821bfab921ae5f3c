"""How much memory a search may take."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf, isinf
from pathlib import Path
from typing import NamedTuple

from sparsest.runtime.control_groups import group_memory

# A search takes at most this part of the memory that is available when it begins, or, if that is more, the smaller of
# this many bytes and this part of all memory.
_SHARE, _LEAST, _LEAST_SHARE = 0.5, 2e9, 0.125
# A store of columns takes at most this part of the available memory, as several exist at a time and are copied.
_STORE_SHARE = 0.125
# A store of at most this many bytes is always allowed.
_SMALL_STORE = 1 << 22

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


def default_max_memory(root: Path = Path("/")) -> float:
    """Half of the available memory, but at least the smaller of 2e9 bytes and an eighth of all memory."""
    memory = _memory(root)
    return max(min(_LEAST, _LEAST_SHARE * memory.total), _SHARE * memory.available)


def available_memory(root: Path = Path("/")) -> float:
    """Bytes of memory that are available to this process, as far as the system tells; otherwise 0."""
    return _memory(root).available


def store_limit(most: int, root: Path = Path("/")) -> int:
    """Bytes that a store of columns may take: this many, or an eighth of the available memory if that is less."""
    available = 0.0 if most <= _SMALL_STORE else available_memory(root)
    return max(_SMALL_STORE, min(most, int(_STORE_SHARE * available))) if available else most


class _Memory(NamedTuple):
    """All memory that this process could have, and what is available now."""

    total: float
    available: float


def _memory(root: Path) -> _Memory:
    """The least of what the machine and the groups of this process allow."""
    machine = _of_machine(root)
    groups = group_memory(root)
    total = min([machine.total, *(group.limit for group in groups)])
    available = min([machine.available, *(group.left for group in groups)])
    return _Memory(total, 0.0 if isinf(available) else available)


def _of_machine(root: Path) -> _Memory:
    """The memory of the machine; infinite if unknown."""
    try:
        lines = (root / "proc/meminfo").read_text().splitlines()
        sizes = {name: 1024.0 * float(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines)}
        return _Memory(sizes["MemTotal"], sizes["MemAvailable"])
    except (OSError, KeyError, IndexError, ValueError):
        pass
    try:
        total = float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
        return _Memory(total, 0.5 * total)
    except (AttributeError, OSError, ValueError):
        return _Memory(inf, inf)
