"""The local search: exact scores, local optimality, forced features and stopping."""

import numpy as np
import pytest

from covering import every_pair
from samples import LOSS_NAMES, sample, sample_weights
from sparsest.core.problem import make_problem
from sparsest.subset.fits.support import fit_support
from sparsest.subset.local_search import LocalSearch, forward
from sparsest.subset.pool import Pool

N, P = 30, 7
FORMS = [{"k": 3}, {"l0_penalty": 0.5}]
forms = pytest.mark.parametrize("form", FORMS, ids=str)
losses = pytest.mark.parametrize("loss", LOSS_NAMES)


def problem_of(loss="squared", form=None, *, n=N, p=P, seed=0, weighted=False, gamma=1.0, **settings):
    X, y = sample(loss, n, p, seed)
    weights = sample_weights(weighted, n)
    return make_problem(X, y, **(form or {"k": 3}), loss=loss, gamma=gamma, sample_weight=weights, **settings)


def neighbours(problem, support):
    """All admissible supports one addition, removal or swap away."""
    inside = [j for j in support if j not in problem.include]
    outside = [j for j in range(problem.p) if j not in support and j not in problem.exclude]
    room = len(support) < problem.sparsity.most(problem.p)
    for j in outside:
        if room:
            yield sorted([*support, j])
        for i in inside:
            yield sorted(set(support) - {i} | {j})
    for i in inside:
        yield sorted(set(support) - {i})


@every_pair(
    form=FORMS,
    gamma=[1e-2, 1.0, np.inf],
    fit_intercept=[True, False],
    weighted=[False, True],
    support=[[], [1, 4], [0, 2, 6]],
)
def test_scores_of_the_squared_loss_are_exact(form, gamma, fit_intercept, weighted, support):
    problem = problem_of(form=form, weighted=weighted, gamma=gamma, fit_intercept=fit_intercept, seed=2)
    fit = fit_support(problem, np.array(support, dtype=np.intp))
    pool = Pool(problem, problem.root, np.arange(P))
    moves = pool.moves(fit, 10**6)
    for predicted, out, into in moves:
        refitted = pool.refit(fit, out, into)
        assert set(refitted.support) == set(support) - {out} | ({into} - {None})
        assert predicted == pytest.approx(fit.primal - refitted.primal, rel=1e-6, abs=1e-9 * fit.primal)
    assert [move[0] for move in moves] == sorted((move[0] for move in moves), reverse=True)
    priced = "l0_penalty" in form
    additions, swaps = (P - len(support)) * (priced or len(support) < 3), len(support) * (P - len(support))
    assert len(moves) == additions + swaps + len(support) * priced


@forms
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("forced", [((), ()), ((1,), (0, 5))], ids=str)
def test_no_single_move_improves_the_squared_loss(form, seed, forced):
    problem = problem_of(form=form, seed=seed, include=forced[0], exclude=forced[1])
    fit = LocalSearch().search(problem)
    for support in neighbours(problem, fit.support.tolist()):
        assert fit_support(problem, np.array(support, dtype=np.intp)).primal >= fit.primal * (1.0 - 2e-9)


@losses
@forms
def test_include_and_exclude_are_respected(loss, form):
    for include, exclude in (((4,), (0, 1)), ((2, 6), (0,)), ((), tuple(range(P))), ((0, 3, 5), ())):
        problem = problem_of(loss, form, include=include, exclude=exclude)
        start = np.array(include, dtype=np.intp)
        for fit in (LocalSearch().search(problem), LocalSearch().search(problem, start=start)):
            assert set(include) <= set(fit.support.tolist())
            assert not set(exclude) & set(fit.support.tolist())
            assert fit.support.size <= form.get("k", P)


@losses
@forms
def test_deterministic(loss, form):
    first, second = (LocalSearch().search(problem_of(loss, form, seed=3)) for _ in range(2))
    assert np.array_equal(first.support, second.support)
    np.testing.assert_allclose(first.w, second.w, rtol=1e-4, atol=1e-6)
    assert first.primal == pytest.approx(second.primal, rel=1e-8)


@every_pair(loss=LOSS_NAMES, form=FORMS, start=[[], [6], [4, 5, 6]])
def test_never_worse_than_the_start(loss, form, start):
    problem = problem_of(loss, form, seed=4)
    begin = fit_support(problem, np.array(start, dtype=np.intp))
    seen = []
    fit = LocalSearch().search(problem, start=begin.support, improved=lambda better: seen.append(better.primal))
    assert fit.primal <= begin.primal * (1.0 + 1e-9)
    assert seen[0] == pytest.approx(begin.primal, rel=1e-8) and seen[-1] == fit.primal
    assert seen == sorted(seen, reverse=True) and len(set(seen)) == len(seen)


@losses
def test_stops_when_expired(loss):
    problem = problem_of(loss, seed=5)
    start = np.array([4, 5, 6])
    assert np.array_equal(LocalSearch().search(problem, start=start, expired=lambda: True).support, start)
    unmoved = LocalSearch(max_moves=0).search(problem, start=start)
    assert np.array_equal(unmoved.support, start)
    assert unmoved.primal == pytest.approx(fit_support(problem, start).primal, rel=1e-8)


def test_a_small_pool_leaves_no_feature_out():
    """Later rounds try features outside of the first pool, so no move with any feature improves the model."""
    problem = problem_of(n=60, p=40, form={"k": 5}, seed=6)
    fit = LocalSearch(pool=8).search(problem)
    for support in neighbours(problem, fit.support.tolist()):
        assert fit_support(problem, np.array(support, dtype=np.intp)).primal >= fit.primal * (1.0 - 2e-9)


@losses
def test_forward_takes_the_budget(loss):
    for k in (0, 1, 3, P):
        fit = forward(problem_of(loss, {"k": k}), problem_of(loss).root, 8)
        assert fit.support.size == k
        assert np.array_equal(fit.support, np.unique(fit.support))


def test_forward_skips_constant_columns():
    X, y = sample("squared", N, 3)
    problem = make_problem(np.column_stack([np.full(N, 7.0), X]), y, 4, gamma=1.0)
    assert forward(problem, problem.root, 8).support.tolist() == [1, 2, 3]


@losses
def test_a_price_of_zero_is_no_price(loss):
    """No feature can make the objective worse, so the search ends near the model with all features."""
    problem = problem_of(loss, {"l0_penalty": 0.0})
    whole = fit_support(problem, np.arange(P)).primal
    assert LocalSearch().search(problem).primal == pytest.approx(whole, rel=1e-6)


@pytest.mark.parametrize("gamma", [1.0, np.inf])
@losses
def test_scores_do_not_depend_on_units(loss, gamma):
    """The units of columns do not change the scores of moves."""
    X, y = sample(loss, N, P)
    units = 10.0 ** np.linspace(-7, 7, P)
    tops = []
    for matrix in (X, X * units):
        problem = make_problem(matrix, y, 3, loss=loss, gamma=gamma, standardize=True)
        pool = Pool(problem, problem.root, np.arange(P))
        tops.append(pool.moves(fit_support(problem, np.array([1, 3, 4])), 5))
    for ours, theirs in zip(*tops, strict=True):
        assert ours[0] == pytest.approx(theirs[0], rel=1e-5, abs=1e-9)
    if np.isinf(gamma):
        problem = make_problem(X * units, y, 3, loss=loss, gamma=gamma)
        pool = Pool(problem, problem.root, np.arange(P))
        for ours, theirs in zip(tops[0], pool.moves(fit_support(problem, np.array([1, 3, 4])), 5), strict=True):
            assert ours[0] == pytest.approx(theirs[0], rel=1e-5, abs=1e-9)


def test_a_nearly_equal_column_is_found():
    """Its part orthogonal to the support is computed from the column itself."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 6))
    X[:, 3] = X[:, 1] * (1.0 + 1e-13 * rng.standard_normal(12))
    apart = X[:, 3] - X[:, 1]
    problem = make_problem(X, 2.0 * apart / np.abs(apart).max(), 2, gamma=np.inf)
    fit = LocalSearch().search(problem, start=np.array([1, 4]))
    assert fit.support.tolist() == [1, 3] and fit.primal < 1e-4


@losses
@forms
@pytest.mark.parametrize("forced", [((), ()), ((1,), (0, 5))], ids=str)
def test_a_detour_is_never_worse_and_respects_forced_features(loss, form, forced):
    problem = problem_of(loss, form, include=forced[0], exclude=forced[1])
    fit = LocalSearch().search(problem)
    beyond = LocalSearch().detour(problem, fit)
    assert beyond.primal <= fit.primal
    assert set(forced[0]) <= set(beyond.support.tolist()) and not set(forced[1]) & set(beyond.support.tolist())
    assert beyond.support.size <= form.get("k", P)


def test_a_detour_leaves_a_local_optimum():
    """The response is the sum of two columns, but a third column is closer to it than each of the two."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, 6))
    y = X[:, 0] + X[:, 1]
    X[:, 2] = y + 0.9 * X[:, 2]
    X[:, 3] = y - 0.9 * (X[:, 2] - y) + 0.3 * X[:, 3]
    problem = make_problem(X, y, 2, gamma=1e3, fit_intercept=False)
    stuck = next(
        fit
        for fit in (LocalSearch().search(problem, start=np.array(pair)) for pair in ([2, 3], [2, 4], [3, 5]))
        if set(fit.support) != {0, 1}
    )
    assert set(LocalSearch().detour(problem, stuck).support) == {0, 1}
    assert LocalSearch().detour(problem, stuck, expired=lambda: True) is stuck
