"""Settings reach the solver by the same names from everywhere; threads in workers of joblib and Dask."""

import sys
from inspect import signature
from types import SimpleNamespace

import joblib
import pytest

from checks import best_subset, best_subset_path
from samples import HARD, hard
from sparsest import BestSubsetClassifier, BestSubsetRegressor, Status
from sparsest.cli.fit import fit
from sparsest.runtime.threads import is_worker
from sparsest.subset import api
from sparsest.subset.solvers import make_solver

SHARED = ("start", "time_limit", "gap_tol", "engine", "n_jobs", "node_limit", "max_memory", "verbose", "method")
PYTHON = ("callback", "options")
LIMITS = {"time_limit": 5.0, "gap_tol": 1e-4}


def test_everywhere_by_the_same_names_and_with_the_same_defaults():
    wanted = signature(api.best_subset).parameters
    places = (api.best_subset_path, BestSubsetRegressor, BestSubsetClassifier)
    for place in places:
        given = signature(place).parameters
        assert all(given[name].default == wanted[name].default for name in (*SHARED, *PYTHON, "gamma", "standardize"))
    given = signature(fit).parameters
    shared = (name for name in SHARED if name != "n_jobs")
    assert all(given[name].default == wanted[name].default for name in (*shared, "gamma", "standardize"))
    assert {"option", "include", "exclude", "threads"} <= set(given)


@pytest.mark.parametrize("method", ["tree", "cuts"])
def test_node_limit(method):
    X, y = hard()
    few = {**HARD, "method": method, "node_limit": 3}
    for result in (best_subset(X, y, **few), best_subset_path(X, y, [5], gamma=0.1, method=method, node_limit=3)[0]):
        assert result.status is Status.NODE_LIMIT and result.n_nodes < 50


def test_start_of_a_path():
    X, y = hard(p=20)
    one = best_subset_path(X, y, [2], gamma=0.1, method="local", start=[17, 18])[0]
    assert one.objective == pytest.approx(best_subset(X, y, 2, gamma=0.1, method="local", start=[17, 18]).objective)


def test_one_thread_in_a_worker_of_joblib():
    assert make_solver("tree", **LIMITS).n_jobs is None
    work = [joblib.delayed(_threads)(n_jobs) for n_jobs in (None, 2)]
    assert joblib.Parallel(2, backend="threading")(work) == [1, 2]
    assert joblib.Parallel(1)(work) == [None, 2]


def _threads(n_jobs):
    return make_solver("tree", n_jobs=n_jobs, **LIMITS).n_jobs


@pytest.mark.parametrize("inside", [True, False])
def test_one_thread_in_a_worker_of_dask(monkeypatch, inside):
    def get_worker():
        if not inside:
            raise ValueError("No worker found")

    monkeypatch.setitem(sys.modules, "distributed.worker", SimpleNamespace(get_worker=get_worker))
    assert is_worker() == inside
    assert make_solver("tree", **LIMITS).n_jobs == (1 if inside else None)
