"""Solvers of all methods, with the declared defaults; threads in workers of joblib and Dask."""

import sys
from dataclasses import fields
from types import SimpleNamespace

import joblib
import pytest

from checks import best_subset, best_subset_path
from samples import HARD, hard
from sparsest import Status
from sparsest.core.settings import ENGINES, METHODS, SETTINGS
from sparsest.runtime.threads import is_worker
from sparsest.subset.cuts.method import Cuts
from sparsest.subset.solvers import SOLVERS, make_solver
from sparsest.subset.tree.method import Tree

LIMITS = {"time_limit": 5.0, "gap_tol": 1e-4}


def test_every_method_has_a_solver():
    assert tuple(SOLVERS) == METHODS


def test_solvers_have_the_declared_limits():
    for solver in SOLVERS.values():
        own = {field.name: field.default for field in fields(solver)}
        assert all(own[name] == SETTINGS[name].default for name in ("time_limit", "gap_tol"))


def test_defaults_of_methods_are_described():
    described = SETTINGS["node_limit"].about, SETTINGS["max_memory"].about
    assert Tree().node_limit == Cuts().node_limit == 10_000_000 and "10 million by default" in described[0]
    assert Tree().max_memory is None and "half of the available memory" in described[1]
    assert Cuts().engine == ENGINES[0] and f'"{ENGINES[0]}" (default)' in SETTINGS["engine"].about


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
