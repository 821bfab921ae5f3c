"""Files as designs: the suffix of the name selects the reader.  Files that can be mapped are not loaded."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from sparsest.core.checks import shown
from sparsest.core.designs.base import Design

# For every suffix, the module and the name of the function that opens such a file.
OPENERS = {
    ".npy": ("files", "open_npy"),
    ".bed": ("genotypes", "open_bed"),
    ".pgen": ("genotypes", "open_pgen"),
    ".h5ad": ("hdf5", "open_hdf5"),
    ".h5": ("hdf5", "open_hdf5"),
    ".hdf5": ("hdf5", "open_hdf5"),
    ".zarr": ("chunked", "open_zarr"),
    ".parquet": ("arrow", "open_parquet"),
    ".feather": ("arrow", "open_feather"),
    ".arrow": ("arrow", "open_feather"),
}


def read(X: Any) -> Design | None:
    """The design of a file, given by its path; None for anything else."""
    return open_file(Path(X)) if isinstance(X, (str, Path)) else None


def open_file(path: Path) -> Design:
    """Open a file of one of the formats that are read on demand."""
    found = OPENERS.get(path.suffix.lower())
    if found is None:
        wanted = f"a matrix with two dimensions, or the path of a file that ends with {', '.join(OPENERS)}"
        raise ValueError(f"X must be {wanted}, got {shown(str(path))}")
    if not path.exists():
        raise ValueError(f"there is no file {path}")
    module, name = found
    opener: Callable[[Path], Design] = getattr(import_module(f"{__package__}.{module}"), name)
    return opener(path)


def open_npy(path: Path) -> Design:
    """A matrix in NumPy's format, mapped."""
    from sparsest.core.designs.reading import as_design

    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise ValueError(f"{path} cannot be read: save it again with numpy ({error})") from error
    return as_design(array)
