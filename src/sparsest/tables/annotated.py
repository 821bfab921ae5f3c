"""AnnData files (.h5ad): the matrix X with the names of its variables; columns of obs may be the target.

They are read with h5py: anndata has many more dependencies and restricts the version of pandas.
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sparsest.core.checks import check_sparse
from sparsest.runtime.sizes import sizes
from sparsest.tables.on_demand import about_reading
from sparsest.tables.opening import Opened, need
from sparsest.tables.source import Column, Levels, Source, column_of, distinct, refuse_empty_lines

# Name of the column with the names of the observations.
_ROWS = "obs_names"


def read_annotated(opened: Opened) -> Source:
    """Read an AnnData file."""
    try:
        import h5py
    except ImportError as error:
        raise need("h5py", f"{opened.name}: .h5ad files need h5py") from error
    notes: list[str] = []
    try:
        with h5py.File(opened.plain_path or io.BytesIO(opened.read()), "r") as file:
            if "X" not in file or "obs" not in file or "var" not in file:
                raise ValueError("it must contain X, obs and var")
            large = opened.plain_path is not None and opened.plain_path.stat().st_size >= sizes().large_matrix
            matrix: Any = None if large else _matrix(file["X"])
            names = tuple(distinct(_texts(_index(file["var"])), notes))
            columns = [_column(name, file["obs"][name]) for name in _column_names(file["obs"])]
            rows = column_of(_ROWS, np.array(_texts(_index(file["obs"])), dtype=object))
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{opened.name} is not a readable AnnData file: {error}") from error
    if matrix is None and opened.plain_path is not None:
        from sparsest.core.designs.hdf5 import open_hdf5

        matrix = open_hdf5(opened.plain_path)
        notes.append(about_reading(matrix))
    if len(names) != matrix.shape[1]:
        raise ValueError(f"{opened.name} has {len(names)} names of variables, but X has {matrix.shape[1]} columns")
    return Source(matrix.shape[0], [*columns, rows], matrix, names, notes=notes, ids=_ROWS)


def _matrix(stored: Any) -> Any:
    """A dense array, or a sparse matrix in compressed columns."""
    if hasattr(stored, "shape"):
        return stored[()]
    kind = str(stored.attrs.get("encoding-type", stored.attrs.get("h5sparse_format", "")))
    shape = tuple(int(n) for n in stored.attrs.get("shape", stored.attrs.get("h5sparse_shape", ())))
    make = {"csr": sp.csr_array, "csc": sp.csc_array}.get(kind[:3])
    if make is None or len(shape) != 2:
        raise ValueError(
            f"its X is stored as {kind or 'something unknown'!r}, not as an array, csr_matrix or csc_matrix"
        )
    matrix = make(tuple(stored[part][()] for part in ("data", "indices", "indptr")), shape=shape)
    check_sparse(matrix, "X")
    refuse_empty_lines(*shape, matrix.nnz)
    return sp.csc_array(matrix)


def _index(group: Any) -> Any:
    return group[str(group.attrs.get("_index", "_index"))]


def _column_names(group: Any) -> list[str]:
    order = group.attrs.get("column-order")
    names = list(group) if order is None else [_text(name) for name in order]
    return [name for name in names if name in group and name != group.attrs.get("_index", "_index")]


def _column(name: str, stored: Any) -> Column:
    if hasattr(stored, "shape"):
        # Before version 0.8 the categories were stored elsewhere in the file.
        words = stored.attrs.get("categories")
        return column_of(name, stored[()]) if words is None else _category(name, stored, stored.file[words])
    if "codes" in stored and "categories" in stored:
        return _category(name, stored["codes"], stored["categories"])
    if "values" in stored and "mask" in stored:
        gaps, values = stored["mask"][()], stored["values"][()]
        if values.dtype.kind in "biuf":
            return column_of(name, np.where(gaps, np.nan, values.astype(np.float64)))
        words = values.astype(object)
        words[gaps] = None
        return column_of(name, words)
    return Column(name, "other", lambda: None)


def _category(name: str, stored: Any, categories: Any) -> Column:
    """A column of codes (-1 if missing) with its categories; numeric categories become numbers."""
    codes = stored[()].astype(np.int32)
    if hasattr(categories, "shape") and categories.dtype.kind in "biuf":
        numbers: NDArray[Any] = np.append(categories[()].astype(np.float64), np.nan)
        return column_of(name, numbers[codes])
    words = _texts(categories)
    order = np.argsort(np.array(words, dtype=str)) if words else np.empty(0, dtype=int)
    rank = np.empty(len(words) + 1, dtype=np.int32)
    rank[order], rank[-1] = np.arange(len(words)), -1
    return Column(name, "text", lambda: Levels(rank[codes], tuple(words[j] for j in order)))


def _texts(stored: Any) -> list[str]:
    return [_text(entry) for entry in (stored if hasattr(stored, "shape") else stored["values"])[()]]


def _text(entry: Any) -> str:
    return entry.decode() if isinstance(entry, bytes) else str(entry)
