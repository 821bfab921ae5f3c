"""Problems: dual points and weak duality against all supports, variants of a problem, and checks of its settings."""

import numpy as np
import pytest

from oracles import best_of, sample_values
from samples import LOSS_NAMES, sample, sample_weights
from sparsest.core.problem import make_problem
from sparsest.core.sparsity import Sparsity
from sparsest.subset.dual import bound_from_gains


@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
def test_feasible_points(loss, fit_intercept, weighted):
    X, y = sample(loss, 15, 3)
    weights = sample_weights(weighted, 15)
    problem = make_problem(X, y, 2, gamma=1.0, loss=loss, fit_intercept=fit_intercept, sample_weight=weights)
    rng = np.random.default_rng(0)
    for alpha in (*rng.standard_normal((5, 15)), 1e6 * y, np.ones(15), -np.ones(15), np.zeros(15)):
        point = problem.feasible(alpha)
        ratio = point / problem.weights
        np.testing.assert_allclose(problem.loss.project(problem.y, ratio), ratio, rtol=1e-14)
        np.testing.assert_allclose(problem.feasible(point), point, rtol=1e-13, atol=1e-14)
        if fit_intercept:
            assert abs(point.sum()) <= 1e-14 * (1.0 + np.abs(point).sum())
        else:
            nearest = problem.weights * problem.loss.project(problem.y, alpha / problem.weights)
            np.testing.assert_allclose(point, nearest, rtol=1e-14)


N, P, GAMMA = 14, 6, 0.3
FORCED = [((), ()), ((2,), ()), ((), (0, 3)), ((1, 4), (5,))]
FORMS = [
    *({"k": k} for k in (0, 1, 2, 3, 6)),
    *({"l0_penalty": price} for price in (0.0, 0.1, 2.0)),
    {"k": 2, "l0_penalty": 0.1},
]


@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
def test_weak_duality(loss, fit_intercept, weighted):
    """No feasible dual point proves more than the optimum; that of a support proves its own objective."""
    X, y = sample(loss, N, P)
    weights = sample_weights(weighted, N)
    values = sample_values(loss, N, P, 0, GAMMA, fit_intercept, weighted)
    rng = np.random.default_rng(1)
    for form in FORMS:
        for include, exclude in FORCED:
            if form.get("k", P) < len(include):
                continue
            optimum, _ = best_of(values, **form, include=include, exclude=exclude)
            settings = {"gamma": GAMMA, "loss": loss, "fit_intercept": fit_intercept, "sample_weight": weights}
            problem = make_problem(X, y, **form, **settings, include=include, exclude=exclude)
            for start in (*rng.standard_normal((4, N)), -0.5 * y, -0.1 * y, np.zeros(N)):
                alpha = problem.feasible(start)
                q = problem.gains(alpha)
                bound = bound_from_gains(problem, alpha, q, problem.root)
                assert bound <= optimum + 1e-7 * abs(optimum)


def test_problem_variants_share_the_data():
    problem = make_problem(*sample("squared", 12, 4), 2, gamma=1.0)
    other = problem.with_gamma(2.0).with_sparsity(Sparsity(None, 0.1))
    assert other.design is problem.design and other.gamma == 2.0 and other.ridge == 0.5
    assert problem.gamma == 1.0 and problem.sparsity == Sparsity(2)


def test_k_above_p_means_all():
    assert make_problem(*sample("squared", 9, 3), 50, exclude=[0]).sparsity == Sparsity(2)


X9, Y9 = sample("squared", 9, 3)
BAD = [
    ({}, "give k .*, l0_penalty .*, or both"),
    ({"k": 2.0}, "k must be a whole number >= 0, got 2.0"),
    ({"k": True}, "k must be a whole number"),
    ({"k": "two"}, "k must be a whole number"),
    ({"k": -1}, "k must be a whole number >= 0, got -1"),
    ({"k": 1, "include": [0, 2]}, "k = 1 is less than the 2 features that include forces in"),
    ({"l0_penalty": -0.5}, "l0_penalty must be a finite number >= 0"),
    ({"l0_penalty": np.nan}, "l0_penalty must be a finite number >= 0"),
    ({"l0_penalty": np.inf}, "l0_penalty must be a finite number >= 0"),
    ({"l0_penalty": "cheap"}, "l0_penalty must be a finite number >= 0, got 'cheap'"),
    ({"k": 1, "gamma": 0.0}, "gamma must be a number > 0 or inf"),
    ({"k": 1, "gamma": -1.0}, "gamma must be a number > 0 or inf"),
    ({"k": 1, "gamma": np.nan}, "gamma must be a number > 0 or inf"),
    ({"k": 1, "gamma": "big"}, "gamma must be a number > 0 or inf, got 'big'"),
    ({"k": 1, "gamma": None}, "gamma must be a number > 0 or inf, got None"),
    ({"k": 1, "include": [3]}, "include must hold column numbers from 0 to 2"),
    ({"k": 1, "exclude": [-1]}, "exclude must hold column numbers from 0 to 2"),
    ({"k": 1, "include": ["x"]}, "include must be a list of column numbers or names, got"),
    ({"k": 1, "include": [0.5]}, "include must be a list of column numbers or names, got"),
    ({"k": 1, "include": [1], "exclude": [1, 2]}, r"columns \[1\] are both in include and in exclude"),
]


@pytest.mark.parametrize(("settings", "message"), BAD, ids=str)
def test_bad_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        make_problem(X9, Y9, **settings)


@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("standardize", [False, True])
def test_the_model_without_features_is_known_from_the_first_pass(loss, fit_intercept, standardize):
    X, y = sample(loss, 20, 6, 0)
    X[:, 2] += 1e5
    weights = sample_weights(True, 20)
    problem = make_problem(
        X, y, 2, gamma=1.0, loss=loss, fit_intercept=fit_intercept, standardize=standardize, sample_weight=weights
    )
    null = problem.data.null
    assert null.b == problem.data.intercept_for(np.zeros(problem.n))
    np.testing.assert_allclose(problem.feasible(null.alpha), null.alpha, rtol=1e-12)
    size = np.abs(problem.design.columns(np.arange(6))).T @ np.abs(null.alpha)
    np.testing.assert_allclose(null.products, problem.design.tdot(null.alpha), rtol=0, atol=1e-10 * size.max())


@pytest.mark.parametrize("gamma", [1.0, np.inf])
def test_coefficients_whose_squares_overflow_are_no_model(gamma):
    X, y = sample("squared", 12, 3)
    problem = make_problem(X, y, 2, gamma=gamma)
    assert problem.primal(np.zeros(12), np.array([1e200, -1e200]), np.arange(2)) == np.inf
