"""NPY, NPZ, folders of them, Matrix Market and svmlight: files that hold a matrix."""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sparsest.core.checks import check_sparse
from sparsest.datasets import Dataset, load_folder
from sparsest.tables.encoding import BESIDE
from sparsest.tables.opening import Opened
from sparsest.tables.source import Column, Source, column_of, refuse_empty_lines

# The shortest entries of a Matrix Market file are "1\n" and "1 1\n".  Sizes below this are not compared with the file.
_LEAST_BYTES = {"array": 2, "coordinate": 4}
_MOST_UNCOUNTED_BYTES = 1 << 24


def read_folder(path: str) -> Source:
    """Read a folder with ``data.npz``, see :func:`sparsest.datasets.load_folder`."""
    return _of_dataset(load_folder(path))


def _of_dataset(data: Dataset) -> Source:
    names = None if data.feature_names is None else tuple(str(name) for name in data.feature_names)
    columns = [column_of("y", data.y)]
    columns += [column_of(name, values) for name in BESIDE if (values := getattr(data, name)) is not None]
    return _source(data.X, names, columns, "y")


def _source(matrix: Any, names: tuple[str, ...] | None, columns: list[Column], target: str | None) -> Source:
    if matrix.ndim != 2:
        raise ValueError(f"the matrix of features must have two dimensions, got {matrix.ndim}")
    if sp.issparse(matrix):
        check_sparse(matrix, "the matrix of features")
        matrix = sp.csc_array(matrix)
    elif matrix.dtype.kind not in "fiub":
        raise ValueError(f"the matrix of features must hold numbers, got entries of type {matrix.dtype}")
    return Source(matrix.shape[0], columns, matrix, names, target)


def read_npy(opened: Opened) -> Source:
    """Read a matrix; a vector becomes one column, such as a target in a separate file."""
    array = _load(opened)
    if array.ndim == 1:
        return Source(array.size, [column_of("y", array)], target="y")
    return _source(array, None, [], None)


def read_npz(opened: Opened) -> Source:
    """Read the arrays X, y, feature_names and further columns; or a sparse matrix as SciPy writes it."""
    stored = _load(opened)
    with stored:
        if {"format", "shape", "data"} <= set(stored.files):
            return _source(_sparse(opened), None, [], None)
        found = {name: stored[name] for name in ("X", "y", "feature_names", *BESIDE) if name in stored.files}
    if "X" not in found:
        raise ValueError(f"{opened.name} must contain an array X; it has only {', '.join(stored.files)}")
    names = found.get("feature_names")
    if names is not None and names.shape != (found["X"].shape[-1],):
        raise ValueError(f"{opened.name} has feature_names of shape {names.shape} for X of shape {found['X'].shape}")
    columns = [column_of(name, found[name]) for name in ("y", *BESIDE) if name in found]
    named = None if names is None else tuple(str(name) for name in names)
    return _source(found["X"], named, columns, "y" if "y" in found else None)


def _load(opened: Opened) -> Any:
    try:
        return np.load(io.BytesIO(opened.read()), allow_pickle=False)
    except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise ValueError(f"{opened.name} cannot be read: save it again with numpy ({error})") from error


def _sparse(opened: Opened) -> Any:
    try:
        return sp.load_npz(io.BytesIO(opened.read()))
    except (ValueError, OSError, KeyError, TypeError) as error:
        raise ValueError(f"{opened.name} cannot be read: save it again with scipy.sparse.save_npz ({error})") from error


def read_matrix_market(opened: Opened) -> Source:
    """Read a matrix, sparse or dense; a single column may be a target in a separate file."""
    from scipy.io import mmread

    try:
        _check_size(opened)
        with opened.stream() as file:
            matrix = mmread(file)
    except (ValueError, OverflowError, OSError) as error:
        raise ValueError(f"{opened.name} is not a readable Matrix Market file ({error})") from error
    if matrix.shape[1] == 1:
        values: NDArray[Any] = np.asarray(matrix.toarray() if sp.issparse(matrix) else matrix)
        return Source(values.shape[0], [column_of("y", values[:, 0])], target="y")
    return _source(matrix, None, [], None)


def _check_size(opened: Opened) -> None:
    """Refuse a file that is too short for the size it states, before memory is allocated."""
    from scipy.io import mminfo

    rows, columns, entries, form, _, symmetry = mminfo(io.BytesIO(opened.head))
    least = _LEAST_BYTES[form]
    if form == "array":
        entries = rows * columns // (1 if symmetry == "general" else 2)
    refuse_empty_lines(rows, columns, entries)
    if entries * least > _MOST_UNCOUNTED_BYTES and entries * least > opened.n_bytes():
        raise ValueError(f"it states {rows} rows, {columns} columns and {entries} entries, but is too short for them")


def read_svmlight(opened: Opened) -> Source:
    """Read a sparse matrix with its target, which is the first entry of every line.

    Columns are named by their numbers in the file, which begin with 0 or 1, so that a column has the same name in every
    file.
    """
    from sklearn.datasets import load_svmlight_file

    try:
        with opened.stream() as file:
            matrix, y = load_svmlight_file(file, zero_based=True)
        refuse_empty_lines(matrix.shape[0], matrix.shape[1], matrix.nnz)
    except (ValueError, OSError) as error:
        raise ValueError(f"{opened.name} is not a readable svmlight file ({error})") from error
    columns = sp.csc_array(matrix)
    first = 1 if columns.shape[1] > 1 and columns.indptr[1] == 0 else 0
    names = tuple(str(j) for j in range(first, columns.shape[1]))
    return replace(_source(columns[:, first:], names, [column_of("y", y)], "y"), zeros=True)
