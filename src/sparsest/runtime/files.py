"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def write_whole(path: str | Path, content: bytes | str) -> None:
    """Write a temporary file and rename it, so that readers see the old content or the new one, never a part.

    Parameters
    ----------
    path : where to; a device such as /dev/stdout is written to directly
    content : bytes, or a text that is written as UTF-8
    """
    data = content.encode() if isinstance(content, str) else content
    target = Path(path)
    if target.exists() and not target.is_file():
        if target.is_dir():
            raise IsADirectoryError(f"{target} is a folder: give the name of a file")
        target.write_bytes(data)
        return
    target = target.resolve()
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {target.parent} to write {target.name} to")
    beside = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}")
    try:
        with open(beside, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
