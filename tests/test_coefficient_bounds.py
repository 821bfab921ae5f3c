"""Bounds of coefficients: every method and loss against enumeration, fits and relaxations against other solvers."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.optimize import lsq_linear

from checks import best_subset, best_subset_path, check_certificate
from covering import every_pair
from oracles import EXPONENTIAL, best_of, conic_values, relaxation_value, support_value, support_values, supports
from samples import DIFFERENCES, LOSS_NAMES, hard, sample, sample_weights
from sparsest import certified_choice
from sparsest.core.problem import make_problem
from sparsest.core.settings import METHODS
from sparsest.results.result import Result
from sparsest.runtime.events import Status
from sparsest.subset import api
from sparsest.subset.fits.support import fit_support
from sparsest.subset.relaxation.relaxer import relax_problem
from sparsest.subset.tree.tuning import Tuning

# Nodes are only bounded and branched on: the choices of their last features are not tried.
REGIONS = {"tuning": Tuning(last_features=0)}

N, P = 14, 6
INF = np.inf
# Signs of either kind, one-sided and two-sided limits, a coefficient that has to be zero, and all of these together.
SHAPES = {
    "positive": ([0.0] * P, [INF] * P),
    "negative": ([-INF] * P, [0.0] * P),
    "above": ([-0.3] * P, [INF] * P),
    "two-sided": ([-0.2] * P, [0.5] * P),
    "mixed": ([0.0, -INF, -0.4, -INF, 0.0, -0.1], [INF, 0.0, 0.2, INF, 0.0, 2.0]),
}
FORMS = [{"k": 2}, {"l0_penalty": 0.3}, {"k": 3, "l0_penalty": 0.1}]


def bounds_of(shape, loss):
    """Bounds that some coefficients of the samples reach, and others do not."""
    factor = 1.0 if loss in DIFFERENCES else 0.4
    return [np.array(side) * factor for side in SHAPES[shape]]


def within(w, bounds):
    return (w >= bounds[0]).all() and (w <= bounds[1]).all()


@every_pair(loss=LOSS_NAMES, gamma=[0.3, INF], fit_intercept=[True, False], size=[(N, 4), (5, 6)], shape=list(SHAPES))
def test_the_value_of_a_support(loss, gamma, fit_intercept, size, shape):
    """Against conic programming, also with more features than observations."""
    n, m = size
    X, y = sample(loss, n, m, 3)
    weights, bounds = sample_weights(True, n), [side[:m] for side in bounds_of(shape, loss)]
    settings = {"loss": loss, "gamma": gamma, "fit_intercept": fit_intercept, "sample_weight": weights}
    problem = make_problem(X, y, m, lower=bounds[0], upper=bounds[1], **settings)
    fit = fit_support(problem, np.arange(m))
    if np.isinf(gamma) and not problem.has_dual_bounds and n < m:
        # There need not be a smallest value; the model is one of the problem in any case.
        assert within(fit.w, bounds) and np.isfinite(fit.primal)
        return
    expected = support_value(loss, X, y, gamma, fit_intercept, weights, bounds=bounds)
    assert within(fit.w, bounds)
    assert fit.primal <= expected * (1.0 + 1e-6) + 1e-7
    assert fit.primal >= expected * (1.0 - (1e-6 if loss not in EXPONENTIAL else 1e-4)) - 1e-7
    if problem.has_dual_bounds:
        assert -1e-15 <= fit.primal - fit.dual <= max(1e-8 * fit.primal, 1e-9 * weights.sum())


@pytest.mark.parametrize("correlation", [0.0, 0.9, 1.0 - 1e-8])
@pytest.mark.parametrize("shape", list(SHAPES))
def test_least_squares_against_scipy(correlation, shape):
    """With columns that are nearly the same, and without a ridge."""
    rng = np.random.default_rng(0)
    X = np.sqrt(1.0 - correlation**2) * rng.standard_normal((30, P)) + correlation * rng.standard_normal((30, 1))
    y = X @ rng.standard_normal(P) + rng.standard_normal(30)
    bounds = bounds_of(shape, "squared")
    problem = make_problem(X, y, P, gamma=INF, lower=bounds[0], upper=bounds[1], fit_intercept=False)
    fit = fit_support(problem, np.arange(P))
    movable = bounds[0] < bounds[1]
    expected = lsq_linear(X[:, movable], y, (bounds[0][movable], bounds[1][movable]), method="bvls", tol=1e-14)
    assert within(fit.w, bounds)
    assert fit.primal == pytest.approx(expected.cost, rel=1e-8)


@every_pair(
    loss=LOSS_NAMES, gamma=[0.3, INF], form=FORMS, forced=[{}, {"include": (2, 4), "exclude": (0,)}],
    shape=list(SHAPES),
)  # fmt: skip
def test_the_relaxation(loss, gamma, form, forced, shape):
    """Its value, and a bound that is below it and near; a forced feature may have no other coefficient than zero."""
    X, y = sample(loss, N, P)
    bounds = bounds_of(shape, loss)
    problem = make_problem(X, y, loss=loss, gamma=gamma, lower=bounds[0], upper=bounds[1], **form, **forced)
    if not problem.has_dual_bounds:
        assert np.isinf(gamma) and shape != "two-sided"
        return
    relaxed, _ = relax_problem(problem, 1e-6)
    expected = relaxation_value(loss, X, y, gamma, True, bounds=bounds, **form, **forced)
    assert relaxed.dual <= expected * (1.0 + 1e-6) and relaxed.primal >= expected * (1.0 - 1e-6)
    assert relaxed.dual >= expected * (1.0 - 3e-5)


# Methods


def enumerated(loss, X, y, gamma, kind, bounds, max_coef, form):
    """The optimum by a conic solver on every support; with offsets, by our fits, which are compared with it above."""
    weights = sample_weights(kind == "weights", len(y))
    if kind == "offset":
        settings = {"loss": loss, "gamma": gamma, "max_coef": max_coef, "offset": offset_of(y)}
        values = support_values(make_problem(X, y, X.shape[1], lower=bounds[0], upper=bounds[1], **settings))
        return best_of(values, **form)[0]
    if kind == "standardised":
        spread = X.std(axis=0)
        X, bounds = (X - X.mean(axis=0)) / spread, [side * spread for side in bounds]
    if np.isfinite(gamma):
        chosen, has_intercept = list(supports(X.shape[1], form.get("k"))), kind != "no intercept"
        return best_of(conic_values(loss, X, y, gamma, has_intercept, chosen, weights, max_coef, bounds), **form)[0]
    values = {}
    with warnings.catch_warnings():
        # The solver calls some solutions inaccurate; what they are compared to tells whether they are.
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")
        for support in supports(X.shape[1], form.get("k")):
            values[support] = support_value(
                loss, X[:, list(support)], y, gamma, kind != "no intercept", weights, max_coef=max_coef,
                bounds=[side[list(support)] for side in bounds],
            )  # fmt: skip
    return best_of(values, **form)[0]


def offset_of(y):
    return 0.3 * np.cos(np.arange(len(y)))


@every_pair(
    loss=LOSS_NAMES,
    method=[*METHODS, "screening"],
    gamma=[0.3, INF],
    shape=list(SHAPES),
    kind=["plain", "weights", "offset", "no intercept", "standardised", "sparse"],
    max_coef=[None, 0.35],
    form=[{"k": 2}, {"l0_penalty": 0.3}, {"k": 3, "l0_penalty": 0.1}, {"k": 2, "include": (2,), "exclude": (0,)}],
)
def test_every_method_against_enumeration(loss, method, gamma, shape, kind, max_coef, form):
    p = P - 1
    X, y = sample(loss, N, p)
    bounds = [side[:p] for side in bounds_of(shape, loss)]
    rows = {"sample_weight": sample_weights(kind == "weights", N), "offset": offset_of(y) if kind == "offset" else None}
    asked = {
        "loss": loss, "gamma": gamma, "lower": bounds[0], "upper": bounds[1], "max_coef": max_coef, **form, **rows,
        "fit_intercept": kind != "no intercept", "standardize": kind == "standardised",
    }  # fmt: skip
    asked |= {"screen": 3} if method == "screening" else {"method": method}
    given = sp.csc_array(X) if kind == "sparse" else X
    problem = make_problem(X, y, p, gamma=gamma, lower=bounds[0], upper=bounds[1], max_coef=max_coef, loss=loss)
    if not problem.has_dual_bounds and method in ("cuts", "relaxation", "subgradient"):
        with pytest.raises(ValueError, match="a ridge, or limits on both sides"):
            api.best_subset(given, y, **asked)
        return
    result = best_subset(given, y, **asked)
    check_certificate(result, given, y, **rows)
    optimum = enumerated(loss, X, y, gamma, kind, bounds, max_coef, form)
    rounding = 1e-4 if loss in EXPONENTIAL else 2e-6
    assert within(result.coef, bounds)
    assert result.objective >= optimum * (1.0 - rounding) - 1e-7
    assert result.lower_bound <= optimum * (1.0 + rounding) + 1e-7
    if method == "tree" and (problem.has_dual_bounds or loss == "squared"):
        assert result.status is Status.OPTIMAL
    if result.status is Status.OPTIMAL:
        assert result.objective <= optimum * (1.0 + rounding + 1.1e-4) + 1e-7


@pytest.mark.parametrize("gamma", [0.1, INF])
@pytest.mark.parametrize("shape", ["positive", "two-sided"])
def test_a_hard_search_by_regions_is_proved(gamma, shape, tmp_path):
    """Regions that shift their ridges, and points that are rounded; through a file of the result."""
    X, y = hard(90, 60)
    lower, upper = (0.0, None) if shape == "positive" else (-1.2, 1.5)
    free = best_subset(X, y, 4, gamma=gamma, time_limit=INF, n_jobs=1)
    y = y - 2.0 * X[:, free.support[0]]
    result = best_subset(
        X, y, 4, gamma=gamma, lower=lower, upper=upper, node_limit=300, n_jobs=1, time_limit=INF, options=REGIONS
    )
    check_certificate(result, X, y)
    assert result.n_nodes > 5 and result.gap < 0.1
    result.save(tmp_path / "model.json")
    again = Result.load(tmp_path / "model.json")
    assert again.statement == result.statement and again.certificate.verify(X, y)


# Relations between problems


@pytest.mark.parametrize("loss", ["squared", "logistic", "hinge", "poisson"])
def test_equal_limits_on_both_sides_are_a_box(loss):
    X, y = sample(loss, 20, 8)
    boxed, limited = (
        best_subset(X, y, 3, loss=loss, gamma=0.3, **limits)
        for limits in ({"max_coef": 0.15}, {"lower": -0.15, "upper": 0.15})
    )
    assert np.array_equal(boxed.support, limited.support)
    assert boxed.objective == pytest.approx(limited.objective, rel=1e-8)
    np.testing.assert_allclose(boxed.coef, limited.coef, atol=1e-6)


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("loss", ["squared", "logistic", "quantile"])
def test_a_column_with_the_opposite_sign_has_opposite_limits(loss, standardize):
    X, y = sample(loss, 20, P)
    low, high = bounds_of("mixed", loss)
    signs = np.array([1.0, -1.0, -1.0, 1.0, -1.0, 1.0])
    flipped = [np.where(signs > 0.0, low, -high), np.where(signs > 0.0, high, -low)]
    settings = {"loss": loss, "gamma": 0.3, "standardize": standardize}
    one = best_subset(X, y, 3, lower=low, upper=high, **settings)
    other = best_subset(X * signs, y, 3, lower=flipped[0], upper=flipped[1], **settings)
    assert one.objective == pytest.approx(other.objective, rel=1e-7)
    np.testing.assert_allclose(one.coef, other.coef * signs, atol=1e-5)


def test_units_of_columns_are_those_of_their_limits():
    X, y = sample("squared", 30, P)
    units = 10.0 ** np.arange(-3, 3)
    one = best_subset(X, y, 3, lower=-0.2, upper=0.4, standardize=True, gamma=0.3)
    other = best_subset(X * units, y, 3, lower=-0.2 / units, upper=0.4 / units, standardize=True, gamma=0.3)
    np.testing.assert_allclose(other.coef * units, one.coef, rtol=1e-6)
    assert (other.coef >= -0.2 / units).all() and (other.coef <= 0.4 / units).all()


@pytest.mark.parametrize("method", METHODS)
def test_limits_of_zero_exclude_a_column(method):
    X, y = sample("squared", 30, P)
    excluded, limited = (
        best_subset(X, y, 3, gamma=0.3, method=method, **wish)
        for wish in ({"exclude": [0, 2]}, {"lower": {0: 0.0, 2: 0}, "upper": {0: 0.0, 2: 0}})
    )
    assert limited.statement.exclude == (0, 2)
    assert limited.objective == pytest.approx(excluded.objective, rel=1e-9)
    assert np.array_equal(excluded.support, limited.support)


def test_a_forced_column_may_have_the_coefficient_zero():
    X, y = sample("squared", 30, P)
    result = best_subset(X, y, 3, gamma=0.3, include=[0, 2], lower={0: 0.0, 2: 0.0}, upper={0: 0.0, 2: 0.0})
    check_certificate(result, X, y)
    assert {0, 2} <= set(result.support.tolist()) and not result.coef[[0, 2]].any()
    assert result.status is Status.OPTIMAL


def test_columns_that_are_nearly_the_same():
    """A column and its negative: only signs tell them apart."""
    X, y = sample("squared", 30, 4)
    X = np.column_stack([X, X[:, 0] * (1.0 + 1e-9), -X[:, 0]])
    for gamma in (0.3, INF):
        result = best_subset(X, y, 2, gamma=gamma, lower=0.0)
        check_certificate(result, X, y)
        values = support_values(make_problem(X, y, 6, gamma=gamma, lower=0.0), 2)
        assert result.objective == pytest.approx(best_of(values, 2)[0], rel=1e-6)


# The rest of the functions


@pytest.mark.parametrize("loss", ["squared", "logistic", "hinge"])
def test_paths_and_near_optimal_models(loss):
    X, y = sample(loss, 20, 8)
    settings = {"loss": loss, "gamma": 0.3, "lower": 0.0, "upper": 0.5}
    values = support_values(make_problem(X, y, 8, **settings))
    for k, result in zip((1, 3), best_subset_path(X, y, [1, 3], **settings), strict=True):
        check_certificate(result, X, y)
        assert result.objective == pytest.approx(best_of(values, k)[0], rel=1.1e-4)
    best = best_subset(X, y, 2, **settings)
    near = api.near_optimal(best, X, y, within=0.05)
    expected = {s for s, v in values.items() if len(s) == 2 and v <= near.threshold * (1.0 - 1e-7)}
    assert near.complete and {tuple(s.tolist()) for s in near.supports} >= expected


def test_starts_from_results_with_other_limits():
    X, y = sample("squared", 40, 20)
    free = best_subset(X, y, 4, gamma=0.3)
    cold = best_subset(X, y, 4, gamma=0.3, lower=0.0)
    for method in ("tree", "relaxation"):
        warm = best_subset(X, y, 4, gamma=0.3, lower=0.0, start=free, method=method)
        assert warm.objective >= cold.objective * (1.0 - 1e-4) and (warm.coef >= 0.0).all()
        check_certificate(warm, X, y)


def test_a_criterion_chooses_among_models_with_limits():
    X, y = sample("squared", 60, 6, noise=0.3)
    choice = certified_choice(X, y, "bic", lower=0.0, standardize=False, gamma=0.3)
    problem = make_problem(X, y, 6, gamma=0.3, lower=0.0)
    best = min(choice.criterion.value(v, len(s)) for s, v in support_values(problem).items())
    assert choice.verify(X, y) and choice.status is Status.OPTIMAL
    assert choice.value == pytest.approx(best, rel=1e-6) and (choice.result.coef >= 0.0).all()


def test_limits_by_name():
    X, y = sample("squared", 30, 3)
    frame = pd.DataFrame(X, columns=["age", "sex", "bmi"])
    result = best_subset(frame, y, 3, gamma=0.3, lower={"sex": 0.0}, upper={"age": 0.1, 2: 0.0})
    assert result.statement.lower == (-INF, 0.0, -INF) and result.statement.upper == (0.1, INF, 0.0)
    assert result.coef[1] >= 0.0 and result.coef[0] <= 0.1 and result.coef[2] <= 0.0
    with pytest.raises(ValueError, match="lower names the column 'weight', which X does not have"):
        best_subset(frame, y, 3, lower={"weight": 0.0})
    with pytest.raises(ValueError, match=r"got 0\.5 for column 'age'"):
        best_subset(frame, y, 3, lower=0.5)


def test_limits_that_nothing_reaches_change_nothing():
    X, y = sample("squared", 30, 12)
    free, wide = (best_subset(X, y, 3, gamma=0.3, **limits) for limits in ({}, {"lower": -50.0, "upper": 60.0}))
    assert np.array_equal(free.support, wide.support) and free.objective == pytest.approx(wide.objective, rel=1e-9)
    none = best_subset(X, y, 3, gamma=0.3, lower=-INF, upper=INF)
    assert none.statement.lower is None and none.statement.upper is None and none.objective == free.objective


def test_a_proof_for_other_limits_is_refused():
    X, y = sample("squared", N, P)
    result = best_subset(X, y, 3, gamma=0.3, lower=-0.2, upper=0.4)
    certificate = result.certificate
    assert certificate.verify(X, y, lower=-0.2, upper=0.4) and certificate.verify(X, y, exact=True)
    assert not certificate.verify(X, y, lower=-0.3) and not certificate.verify(X, y, upper=None)
    for name, other in (("lower", None), ("lower", (-0.1,) * P), ("upper", (0.3,) * P), ("upper", (INF,) * P)):
        forged = replace(certificate, statement=replace(certificate.statement, **{name: other}))
        assert not forged.verify(X, y) and not forged.verify(X, y, exact=True)


def test_leave_one_out_refuses_limits():
    X, y = sample("squared", N, P)
    with pytest.raises(ValueError, match="no closed form with max_coef, lower or upper"):
        api.best_subset(X, y, 2, gamma="loo", lower=0.0)


# Groups


@every_pair(method=METHODS, loss=["squared", "logistic", "hinge", "huber"], shape=["positive", "two-sided", "mixed"])
def test_groups_of_columns_with_limits(method, loss, shape):
    """Columns of a group enter together, some with the coefficient zero."""
    X, y = sample(loss, 20, P)
    bounds, groups = bounds_of(shape, loss), [0, 0, 1, 2, 1, 2]
    settings = {"loss": loss, "gamma": 0.3, "lower": bounds[0], "upper": bounds[1], "feature_groups": groups}
    result = best_subset(X, y, 2, method=method, **settings)
    check_certificate(result, X, y)
    problem = make_problem(X, y, P, loss=loss, gamma=0.3, lower=bounds[0], upper=bounds[1])
    pairs = [[j for j in range(P) if groups[j] in pair] for pair in ((0, 1), (0, 2), (1, 2))]
    optimum = min(fit_support(problem, np.array(columns)).primal for columns in pairs)
    assert within(result.coef, bounds)
    assert result.objective >= optimum * (1.0 - 1e-7) and result.lower_bound <= optimum * (1.0 + 1e-7)
    if method in ("tree", "cuts"):
        assert result.status is Status.OPTIMAL and result.objective <= optimum * (1.0 + 1.1e-4)
