"""Files whose matrix is read on demand, because they are large or of a format that is always read in blocks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sparsest.runtime.sizes import sizes
from sparsest.tables.source import Source

# Formats that are always read in blocks, and formats that are read in blocks if the file is large.
_ALWAYS = (".pgen", ".zarr", ".h5", ".hdf5")
_IF_LARGE = (".npy", ".parquet", ".feather", ".arrow")


def read_on_demand(data: str) -> Source | None:
    """The source of a file that is read on demand; None for a file to be loaded."""
    path = Path(data)
    ending = path.suffix.lower()
    if ending not in (*_ALWAYS, *_IF_LARGE) or not path.exists():
        return None
    if ending in _IF_LARGE and (not path.is_file() or path.stat().st_size < sizes().large_matrix):
        return None
    if ending == ".npy" and np.load(path, mmap_mode="r", allow_pickle=False).ndim != 2:
        return None
    from sparsest.core.designs.files import open_file

    try:
        design = open_file(path)
    except ValueError:
        # A table with text columns must be loaded to be encoded.
        if ending in (".parquet", ".feather", ".arrow"):
            return None
        raise
    return Source(design.shape[0], [], design, design.names or _names(path, design), notes=[about_reading(design)])


def _names(path: Path, design: Any) -> tuple[str, ...] | None:
    """The names in the .names file of a matrix that ``sparsest convert`` has written."""
    beside = names_file(path)
    if path.suffix.lower() != ".npy" or not beside.is_file():
        return None
    names = tuple(beside.read_text(encoding="utf-8").splitlines())
    if len(names) != design.shape[1]:
        raise ValueError(f"{beside} has {len(names)} names for {design.shape[1]} columns")
    return names


def names_file(path: Path) -> Path:
    """The file with the names of the columns of a matrix, one in each line."""
    return path.with_suffix(".names")


def about_reading(design: Any) -> str:
    """A note: how much is read of a matrix that is read on demand."""
    n, p = design.shape
    return f"{n} × {p} entries are read in blocks and not loaded: {in_bytes(_stored_bytes(design))} in each pass"


def _stored_bytes(design: Any) -> int:
    return int(design.source.nbytes if hasattr(design, "source") else design.nbytes_of(np.arange(design.shape[1])))


def in_bytes(count: float) -> str:
    """A number of bytes in a suitable unit."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000.0:
            return f"{count:.3g} {unit}"
        count /= 1000.0
    return f"{count:.3g} TB"
