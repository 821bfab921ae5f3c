"""The command ``convert``: any matrix as columns one after the other, in blocks."""

from types import SimpleNamespace

import bed_reader
import h5py
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from cli.runner import complains, run
from core.designs.storages import NAMES, matrix
from sparsest.runtime.sizes import resized


@pytest.fixture(autouse=True)
def small_blocks():
    with resized(written_bytes=200, written_columns=3):
        yield


def write_hdf5(path, X):
    with h5py.File(path / "in.h5", "w") as file:
        file["X"] = X
    return path / "in.h5"


def write_npy(path, X):
    np.save(path / "in.npy", X)
    return path / "in.npy"


def write_csv(path, X):
    pd.DataFrame(X, columns=NAMES).to_csv(path / "in.csv", index=False)
    return path / "in.csv"


def write_sparse(path, X):
    sp.save_npz(path / "in.npz", sp.csr_array(X))
    return path / "in.npz"


def write_parquet(path, X):
    pd.DataFrame(X, columns=NAMES).to_parquet(path / "in.parquet")
    return path / "in.parquet"


@pytest.mark.parametrize("write", [write_npy, write_hdf5, write_csv, write_sparse, write_parquet])
def test_columns_one_after_the_other(tmp_path, write):
    shown = run("convert", write(tmp_path, matrix()), tmp_path / "out.npy")
    assert shown.exit_code == 0, shown.output
    found = np.load(tmp_path / "out.npy", mmap_mode="r")
    assert found.flags.f_contiguous and found.dtype == np.float64 and np.array_equal(found, matrix())
    assert sorted(path.name for path in tmp_path.iterdir() if "unfinished" in path.name) == []
    named = write in (write_csv, write_parquet)
    assert (tmp_path / "out.names").exists() == named
    if named:
        assert (tmp_path / "out.names").read_text().splitlines() == NAMES


@pytest.mark.parametrize("missing", [False, True])
def test_genotypes(tmp_path, missing):
    copies = np.random.default_rng(0).integers(0, 3, (13, 6)).astype(np.float32)
    if missing:
        copies[1, 4] = np.nan
    bed_reader.to_bed(tmp_path / "g.bed", copies)
    assert run("convert", tmp_path / "g.bed", tmp_path / "out.npy").exit_code == 0
    found = np.load(tmp_path / "out.npy")
    assert found.dtype == (np.float32 if missing else np.int8)
    known = np.isfinite(copies)
    assert np.array_equal(found[known], copies[known]) and np.isfinite(found).all()
    assert run("convert", tmp_path / "g.bed", tmp_path / "copy.bed").exit_code == 0
    for ending in (".bed", ".bim", ".fam"):
        assert (tmp_path / f"copy{ending}").read_bytes() == (tmp_path / f"g{ending}").read_bytes()


def test_types(tmp_path):
    path = write_npy(tmp_path, np.arange(12.0).reshape(4, 3))
    for dtype in ("float32", "int8", "float64"):
        assert run("convert", path, tmp_path / "out.npy", "--dtype", dtype, "--force").exit_code == 0
        assert np.load(tmp_path / "out.npy").dtype == dtype
    complains(run("convert", path, tmp_path / "out.npy", "--dtype", "text", "--force"), "unknown --dtype 'text'")


def test_what_is_refused(tmp_path):
    path = write_npy(tmp_path, matrix())
    complains(run("convert", path, tmp_path / "out.csv"), "must end with .npy")
    complains(run("convert", path, tmp_path / "out.bed"), "only PLINK genotypes")
    complains(run("convert", path, tmp_path / "out.npy", "--dtype", "int8"), "holds numbers that int8 cannot represent")
    assert not list(tmp_path.glob("out*"))
    (tmp_path / "out.npy").write_text("")
    complains(run("convert", path, tmp_path / "out.npy"), "exists already")
    (tmp_path / "t.csv").write_text("a,b\n1,x\n2,y\n3,x\n")
    complains(run("convert", tmp_path / "t.csv", tmp_path / "new.npy"), "column 'b'")
    complains(run("convert", tmp_path / "absent.csv", tmp_path / "new.npy"), "no file")


def test_what_does_not_fit_on_the_disk_is_refused_before_it_is_written(tmp_path, monkeypatch):
    path = write_npy(tmp_path, matrix())
    monkeypatch.setattr("shutil.disk_usage", lambda folder: SimpleNamespace(free=500))
    wanted = "out.npy would have 728 bytes in float64, but only 500 bytes are free there: name another folder, or a"
    complains(run("convert", path, tmp_path / "out.npy"), wanted)
    assert not list(tmp_path.glob("out*"))
    assert run("convert", path, tmp_path / "out.npy", "--dtype", "float32").exit_code == 0
