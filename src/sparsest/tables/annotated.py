"""AnnData files (.h5ad): the matrix X with the names of its variables; columns of obs may be the target.

They are read by h5py alone: anndata would bring much more, and holds pandas back.
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sparsest.checks import check_sparse
from sparsest.tables.opening import Opened, need
from sparsest.tables.source import Column, Levels, Source, column_of, distinct


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
                raise ValueError("it has not the parts X, obs and var")
            matrix = _matrix(file["X"])
            names = tuple(distinct(_texts(_index(file["var"])), notes))
            columns = [_column(name, file["obs"][name]) for name in _column_names(file["obs"])]
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{opened.name} is no readable AnnData file: {error}") from error
    if len(names) != matrix.shape[1]:
        raise ValueError(f"{opened.name} has {len(names)} names of variables for {matrix.shape[1]} columns of X")
    return Source(matrix.shape[0], columns, matrix, names, notes=notes)


def _matrix(stored: Any) -> Any:
    """A dense array, or compressed rows or columns as compressed columns."""
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
    return sp.csc_array(matrix)


def _index(group: Any) -> Any:
    return group[str(group.attrs.get("_index", "_index"))]


def _column_names(group: Any) -> list[str]:
    order = group.attrs.get("column-order")
    names = list(group) if order is None else [_text(name) for name in order]
    return [name for name in names if name in group and name != group.attrs.get("_index", "_index")]


def _column(name: str, stored: Any) -> Column:
    if hasattr(stored, "shape"):
        return column_of(name, stored[()])
    if "codes" in stored and "categories" in stored:
        codes, words = stored["codes"][()].astype(np.int32), _texts(stored["categories"])
        order = np.argsort(np.array(words, dtype=str)) if words else np.empty(0, dtype=int)
        rank = np.empty(len(words) + 1, dtype=np.int32)
        rank[order], rank[-1] = np.arange(len(words)), -1
        return Column(name, "text", lambda: Levels(rank[codes], tuple(words[j] for j in order)))
    if "values" in stored and "mask" in stored:
        values: NDArray[Any] = np.where(stored["mask"][()], np.nan, stored["values"][()].astype(np.float64))
        return column_of(name, values)
    return Column(name, "other", lambda: None)


def _texts(stored: Any) -> list[str]:
    return [_text(entry) for entry in stored[()]]


def _text(entry: Any) -> str:
    return entry.decode() if isinstance(entry, bytes) else str(entry)
