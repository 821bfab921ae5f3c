"""Parts shared by all bounders: copying columns within the time limit, and warm starts."""

from itertools import count

import numpy as np
import pytest
import scipy.sparse as sp

from checks import best_subset
from samples import sample
from sparsest.core.problem import make_problem
from sparsest.subset.tree.bounder import OutOfTime, WarmStart, copied_bytes, covered, pack
from sparsest.subset.tree.tuning import Tuning


@pytest.mark.parametrize("storage", [np.asarray, sp.csc_array])
@pytest.mark.parametrize("bytes_at_once", [1, 8 * 20 * 2, 1 << 24])
def test_packed_columns(storage, bytes_at_once):
    X, y = sample("squared", 20, 9)
    problem, features = make_problem(storage(X), y, 3, standardize=True), np.array([7, 0, 4])
    columns = pack(problem, features, lambda: False, bytes_at_once=bytes_at_once)
    assert columns.flags.f_contiguous and columns.dtype == np.float64
    np.testing.assert_array_equal(columns, problem.design.columns(features))


def test_columns_are_copied_only_while_there_is_time():
    X, y = sample("squared", 20, 9)
    problem = make_problem(X, y, 3)
    looks = count()
    with pytest.raises(OutOfTime):
        pack(problem, np.arange(9), lambda: next(looks) == 2, bytes_at_once=8 * 20 * 2)
    assert next(looks) == 3


def test_memory_of_a_warm_start():
    positions = np.arange(3)
    assert WarmStart(positions, np.ones(3), 0.0).nbytes() == 3 * 16
    assert WarmStart(positions, np.ones(3), 0.0, alpha=np.ones(10), u=np.ones(7)).nbytes() == 3 * 16 + 8 * 17


def test_columns_are_not_copied_where_they_are_stored_as_they_are_used():
    X, y = sample("squared", 20, 9)
    alive = np.array([0, 3, 4])
    stored = make_problem(np.asfortranarray(X), y, 3, fit_intercept=False)
    assert covered(stored, alive, 20 * 3 * 8.0) is alive and covered(stored, alive, 0.0).size == 9
    columns = pack(stored, np.arange(9), lambda: False, 1)
    assert columns is stored.design.stored_columns() and copied_bytes(stored, columns) == 0.0
    others = {"rows": X, "singles": np.asfortranarray(X.astype(np.float32)), "sparse": sp.csc_array(X)}
    for matrix in others.values():
        problem = make_problem(matrix, y, 3, fit_intercept=False)
        assert covered(problem, alive, 0.0) is alive
        assert copied_bytes(problem, pack(problem, np.arange(9), lambda: False, 1 << 20)) == 8 * 20 * 9
    weighted = make_problem(np.asfortranarray(X), y, 3, fit_intercept=False, sample_weight=np.linspace(1.0, 2.0, 20))
    assert covered(weighted, alive, 0.0) is alive


@pytest.mark.parametrize("loss", ["squared", "logistic", "hinge"])
def test_a_search_over_stored_columns_finds_the_same(loss):
    X, y = sample(loss, 40, 30, 3)
    settings = {"k": 4, "gamma": 1.0, "loss": loss, "fit_intercept": False, "n_jobs": 1}
    usual = best_subset(X, y, **settings)
    stored = best_subset(np.asfortranarray(X), y, **settings, options={"tuning": Tuning(largest_copy=0.0)})
    assert stored.objective == pytest.approx(usual.objective, rel=1e-9) and stored.status is usual.status
    assert stored.n_nodes > 0 and stored.certificate.verify(X, y).valid
