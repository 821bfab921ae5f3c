"""The goal of a search: its cutoff, and which supports it tries."""

import numpy as np
import pytest

from oracles import best_of, sample_values
from samples import sample
from sparsest.problem import make_problem
from sparsest.result import Incumbent
from sparsest.solvers.exact.goal import BestSupport
from sparsest.solvers.shared.clock import Clock
from sparsest.solvers.shared.local_search import LocalSearch
from sparsest.solvers.shared.support import fit_support


def goal_of(gap_tol=1e-2, events=None, **settings):
    X, y = sample("squared", 14, 6)
    problem = make_problem(X, y, **{"k": 3, "gamma": 0.3, **settings})
    return BestSupport(problem, Clock(60.0, None if events is None else events.append), gap_tol, LocalSearch())


@pytest.mark.parametrize("gap_tol", [0.0, 1e-9, 1e-4, 0.1])
def test_the_cutoff_spares_at_most_the_tolerance(gap_tol):
    """And at least half of it, however much of it rounding errors may take."""
    goal = goal_of(gap_tol)
    objective = goal.fit.primal
    assert objective * (1.0 - gap_tol) <= goal.cutoff <= objective * (1.0 - 0.5 * gap_tol)
    if gap_tol == 0.1:
        assert goal.cutoff == pytest.approx(objective * 0.905)


def test_it_begins_with_the_forced_features():
    goal = goal_of(include=[4])
    assert goal.fit.support.tolist() == [4] and not goal.exhaustive


def test_only_better_models_are_kept_and_told():
    events = []
    goal = goal_of(events=events)
    first, second = (fit_support(goal.problem, np.array(support)) for support in ([0], [0, 1, 2]))
    assert second.primal < first.primal < goal.fit.primal
    for fit, kept in ((first, first), (second, second), (first, second)):
        goal.offer(fit)
        assert goal.fit is kept
    assert [event.objective for event in events if isinstance(event, Incumbent)] == [first.primal, second.primal]


def test_rounded_supports_are_polished_once(monkeypatch):
    """A support that is better than the incumbent leads to the best of its neighbours."""
    optimum, best = best_of(sample_values("squared", 14, 6, 0, 0.3, True, False), 3)
    goal, polished = goal_of(), []
    usual = BestSupport.polish
    monkeypatch.setattr(BestSupport, "polish", lambda self, support: (polished.append(support), usual(self, support)))
    goal.rounded(np.array([5]))
    assert len(polished) == 1 and goal.fit.primal == pytest.approx(optimum, rel=1e-9)
    for again in ([5], list(best), [0]):
        goal.rounded(np.array(again))
    assert len(polished) == 1


@pytest.mark.parametrize(
    "support", [[0, 1, 2, 5], [0, 1], [2, 4]], ids=["too many", "without a forced one", "excluded"]
)
def test_supports_that_are_not_admissible_are_left(support):
    goal = goal_of(include=[2], exclude=[4])
    before = goal.fit
    goal.rounded(np.array(support))
    assert goal.fit is before


def test_a_last_support_is_tried_in_order():
    goal = goal_of()
    goal.reached(np.array([2, 0, 1]))
    assert goal.fit.primal <= fit_support(goal.problem, np.array([0, 1, 2])).primal
    assert np.array_equal(goal.fit.support, np.sort(goal.fit.support))
