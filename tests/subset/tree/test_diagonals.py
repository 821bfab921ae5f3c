"""Diagonals that tighten the relaxation: a semidefinite remainder, higher bounds, and acceptance by the checker."""

from types import SimpleNamespace

import numpy as np
import pytest

from checks import best_subset, solve
from oracles import best_of, squared_values
from samples import ADAPTIVE, sample_weights
from sparsest.core.problem import make_problem
from sparsest.datasets import make_toeplitz
from sparsest.runtime.events import Status
from sparsest.subset.relaxation.solution import Start
from sparsest.subset.tree import gram_bounder as gram
from sparsest.subset.tree.bounder import Request
from sparsest.subset.tree.diagonals import LoweredRidge, _raise_need, spare_diagonal


@pytest.mark.parametrize("m", [1, 5, 20])
@pytest.mark.parametrize("ridge", [0.0, 1.0])
def test_spare_diagonal_leaves_a_semidefinite_remainder(m, ridge):
    for seed in range(5):
        rng = np.random.default_rng([seed, m])
        A = (rng.standard_normal((2 * m + 3, m)) + rng.standard_normal((2 * m + 3, 1))) * 10.0 ** rng.uniform(-3, 3, m)
        M = A.T @ A + ridge * np.eye(m)
        delta = spare_diagonal(M)
        assert (delta > 0).all()
        unit = np.sqrt(np.outer(np.diagonal(M), np.diagonal(M)))
        assert np.linalg.eigvalsh((M - np.diag(delta)) / unit)[0] >= -1e-12
        # A slightly larger diagonal makes the remainder indefinite.
        assert np.linalg.eigvalsh((M - 1.01 * np.diag(delta)) / unit)[0] < 0


def test_a_singular_matrix_has_no_spare_diagonal():
    A = np.random.default_rng(0).standard_normal((10, 4))
    A[:, 3] = A[:, 0] - A[:, 1]
    assert spare_diagonal(A.T @ A) is None
    assert spare_diagonal(np.zeros((2, 2))) is None


def wide(n=40, p=120, seed=0):
    """Correlated columns, more than observations, and noise."""
    rng = np.random.default_rng([seed, n, p])
    X = rng.standard_normal((n, p)) + 0.7 * rng.standard_normal((n, 1))
    return X, X[:, :6].sum(axis=1) + 2.0 * rng.standard_normal(n)


def relaxed(X, y, k=6, gamma=0.04):
    """A bounder over all features, and the relaxed root."""
    problem = make_problem(X, y, k, gamma=gamma)
    nodes = gram.GramBounder(problem, np.arange(problem.p))
    request = Request(nodes.start(Start(np.arange(0), np.empty(0), 0.0)), np.zeros(problem.p, dtype=np.int8))
    cutoff = solve(X, y, k, gamma=gamma).objective
    [outcome] = nodes.solve([request], cutoff)
    assert outcome.bound < cutoff
    return problem, nodes, request.state, outcome, cutoff


def quadratic(nodes, delta):
    return nodes.columns.T @ nodes.columns + np.diag(nodes.problem.ridge - delta)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("gamma", [0.01, 0.04, 0.3])
def test_a_shifted_ridge_leaves_a_semidefinite_remainder_and_lifts_the_bound(seed, gamma):
    problem, nodes, state, outcome, cutoff = relaxed(*wide(seed=seed), gamma=gamma)
    lowered = LoweredRidge(nodes.columns, problem.ridge, [(outcome, state)])
    assert (lowered.diagonal.delta < problem.ridge).all() and (lowered.diagonal.delta > 0).all()
    diagonal = lowered.raised(outcome)
    delta = diagonal.full()
    assert (delta > problem.ridge).any() and set(np.flatnonzero(delta > problem.ridge)) <= set(diagonal.features)
    size = np.linalg.norm(nodes.columns, 2) ** 2
    assert np.linalg.eigvalsh(quadratic(nodes, delta))[0] >= -1e-12 * size
    # The diagonal is close to its limit.
    more = lowered.diagonal.delta.copy()
    more[diagonal.features] += 1.1 * (diagonal.delta - more[diagonal.features])
    assert np.linalg.eigvalsh(quadratic(nodes, more))[0] < 0.0
    nodes.adapt([(outcome, state)], 1e9)
    [better] = nodes.solve([Request(nodes.compress(outcome.point), state, adapt=True)], cutoff)
    # With a very weak ridge, features with a lowered ridge enter and the bound may be lower; it is then not used.
    assert better.bound >= outcome.bound * (1.0 - 1e-9)
    assert better.lift > 0.0 or gamma == 0.3


def test_nothing_is_raised_if_no_feature_is_fractional():
    problem, nodes, state, outcome, _ = relaxed(*wide())
    lowered = LoweredRidge(nodes.columns, problem.ridge, [(outcome, state)])
    whole = outcome._replace(indicator=np.ones_like(outcome.indicator))
    assert lowered.raised(whole) is None


def test_bounds_are_adapted_only_if_memory_suffices():
    X, y = wide()
    _, nodes, state, outcome, cutoff = relaxed(X, y)
    again, before = Request(nodes.compress(outcome.point), state, adapt=True), nodes.nbytes()
    for room, adapted in ((8.0 * X.size - 1.0, False), (8.0 * X.size, True)):
        nodes.adapt([(outcome, state)], room)
        [better] = nodes.solve([again], cutoff)
        assert (better.lift is not None) == adapted == (nodes.nbytes() > before)


def test_equal_columns_together_get_no_more_than_one():
    X, y = wide()
    X[:, 60:] = X[:, :60]
    problem, nodes, state, outcome, _ = relaxed(X, y)
    diagonal = LoweredRidge(nodes.columns, problem.ridge, [(outcome, state)]).raised(outcome)
    size = np.linalg.norm(nodes.columns, 2) ** 2
    assert diagonal is None or np.linalg.eigvalsh(quadratic(nodes, diagonal.full()))[0] >= -1e-12 * size


@pytest.mark.parametrize("stored", [5, 1500])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("form", [{"k": 4}, {"l0_penalty": 1.2}, {"k": 4, "l0_penalty": 0.4}], ids=str)
def test_adapted_searches_agree_with_all_supports(form, weighted, stored):
    options, adapted = {"tuning": ADAPTIVE._replace(full_gram=stored)}, 0
    for seed in range(4):
        X, y = wide(9, 12, seed)
        weights = sample_weights(weighted, 9, seed)
        optimum, _ = best_of(squared_values(X, y, 0.4, weights), **form)
        one, two = (
            solve(X, y, **form, gamma=0.4, method="tree", sample_weight=weights, n_jobs=jobs, options=options)
            for jobs in (1, 2)
        )
        assert one.status is Status.OPTIMAL and one.objective == pytest.approx(optimum, rel=1.1e-4)
        assert one.lower_bound <= optimum * (1.0 + 1e-8)
        assert one.n_nodes == two.n_nodes and str(one.certificate.proof.steps) == str(two.certificate.proof.steps)
        adapted += any(split.base is not None for split in one.certificate.proof.splits)
    assert adapted >= 2


def test_adapted_bounds_need_fewer_regions():
    settings = {"k": 8, "gamma": 0.01, "method": "tree", "n_jobs": 1}
    problems = [wide(100, 300, seed) for seed in range(4)]
    adapted, plain = (
        [solve(X, y, **settings, options={"tuning": tuning}) for X, y in problems]
        for tuning in (ADAPTIVE, ADAPTIVE._replace(adapt_first=10**9))
    )
    for one, other in zip(adapted, plain, strict=True):
        assert one.status is other.status is Status.OPTIMAL and np.array_equal(one.support, other.support)
    assert sum(one.n_nodes for one in adapted) < sum(one.n_nodes for one in plain)


def test_the_checker_accepts_diagonals_that_exceed_a_weak_ridge_by_far():
    """The check allows for errors relative to the ridge, so they limit diagonals that are much larger."""
    data = make_toeplitz(100, 100, 10, rho=0.9, snr=5.0, rng=0)
    options = {"tuning": ADAPTIVE._replace(adapt_trial=10**9)}
    settings = {"max_coef": 2.0, "fit_intercept": False, "standardize": False, "method": "tree", "node_limit": 60}
    for gamma in (1e2, 1e4):
        result = best_subset(data.X, data.y, 10, gamma=gamma, options=options, **settings)
        assert result.status is Status.NODE_LIMIT and 0.1 < result.gap < 0.7
        assert any(split.base is not None for split in result.certificate.proof.splits)


def test_useless_adapting_ends():
    """With a weak ridge adapted bounds are hardly tighter, so with few trials far fewer nodes use them."""
    X, y = wide(40, 40)
    tried = []
    for trial in (4, 10**9):
        tuning = ADAPTIVE._replace(adapt_trial=trial)
        result = solve(X, y, k=4, gamma=5.0, method="tree", n_jobs=1, options={"tuning": tuning})
        assert result.status is Status.OPTIMAL and result.n_nodes > 100
        tried.append(sum(split.base is not None for split in result.certificate.proof.splits))
    assert 0 < tried[0] < 0.2 * tried[1]


@pytest.mark.parametrize("scale", [1.0, 1e12, 0.0])
def test_limits_of_features_without_coefficients(scale):
    """In large units the limit of a feature without a coefficient is infinite, which must not cause a warning."""
    point = SimpleNamespace(
        used=np.array([0, 1]), w=np.array([1.0, 0.0]), u=scale * np.array([1.0, 0.5, 0.2]), roots=np.ones(3)
    )
    outcome, need = SimpleNamespace(point=point, indicator=np.array([0.5, 0.0, 0.0])), np.zeros(3)
    _raise_need(need, outcome, np.zeros(3, dtype=np.int8))
    # The price is half the square of the first product.
    wanted = [0.0] * 3 if scale == 0.0 else [1.0, 0.25, 0.04]
    np.testing.assert_allclose(need, wanted)
