"""The reader of every format."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from sparsest.tables import annotated, arrow, genotypes, matrices, plain
from sparsest.tables.dialect import find_dialect
from sparsest.tables.on_demand import read_on_demand
from sparsest.tables.opening import Opened, open_data
from sparsest.tables.source import Source


def read_source(data: str) -> Source:
    """Read a file of any format, a folder with data.npz, or standard input ("-")."""
    if data != "-" and Path(data).is_dir() and Path(data).suffix.lower() != ".zarr":
        return matrices.read_folder(data)
    stored = None if data == "-" else read_on_demand(data)
    if stored is not None:
        return stored
    opened = open_data(data)
    source = _READERS[opened.kind](opened)
    if not source.n_rows:
        raise ValueError(f"{opened.name} has no rows")
    return source


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
