"""Stored matrices as the checker reads them: the same entries as in memory, and the same verdict."""

import bed_reader
import h5py
import numpy as np
import pgenlib
import pyarrow as pa
import pytest
import scipy.sparse as sp
import zarr
from pyarrow import dataset, feather, parquet

from checks import best_subset
from samples import sample
from sparsest.proofs.reading import as_matrix
from sparsest.proofs.stored import is_stored, stored_matrix

N, P = 30, 8


def write_npy(path, X):
    np.save(path / "x.npy", X)
    return path / "x.npy"


def write_hdf5(path, X, chunks=None):
    with h5py.File(path / "x.h5", "w") as file:
        file.create_dataset("X", data=X, chunks=chunks)
    return path / "x.h5"


def write_sparse(path, X, kind):
    stored = kind(X)
    with h5py.File(path / "x.h5ad", "w") as file:
        group = file.create_group("X")
        group.attrs["encoding-type"], group.attrs["shape"] = f"{stored.format}_matrix", X.shape
        for part in ("data", "indices", "indptr"):
            group[part] = getattr(stored, part)
    return path / "x.h5ad"


def write_zarr(path, X):
    zarr.create_array(str(path / "x.zarr"), shape=X.shape, chunks=(4, 3), dtype=X.dtype)[:] = X
    return path / "x.zarr"


def table(X):
    return pa.table({f"x{j}": column for j, column in enumerate(X.T)})


def write_parquet(path, X):
    parquet.write_table(table(X), path / "x.parquet", row_group_size=7)
    return path / "x.parquet"


def write_feather(path, X):
    feather.write_feather(table(X), path / "x.feather")
    return path / "x.feather"


KINDS = {
    "npy": write_npy,
    "HDF5": write_hdf5,
    "HDF5 in columns": lambda path, X: write_hdf5(path, X, (X.shape[0], 1)),
    "dataset": lambda path, X: h5py.File(write_hdf5(path, X))["X"],
    "csr": lambda path, X: write_sparse(path, X, sp.csr_array),
    "csc": lambda path, X: write_sparse(path, X, sp.csc_array),
    "zarr": write_zarr,
    "Parquet": write_parquet,
    "Parquet file": lambda path, X: parquet.ParquetFile(write_parquet(path, X)),
    "Arrow dataset": lambda path, X: dataset.dataset(write_parquet(path, X)),
    "Arrow table": lambda path, X: table(X),
    "Feather": write_feather,
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_certificate_holds_for_the_stored_matrix(kind, tmp_path):
    X, y = sample("squared", N, P)
    X[2] = 0.0
    stored = KINDS[kind](tmp_path, X)
    result = best_subset(X, y, k=2)
    assert is_stored(stored) and result.certificate.verify(stored, y)
    matrix = as_matrix(stored_matrix(stored))
    read = matrix.columns if hasattr(matrix, "columns") else lambda features: matrix[:, features]
    for features in (np.arange(P), np.array([5, 1, 2, 3]), np.array([4])):
        assert np.array_equal(read(features), X[:, features])
    (tmp_path / "other").mkdir()
    assert not result.certificate.verify(KINDS[kind](tmp_path / "other", X + 1e-9 * (np.arange(P) == 3)), y)


def write_pgen(path, copies):
    calls = np.where(np.isnan(copies), -9, copies).astype(np.int8)
    with pgenlib.PgenWriter(str(path).encode(), calls.shape[0], variant_ct=calls.shape[1], nonref_flags=False) as file:
        for variant in np.ascontiguousarray(calls.T):
            file.append_biallelic(variant)
    path.with_suffix(".psam").write_text("#IID\n" + "".join(f"s{i}\n" for i in range(calls.shape[0])))
    lines = (f"1\t{j + 1}\trs{j}\tA\tG\n" for j in range(calls.shape[1]))
    path.with_suffix(".pvar").write_text("#CHROM\tPOS\tID\tREF\tALT\n" + "".join(lines))


@pytest.mark.parametrize("ending", [".bed", ".pgen"])
def test_genotypes(tmp_path, ending):
    rng = np.random.default_rng(0)
    copies = rng.integers(0, 3, (N + 1, P)).astype(np.float32)
    copies[rng.random(copies.shape) < 0.2] = np.nan
    copies[:, 4] = np.nan
    path = tmp_path / f"g{ending}"
    bed_reader.to_bed(path, copies) if ending == ".bed" else write_pgen(path, copies)
    mean = np.nansum(copies.astype(float), axis=0) / np.maximum(np.isfinite(copies).sum(axis=0), 1)
    expected = np.where(np.isfinite(copies), copies, mean.astype(np.float32))
    assert np.array_equal(stored_matrix(path).columns(np.arange(P)), expected)
    assert np.array_equal(stored_matrix(path).columns(np.array([5, 1, 2])), expected[:, [5, 1, 2]])
    y = rng.standard_normal(N + 1)
    result = best_subset(str(path), y, k=2)
    assert result.certificate.verify(path, y) and result.certificate.verify(expected, y)


def test_other_files_are_no_genotypes(tmp_path):
    bed_reader.to_bed(tmp_path / "g.bed", np.zeros((N, P)))
    (tmp_path / "g.bed").write_bytes(b"else")
    with pytest.raises(ValueError, match=r"not a \.bed file"):
        stored_matrix(tmp_path / "g.bed")


def test_what_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"the text 'data\.csv': give a matrix, or the path"):
        stored_matrix("data.csv")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["a"], file["b"] = np.ones((2, 2)), np.ones((2, 2))
        with pytest.raises(ValueError, match="a group with 2 matrices"):
            stored_matrix(file)
    path = write_sparse(tmp_path, np.eye(3), sp.csc_array)
    with h5py.File(path, "r+") as file:
        file["X/indices"][0] = 7
    with pytest.raises(ValueError, match="indices outside of its shape"):
        stored_matrix(path).columns(np.arange(3))
    large = sp.csc_array(np.array([[1, 0], [2**53, 1]]))
    with pytest.raises(ValueError, match="integers that double precision cannot represent"):
        stored_matrix(write_sparse(tmp_path, large, sp.csc_array)).columns(np.arange(2))
    assert not is_stored(np.ones((2, 2))) and not is_stored(sp.csc_array((2, 2)))
