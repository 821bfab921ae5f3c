"""Lists of row chunks as designs: the contract, arrays in other types, mapped files, and what is refused."""

import numpy as np
import pytest

import sparsest
from core.designs.storages import N, P, matrix
from design_contract import DesignContract
from sparsest.core.designs import as_design
from sparsest.core.designs.blocked import Blocked
from sparsest.core.designs.row_chunks import stored_type
from sparsest.core.designs.summed_packs import SummedPack
from sparsest.proofs.grid import Call


class TestRowChunks(DesignContract):
    @pytest.fixture(params=[list, tuple])
    def pair(self, request):
        X = matrix()
        return as_design(request.param(np.split(X, [1, 6, 6]))), X


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int64, np.bool_])
def test_types(dtype):
    X = (matrix() > 0.5).astype(dtype)
    design = as_design(np.array_split(X, 3))
    assert design.grid.dtype == stored_type(np.dtype(dtype))
    assert np.array_equal(design.columns([3, 1]), X[:, [3, 1]].astype(float))


def test_mapped_chunks_are_not_copied(tmp_path):
    X = matrix()
    for i, part in enumerate(np.array_split(X, 3)):
        np.save(tmp_path / f"{i}.npy", part)
    design = as_design([np.load(tmp_path / f"{i}.npy", mmap_mode="r") for i in range(3)])
    kinds = design.grid.run(lambda block, shared, own: type(block), [Call(i, 0) for i in range(3)])
    assert kinds == [np.memmap] * 3
    assert np.array_equal(design.columns(np.arange(P)), X)


def test_lists_of_rows_are_arrays():
    assert not isinstance(as_design(matrix().tolist()), Blocked)
    assert as_design([matrix()]).shape == (N, P)


def test_refused_chunks():
    X = matrix()
    for bad in ([X, X[:, 1:]], [X, X.astype(np.float32)]):
        with pytest.raises(ValueError, match="same number of columns and the same type"):
            as_design(bad)
    with pytest.raises(ValueError, match="at least one row"):
        as_design([X[:0], X[:0]])


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_gram_matrices_are_computed_where_rows_are(loss):
    """A design whose columns are too many to be copied has the results of one that copies them."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 8)) + np.arange(8.0)
    u = X[:, 0] - X[:, 3] + 0.3 * rng.standard_normal(300)
    y = u if loss == "squared" else u > np.median(u)
    there = Blocked(as_design(np.array_split(X, 7)).grid, pack_bytes=0)
    assert isinstance(there.pack(True), SummedPack)
    for method in ("relaxation", "tree"):
        found, usual = (sparsest.best_subset(given, y, 2, loss=loss, method=method) for given in (there, X))
        assert found.statement == usual.statement and found.support.tolist() == usual.support.tolist()
        assert found.objective == pytest.approx(usual.objective, rel=1e-8)
        assert found.certificate.verify(np.array_split(X, 7), y)
    found, usual = (sparsest.penalty_path(given, y, loss=loss, alphas=10, tol=1e-9) for given in (there, X))
    np.testing.assert_allclose(found.coefs.toarray(), usual.coefs.toarray(), rtol=1e-4, atol=1e-5)
