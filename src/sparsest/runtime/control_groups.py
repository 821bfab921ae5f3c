"""Limits of memory that Linux sets for groups of processes, such as containers: control groups, version 1 and 2."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

# A limit at least as large means no limit: version 1 has no word for it.
_NO_LIMIT = 1 << 62


class _Files(NamedTuple):
    """The files of a group in one version: limit, use, and the pages of files that the kernel can drop."""

    limit: str
    used: str
    pages: tuple[str, ...]


_VERSIONS = {
    "cgroup": _Files("memory.limit_in_bytes", "memory.usage_in_bytes", ("total_inactive_file", "total_active_file")),
    "cgroup2": _Files("memory.max", "memory.current", ("inactive_file", "active_file", "slab_reclaimable")),
}


class GroupMemory(NamedTuple):
    """The limit of a group, and what is left of it, in bytes; the page cache is left, as the kernel can drop it."""

    limit: float
    left: float


def group_memory(root: Path = Path("/")) -> list[GroupMemory]:
    """The limits of this process's own groups and of those that contain them; ``root`` has the folders proc and sys."""
    found = [_read(folder, _VERSIONS[kind]) for kind, folder in _folders(root)]
    return [one for one in found if one is not None]


def _folders(root: Path) -> Iterator[tuple[str, Path]]:
    """The type of file system and the folder of each group with this process, from the inside out."""
    try:
        groups = (root / "proc/self/cgroup").read_text().splitlines()
        mounts = (root / "proc/self/mountinfo").read_text().splitlines()
    except OSError:
        return
    # Lines such as "4:memory:/a/b" in version 1 and "0::/a/b" in version 2.
    named = [line.split(":", 2)[1:] for line in groups if line.count(":") >= 2]
    paths = {"cgroup" if names else "cgroup2": path for names, path in named if {"", "memory"} & set(names.split(","))}
    for line in mounts:
        before, _, after = (part.split() for part in line.partition(" - "))
        if len(before) < 5 or len(after) < 3 or after[0] not in paths:
            continue
        if after[0] == "cgroup" and "memory" not in after[2].split(","):
            continue
        mount = root / before[4].lstrip("/")
        inside = os.path.relpath(paths[after[0]], before[3])
        # A container may not see its own path in the mounted folder, which then is the folder of its group.
        parts = () if inside.startswith("..") else PurePosixPath(inside).parts
        for depth in range(len(parts), -1, -1):
            yield after[0], mount.joinpath(*parts[:depth])


def _read(folder: Path, files: _Files) -> GroupMemory | None:
    """The memory of a group; None without a limit."""
    try:
        text = (folder / files.limit).read_text().strip()
        if text == "max" or int(text) >= _NO_LIMIT:
            return None
        used = int((folder / files.used).read_text())
        lines = (line.split() for line in (folder / "memory.stat").read_text().splitlines())
        pages = sum(int(line[1]) for line in lines if len(line) == 2 and line[0] in files.pages)
    except (OSError, ValueError):
        return None
    limit = float(text)
    return GroupMemory(limit, min(max(limit - used + pages, 0.0), limit))
