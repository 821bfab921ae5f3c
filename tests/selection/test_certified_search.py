"""The search for a certified choice against all supports: its sizes, its time, and what it refuses."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from oracles import support_values
from samples import sample, sample_weights
from sparsest import Status, certified_choice
from sparsest.core.problem import make_problem
from sparsest.runtime.clock import Clock
from sparsest.selection.criteria import CRITERIA, Criterion
from sparsest.selection.size_search import SizeSearch
from sparsest.subset.tree.method import Tree

N, P = 24, 7


def criteria_of_all(criterion, X, y, include=(), exclude=(), **settings):
    """The criterion of every admitted support, by fits of all of them."""
    values = support_values(make_problem(X, y, P, **settings))
    return {
        s: criterion.value(v, len(s)) for s, v in values.items() if set(include) <= set(s) and not set(exclude) & set(s)
    }


def check(choice, values, X, y, sample_weight=None):
    """What a choice says is true of all supports, and its certificates prove it."""
    best = min(values, key=values.get)
    for size, bound, value in zip(choice.sizes, choice.bounds, choice.values, strict=True):
        least = min((v for s, v in values.items() if len(s) == size), default=np.inf)
        assert bound <= least + 1e-7 and not value < least - 1e-7
    admitted = {s: v for s, v in values.items() if len(s) in choice.sizes}
    assert choice.lower_bound <= min(admitted.values()) + 1e-7
    verdict = choice.verify(X, y, sample_weight)
    assert verdict, verdict.reasons
    assert (verdict.value, verdict.lower_bound) == pytest.approx((choice.value, choice.lower_bound), rel=1e-9)
    assert set(verdict.not_excluded) == set(choice.not_excluded)
    if choice.status is Status.OPTIMAL:
        assert choice.not_excluded == ()
        # The model may be off by the tolerance of its size, and no other size has a better one.
        assert choice.value <= min(admitted.values()) + choice.criterion.n * 2e-4
        assert choice.k in {len(s) for s, v in admitted.items() if v <= min(admitted.values()) + 1e-7}
    return best


@pytest.mark.parametrize("name", CRITERIA)
@pytest.mark.parametrize(("loss", "gamma"), [("squared", 0.3), ("squared", np.inf), ("logistic", 0.3)])
def test_against_enumeration(name, loss, gamma):
    X, y = sample(loss, N, P, seed=3)
    choice = certified_choice(X, y, name, gamma=gamma, loss=loss, standardize=False, time_limit=np.inf)
    values = criteria_of_all(choice.criterion, X, y, gamma=gamma, loss=loss)
    best = check(choice, values, X, y)
    assert choice.status is Status.OPTIMAL and tuple(choice.result.support) == best
    assert choice.sizes == tuple(range(P + 1))
    if name == "bic":
        assert choice.verify(X, y, exact=True)


def test_weights_forced_features_and_a_known_variance():
    X, y = sample("squared", N, P, seed=5)
    weights = sample_weights(True, N)
    asked = {"gamma": 0.5, "sample_weight": weights, "fit_intercept": False}
    choice = certified_choice(
        X, y, "bic", include=[2], exclude=[0], noise_variance=0.8, standardize=False, time_limit=np.inf, **asked
    )
    assert choice.criterion == Criterion("bic", "squared", weights.sum(), P - 1, False, 0.8)
    values = criteria_of_all(choice.criterion, X, y, [2], [0], **asked)
    assert tuple(choice.result.support) == check(choice, values, X, y, weights)
    assert choice.sizes[0] == 1 and choice.status is Status.OPTIMAL


@pytest.mark.parametrize(
    ("loss", "settings"), [("poisson", {}), ("negative_binomial", {"theta": 2.5}), ("squared", {})]
)
def test_offsets_and_exposures(loss, settings):
    """The choice is that of all supports with the offset in the model, and the certificates know it."""
    X, y = sample(loss, N, P, seed=4)
    rng = np.random.default_rng(0)
    added = {"offset": 0.3 * rng.standard_normal(N)}
    if loss != "squared":
        added["exposure"] = rng.uniform(0.5, 3.0, N)
    choice = certified_choice(
        X, y, "bic", gamma=0.3, loss=loss, standardize=False, time_limit=np.inf, **settings, **added
    )
    values = criteria_of_all(choice.criterion, X, y, gamma=0.3, loss=loss, **settings, **added)
    assert choice.status is Status.OPTIMAL and tuple(choice.result.support) == min(values, key=values.get)
    assert choice.value == pytest.approx(min(values.values()), abs=1e-5)
    assert choice.verify(X, y, **added) and not choice.verify(X, y)


def test_verbose_choices_show_the_search(capsys):
    X, y = sample("squared", N, P, seed=3)
    certified_choice(X, y, "bic", 2, gamma=0.3, verbose=True)
    assert "best subset" in capsys.readouterr().out


def test_some_sizes():
    X, y = sample("squared", N, P, seed=3)
    values = criteria_of_all(Criterion("aic", "squared", N, P, True), X, y, gamma=0.3)
    for ks, sizes in (([5, 1, 3], (1, 3, 5)), (2, (0, 1, 2)), (99, tuple(range(P + 1)))):
        choice = certified_choice(X, y, "aic", ks, gamma=0.3, standardize=False, time_limit=np.inf)
        assert choice.sizes == sizes and choice.status is Status.OPTIMAL
        check(choice, values, X, y)
        expected = min(v for s, v in values.items() if len(s) in sizes)
        assert choice.value == pytest.approx(expected, abs=1e-6)


def test_no_time_leaves_sizes_open_and_nothing_false():
    X, y = sample("squared", N, P, seed=3)
    with pytest.warns(ConvergenceWarning, match="a model of 1, 2, 3, 4, 5, 6, 7 features may be better, and the gap"):
        choice = certified_choice(X, y, "bic", gamma=3.0, standardize=False, time_limit=1e-9)
    assert choice.status is Status.TIME_LIMIT and choice.not_excluded
    check(choice, criteria_of_all(choice.criterion, X, y, gamma=3.0), X, y)
    assert "TIME_LIMIT" in repr(choice) and "not_excluded" in repr(choice)


@pytest.fixture
def search():
    """A search that has not begun, without a time limit."""
    X, y = sample("squared", N, P, seed=3)
    problem = make_problem(X, y, P, gamma=3.0)
    return SizeSearch(
        problem, Criterion("aic", "squared", N, P, True), tuple(range(P + 1)), Tree(n_jobs=1), Clock(np.inf)
    )


def test_a_better_model_with_a_weaker_bound_is_not_lost(search):
    """The gap that excludes a size is that of the best model; a search to it is not taken for one that was done."""
    search._walk()
    size = int(search.best.support.size)
    k = next(k for k in search.open_sizes() if k != size)
    known = search.results[k]
    # First a poor model with a good bound, then a good model with a poor bound.
    poor = replace(known, objective=1.5 * known.objective, lower_bound=0.9 * known.lower_bound)
    search.results[k] = search.models[k] = poor
    search.models = {s: model for s, model in search.models.items() if s >= k}
    search.finished[k] = before = search._tolerance(k)
    assert k not in search._to_search()
    search._offer(k, replace(known, lower_bound=0.5 * known.lower_bound))
    assert search.results[k] is poor and search._incumbent(k).objective == known.objective
    assert search._tolerance(k) < before and k in search._to_search()


def test_the_proof_of_the_best_model_is_not_lost_to_rounding(search):
    """A search that proves the best model may give it an objective that is larger by a rounding error."""
    search._walk()
    best = search.best
    k = int(best.support.size)
    assert best.gap > search.tree.gap_tol
    objective = best.objective * (1.0 + 1e-12)
    proved = replace(best, objective=objective, lower_bound=best.objective * (1.0 - 1e-5))
    assert not search._offer(k, proved)
    assert search.best is proved and k not in search._to_search()


def test_searches_that_end_too_soon_are_repeated_until_sizes_are_excluded(search):
    """A search that finds a better model on its way ends with a gap that does not exclude its size."""
    search._walk()
    size = int(search.best.support.size)
    for k in set(search.sizes) - {size}:
        if k in search.models:
            search.models[k] = replace(search.models[k], objective=10.0 * search.models[k].objective)
    search.polished = set(search.sizes)
    search._prove()
    assert search.open_sizes() == () and search.best.gap <= search.tree.gap_tol


def test_open_sizes_share_the_time_that_is_left(search):
    search.clock = Clock(100.0, spent=20.0)
    assert search._share(4, 1.0) == pytest.approx(20.0, abs=1.0)
    assert search._share(1, 1.0) == pytest.approx(80.0, abs=1.0)
    # Every search gets at least a second, and none more than the time that is left.
    assert search._share(1000, 4.0) == 1.0
    search.clock = Clock(100.0, spent=99.5)
    assert search._share(3, 1.0) <= 0.5
    search.clock = Clock(np.inf)
    assert search._share(3, 16.0) == 16.0


@pytest.mark.parametrize("include", [(), (3,)])
def test_the_smallest_size_needs_no_search_and_no_ridge(include):
    """Without a ridge and with more columns than rows relaxations bound nothing; a single support bounds itself."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((12, 40)), rng.standard_normal(12)
    least = len(include)
    with pytest.warns(ConvergenceWarning):
        choice = certified_choice(X, y, "bic", least + 4, gamma=np.inf, include=include, time_limit=0.5)
    smallest = choice.results[least]
    assert smallest.status is Status.OPTIMAL and smallest.support.tolist() == list(include)
    columns = np.column_stack([np.ones(12), X[:, list(include)]])
    rest = y - columns @ np.linalg.lstsq(columns, y, rcond=None)[0]
    assert smallest.lower_bound == pytest.approx(0.5 * rest @ rest, rel=1e-6)
    assert choice.verify(X, y)


def test_refusals():
    X, y = sample("squared", N, P)
    with pytest.raises(ValueError, match="ks is empty"):
        certified_choice(X, y, "bic", [])
    with pytest.raises(ValueError, match="every entry of ks must be a whole number"):
        certified_choice(X, y, "bic", [99])
    with pytest.raises(ValueError, match="unknown criterion"):
        certified_choice(X, y, "cp")
    with pytest.raises(ValueError, match="no likelihood"):
        certified_choice(X, np.sign(y), "bic", loss="hinge")
