"""The walk from data and settings to a result: data are prepared once, and results have names and labels."""

import numpy as np
import pytest

from samples import sample
from sparsest import BestSubsetRegressorCV, best_subset
from sparsest.core.data import make_data
from sparsest.runtime.clock import Clock
from sparsest.runtime.faults import injected
from sparsest.subset.task import make_search, make_task, pose_task, problem_of, problem_on, solve

X, Y = sample("squared", 40, 8, 3)


@pytest.fixture
def prepared():
    """The shapes of the designs that are prepared."""
    shapes = []
    with injected("data", shapes.append):
        yield shapes


def test_data_are_prepared_once(prepared):
    best_subset(X, Y, 2, gamma=0.3)
    assert prepared == [X.shape]


def test_cross_validation_fits_its_model_on_the_data_of_the_folds(prepared):
    BestSubsetRegressorCV([1, 2], gammas=0.3, cv=4).fit(X, Y)
    assert prepared.count(X.shape) == 1 and len(prepared) == 5


def test_the_result_and_its_data():
    result, data = solve(X, Y, k=2, gamma=0.3, method="local")
    assert data.design.shape == X.shape and np.array_equal(data.response, Y)
    assert result.objective == best_subset(X, Y, 2, gamma=0.3, method="local").objective
    assert problem_on(result, data).data is data


def test_parts_of_the_walk_make_the_whole():
    search = make_search(method="local")
    task = pose_task(make_data(X, Y, standardize=True), tuple("abcdefgh"), k=2, gamma=0.3, include=["c"])
    result, solved = search.solve(lambda: task, ["a"], Clock(search.time_limit, spent=3.0))
    assert solved is task
    whole = best_subset(X, Y, 2, gamma=0.3, method="local", include=["c"], start=["a"], feature_names=list("abcdefgh"))
    assert np.array_equal(result.coef, whole.coef) and result.feature_names == whole.feature_names
    assert result.seconds >= 3.0 and 2 in result.support


def test_labels():
    x, y = sample("logistic", 40, 6, 3)
    task = make_task(x, np.where(y > 0, "yes", "no"), k=2, loss="logistic")
    assert task.problem.data.classes.tolist() == ["no", "yes"]
    result, _ = make_search(method="local").solve(lambda: task, None, Clock(60.0))
    assert result.classes.tolist() == ["no", "yes"]
    assert make_task(X, Y, k=2).problem.data.classes is None


def test_the_problem_of_a_result():
    result = best_subset(X, Y, 2, gamma=0.3, include=[5], max_coef=4.0, method="local")
    problem = problem_of(result, X, Y)
    assert (problem.sparsity.k, problem.gamma, problem.max_coef) == (2, 0.3, 4.0)
    assert problem.include.tolist() == [5]
    with pytest.raises(ValueError, match="the result is for data with 8 columns, this X has 7"):
        problem_of(result, X[:, 1:], Y)
    with pytest.raises(ValueError, match="X, y, sample_weight, offset or exposure are not those of the result"):
        problem_of(result, X, Y + 1e-9)
