"""Files and stored arrays as the checker reads them: in blocks, by code that shares nothing with the solvers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sparsest.proofs.reading import BLOCK_BYTES, ColumnBlocks, RowBlocks, require_exact, require_real
from sparsest.proofs.rounding import Indices

# A byte of a .bed file holds four genotypes of two bits, the lowest bits first.  For each of the 256 bytes: the copies
# of the first allele in its genotypes (-1 if missing), as the four bytes of one number.
_COPIES = np.array([2, -1, 1, 0], dtype=np.int8)[np.arange(256)[:, None] >> np.array([0, 2, 4, 6]) & 3].view(np.uint32)
_HEADER = b"\x6c\x1b\x01"


def is_stored(X: Any) -> bool:
    """Whether something is a path, or an object of h5py, zarr or Arrow that holds a matrix."""
    package = type(X).__module__.partition(".")[0]
    return isinstance(X, (str, Path)) or package in ("h5py", "zarr", "pyarrow")


def stored_matrix(X: Any) -> Any:
    """The blocks of a matrix that is stored in a file, or the array that is mapped from it."""
    if isinstance(X, (str, Path)):
        opener = _OPENERS.get(Path(X).suffix.lower())
        if opener is None:
            known = ", ".join(_OPENERS)
            raise ValueError(f"X is the text {str(X)!r}: give a matrix, or the path of a file that ends with {known}")
        return opener(Path(X))
    if hasattr(X, "dtype"):
        return _sliced(X)
    if hasattr(X, "schema") or hasattr(X, "column_names"):
        return _table(X)
    return _group(X)


def _sliced(X: Any) -> ColumnBlocks | RowBlocks:
    """A matrix with slices and chunks, such as a dataset of HDF5 or an array of zarr."""
    n, p = (int(size) for size in X.shape)
    height, width = (1, p) if X.chunks is None else X.chunks
    if height * p > n * width:
        return ColumnBlocks((n, p), lambda features: _runs(lambda a, b: X[:, a:b], features, n, X.dtype))
    rows = max(1, BLOCK_BYTES // max(1, p * np.dtype(X.dtype).itemsize) // height) * height
    return RowBlocks((n, p), lambda begin, end: X[begin:end], rows)


def _runs(read: Callable[[int, int], NDArray[Any]], features: Indices, n: int, dtype: Any) -> NDArray[Any]:
    """Columns, each run of neighbours in one reading."""
    block, begin = np.empty((n, features.size), dtype=dtype), 0
    for end in [*(np.flatnonzero(np.diff(features) != 1) + 1), features.size]:
        if end > begin:
            block[:, begin:end] = read(int(features[begin]), int(features[end - 1]) + 1)
        begin = int(end)
    return block


def _group(group: Any) -> Any:
    """The matrix of a group of HDF5 or zarr: X of AnnData, compressed or not, or the only matrix."""
    if "X" in group:
        return stored_matrix(group["X"])
    if "indptr" in group:
        return _compressed(group)
    found = [name for name in group if hasattr(group[name], "dtype") and len(group[name].shape) == 2]
    if len(found) != 1:
        raise ValueError(f"X is a group with {len(found)} matrices: give one of them")
    return _sliced(group[found[0]])


def _compressed(group: Any) -> ColumnBlocks | RowBlocks:
    n, p = (int(size) for size in group.attrs["shape"])
    starts = np.asarray(group["indptr"][()], dtype=np.int64)
    by_rows = str(group.attrs["encoding-type"]).startswith("csr")

    def read(begin: int, end: int) -> NDArray[Any]:
        part, length = slice(int(starts[begin]), int(starts[end])), p if by_rows else n
        lines = np.repeat(np.arange(end - begin), np.diff(starts[begin : end + 1]))
        places = np.asarray(group["indices"][part])
        if places.size and not (places.min() >= 0 and places.max() < length):
            raise ValueError("X is a sparse matrix with indices outside of its shape")
        entries = np.asarray(group["data"][part])
        require_real(entries)
        require_exact(entries, "X")
        # Duplicates are added.
        whole = sp.coo_array((entries.astype(np.float64), (lines, places)), shape=(end - begin, length))
        return whole.toarray() if by_rows else whole.toarray().T

    if by_rows:
        return RowBlocks((n, p), read, max(1, BLOCK_BYTES // (8 * max(p, 1))))
    return ColumnBlocks((n, p), lambda features: _runs(read, features, n, np.float64))


def _table(table: Any) -> ColumnBlocks:
    """The columns of a table, a file of Parquet or a dataset of Arrow."""
    names = table.schema_arrow.names if hasattr(table, "schema_arrow") else table.schema.names
    if hasattr(table, "to_table"):
        n, load = table.count_rows(), lambda columns: table.to_table(columns=columns)
    elif hasattr(table, "metadata"):
        n, load = table.metadata.num_rows, lambda columns: table.read(columns=columns)
    else:
        n, load = table.num_rows, table.select

    def read(features: Indices) -> NDArray[Any]:
        chosen = load([names[j] for j in features])
        columns = [chosen.column(i).cast("float64").to_numpy() for i in range(features.size)]
        return np.stack(columns, axis=1) if columns else np.empty((n, 0))

    return ColumnBlocks((n, len(names)), read)


def _bed(path: Path) -> ColumnBlocks:
    """Genotypes of PLINK; a missing one is the mean of the known ones of its column, in single precision."""
    texts = [path.with_suffix(end).read_text(encoding="utf-8") for end in (".fam", ".bim")]
    n, p = (sum(1 for line in text.splitlines() if line.strip()) for text in texts)
    with path.open("rb") as file:
        head = file.read(3)
    if head != _HEADER:
        raise ValueError(f"{path} is not a .bed file of PLINK that is stored by variant")
    packed = np.memmap(path, dtype=np.uint8, mode="r", offset=3, shape=(p, -(-n // 4)))

    def read(features: Indices) -> NDArray[Any]:
        return _without_gaps(_COPIES.ravel()[packed[features]].view(np.int8)[:, :n])

    return ColumnBlocks((n, p), read)


def _pgen(path: Path) -> ColumnBlocks:
    """Hard calls of PLINK 2, read by pgenlib; missing ones are replaced as those of a .bed file."""
    import pgenlib

    texts = [path.with_suffix(end).read_text(encoding="utf-8") for end in (".psam", ".pvar")]
    n, p = (sum(1 for line in text.splitlines() if line.strip() and line[0] != "#") for text in texts)
    file, lock = pgenlib.PgenReader(str(path).encode(), raw_sample_ct=n, variant_ct=p), Lock()

    def read(features: Indices) -> NDArray[Any]:
        calls = np.empty((features.size, n), dtype=np.int8)
        if features.size:
            # The reader has one buffer, and several threads call this.
            with lock:
                file.read_list(features.astype(np.uint32), calls)
        return _without_gaps(calls)

    return ColumnBlocks((n, p), read)


def _without_gaps(copies: NDArray[np.int8]) -> NDArray[Any]:
    """Variants as columns; negative numbers become the mean of the others of their variant, or 0 if there are none."""
    known = copies >= 0
    if known.all():
        return copies.T
    values = np.where(known, copies, np.float32(0.0))
    mean = (values.sum(axis=1, dtype=np.float64) / np.maximum(known.sum(axis=1), 1)).astype(np.float32)
    return np.where(known, values, mean[:, None]).T


def _hdf5(path: Path) -> Any:
    import h5py

    return _group(h5py.File(path, "r"))


def _zarr(path: Path) -> Any:
    import zarr

    return stored_matrix(zarr.open(str(path), mode="r"))


def _parquet(path: Path) -> Any:
    from pyarrow import dataset

    return _table(dataset.dataset(path, format="parquet"))


def _feather(path: Path) -> Any:
    from pyarrow import dataset

    return _table(dataset.dataset(path, format="feather"))


_OPENERS: dict[str, Callable[[Path], Any]] = {
    ".npy": lambda path: np.load(path, mmap_mode="r", allow_pickle=False),
    ".bed": _bed,
    ".pgen": _pgen,
    ".h5ad": _hdf5,
    ".h5": _hdf5,
    ".hdf5": _hdf5,
    ".zarr": _zarr,
    ".parquet": _parquet,
    ".feather": _feather,
    ".arrow": _feather,
}
