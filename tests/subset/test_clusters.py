"""Best subsets, paths and certificates from matrices on a cluster, and a worker that is killed meanwhile."""

import os
import signal

import dask.array as da
import distributed
import numpy as np
import pytest

import sparsest
from clusters import two_workers, wait_for_death, worker_processes
from sparsest.core.designs.blocked import Blocked
from sparsest.proofs.cluster import DaskGrid
from sparsest.proofs.columns import AllColumns
from sparsest.proofs.data import Data
from sparsest.proofs.losses import RULES

N, P, K = 60, 24, 3
CHUNKS = {"columns": (N, 7), "rows": (13, P), "both": (25, 7)}
METHODS = ["tree", "cuts", "relaxation", "subgradient", "local"]


@pytest.fixture(scope="module")
def cluster():
    with two_workers() as client:
        yield client


def data(loss="squared", n=N, p=P, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + rng.uniform(-2.0, 2.0, p)
    u = X[:, :K] @ np.array([2.0, -1.5, 1.0]) + 0.5 * rng.standard_normal(n)
    return X, np.where(u > np.median(u), "yes", "no") if loss in ("logistic", "hinge") else u


@pytest.mark.parametrize("chunks", CHUNKS)
@pytest.mark.parametrize("loss", ["squared", "logistic", "hinge"])
def test_as_in_memory(cluster, loss, chunks):
    X, y = data(loss)
    weights = np.random.default_rng(1).integers(0, 3, N).astype(float)
    array = da.from_array(X, chunks=CHUNKS[chunks]).persist()
    here, there = (sparsest.best_subset(given, y, K, loss=loss, sample_weight=weights) for given in (X, array))
    assert there.statement == here.statement
    assert there.support.tolist() == here.support.tolist() and there.status == here.status
    np.testing.assert_allclose(there.coef, here.coef, rtol=1e-6, atol=1e-9)
    for given in (X, array):
        assert there.certificate.verify(given, y, weights, k=K)
        assert here.certificate.verify(given, y, weights, k=K)


@pytest.mark.parametrize("method", METHODS)
def test_methods(cluster, method):
    X, y = data()
    array = da.from_array(X, chunks=CHUNKS["both"])
    here, there = (sparsest.best_subset(given, y, K, gamma=0.1, method=method) for given in (X, array))
    assert there.objective == pytest.approx(here.objective, rel=1e-8)
    assert there.certificate.verify(array, y) and there.certificate.verify(X, y)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("chunks", CHUNKS)
def test_verdicts_are_equal(cluster, chunks, fit_intercept):
    """Bounds too, bit for bit, where columns are not divided; the same error is found in other data."""
    X, y = data()
    certificate = sparsest.best_subset(X, y, K, gamma=0.1, fit_intercept=fit_intercept).certificate
    array = da.from_array(X, chunks=CHUNKS[chunks])
    here, there = (certificate.verify(given, y, exact=False) for given in (X, array))
    assert here.valid and there.valid
    assert there.lower_bound == pytest.approx(here.lower_bound, rel=1e-12)
    assert there.objective == here.objective
    other = X.copy()
    other[N - 1, P - 1] += 1e-9
    spoiled = certificate.verify(da.from_array(other, chunks=CHUNKS[chunks]), y)
    assert spoiled.reasons == certificate.verify(other, y).reasons
    assert "fingerprint" in spoiled.reasons[0]
    broken = X.copy()
    broken[N - 1, P - 1] = np.nan
    assert "NaN" in certificate.verify(da.from_array(broken, chunks=CHUNKS[chunks]), y).reasons[0]


@pytest.mark.parametrize("weighted", [False, True])
def test_passes_of_the_checker_are_equal_bit_for_bit(cluster, weighted):
    """Entries are small integers, so that sums have no rounding errors in any order."""
    rng = np.random.default_rng(3)
    X, y = rng.integers(-9, 10, (N, P)).astype(float), rng.integers(-9, 10, N).astype(float)
    weights = rng.integers(0, 3, N) if weighted else None
    vectors = rng.integers(-9, 10, (N if weights is None else np.count_nonzero(weights), 2)).astype(float)
    found = []
    for given in (X, *(da.from_array(X, chunks=chunks) for chunks in CHUNKS.values())):
        columns = AllColumns(Data(given, y, weights, RULES["squared"](), True, True))
        found.append((columns.products(vectors), *columns.bounds))
    for others in found[1:]:
        for one, other in zip(found[0], others, strict=True):
            assert np.array_equal(one, other)


@pytest.mark.parametrize("penalty", ["l1", "mcp"])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_penalty_paths(cluster, loss, penalty):
    X, y = data(loss)
    array = da.from_array(X, chunks=CHUNKS["both"]).persist()
    settings = {"loss": loss, "alphas": 12, "tol": 1e-9}
    here, there = (sparsest.penalty_path(given, y, penalty, **settings) for given in (X, array))
    np.testing.assert_allclose(there.coefs.toarray(), here.coefs.toarray(), rtol=1e-4, atol=1e-5)
    predicted = [there.predict(given, 0.1) for given in (array, X)]
    if loss == "squared":
        np.testing.assert_allclose(*predicted, rtol=1e-12)
    else:
        assert np.array_equal(*predicted)


def test_results_predict_arrays(cluster):
    X, y = data()
    array = da.from_array(X, chunks=CHUNKS["both"])
    result = sparsest.best_subset(array, y, K)
    np.testing.assert_allclose(result.predict(array), result.predict(X), rtol=1e-12)


def test_a_matrix_that_is_too_large_for_the_workers(cluster):
    X, y = data()
    lazy = DaskGrid(da.from_array(X, chunks=CHUNKS["both"]), most_memory=0.0)
    there, here = (sparsest.best_subset(given, y, K) for given in (Blocked(lazy), X))
    assert there.statement == here.statement and there.support.tolist() == here.support.tolist()
    assert there.certificate.verify(lazy, y)


class Killer:
    """A callback that kills a worker at the first event after the search has begun."""

    def __init__(self, client):
        self.client, self.victim = client, None

    def __call__(self, event):
        if self.victim is None:
            self.victim = min(worker_processes(self.client))
            os.kill(self.victim, signal.SIGKILL)


@pytest.mark.parametrize("method", ["relaxation", "tree"])
def test_a_worker_killed_during_a_search(method):
    X, y = data(n=200, p=60)
    with two_workers() as client:
        array = da.from_array(X, chunks=(100, 10)).persist()
        distributed.wait(array)
        killer = Killer(client)
        there = sparsest.best_subset(array, y, K, method=method, callback=killer)
        assert killer.victim is not None
        wait_for_death(client, killer.victim)
        verdict = there.certificate.verify(array, y, k=K)
    here = sparsest.best_subset(X, y, K, method=method)
    assert verdict and there.support.tolist() == here.support.tolist()
    assert there.objective == pytest.approx(here.objective, rel=1e-9)
    assert there.status == here.status
