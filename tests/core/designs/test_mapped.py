"""Mapped arrays: large ones are read in blocks, without copies; small ones are used like arrays in memory."""

import numpy as np
import pytest
import scipy.sparse as sp

from core.designs.storages import P, matrix
from design_contract import DesignContract
from samples import sample
from sparsest import best_subset, penalty_path
from sparsest.core.designs import Dense, Sparse, Streamed, as_design
from sparsest.core.designs.sources import CompressedSource
from sparsest.runtime.sizes import resized


@pytest.fixture(autouse=True)
def any_size():
    with resized(large_matrix=1):
        yield


def save(tmp_path, X):
    np.save(tmp_path / "x.npy", X)
    return np.load(tmp_path / "x.npy", mmap_mode="r")


def save_sparse(tmp_path, matrix):
    parts = []
    for name in ("data", "indices", "indptr"):
        np.save(tmp_path / f"{name}.npy", getattr(matrix, name))
        parts.append(np.load(tmp_path / f"{name}.npy", mmap_mode="r"))
    return type(matrix)(tuple(parts), shape=matrix.shape)


KINDS = {
    "row order": lambda path, X: save(path, X),
    "column order": lambda path, X: save(path, np.asfortranarray(X)),
    "sparse columns": lambda path, X: save_sparse(path, sp.csc_array(X)),
    "sparse rows": lambda path, X: save_sparse(path, sp.csr_matrix(X)),
}


class TestMapped(DesignContract):
    @pytest.fixture(params=KINDS)
    def pair(self, request, tmp_path):
        X = matrix()
        design = as_design(KINDS[request.param](tmp_path, X))
        assert isinstance(design, Streamed)
        return design, X


def test_arrays_in_memory_are_not_mapped(tmp_path):
    X = matrix()
    assert isinstance(as_design(X), Dense) and isinstance(as_design(sp.csc_array(X)), Sparse)
    stored = save(tmp_path, X)
    assert isinstance(as_design(np.asarray(stored)), Streamed)
    for other in (np.array(stored), stored[:, ::2]):
        assert isinstance(as_design(other), Dense)


def test_small_files_are_used_like_memory(tmp_path):
    with resized(large_matrix=1 << 28):
        for kind, expected in (("row order", Dense), ("sparse columns", Sparse)):
            assert isinstance(as_design(KINDS[kind](tmp_path, matrix())), expected)


def test_indices_outside_of_the_matrix_are_refused(tmp_path):
    broken = sp.csc_array(matrix())
    broken.indices[-1] = 1000
    with pytest.raises(ValueError, match="broken sparse matrix"):
        as_design(save_sparse(tmp_path, broken)).survey(np.ones(broken.shape[0]))


def test_a_broken_indptr_is_refused():
    stored = sp.csc_array(matrix())
    for bad in (stored.indptr[::-1], stored.indptr[1:], stored.indptr + 1, 2 * stored.indptr):
        with pytest.raises(ValueError, match="broken sparse matrix"):
            CompressedSource(stored.data, stored.indices, bad.astype(np.int64), (stored.shape[0], P))


@pytest.mark.parametrize("kind", KINDS)
def test_searches_and_paths(kind, tmp_path):
    X, y = sample("squared", 60, 12)
    stored = KINDS[kind](tmp_path, X)
    result, known = best_subset(stored, y, k=3), best_subset(X, y, k=3)
    assert result.support.tolist() == known.support.tolist() and result.certificate.verify(stored, y)
    path = penalty_path(stored, y, alphas=10, tol=1e-10)
    np.testing.assert_allclose(
        path.coefs.toarray(), penalty_path(X, y, alphas=10, tol=1e-10).coefs.toarray(), atol=1e-7
    )
