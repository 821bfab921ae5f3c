"""Leave-one-out predictions against models fitted without each observation."""

import numpy as np
import pytest

from samples import sample, sample_weights
from sparsest.core.problem import make_problem
from sparsest.subset.fits.influence import influence, leave_one_out_error
from sparsest.subset.fits.support import fit_support

N, P = 25, 6
SUPPORT = np.array([0, 2, 3])


def problem_without(X, y, weights, i, **settings):
    keep = np.arange(len(y)) != i
    return make_problem(X[keep], y[keep], P, sample_weight=weights[keep], **settings)


def brute_force(problem, X, y, weights, **settings):
    """Predictions for every observation by the model fitted to all others, with the columns scaled on all data."""
    out = np.empty(len(y))
    for i in range(len(y)):
        others = problem_without(X, y, weights, i, **settings)
        fit = fit_support(others, SUPPORT)
        coef, intercept = others.data.original(np.bincount(SUPPORT, fit.w, minlength=P), fit.b)
        out[i] = X[i] @ coef + intercept
    return out - problem.data.y_offset


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("gamma", [0.05, 2.0, np.inf])
def test_squared_loss_is_exact(fit_intercept, gamma):
    X, y = sample("squared", N, P)
    weights = sample_weights(True, N)
    settings = {"gamma": gamma, "fit_intercept": fit_intercept}
    problem = make_problem(X, y, P, sample_weight=weights, **settings)
    fit = fit_support(problem, SUPPORT)
    expected = brute_force(problem, X, y, weights, **settings)
    np.testing.assert_allclose(influence(problem, fit).left_out, expected, rtol=1e-8)
    error = weights @ (0.5 * (problem.y - expected) ** 2) / weights.sum()
    assert leave_one_out_error(problem, fit) == pytest.approx(error, rel=1e-8)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "squared_epsilon_insensitive"])
def test_smooth_losses_are_approximate(loss):
    """The error is far below the change caused by leaving out an observation, and decreases with n."""
    n = 3 * N
    X, y = sample(loss, n, P)
    weights, settings = np.ones(n), {"gamma": 0.5, "loss": loss}
    problem = make_problem(X, y, P, **settings)
    fit = fit_support(problem, SUPPORT)
    expected = brute_force(problem, X, y, weights, **settings)
    margin = problem.design.columns(SUPPORT) @ fit.w + fit.b
    found = influence(problem, fit).left_out
    assert np.abs(found - expected).max() < 0.1 * np.abs(margin - expected).max()
    true = weights @ problem.loss.value(problem.y, expected) / n
    inside = weights @ problem.loss.value(problem.y, margin) / n
    assert abs(leave_one_out_error(problem, fit) - true) < 0.1 * abs(true - inside)


def test_degrees_of_freedom():
    """Without a ridge every coefficient counts, with a strong one only the intercept; dependent columns count once."""
    X, y = sample("squared", N, P)
    problem = make_problem(X, y, P)
    assert influence(problem, fit_support(problem, SUPPORT)).degrees_of_freedom == pytest.approx(4.0)
    strong = problem.with_gamma(1e-12)
    assert influence(strong, fit_support(strong, SUPPORT)).degrees_of_freedom == pytest.approx(1.0, abs=1e-6)
    X[:, 3] = X[:, 2]
    twice = make_problem(X, y, P)
    assert influence(twice, fit_support(twice, SUPPORT)).degrees_of_freedom == pytest.approx(3.0)


def test_leverage_of_one_and_no_curvature():
    """An observation with leverage 1 has no prediction; piecewise linear losses have no leverages."""
    X, y = sample("squared", N, P)
    X[:, 0] = 0.0
    X[4, 0] = 1.0
    problem = make_problem(X, y, P)
    fit = fit_support(problem, SUPPORT)
    assert leave_one_out_error(problem, fit) == np.inf
    assert np.isnan(influence(problem, fit).left_out[4])
    with pytest.raises(ValueError, match="hinge loss has no curvature"):
        leave_one_out_error(make_problem(X, np.sign(y), P, loss="hinge", gamma=1.0), fit)
