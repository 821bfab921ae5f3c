"""Trying the last features: exactly the choices whose models are below a cutoff."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsest.core.problem import make_problem
from sparsest.subset.fits.support import fit_support
from sparsest.subset.tree import last_features
from sparsest.subset.tree.last_features import LastFeatures, TooLong, can_try, most_last_features, seconds_of

N, P = 12, 8


def never():
    return False


def sample(seed, n=N, p=P):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + rng.standard_normal((n, 1))
    return X, X[:, :3].sum(axis=1) + 2.0 * rng.standard_normal(n)


def values_of(problem, S, F, q):
    choices = combinations(F.tolist(), q)
    return {choice: fit_support(problem, np.sort([*S, *choice]).astype(np.intp)).primal for choice in choices}


@given(
    seed=st.integers(0, 10**6),
    q=st.integers(0, 3),
    n_forced=st.integers(0, 2),
    gamma=st.sampled_from([0.1, 1e3, np.inf]),
    price=st.sampled_from([None, 0.5, 5.0]),
    fit_intercept=st.booleans(),
    standardize=st.booleans(),
    share=st.sampled_from([0.0, 0.1, 0.5]),
)
def test_exactly_the_choices_below_a_cutoff(seed, q, n_forced, gamma, price, fit_intercept, standardize, share):
    X, y = sample(seed)
    weights = np.random.default_rng(seed).uniform(0.5, 2.0, N)
    X = X + (1e3 if fit_intercept else 0.0)
    settings = {"fit_intercept": fit_intercept, "standardize": standardize, "sample_weight": weights}
    problem = make_problem(X, y, 5, l0_penalty=price, gamma=gamma, **settings)
    order = np.random.default_rng(seed).permutation(P)
    S, F = order[:n_forced], np.sort(order[n_forced:])
    values = values_of(problem, S, F, q)
    cutoff = float(np.quantile(list(values.values()), share)) * (1.0 + 1e-6)
    last = LastFeatures(problem, np.arange(P), n_jobs=2)
    found = last.below(S, F, q, cutoff, np.inf, never)
    rows = [tuple(sorted(row)) for row in found.features.tolist()]
    expected = {choice for choice, value in values.items() if value < cutoff}
    assert len(set(rows)) == len(rows) and set(rows) <= expected
    if found.complete:
        assert set(rows) == expected
        assert not rows or values[rows[0]] == pytest.approx(min(values.values()))


@given(
    seed=st.integers(0, 10**6),
    q=st.integers(1, 3),
    n_forced=st.integers(0, 1),
    gamma=st.sampled_from([0.1, 1e3, np.inf]),
    limits=st.sampled_from([{"lower": 0.0}, {"max_coef": 0.5}, {"lower": -0.2, "upper": 1.0}, {"upper": 0.1}]),
    share=st.sampled_from([0.0, 0.1, 0.5]),
)
def test_with_limits_no_choice_below_a_cutoff_is_missed(seed, q, n_forced, gamma, limits, share):
    """Beside forced features, whose limits are ignored, further choices may be found."""
    X, y = sample(seed)
    problem = make_problem(X, y, 5, gamma=gamma, **limits)
    order = np.random.default_rng(seed).permutation(P)
    S, F = order[:n_forced], np.sort(order[n_forced:])
    values = values_of(problem, S, F, q)
    cutoff = float(np.quantile(list(values.values()), share)) * (1.0 + 1e-6)
    found = LastFeatures(problem, np.arange(P), n_jobs=2).below(S, F, q, cutoff, np.inf, never)
    rows = [tuple(sorted(row)) for row in found.features.tolist()]
    expected = {choice for choice, value in values.items() if value < cutoff}
    assert len(set(rows)) == len(rows) == found.values.size
    for row, value in zip(rows, found.values.tolist(), strict=True):
        assert value <= values[row] * (1.0 + 1e-7)
    if found.complete:
        assert set(rows) >= expected
        assert n_forced or set(rows) == expected


def test_what_is_tried_is_complete_where_nothing_is_extreme():
    X, y = sample(1)
    problem = make_problem(X, y, 3, gamma=1.0)
    last, none = LastFeatures(problem, np.arange(P)), np.empty(0, dtype=np.intp)
    for q in (1, 2, 3):
        best = min(values_of(problem, none, np.arange(P), q).values())
        assert last.below(none, np.arange(P), q, best, np.inf, never).features.shape == (0, q)
        found = last.below(none, np.arange(P), q, best * (1.0 + 1e-9), np.inf, never)
        assert found.complete and found.features.shape == (1, q)
    assert not last.doubtful


@pytest.mark.parametrize("gamma", [1.0, np.inf])
def test_copies_and_constant_columns(gamma):
    """Without a ridge a copy adds nothing to its column; with one it does."""
    X, y = sample(2)
    X[:, 5], X[:, 6] = -3.0 * X[:, 1], 7.0
    problem = make_problem(X, y, 3, gamma=gamma, standardize=True)
    last, none = LastFeatures(problem, np.arange(P)), np.empty(0, dtype=np.intp)
    assert last.usable.tolist() == [True] * 5 + [np.isfinite(gamma), False, True]
    for q in (2, 3):
        values = values_of(problem, none, np.arange(P), q)
        found = last.below(none, np.arange(P), q, min(values.values()) * (1.0 + 1e-9), np.inf, never)
        rows = {tuple(sorted(row)) for row in found.features.tolist()}
        assert rows and all(values[row] == pytest.approx(min(values.values())) for row in rows)


def test_a_matrix_of_several_blocks():
    X, y = sample(3, 40, 150)
    problem = make_problem(X, y, 3, gamma=0.5)
    last, none, all_ = LastFeatures(problem, np.arange(150)), np.empty(0, dtype=np.intp), np.arange(150)
    pairs = last.below(none, all_, 2, 1e9, np.inf, never)
    assert not pairs.complete
    best = last.below(none, all_, 3, _best_pair_value(problem), np.inf, never).features[0]
    value = fit_support(problem, np.sort(best)).primal
    assert not last.below(none, all_, 3, value * (1.0 - 1e-9), np.inf, never).features.size
    rng = np.random.default_rng(0)
    for _ in range(300):
        assert fit_support(problem, np.sort(rng.permutation(150)[:3])).primal >= value * (1.0 - 1e-9)


def _best_pair_value(problem):
    """A value that some triples pass: that of the features that are best by themselves."""
    order = np.argsort([fit_support(problem, np.array([j])).primal for j in range(problem.p)])[:3]
    return fit_support(problem, np.sort(order)).primal


def test_too_much_time_or_memory_is_refused_beforehand():
    X, y = sample(4)
    problem = make_problem(X, y, 3, gamma=1.0)
    none = np.empty(0, dtype=np.intp)
    value = fit_support(problem, np.array([0, 1, 2])).primal
    with pytest.raises(TooLong, match="takes about"):
        LastFeatures(problem, np.arange(P)).below(none, np.arange(P), 3, value, 0.0, never)
    with pytest.raises(TooLong):
        LastFeatures(problem, np.arange(P), max_memory=10.0).below(none, np.arange(P), 3, value, np.inf, never)


def test_an_interrupted_trial_is_not_complete():
    X, y = sample(5)
    problem = make_problem(X, y, 3, gamma=1.0)
    last, none = LastFeatures(problem, np.arange(P)), np.empty(0, dtype=np.intp)
    value = fit_support(problem, np.array([0, 1, 2])).primal
    for q in (2, 3):
        assert not last.below(none, np.arange(P), q, value, np.inf, lambda: True).complete


def test_which_problems_can_be_tried():
    X, y = sample(6)
    assert can_try(make_problem(X, y, 3))
    assert can_try(make_problem(X, y, 3, max_coef=1.0))
    assert not can_try(make_problem(X, np.sign(y), 3, loss="logistic"))
    problem = make_problem(X, y, None, l0_penalty=1.0)
    assert most_last_features(problem, 0, P, 2.5) == 2
    assert most_last_features(problem, 1, P, 2.5) == 1
    assert most_last_features(problem, 0, P, 1e9) == P
    assert most_last_features(make_problem(X, y, 3), 1, P, 1e9) == 2
    assert seconds_of(100, 1000, 3, 1) > 10.0 * seconds_of(100, 1000, 2, 1)
    assert last_features.MOST_LAST_FEATURES == 3
