"""Arrays of Dask as designs: the contract on a cluster and on threads, and what is refused."""

import dask.array as da
import numpy as np
import pytest

from clusters import two_workers
from core.designs.storages import WEIGHTS, N, P, matrix
from design_contract import DesignContract
from sparsest.core.designs import as_design
from sparsest.core.designs.blocked import Blocked
from sparsest.proofs.fingerprint import Fingerprint

CHUNKS = {"columns": (N, 3), "rows": (5, P), "both": (5, 3)}


@pytest.fixture(scope="module")
def cluster():
    with two_workers() as client:
        yield client


class TestOnThreads(DesignContract):
    @pytest.fixture(params=CHUNKS)
    def pair(self, request):
        X = matrix()
        return as_design(da.from_array(X.astype(np.float32), chunks=CHUNKS[request.param])), X


class TestOnWorkers(DesignContract):
    """Fetched columns are kept, so most subsets do not reach the workers twice: the other tests say more about it."""

    @pytest.fixture(params=CHUNKS)
    def pair(self, request, cluster):
        X = matrix()
        return as_design(da.from_array(X, chunks=CHUNKS[request.param])), X


@pytest.mark.parametrize("chunks", CHUNKS)
def test_sums_do_not_depend_on_where_blocks_are(cluster, chunks):
    X = np.random.default_rng(4).standard_normal((N, P))
    array = da.from_array(X, chunks=CHUNKS[chunks])
    there = as_design(array)
    here = Blocked(as_design([X]).grid) if chunks == "whole" else as_design(array.persist(scheduler="threads"))
    r, w = X[:, 0] ** 2, X[3]
    assert np.array_equal(there.tdot(r), here.tdot(r)) and np.array_equal(there.dot(w), here.dot(w))
    for one, other in zip(there.moments(WEIGHTS), here.moments(WEIGHTS), strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("chunks", CHUNKS)
def test_digests_are_those_of_the_matrix(cluster, chunks):
    X = matrix()
    design, keep = as_design(da.from_array(X, chunks=CHUNKS[chunks])), np.array([7, 2, 2, 0, 11])
    for some, rows in ((design, np.arange(N)), (design.rows(keep), keep)):
        known = Fingerprint(rows.size, P)
        assert np.array_equal(some.digests(known.keys), known.products(np.ascontiguousarray(X[rows].T) + 0.0))


@pytest.mark.parametrize("dtype", [np.float16, np.int64, np.uint8, np.bool_, np.float32])
def test_types(cluster, dtype):
    X = (matrix() > 0.5).astype(dtype)
    design = as_design(da.from_array(X, chunks=(5, 3)))
    assert np.array_equal(design.columns(np.arange(P)), X.astype(np.float64))
    assert np.array_equal(design.tdot(np.ones(N)), X.astype(np.float64).sum(axis=0))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_entries_that_are_not_finite(cluster, bad):
    X = matrix()
    X[11, 6] = bad
    with pytest.raises(ValueError, match="NaN or infinity"):
        as_design(da.from_array(X, chunks=(5, 3))).survey(np.ones(N))


def test_integers_that_doubles_do_not_hold(cluster):
    X = np.full((4, 3), 2**53 + 1)
    with pytest.raises(ValueError, match="X"):
        as_design(da.from_array(X, chunks=(2, 3))).survey(np.ones(4))


def test_data_frames_are_to_be_converted():
    import dask.dataframe as dd
    import pandas as pd

    frame = dd.from_pandas(pd.DataFrame({"a": [1.0, 2.0], "b": [0.0, 3.0]}), npartitions=2)
    with pytest.raises(ValueError, match=r"to_dask_array\(lengths=True\)"):
        as_design(frame)
    assert as_design(frame.to_dask_array(lengths=True)).shape == (2, 2)


def test_fetched_columns_are_kept_but_not_changed(cluster):
    X = matrix()
    design = as_design(da.from_array(X, chunks=(5, 3)))
    first = design.columns([4, 1])
    first[:] = -1.0
    assert np.array_equal(design.columns([1, 4, 4]), X[:, [1, 4, 4]])
    assert np.array_equal(design.rows(np.array([3, 1])).columns([1, 0]), X[np.ix_([3, 1], [1, 0])])
