"""Large files are not loaded: their matrix is read in blocks, with the same answers."""

import bed_reader
import h5py
import numpy as np
import pandas as pd
import pgenlib
import pytest
import zarr

from cli.runner import complains, run
from samples import sample
from sparsest import Result
from sparsest.core.designs import Streamed
from sparsest.runtime.sizes import resized
from sparsest.tables import ReadingOptions, read_table
from sparsest.tables.on_demand import in_bytes


@pytest.fixture(autouse=True)
def everything_is_large():
    with resized(large_matrix=1):
        yield


@pytest.fixture
def data(tmp_path):
    X, y = sample("squared", 60, 7)
    np.save(tmp_path / "y.npy", y)
    return X, y, ReadingOptions(target=str(tmp_path / "y.npy"))


def write_npy(path, X):
    np.save(path / "x.npy", X)
    return path / "x.npy"


def write_hdf5(path, X):
    with h5py.File(path / "x.h5", "w") as file:
        file["X"] = X
    return path / "x.h5"


def write_zarr(path, X):
    zarr.create_array(str(path / "x.zarr"), shape=X.shape, chunks=(20, 7), dtype=X.dtype)[:] = X
    return path / "x.zarr"


def write_h5ad(path, X):
    with h5py.File(path / "x.h5ad", "w") as file:
        file["X"] = X
        for part, count in (("obs", X.shape[0]), ("var", X.shape[1])):
            file.create_group(part).attrs["_index"] = "name"
            file[part]["name"] = [f"{part}{j}" for j in range(count)]
    return path / "x.h5ad"


def write_parquet(path, X):
    pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]).to_parquet(path / "x.parquet")
    return path / "x.parquet"


@pytest.mark.parametrize("write", [write_npy, write_hdf5, write_zarr, write_h5ad, write_parquet])
def test_the_matrix_is_not_loaded(tmp_path, data, write):
    X, y, options = data
    table = read_table(str(write(tmp_path, X)), options)
    assert isinstance(table.matrix, Streamed) and np.array_equal(table.target, y)
    assert np.array_equal(table.matrix.columns(np.arange(7)), X)
    assert any("60 × 7 entries are read in blocks and not loaded: 3.36 kB in each pass" in note for note in table.notes)


def test_the_target_may_be_a_column(tmp_path):
    X, y = sample("squared", 60, 7)
    table = read_table(str(write_npy(tmp_path, np.column_stack([X, y]))), ReadingOptions(target="7"))
    assert np.array_equal(table.target, y) and np.array_equal(table.matrix.columns(np.arange(7)), X)
    named = read_table(str(write_parquet(tmp_path, np.column_stack([X, y]))), ReadingOptions(target="x7"))
    assert named.names == tuple(f"x{j}" for j in range(7)) and np.array_equal(named.target, y)


def test_rows_without_a_target_are_left_out(tmp_path):
    X, y = sample("squared", 60, 7)
    y[3] = np.nan
    path = write_npy(tmp_path, np.column_stack([X, y]))
    table = read_table(str(path), ReadingOptions(target="7", impute="drop"))
    assert np.array_equal(table.target, np.delete(y, 3))
    assert np.array_equal(table.matrix.columns(np.arange(7)), np.delete(X, 3, axis=0))
    with pytest.raises(ValueError, match="--impute needs data in memory"):
        read_table(str(path), ReadingOptions(target="7", impute="median"))


def test_tables_with_text_are_loaded(tmp_path):
    frame = pd.DataFrame({"a": np.arange(9.0), "who": list("abcabcabc"), "y": np.arange(9.0) % 4})
    frame.to_parquet(tmp_path / "x.parquet")
    assert isinstance(read_table(str(tmp_path / "x.parquet"), ReadingOptions()).matrix, np.ndarray)


@pytest.mark.parametrize("ending", [".bed", ".pgen"])
def test_genotypes_stay_packed(tmp_path, ending):
    rng = np.random.default_rng(0)
    copies = rng.integers(0, 3, (40, 6)).astype(np.float32)
    y = copies[:, 2] + 0.1 * rng.standard_normal(40)
    np.save(tmp_path / "y.npy", y)
    if ending == ".bed":
        bed_reader.to_bed(tmp_path / "g.bed", copies)
    else:
        with pgenlib.PgenWriter(str(tmp_path / "g.pgen").encode(), 40, variant_ct=6, nonref_flags=False) as file:
            for variant in np.ascontiguousarray(copies.T.astype(np.int8)):
                file.append_biallelic(variant)
        (tmp_path / "g.psam").write_text("#IID\n" + "".join(f"s{i}\n" for i in range(40)))
        (tmp_path / "g.pvar").write_text(
            "#CHROM\tPOS\tID\tREF\tALT\n" + "".join(f"1\t{j}\trs{j}\tA\tG\n" for j in range(6))
        )
    for impute in (None, "mean"):
        options = ReadingOptions(target=str(tmp_path / "y.npy"), impute=impute)
        table = read_table(str(tmp_path / f"g{ending}"), options)
        assert isinstance(table.matrix, Streamed) and np.array_equal(table.matrix.columns(np.arange(6)), copies)


def test_commands(tmp_path):
    """Fit, predict and verify read the file and never load it."""
    X, y = sample("squared", 60, 7)
    path, model = write_npy(tmp_path, X), tmp_path / "model.json"
    np.save(tmp_path / "y.npy", y)
    shown = run("fit", path, "--target", tmp_path / "y.npy", "--k", 2, "--out", model)
    assert shown.exit_code == 0, shown.output
    assert "read in blocks and not loaded" in shown.stderr
    result = Result.load(model)
    assert result.certificate.verify(X, y)
    assert run("verify", model, path, "--target", tmp_path / "y.npy").exit_code == 0
    predicted = run("predict", model, path)
    assert predicted.exit_code == 0, predicted.output
    assert run("path", path, "--target", tmp_path / "y.npy").exit_code == 0
    X[2, 3] = np.nan
    complains(run("fit", write_npy(tmp_path, X), "--target", tmp_path / "y.npy", "--k", 2), "NaN or infinity")


def test_names_beside_a_matrix(tmp_path, data):
    X, _, options = data
    path = write_npy(tmp_path, X)
    (tmp_path / "x.names").write_text("".join(f"gene {j}\n" for j in range(7)))
    assert read_table(str(path), options).names == tuple(f"gene {j}" for j in range(7))
    (tmp_path / "x.names").write_text("one\n")
    with pytest.raises(ValueError, match="has 1 names for 7 columns"):
        read_table(str(path), options)


def test_bytes_in_words():
    assert [in_bytes(count) for count in (12, 3360, 4e9, 4e13)] == ["12 bytes", "3.36 kB", "4 GB", "40 TB"]


def test_files_larger_than_the_memory(tmp_path, monkeypatch):
    (tmp_path / "x.csv").write_text("a,y\n" + "".join(f"{i},{i % 3}\n" for i in range(500)))
    monkeypatch.setattr("sparsest.tables.readers.available_memory", lambda: 1000.0)
    with pytest.raises(ValueError, match=r"has 2.*kB, but only 1 kB of memory are available: convert it to NPY"):
        read_table(str(tmp_path / "x.csv"), ReadingOptions())
    monkeypatch.setattr("sparsest.tables.readers.available_memory", lambda: 0.0)
    assert read_table(str(tmp_path / "x.csv"), ReadingOptions()).matrix.shape == (500, 1)
