"""The reader of every format."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from sparsest.runtime.memory import available_memory
from sparsest.tables import annotated, arrow, genotypes, matrices, plain
from sparsest.tables.dialect import find_dialect
from sparsest.tables.on_demand import in_bytes, read_on_demand
from sparsest.tables.opening import Opened, open_data
from sparsest.tables.source import Source

# Formats whose readers do not load large files.
_IN_BLOCKS = ("npy", "h5ad", "bed")


def read_source(data: str) -> Source:
    """Read a file of any format, a folder with data.npz, or standard input ("-")."""
    if data != "-" and Path(data).is_dir() and Path(data).suffix.lower() != ".zarr":
        return matrices.read_folder(data)
    stored = None if data == "-" else read_on_demand(data)
    if stored is not None:
        return stored
    opened = open_data(data)
    _refuse_too_large(opened)
    source = _READERS[opened.kind](opened)
    if not source.n_rows:
        raise ValueError(f"{opened.name} has no rows")
    return source


def _refuse_too_large(opened: Opened) -> None:
    """Raise a ValueError for a file that must be loaded but is larger than the available memory."""
    size = 0 if opened.path is None else opened.path.stat().st_size
    available = available_memory()
    if 0.0 < available < size and opened.kind not in _IN_BLOCKS:
        raise ValueError(
            f"{opened.name} has {in_bytes(size)}, but only {in_bytes(available)} of memory are available: convert it "
            "to NPY, HDF5, zarr, Parquet or .bed, which are read in blocks"
        )


def _read_text(opened: Opened) -> Source:
    dialect = find_dialect(opened.head, opened.name)
    return (plain if find_spec("pyarrow") is None else arrow).read_csv(opened, dialect)


_READERS = {
    "parquet": arrow.read_parquet,
    "feather": arrow.read_feather,
    "npy": matrices.read_npy,
    "npz": matrices.read_npz,
    "matrix market": matrices.read_matrix_market,
    "h5ad": annotated.read_annotated,
    "bed": genotypes.read_genotypes,
    "svmlight": matrices.read_svmlight,
    "text": _read_text,
}
