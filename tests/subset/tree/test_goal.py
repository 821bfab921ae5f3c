"""The goal of a search: its cutoff, the supports that it tries and polishes, and a comparison with cheaper methods."""

from itertools import product

import numpy as np
import pytest

from checks import best_subset
from oracles import best_of, sample_values
from samples import sample
from sparsest.core.problem import make_problem
from sparsest.datasets import make_toeplitz
from sparsest.runtime.clock import Clock
from sparsest.runtime.events import Incumbent
from sparsest.subset.fits.support import fit_support
from sparsest.subset.local_search import LocalSearch
from sparsest.subset.tree.goal import BestSupport

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def goal_of(gap_tol=1e-2, events=None, moves=None, **settings):
    X, y = sample("squared", 14, 6)
    problem = make_problem(X, y, **{"k": 3, "gamma": 0.3, **settings})
    return BestSupport(problem, Clock(60.0, None if events is None else events.append), gap_tol, moves or LocalSearch())


@pytest.mark.parametrize("gap_tol", [0.0, 1e-9, 1e-4, 0.1])
def test_the_cutoff_is_within_the_tolerance(gap_tol):
    """The distance to the incumbent is at least half of the tolerance, however much is reserved for rounding errors."""
    goal = goal_of(gap_tol)
    objective = goal.fit.primal
    assert objective * (1.0 - gap_tol) <= goal.cutoff <= objective * (1.0 - 0.5 * gap_tol)
    if gap_tol == 0.1:
        assert goal.cutoff == pytest.approx(objective * 0.905)


def test_the_first_incumbent_has_the_forced_features():
    goal = goal_of(include=[4])
    assert goal.fit.support.tolist() == [4] and not goal.exhaustive


def test_only_better_models_are_kept_and_reported():
    events = []
    goal = goal_of(events=events)
    first, second = (fit_support(goal.incumbent.problem, np.array(support)) for support in ([0], [0, 1, 2]))
    assert second.primal < first.primal < goal.fit.primal
    for fit, kept in ((first, first), (second, second), (first, second)):
        goal.incumbent.offer(fit)
        assert goal.fit is kept
    assert [event.objective for event in events if isinstance(event, Incumbent)] == [first.primal, second.primal]


def test_rounded_supports_are_polished_if_they_are_better_or_when_asked():
    """Polishing starts after ``search_locally``, and each support is polished only once."""
    optimum, best = best_of(sample_values("squared", 14, 6, 0, 0.3, True, False), 3)
    searched = []

    class Noting(LocalSearch):
        def search(self, problem, start=None, **settings):
            searched.append(start)
            return super().search(problem, start=start, **settings)

    goal = goal_of(moves=Noting())
    goal.rounded(np.array([5]), polish=True)
    assert not searched and goal.fit.support.tolist() == [5]
    goal.search_locally()
    assert goal.fit.primal == pytest.approx(optimum, rel=1e-9)
    searched.clear()
    for again in ([5], list(best), [0]):
        goal.rounded(np.array(again))
    assert not searched
    for _ in range(2):
        goal.rounded(np.array([1]), polish=True)
    assert [start.tolist() for start in searched] == [[1]]


@pytest.mark.parametrize(
    "support", [[0, 1, 2, 5], [0, 1], [2, 4]], ids=["too many", "without a forced one", "excluded"]
)
def test_supports_that_are_not_admissible_are_ignored(support):
    goal = goal_of(include=[2], exclude=[4])
    before = goal.fit
    goal.rounded(np.array(support))
    assert goal.fit is before


def test_a_last_support_is_tried_in_order():
    goal = goal_of()
    goal.reached(np.array([2, 0, 1]))
    assert goal.fit.primal <= fit_support(goal.incumbent.problem, np.array([0, 1, 2])).primal
    assert np.array_equal(goal.fit.support, np.sort(goal.fit.support))


@pytest.mark.parametrize(("seed", "rho"), [(0, 0.2), (0, 0.7), (1, 0.2), (1, 0.7)])
def test_the_tree_is_not_worse_than_cheaper_methods_at_a_weak_ridge(seed, rho):
    """With few nodes the incumbent depends on the starts; the relaxation alone used to be up to 40 % better here."""
    data = make_toeplitz(100, 600, 12, rho=rho, snr=6.0, rng=seed)
    gamma0 = 600 / (12 * 100 * float(np.square(data.X).sum(axis=1).max()))
    settings = {"gamma": 2**11 * gamma0, "fit_intercept": False}
    found = best_subset(data.X, data.y, 12, node_limit=5, **settings).objective
    for method in ("relaxation", "local"):
        other = best_subset(data.X, data.y, 12, method=method, **settings).objective
        assert found <= other * (1 + 1e-4)


def test_if_rounding_closes_the_gap_there_is_no_local_search():
    class Refusing(LocalSearch):
        def search(self, *given, **settings):
            raise AssertionError("a local search was started")

    data = make_toeplitz(200, 400, 5, rho=0.2, snr=6.0, rng=0)
    result = best_subset(data.X, data.y, 5, gamma=1e-3, fit_intercept=False, options={"moves": Refusing()})
    assert result.status.name == "OPTIMAL" and result.n_nodes == 0


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_a_thorough_search_ends_where_no_swap_with_any_feature_is_better(loss):
    """This also holds for a small pool; the quadratic model of a loss may miss small improvements."""
    X, y = sample(loss, 40, 30, 5)
    X[:, 15:] = X[:, :15] + 0.1 * X[:, 15:]
    problem = make_problem(X, y, 4, gamma=5.0, loss=loss)
    fit = LocalSearch(pool=1, trials=30).search(problem)
    outside = np.setdiff1d(np.arange(30), fit.support)
    values = [
        fit_support(problem, np.sort(np.append(np.delete(fit.support, out), into))).primal
        for out, into in product(range(4), outside)
    ]
    assert min(values) >= fit.primal * (1 - (1e-9 if loss == "squared" else 1e-3))


def test_a_given_start_and_roundings_are_polished_once_the_gap_stays_open():
    X, y = sample("squared", 40, 12, 6)
    problem = make_problem(X, y, 3, gamma=1.0)
    best = min(
        (fit_support(problem, np.array(s)) for s in product(range(12), repeat=3) if s[0] < s[1] < s[2]),
        key=lambda fit: fit.primal,
    )
    for support in ([9, 10, 11], [0, 5, 7]):
        goal = BestSupport(problem, Clock(np.inf), 1e-4, LocalSearch())
        goal.rounded(np.array(support))
        assert goal.fit.primal == fit_support(problem, np.array(support)).primal
        goal.search_locally()
        assert goal.fit.primal == pytest.approx(best.primal, rel=1e-9)
