"""Arrays of zarr, read in whole chunks on demand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sparsest.core.checks import required_package
from sparsest.core.designs.base import Design
from sparsest.core.designs.sources import SlicedSource
from sparsest.core.designs.streamed import Streamed


def read(X: Any) -> Design:
    """The design of an array, or of a group with one array of two dimensions."""
    if hasattr(X, "dtype"):
        return Streamed(SlicedSource(X, X.chunks))
    arrays = [array for _, array in X.arrays() if len(array.shape) == 2]
    if "X" in X and hasattr(X["X"], "dtype"):
        arrays = [X["X"]]
    if len(arrays) != 1:
        raise ValueError(f"X is a group of zarr with {len(arrays)} matrices: give an array, such as group['X']")
    return read(arrays[0])


def open_zarr(path: Path) -> Design:
    """The array of a folder."""
    zarr = required_package("zarr", "io", f"{path}: folders of zarr")
    try:
        stored = zarr.open(str(path), mode="r")
    except (OSError, ValueError, KeyError) as error:
        raise ValueError(f"{path} cannot be read as an array of zarr ({error})") from error
    return read(stored)
