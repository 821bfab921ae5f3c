"""Conversion of X to a design; data are copied only if necessary.

Objects of other packages, such as datasets of h5py, are read by separate modules, which are imported only when needed:
``READERS`` has the module for each package.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sparsest.core.checks import as_array, as_numbers, check_sparse, column_names
from sparsest.core.designs.base import Design
from sparsest.core.designs.dense import STORED_TYPES, Dense
from sparsest.core.designs.passes import Listener
from sparsest.core.designs.sources import compressed_columns
from sparsest.core.designs.sparse import Sparse

# The package of a type, or the package and the type, and the module with a function ``read``, which returns the design
# of such an object, or None if the object is to be read as an array.
_MODULES = {
    "mapped": ("numpy", "scipy"),
    "files": ("builtins", "pathlib"),
    "hdf5": ("h5py", "anndata"),
    "chunked": ("zarr",),
    "arrow": ("pyarrow",),
    "distributed": ("dask",),
    "row_chunks": ("builtins.list", "builtins.tuple"),
}
READERS: dict[str, str] = {
    package: f"{__package__}.{module}" for module, packages in _MODULES.items() for package in packages
}


def as_design(X: Any) -> Design:
    """Wrap a matrix, sparse matrix, data frame, file, …; ``survey`` checks whether entries are finite."""
    if isinstance(X, Design):
        return X.counted()
    design = _of_package(X)
    if design is None:
        design = _sparse(X) if sp.issparse(X) else Dense(_dense_matrix(X))
    n, p = design.shape
    if n == 0 or p == 0:
        raise ValueError(f"X must have at least one row and one column, got shape {design.shape}")
    return design


def reporting(X: Any, listener: Listener) -> Any:
    """X, or its design if it is read on demand: the design calls ``listener`` with the passes and the bytes so far."""
    found = on_demand(X)
    return X if found is None else found.reporting(listener)


def on_demand(X: Any) -> Design | None:
    """The design of X if it is one, or if X is read on demand, such as from a file; None for anything in memory."""
    return X if isinstance(X, Design) else _of_package(X)


def _of_package(X: Any) -> Design | None:
    """The design by the reader for the package of X; None if there is none."""
    for kind in type(X).__mro__:
        package = kind.__module__.partition(".")[0]
        module = READERS.get(f"{package}.{kind.__name__}", READERS.get(package))
        if module is not None:
            found: Design | None = import_module(module).read(X)
            return found
    return None


def feature_names(X: Any) -> list[str] | None:
    """The names of the columns of a data frame or a design; None for anything else, or if some names are not text."""
    names = column_names(X)
    return None if names is None else list(names)


def _sparse(X: Any) -> Sparse:
    check_sparse(X, "X")
    return Sparse(compressed_columns(X))


def _dense_matrix(X: Any) -> NDArray[Any]:
    """A two-dimensional array of one of the stored types."""
    array = as_array(X, "X")
    if array.ndim != 2:
        hint = "reshape a single column with X.reshape(-1, 1)"
        raise ValueError(f"X must be a matrix with two dimensions, got {array.ndim}; {hint}")
    if array.dtype in STORED_TYPES:
        return array
    return array.astype(np.float32) if array.dtype == np.float16 else as_numbers(array, "X", X)
