"""HDF5 datasets by h5py, and AnnData: the matrix X of a .h5ad file, dense or compressed, read on demand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sparsest.core.checks import required_package
from sparsest.core.designs.base import Design
from sparsest.core.designs.sources import CompressedSource, SlicedSource
from sparsest.core.designs.streamed import Streamed

_PARTS = ("data", "indices", "indptr")


def read(X: Any) -> Design | None:
    """The design of a dataset, a group or a file of h5py, or of an AnnData object."""
    if type(X).__module__.partition(".")[0] == "anndata":
        return _annotated(X)
    return of_node(X)


def open_hdf5(path: Path) -> Design:
    """The matrix of a file: X of AnnData, otherwise the only dataset of two dimensions."""
    h5py = required_package("h5py", "io", f"{path}: HDF5 files")
    try:
        return of_node(h5py.File(path, "r"))
    except OSError as error:
        raise ValueError(f"{path} cannot be read as HDF5 ({error})") from error


def of_node(node: Any) -> Design:
    """The design of a dataset, or of a group with a matrix."""
    if hasattr(node, "dtype"):
        return Streamed(SlicedSource(node, node.chunks))
    if all(part in node for part in _PARTS):
        return _compressed(node)
    if "X" in node:
        names = _names(node)
        design = of_node(node["X"])
        assert isinstance(design, Streamed)
        if names is not None and len(names) == design.shape[1]:
            design.source.names = names
        return design
    matrices = [name for name in node if hasattr(node[name], "dtype") and len(node[name].shape) == 2]
    if len(matrices) != 1:
        found = f"{len(matrices)} matrices ({', '.join(matrices)})" if matrices else "no matrix"
        raise ValueError(f"X is a group of HDF5 with {found}: give a dataset of two dimensions, such as file['X']")
    return of_node(node[matrices[0]])


def _compressed(group: Any) -> Design:
    """Compressed rows or columns as AnnData stores them."""
    kind = str(group.attrs.get("encoding-type", group.attrs.get("h5sparse_format", "")))[:3]
    shape = tuple(int(size) for size in group.attrs.get("shape", group.attrs.get("h5sparse_shape", ())))
    if kind not in ("csr", "csc") or len(shape) != 2:
        raise ValueError("X is a group of HDF5 that is neither a csr_matrix nor a csc_matrix of AnnData")
    starts = np.asarray(group["indptr"][()], dtype=np.int64)
    return Streamed(CompressedSource(group["data"], group["indices"], starts, (shape[0], shape[1]), kind == "csr"))


def _names(node: Any) -> tuple[str, ...] | None:
    """The names of the variables of AnnData."""
    if "var" not in node:
        return None
    stored = node["var"].get(str(node["var"].attrs.get("_index", "_index")))
    if stored is None or not hasattr(stored, "dtype"):
        return None
    return tuple(name.decode() if isinstance(name, bytes) else str(name) for name in stored[()])


def _annotated(X: Any) -> Design:
    """The matrix of an AnnData object; a backed one is read from its file."""
    from sparsest.core.designs.reading import as_design

    if getattr(X, "isbacked", False):
        return open_hdf5(Path(X.filename))
    return as_design(X.X)
