"""HDF5 and AnnData: datasets in any layout, compressed rows and columns, as objects and as paths."""

import sys

import h5py
import numpy as np
import pytest
import scipy.sparse as sp

from checks import best_subset
from core.designs.storages import NAMES, N, P, matrix
from design_contract import DesignContract
from samples import sample
from sparsest.core.designs import Dense, Streamed, as_design


def write(path, X, chunks=None, sparse=None, names=None):
    """A file as AnnData writes it, with X as it is or compressed."""
    with h5py.File(path, "w") as file:
        if sparse is None:
            file.create_dataset("X", data=X, chunks=chunks, compression=None if chunks is None else "gzip")
        else:
            stored, group = sparse(X), file.create_group("X")
            group.attrs["encoding-type"], group.attrs["shape"] = f"{stored.format}_matrix", X.shape
            for part in ("data", "indices", "indptr"):
                group[part] = getattr(stored, part)
        if names is not None:
            file.create_group("var").attrs["_index"] = "name"
            file["var"]["name"] = names
    return path


LAYOUTS = {
    "contiguous": {},
    "chunks of rows": {"chunks": (2, P)},
    "chunks of columns": {"chunks": (N, 2)},
    "csr": {"sparse": sp.csr_array},
    "csc": {"sparse": sp.csc_array},
}


class TestHdf5(DesignContract):
    @pytest.fixture(params=LAYOUTS)
    def pair(self, request, tmp_path):
        path = write(tmp_path / "x.h5ad", matrix(), **LAYOUTS[request.param])
        with h5py.File(path) as file:
            design = as_design(file["X"])
            assert isinstance(design, Streamed)
            yield Streamed(design.source, block_bytes=8 * N * 2, copy_bytes=0), matrix()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_paths_and_names(layout, tmp_path):
    X, y = sample("squared", 60, 7)
    path = write(tmp_path / "x.h5ad", X, names=NAMES, **{**LAYOUTS[layout], "chunks": None})
    result = best_subset(path, y, k=2)
    assert result.names == [NAMES[j] for j in best_subset(X, y, k=2).support] and result.certificate.verify(X, y)
    with h5py.File(path) as file:
        assert as_design(file).names == tuple(NAMES)
        assert result.certificate.verify(as_design(file), y)


def test_backed_objects(tmp_path):
    """AnnData is not needed to read what it has written."""
    kind = type("AnnData", (), {"__module__": "anndata._core", "isbacked": True})
    backed, loaded = kind(), kind()
    backed.filename, loaded.isbacked, loaded.X = write(tmp_path / "x.h5ad", matrix()), False, matrix()
    assert isinstance(as_design(backed), Streamed) and isinstance(as_design(loaded), Dense)
    assert np.array_equal(as_design(backed).columns(np.arange(P)), matrix())


def test_groups_with_one_matrix(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["vector"], file["only"] = np.ones(3), matrix()
        assert np.array_equal(as_design(file).columns([1]), matrix()[:, [1]])
        file["another"] = matrix()
        with pytest.raises(ValueError, match="2 matrices"):
            as_design(file)
        with pytest.raises(ValueError, match="two dimensions, got 1"):
            as_design(file["vector"])
        file["text"] = np.array([[b"a", b"b"]])
        with pytest.raises(ValueError, match="real numbers"):
            as_design(file["text"])
        group = file.create_group("sparse")
        for part in ("data", "indices", "indptr"):
            group[part] = np.zeros(1)
        with pytest.raises(ValueError, match="neither a csr_matrix nor a csc_matrix"):
            as_design(group)


def test_h5py_is_an_extra(tmp_path, monkeypatch):
    path = write(tmp_path / "x.h5ad", matrix())
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(ImportError, match=r"HDF5 files need h5py: pip install 'sparsest\[io\]'"):
        as_design(path)


def test_files_that_are_none(tmp_path):
    (tmp_path / "x.h5").write_bytes(b"nothing")
    with pytest.raises(ValueError, match="cannot be read as HDF5"):
        as_design(tmp_path / "x.h5")
