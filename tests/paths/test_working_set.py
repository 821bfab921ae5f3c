"""Fits on a working set where the loss has little or no curvature: residuals beyond Huber's delta, or inside a tube."""

import warnings

import cvxpy as cp
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from oracles import precise
from sparsest import PenalizedRegressor, best_subset, penalty_path
from sparsest.core.penalties import make_penalty


def _huber_data(scale):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 3))
    return X, scale * (X @ [1.0, 2.0, 0.0] + rng.standard_normal(12))


@pytest.mark.parametrize(("scale", "delta"), [(1.0, 0.1), (100.0, 1.35), (1e-3, 1e-6)])
@pytest.mark.parametrize("intercept", [True, False])
def test_all_residuals_beyond_delta(scale, delta, intercept):
    """The first model is linear in every observation; the objectives are those of a general convex solver."""
    X, y = _huber_data(scale)
    path = penalty_path(X, y, loss="huber", delta=delta, alphas=6, fit_intercept=intercept, standardize=False)
    assert path.converged.all() and np.isfinite(path.intercepts).all() and path.n_nonzero.max() == 3
    # In units of delta, so that the solver's tolerances mean the same in each case.
    w, b = cp.Variable(3), cp.Variable()
    for i, alpha in enumerate(path.alphas / delta):
        best = precise(0.5 * cp.sum(cp.huber(y / delta - X @ w - b * intercept)) / 12 + alpha * cp.norm1(w))
        coef = path.coefs[:, [i]].toarray()[:, 0] / delta
        residual = np.abs(y / delta - X @ coef - path.intercepts[i] / delta)
        reached = np.where(residual < 1.0, 0.5 * residual**2, residual - 0.5).mean() + alpha * np.abs(coef).sum()
        assert reached == pytest.approx(best, rel=2e-5)


@pytest.mark.parametrize("penalty", ["mcp", "scad"])
def test_concave_penalties_with_all_residuals_beyond_delta(penalty):
    X, y = _huber_data(100.0)
    path = penalty_path(X, y, make_penalty(penalty), loss="huber", alphas=6)
    assert path.converged.all() and np.isfinite(path.intercepts).all() and path.n_nonzero.max() == 3
    # Rescaled by a curvature that hardly is one there may be no solution: then the path says so, and is finite.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        rescaled = penalty_path(X, y, penalty, loss="huber", alphas=6)
    assert np.abs(rescaled.coefs.data).max(initial=0.0) < 1e3 and np.isfinite(rescaled.intercepts).all()


@pytest.mark.parametrize("loss", ["huber", "squared_epsilon_insensitive"])
@pytest.mark.parametrize("n", [1, 12])
def test_a_constant_response(loss, n):
    X, y = _huber_data(1.0)[0][:n], np.full(n, 3.0)
    path = penalty_path(X, y, loss=loss, alphas=4)
    assert path.n_nonzero.max() == 0 and path.intercepts.tolist() == [3.0] * 4 and path.dual_gaps.tolist() == [0.0] * 4
    model = PenalizedRegressor(loss=loss).fit(X, y)
    assert model.intercept_ == 3.0 and not model.coef_.any()
    assert best_subset(X, y, 1, loss=loss, screen=2, screen_by="path").objective == 0.0
