"""Searches that try all choices of their last features, with certificates; and swaps of two features at once."""

from itertools import combinations

import numpy as np
import pytest

from checks import best_subset, solve
from sparsest import Structure
from sparsest import best_subset as plain_best_subset
from sparsest.core.problem import make_problem
from sparsest.proofs.data import Room
from sparsest.proofs.steps import LastFeatures as Step
from sparsest.runtime.clock import Clock
from sparsest.runtime.events import Done, NotTried, Status
from sparsest.subset.fits.support import fit_support
from sparsest.subset.local_search import LocalSearch
from sparsest.subset.tree.goal import BestSupport
from sparsest.subset.tree.last_features import LastFeatures
from sparsest.subset.tree.method import Tree
from sparsest.subset.tree.near_optimal import NearOptimalSearch
from sparsest.subset.tree.trying import swap_pairs
from sparsest.subset.tree.tuning import Tuning


def wide(n=14, p=30, seed=0):
    """More features than observations, correlated: without a ridge only trying everything proves anything."""
    rng = np.random.default_rng([seed, n, p])
    X = rng.standard_normal((n, p)) + 0.7 * rng.standard_normal((n, 1))
    return X, X[:, 0] - X[:, 1] + X[:, 2] + rng.standard_normal(n)


def steps_of(result):
    return [type(step) for step in result.certificate.proof.steps]


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("gamma", [1e3, np.inf])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_few_features_of_many_are_proved_optimal(k, gamma, fit_intercept):
    X, y = wide()
    problem = make_problem(X, y, k, gamma=gamma, fit_intercept=fit_intercept)
    optimum = min(fit.primal for fit in all_fits(problem))
    result = best_subset(X, y, k, gamma=gamma, fit_intercept=fit_intercept)
    assert result.status is Status.OPTIMAL and result.objective == pytest.approx(optimum, rel=1e-9)
    assert result.lower_bound <= optimum * (1.0 + 1e-12)
    assert Step in steps_of(result)
    assert result.certificate.verify(X, y)
    assert result.certificate.verify(X, y, exact=True) if k < 3 else True


@pytest.mark.parametrize(
    "settings",
    [
        {"k": 3, "include": (4,), "exclude": (0, 7)},
        {"k": 2, "sample_weight": np.linspace(0.5, 2.0, 14)},
        {"k": 3, "standardize": True},
        {"l0_penalty": 8.0},
        {"k": 3, "l0_penalty": 1.0},
    ],
    ids=str,
)
@pytest.mark.parametrize("gamma", [1e2, np.inf])
def test_forced_features_weights_and_prices(settings, gamma):
    """The same result as that of the enumeration, which fits every support separately."""
    X, y = wide(p=11)
    result = best_subset(X, y, gamma=gamma, **settings)
    assert result.status is Status.OPTIMAL
    weights = settings.get("sample_weight")
    assert result.certificate.verify(X, y, weights)
    problem = make_problem(
        X, y, settings.get("k"), l0_penalty=settings.get("l0_penalty"), gamma=gamma,
        include=settings.get("include", ()), exclude=settings.get("exclude", ()), sample_weight=weights,
        standardize=settings.get("standardize", False),
    )  # fmt: skip
    best = min(fit.primal for fit in all_fits(problem))
    assert result.objective == pytest.approx(best, rel=1e-9) and result.lower_bound <= best * (1.0 + 1e-12)


LIMITS = {
    "loose box": {"max_coef": 2.0},
    "tight box": {"max_coef": 0.3},
    "positive": {"lower": 0.0},
    "one side": {"upper": np.linspace(0.2, 1.0, 13)},
    "both sides": {"lower": -0.4, "upper": np.linspace(0.0, 2.0, 13)},
}


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("gamma", [1e2, np.inf])
def test_limits_of_coefficients(name, k, gamma):
    """The same result as that of the enumeration, and a proof by trying where that is not too much."""
    X, y = wide(p=13, seed=4)
    result = best_subset(X, y, k, gamma=gamma, **LIMITS[name])
    problem = make_problem(X, y, k, gamma=gamma, **LIMITS[name])
    best = min(fit.primal for fit in all_fits(problem))
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(best, rel=1e-4) and result.lower_bound <= best * (1.0 + 1e-12)
    assert result.certificate.verify(X, y)
    assert k == 3 or result.certificate.verify(X, y, exact=True)


@pytest.mark.parametrize("name", LIMITS)
def test_regions_with_limits_are_closed_by_trying(name):
    X, y = wide(20, 60, 1)
    limits = {key: np.resize(value, 60) if np.ndim(value) else value for key, value in LIMITS[name].items()}
    result = best_subset(X, y, 2, gamma=1e3, **limits)
    assert result.status is Status.OPTIMAL and Step in steps_of(result)
    assert result.certificate.verify(X, y)
    problem = make_problem(X, y, 2, gamma=1e3, **limits)
    assert result.lower_bound <= min(fit.primal for fit in all_fits(problem)) * (1.0 + 1e-12)
    near = NearOptimalSearch(within=0.1).solve(problem, result)
    expected = {tuple(fit.support.tolist()) for fit in all_fits(problem) if fit.primal <= near.threshold}
    assert near.complete and {tuple(support.tolist()) for support in near.supports} == expected


STRUCTURES = {
    "at most one of six": {"structure": Structure(limits=[(range(6 * i, 6 * i + 6), 1) for i in range(10)])},
    "one of some": {"structure": Structure(limits=[(range(20, 30), 1, 2)])},
    "requirements": {"structure": Structure(requires=[(0, [1]), (1, [2, 3], "any"), (5, [7])])},
    "costs": {"structure": Structure(costs=[1.0 + (i % 3) for i in range(60)], max_cost=4.0), "lower": 0.0},
}


@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("gamma", [1e3, np.inf])
def test_structures_of_single_features_are_closed_by_trying(name, gamma):
    X, y = wide(20, 60, 1)
    for k in (1, 2):
        result = best_subset(X, y, k, gamma=gamma, **STRUCTURES[name])
        problem = make_problem(X, y, k, gamma=gamma, **STRUCTURES[name])
        values = [fit.primal for fit in all_fits(problem)]
        assert result.status is Status.OPTIMAL and Step in steps_of(result)
        assert result.objective == pytest.approx(min(values), rel=1e-9)
        assert result.lower_bound <= min(values) * (1.0 + 1e-12)
        assert result.certificate.verify(X, y)
        near = NearOptimalSearch(within=0.1).solve(problem, result)
        assert near.complete and len(near.supports) == sum(value <= near.threshold for value in values)


@pytest.mark.parametrize(
    ("structure", "status"),
    [
        (Structure(limits=[(range(120), 1)]), Status.OPTIMAL),
        # The checker tries these one by one, and they are too many.
        (Structure(requires=[(j, [125]) for j in range(120)]), Status.NODE_LIMIT),
    ],
    ids=["exceeded", "incomplete"],
)
def test_thousands_of_better_supports_that_are_not_admissible(structure, status):
    """Each of two factors is measured 60 times, and only one of all measurements may be chosen."""
    rng = np.random.default_rng(0)
    factors = rng.standard_normal((50, 2))
    X = np.repeat(factors, 60, axis=1) + 0.3 * rng.standard_normal((50, 120))
    X = np.column_stack([X, rng.standard_normal((50, 10))])
    y = factors.sum(axis=1) + 0.2 * rng.standard_normal(50)
    result = best_subset(X, y, 2, gamma=1.0, structure=structure, node_limit=20)
    assert result.status is status and result.lower_bound > 0.0
    assert (Step in steps_of(result)) is (status is Status.OPTIMAL)
    assert result.certificate.verify(X, y)


def all_fits(problem):
    most = problem.sparsity.budget(problem.root)
    for size in range(most + 1):
        for choice in combinations(problem.root.free.tolist(), size):
            support = np.sort([*problem.include, *choice]).astype(np.intp)
            if problem.sparsity.admissible(support, problem.root):
                yield fit_support(problem, support)


@pytest.mark.parametrize("kind", ["copies", "constant", "near", "far", "dummies"])
@pytest.mark.parametrize("gamma", [1e3, np.inf])
def test_unusual_columns(kind, gamma):
    X, y = wide(p=24)
    if kind == "copies":
        X[:, 5], X[:, 9], X[:, 10] = X[:, 1], -2.0 * X[:, 0], X[:, 2]
    elif kind == "constant":
        X[:, 3], X[:, 8] = 0.0, 4.0
    elif kind == "near":
        X[:, 5] = X[:, 1] + 1e-7 * X[:, 5]
    elif kind == "far":
        X += 1e7
    else:
        X[:, 4:7] = np.eye(3)[np.arange(14) % 3]
    optimum = min(fit.primal for fit in all_fits(make_problem(X, y, 2, gamma=gamma)))
    result = best_subset(X, y, 2, gamma=gamma)
    assert result.objective == pytest.approx(optimum, rel=1e-7) and result.certificate.verify(X, y)
    assert result.status is Status.OPTIMAL
    third = best_subset(X, y, 3, gamma=gamma)
    assert third.certificate.verify(X, y) and third.objective <= result.objective
    assert third.status is Status.OPTIMAL


def test_threads_do_not_matter():
    X, y = wide(20, 300, 3)
    one, two = (best_subset(X, y, 3, gamma=np.inf, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert one.support.tolist() == two.support.tolist() and one.lower_bound == two.lower_bound
    assert one.status is two.status is Status.OPTIMAL


def test_what_takes_too_long_is_said():
    """To the callback before the search goes on, in the trace, and by the warning about the missing proof."""
    X, y = wide(20, 300, 3)
    told = []
    with pytest.warns(UserWarning, match="trying all choices of features would take about .* and .* GB"):
        result = plain_best_subset(X, y, 3, gamma=np.inf, standardize=False, max_memory=4e5, callback=told.append)
    assert result.status is not Status.OPTIMAL
    kinds = [type(event) for event in told]
    assert kinds.count(NotTried) == 1 and kinds.index(NotTried) < kinds.index(Done)
    estimated = told[kinds.index(NotTried)]
    assert result.trace["last features"]["estimated_seconds"] == estimated.estimated_seconds > 0.0


@pytest.mark.parametrize("most", [300_000, 30_000])
def test_what_the_check_refuses_is_not_tried(most):
    """The check has less room than the search, for the matrix of all pairs or for the columns; the search goes on."""
    X, y = wide(20, 300, 3)
    problem = make_problem(X, y, 3, gamma=1.0)
    problem.data.evidence.data.room = Room(most=most)
    assert Tree(node_limit=20).solve(problem).status is Status.NODE_LIMIT


def test_hours_are_said():
    """Five features of thousands, without a ridge: nothing is proved, and the estimate says why."""
    X, y = wide(12, 3000, 3)
    with pytest.warns(UserWarning, match=r"trying all choices of features would take about \d+ (days|weeks)$"):
        result = plain_best_subset(X, y, 5, gamma=np.inf, time_limit=1.0)
    assert result.trace["last features"]["bytes"] == 0.0 and result.lower_bound == 0.0
    assert str(NotTried(0.0, 7200.0, 0.0)) == "trying all choices of features would take about 2 hours"


@pytest.mark.parametrize(("gamma", "told"), [(1e8, True), (0.1, False)])
def test_minutes_are_said_where_the_ridge_is_too_weak(gamma, told):
    """The relaxation's bound is then worth little, so the estimate helps; with a useful bound nothing is said."""
    X, y = wide(12, 600, 3)
    events = []
    result = best_subset(X, y, 5, gamma=gamma, n_jobs=1, node_limit=1, callback=events.append)
    assert (result.lower_bound < 0.01 * result.objective) is told
    assert (NotTried in map(type, events)) is ("last features" in result.trace) is told


def test_all_near_optimal_supports_are_listed():
    X, y = wide(p=26)
    for gamma in (1e3, np.inf):
        problem = make_problem(X, y, 2, gamma=gamma)
        result = best_subset(X, y, 2, gamma=gamma)
        near = NearOptimalSearch(within=0.2).solve(problem, result)
        expected = sorted(
            (fit.primal, tuple(fit.support.tolist())) for fit in all_fits(problem) if fit.primal <= near.threshold
        )
        assert near.complete and near.status is Status.OPTIMAL
        assert [tuple(support.tolist()) for support in near.supports] == [support for _, support in expected]
        assert len(expected) > 1


def test_too_many_near_optimal_supports():
    X, y = wide(p=26)
    problem = make_problem(X, y, 2, gamma=np.inf)
    near = NearOptimalSearch(within=0.5, limit=5).solve(problem, best_subset(X, y, 2, gamma=np.inf))
    assert not near.complete and len(near.supports) == 5


def test_swaps_of_two_features_leave_a_local_optimum():
    """No single swap improves the start, a swap of two does."""
    X, y = wide(25, 40, 11)
    problem = make_problem(X, y, 4, gamma=np.inf)
    clock = Clock(60.0)
    goal = BestSupport(problem, clock, 1e-4, LocalSearch())
    goal.add_start(np.arange(30, 34))
    before = goal.fit.primal
    last = LastFeatures(problem, np.arange(40))
    swap_pairs(last, goal, clock)
    assert goal.fit.primal < before and goal.fit.support.size == 4
    support = goal.fit.support
    for removed in ((0, 1), (1, 3)):
        kept = np.delete(support, removed)
        others = np.setdiff1d(np.arange(40), kept)
        found = last.below(kept, others, 2, goal.fit.primal * (1.0 - 1e-8), np.inf, lambda: False)
        assert found.complete and not found.features.size


def test_nodes_below_the_first_are_closed_by_trying_their_last_features():
    """Fewer nodes than without, the same optimum, and a proof with steps of both kinds."""
    X, y = wide(30, 60, 5)
    by_regions = Tuning(leaps_features=0, last_features=-1)
    settings = {"gamma": 0.3, "method": "tree", "standardize": False, "n_jobs": 1}
    plain, tried = (
        solve(X, y, 5, **settings, options={"tuning": tuning}) for tuning in (by_regions, Tuning(leaps_features=0))
    )
    assert plain.status is tried.status is Status.OPTIMAL
    assert tried.objective == pytest.approx(plain.objective, rel=1e-4)
    assert tried.lower_bound <= plain.objective and plain.lower_bound <= tried.objective
    assert 0 < tried.n_nodes < plain.n_nodes
    assert Step in steps_of(tried) and Step not in steps_of(plain)
    assert tried.certificate.verify(X, y) and plain.certificate.verify(X, y)


def test_small_trees_hold_in_exact_arithmetic():
    X, y = wide(12, 14, 2)
    result = solve(X, y, 5, gamma=1.0, standardize=False, options={"tuning": Tuning(leaps_features=0)}, method="tree")
    assert result.status is Status.OPTIMAL
    assert result.certificate.verify(X, y, exact=True) and result.certificate.verify(X, y)
