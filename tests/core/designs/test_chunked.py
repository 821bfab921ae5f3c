"""Arrays of zarr: read in whole chunks, as objects and as folders."""

import sys

import numpy as np
import pytest
import zarr

from checks import best_subset
from core.designs.storages import N, P, matrix
from design_contract import DesignContract
from samples import sample
from sparsest.core.designs import Streamed, as_design


def write(path, X, chunks):
    stored = zarr.create_array(str(path), shape=X.shape, chunks=chunks, dtype=X.dtype)
    stored[:] = X
    return zarr.open(str(path), mode="r")


class TestZarr(DesignContract):
    @pytest.fixture(params=[(2, P), (N, 2), (3, 3)])
    def pair(self, request, tmp_path):
        design = as_design(write(tmp_path / "x.zarr", matrix(), request.param))
        assert isinstance(design, Streamed)
        return Streamed(design.source, block_bytes=8 * N * 2, copy_bytes=0), matrix()


def test_folders(tmp_path):
    X, y = sample("squared", 60, 7)
    write(tmp_path / "x.zarr", X.astype(np.float32), (60, 3))
    result = best_subset(str(tmp_path / "x.zarr"), y, k=2)
    assert result.certificate.verify(X.astype(np.float32), y)
    assert result.certificate.verify(zarr.open(str(tmp_path / "x.zarr"), mode="r"), y)


def test_groups(tmp_path):
    group = zarr.open_group(str(tmp_path / "g.zarr"), mode="w")
    group.create_array("a", shape=(N, P), dtype="f8")[:] = matrix()
    assert np.array_equal(as_design(group).columns([2]), matrix()[:, [2]])
    group.create_array("b", shape=(N, P), dtype="f8")
    with pytest.raises(ValueError, match="group of zarr with 2 matrices"):
        as_design(group)
    group.create_array("X", shape=(N, P), dtype="f8")[:] = matrix()
    assert np.array_equal(as_design(tmp_path / "g.zarr").columns([2]), matrix()[:, [2]])


def test_zarr_is_an_extra(tmp_path, monkeypatch):
    write(tmp_path / "x.zarr", matrix(), (N, 2))
    monkeypatch.setitem(sys.modules, "zarr", None)
    with pytest.raises(ImportError, match=r"need zarr: pip install 'sparsest\[io\]'"):
        as_design(tmp_path / "x.zarr")


def test_folders_that_are_none(tmp_path):
    (tmp_path / "x.zarr").mkdir()
    with pytest.raises(ValueError, match="cannot be read as an array of zarr"):
        as_design(tmp_path / "x.zarr")
