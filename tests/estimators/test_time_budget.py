"""Time that many fits share."""

import copy
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from samples import sample
from sparsest import BestSubsetRegressor, BestSubsetRegressorCV, TimeBudget
from sparsest.estimators.time_budget import seconds_of


def hard():
    """A problem whose proof would take hours."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 300))
    return X, X[:, :20].sum(axis=1) + 8.0 * rng.standard_normal(100)


def test_shares():
    budget = TimeBudget(10.0, n_fits=4)
    with budget.share() as first, budget.share() as second:
        assert first == second == 2.5
    assert budget.n_done == 2 and 0.0 <= budget.spent < 1.0
    with budget.share() as third:
        assert third == pytest.approx(0.5 * (10.0 - budget.spent))
    with budget.share(), pytest.raises(ZeroDivisionError), budget.share():
        raise ZeroDivisionError
    # More fits than foretold share what is left; a fit that failed counts.
    assert budget.n_done == 5
    with budget.share() as last:
        assert last == pytest.approx(10.0 - budget.spent)


def test_a_spent_budget_leaves_the_first_heuristics():
    budget = TimeBudget(1e-6, n_fits=2)
    X, y = hard()
    model = BestSubsetRegressor(5, time_limit=budget)
    for _ in range(3):
        with pytest.warns(ConvergenceWarning):
            model.fit(X, y)
        assert model.status_.name == "TIME_LIMIT" and np.isfinite(model.objective_) and model.result_.seconds < 30.0
    assert budget.spent > budget.seconds


def test_clones_copies_and_pickles_share_it():
    budget = TimeBudget(5.0, n_fits=7)
    X, y = sample("squared", 40, 5)
    model = BestSubsetRegressor(2, time_limit=budget)
    assert clone(model).time_limit is budget and copy.deepcopy(model).time_limit is budget
    again = pickle.loads(pickle.dumps(model))
    again.fit(X, y)
    assert budget.n_done == again.time_limit.n_done == 1
    assert repr(budget) == "TimeBudget(5, n_fits=7)" and "n_fits=7" in repr(model)


def test_its_file_ends_with_it():
    budget = TimeBudget(5.0, n_fits=7)
    with budget.share():
        pass
    file = Path(budget._file)
    assert file.exists()
    del budget
    assert not file.exists()


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_grid_search_keeps_within_it(n_jobs):
    X, y = hard()
    budget = TimeBudget(1.0, n_fits=2 * 3 + 1)
    search = GridSearchCV(BestSubsetRegressor(time_limit=budget), {"k": [1, 12]}, cv=3, n_jobs=n_jobs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        search.fit(X, y)
    assert budget.n_done == 7 and hasattr(search, "best_estimator_")
    # Each of the seven may end late; without a budget the four hard ones would take a minute each.
    assert budget.spent < 60.0


@pytest.mark.parametrize(
    ("given", "message"),
    [((0.0, 3), "seconds must be"), ((np.inf, 3), "seconds must be"), ((1.0, 0), "n_fits must be")],
    ids=str,
)
def test_bad_budgets(given, message):
    with pytest.raises(ValueError, match=message):
        TimeBudget(*given)


def test_other_limits_are_passed_on():
    with seconds_of(7.0) as seconds:
        assert seconds == 7.0
    X, y = sample("squared", 40, 5)
    with pytest.raises(ValueError, match="time_limit must be"):
        BestSubsetRegressorCV(time_limit=TimeBudget(5.0, n_fits=7)).fit(X, y)
