"""Arrays of Dask as designs: blocks stay on the workers, see :mod:`sparsest.proofs.cluster`."""

from __future__ import annotations

from typing import Any

from sparsest.core.designs.blocked import Blocked
from sparsest.core.designs.row_chunks import as_stored, stored_type
from sparsest.proofs.cluster import DaskGrid, is_dask_array


def read(X: Any) -> Blocked:
    """The design of a two-dimensional array of Dask; data frames have to be converted first."""
    if not is_dask_array(X):
        kind = type(X).__name__
        raise ValueError(
            f"X must be a dask.array, not a Dask {kind}: convert it, for example by X.to_dask_array(lengths=True)"
        )
    return Blocked(DaskGrid(X, as_stored, stored_type(X.dtype)))
