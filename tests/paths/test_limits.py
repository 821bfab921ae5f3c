"""Paths whose coefficients have limits, against cvxpy and scikit-learn, and by the conditions of optimality."""

import warnings

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import ElasticNet, Lasso

from covering import every_pair
from oracles import EXPONENTIAL, _cvxpy_losses, loss_value, precise
from samples import SMOOTH_NAMES, sample, sample_weights
from sparsest import PenalizedRegressor, PenalizedRegressorCV, penalty_path
from sparsest.core.losses import make_loss
from sparsest.core.penalties import MCP, SCAD, make_penalty

P = 8


def some_limits(seed, p=P):
    """Limits of every kind: none, one or both of them, zero, and both zero."""
    rng = np.random.default_rng(seed)
    low = rng.choice([-np.inf, 0.0, -0.05, -0.3], p)
    high = rng.choice([np.inf, 0.0, 0.05, 0.3], p)
    return low, high


def coefficients(path, i):
    return path.coefs[:, [i]].toarray()[:, 0]


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("storage", [np.asfortranarray, sp.csc_array])
@pytest.mark.parametrize("shape", [(90, 30), (40, 150)])
def test_scikit_learns_positive_models(shape, storage, standardize):
    X, y = sample("squared", *shape)
    scale = X.std(axis=0) if standardize else 1.0
    for share, peer in ((1.0, Lasso), (0.5, ElasticNet)):
        penalty = "l1" if share == 1.0 else "elastic_net"
        path = penalty_path(
            storage(X), y, penalty, l1_ratio=share, positive=True, standardize=standardize, tol=1e-10, alphas=8
        )
        assert path.dual_gaps.max() <= 1e-10 and path.n_nonzero[-1] >= 5
        for i, alpha in enumerate(path.alphas):
            settings = {"alpha": alpha, "positive": True, "tol": 1e-12, "max_iter": 10**6}
            model = peer(**settings, **({} if share == 1.0 else {"l1_ratio": share})).fit(X / scale, y)
            np.testing.assert_allclose(coefficients(path, i), model.coef_ / scale, atol=1e-6)
            assert path.intercepts[i] == pytest.approx(model.intercept_, abs=1e-5)


def _rough_path(loss, l1_ratio, intercept, seed, **settings):
    """A path with limits and unpenalised features, its objectives and the least ones."""
    rng = np.random.default_rng([seed, intercept, int(10 * l1_ratio)])
    X, y = sample(loss, int(rng.integers(12, 40)), P, seed)
    weights, factor = rng.uniform(0.5, 2.0, y.size), np.ones(P)
    factor[rng.choice(P, int(rng.integers(0, 3)), replace=False)] = 0.0
    low, high = some_limits(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        path = penalty_path(
            X, y, "l1" if l1_ratio == 1.0 else "elastic_net", l1_ratio=l1_ratio, loss=loss, alphas=4,
            fit_intercept=intercept, standardize=False, sample_weight=weights, penalty_factor=factor, lower=low,
            upper=high, **settings,
        )  # fmt: skip
    weights /= weights.sum()

    def objective(i, w, b):
        penalty = path.alphas[i] * factor @ (l1_ratio * np.abs(w) + 0.5 * (1.0 - l1_ratio) * w**2)
        return float(weights @ loss_value(loss, y, X @ w + b) + penalty)

    def least(i):
        w, b = cp.Variable(P), cp.Variable()
        penalty = path.alphas[i] * factor @ (l1_ratio * cp.abs(w) + 0.5 * (1.0 - l1_ratio) * cp.square(w))
        total = weights @ _cvxpy_losses(loss, y, X @ w + (b if intercept else 0.0)) + penalty
        within = [w[np.isfinite(low)] >= low[np.isfinite(low)], w[np.isfinite(high)] <= high[np.isfinite(high)]]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            precise(total, within, tolerance=1e-8 if loss in EXPONENTIAL else 1e-10)
        return objective(i, np.clip(w.value, low, high), float(b.value) if intercept else 0.0)

    for i in range(4):
        assert (coefficients(path, i) >= low).all() and (coefficients(path, i) <= high).all()
    return path, objective, least


@every_pair(loss=SMOOTH_NAMES, l1_ratio=[1.0, 0.5], intercept=[True, False], seed=range(4))
def test_convex_paths_reach_the_least_objective(loss, l1_ratio, intercept, seed):
    """Where a converged path says that it has."""
    path, objective, least = _rough_path(loss, l1_ratio, intercept, seed, tol=1e-9)
    assert path.converged[path.solved].all()
    for i in np.flatnonzero(path.solved)[1::2]:
        reached, best = objective(i, coefficients(path, i), path.intercepts[i]), least(i)
        assert -1e-6 <= (best - reached) / abs(best) <= 1e-6 or reached < best


@every_pair(loss=SMOOTH_NAMES, l1_ratio=[1.0, 0.5], intercept=[True, False], max_iter=[1, 3, 10_000], seed=range(3))
def test_gaps_within_limits_are_never_too_small(loss, l1_ratio, intercept, max_iter, seed):
    path, objective, least = _rough_path(loss, l1_ratio, intercept, seed, tol=0.03, max_iter=max_iter)
    assert path.solved.any() or max_iter < 10_000
    for i in np.flatnonzero(path.solved)[-2:]:
        reached = objective(i, coefficients(path, i), path.intercepts[i])
        # The null loss is at most the loss with other intercepts, so this is at most the relative excess.
        null = max(objective(i, np.zeros(P), b) for b in (0.0, path.intercepts[i]))
        assert (reached - least(i)) / null <= path.dual_gaps[i] * (1.0 + 1e-9) + 1e-7


def violation(path, i, X, y, loss, name, g, weights, low, high, standardize, rescaled):
    """The largest violation of the conditions of a stationary point within limits, relative to alpha."""
    made, omega, alpha, coef = make_loss(loss), weights / weights.sum(), path.alphas[i], coefficients(path, i)
    center = omega @ X
    scale = np.sqrt(omega @ (X - center) ** 2) if standardize else np.ones(X.shape[1])
    Z, w, u = (X - center) / scale, coef * scale, X @ coef + path.intercepts[i]
    bend = np.maximum(made.second_derivative(y, u), 4e-4 * made.smoothness if np.isfinite(made.smoothness) else 0.0)
    v = (omega * bend) @ Z**2 / (omega @ Z**2) if rescaled else np.ones(w.size)
    t = v * np.abs(w)
    if name == "mcp":
        slope = np.maximum(alpha - t / g, 0.0)
    else:
        slope = np.where(t <= alpha, alpha, np.maximum(g * alpha - t, 0.0) / (g - 1.0))
    grad = (omega * made.derivative(y, u)) @ Z
    total = grad + np.sign(w) * slope
    found = np.abs(total)
    found = np.where(w == 0.0, np.maximum(-grad * (high > 0.0), grad * (low < 0.0)) - alpha, found)
    found = np.where((w != 0.0) & (coef >= high), total, found)
    found = np.where((w != 0.0) & (coef <= low), -total, found)
    return found.max() / alpha


@every_pair(
    loss=[name for name in SMOOTH_NAMES if name not in ("huber", "squared_hinge", "squared_epsilon_insensitive")],
    name=["mcp", "scad"], by_name=[True, False], standardize=[True, False], seed=range(3),
)  # fmt: skip
def test_concave_paths_satisfy_the_conditions(loss, name, by_name, standardize, seed):
    """Estimating equations if the penalty is given by its name, else stationarity; on the data as given."""
    X, y = sample(loss, 120, 20, seed)
    g, weights = (3.0 if name == "mcp" else 3.7), sample_weights(True, 120)
    low, high = some_limits(seed, 20)
    penalty = name if by_name else (MCP if name == "mcp" else SCAD)(g)
    path = penalty_path(
        X, y, penalty, loss=loss, lower=low, upper=high, standardize=standardize, sample_weight=weights, alphas=12,
        tol=1e-7,
    )  # fmt: skip
    rescaled, at_limits = by_name and loss != "squared", 0
    assert path.converged[path.solved].all() and path.solved.sum() >= 5
    for i in np.flatnonzero(path.solved):
        coef = coefficients(path, i)
        assert (coef >= low).all() and (coef <= high).all()
        at_limits += ((coef != 0.0) & ((coef == low) | (coef == high))).sum()
        found = violation(path, i, X, y, loss, name, g, weights, low, high, standardize, rescaled)
        assert found <= max(1.1 * path.kkt_violations[i], 1e-10)
    assert at_limits > 0


@pytest.mark.parametrize("penalty", ["l1", "elastic_net", "mcp", "scad"])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_limits_that_do_not_bind_change_nothing(penalty, loss):
    X, y = sample(loss, 100, 30)
    share, alphas = 0.5 if penalty == "elastic_net" else 1.0, np.geomspace(0.3, 0.03, 8)
    free = penalty_path(X, y, penalty, loss=loss, l1_ratio=share, alphas=alphas, tol=1e-8)
    wide = penalty_path(X, y, penalty, loss=loss, l1_ratio=share, alphas=alphas, tol=1e-8, lower=-1e3, upper=1e3)
    np.testing.assert_allclose(wide.coefs.toarray(), free.coefs.toarray(), atol=1e-5)


def test_the_forms_of_limits():
    import pandas as pd

    X, y = sample("squared", 60, P)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(P)])
    low, high = np.full(P, -np.inf), np.full(P, np.inf)
    low[2], high[5] = 0.0, 0.01
    expected = penalty_path(X, y, lower=low, upper=high, alphas=5).coefs.toarray()
    for matrix, lower, upper in ((frame, {"x2": 0}, {"x5": 0.01}), (X, {2: 0.0}, {5: 0.01})):
        found = penalty_path(matrix, y, lower=lower, upper=upper, alphas=5).coefs.toarray()
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    model = PenalizedRegressor(alpha=0.01, lower={"x2": 0}, upper={"x5": 0.01}).fit(frame, y)
    assert model.coef_[2] >= 0.0 and model.coef_[5] <= 0.01 and clone(model).upper == {"x5": 0.01}
    both = penalty_path(X, -y, positive=True, alphas=5).coefs.toarray()
    np.testing.assert_allclose(penalty_path(X, -y, lower=0, alphas=5).coefs.toarray(), both, rtol=1e-12)
    assert both.min() == 0.0 < both.max()


def test_all_coefficients_may_be_held_at_zero():
    X, y = sample("squared", 30, P)
    path = penalty_path(X, y, lower=0.0, upper=0.0, alphas=3)
    assert path.coefs.nnz == 0 and path.converged.all()


def test_no_coefficient_may_have_the_sign_that_it_needs():
    """All columns have negative products with the response."""
    X, y = sample("squared", 60, P)
    path = penalty_path(X, y, positive=True, alphas=3)
    assert ((X - X.mean(axis=0)).T @ y < 0.0).all() and path.coefs.nnz == 0 and path.converged.all()


@pytest.mark.parametrize("penalty", ["l1", "mcp"])
def test_cross_validation_within_limits(penalty):
    """Folds scale columns each in their own way; limits are those of the data as given."""
    X, y = sample("squared", 80, P)
    model = PenalizedRegressorCV(penalty, alphas=20, positive=True, upper=0.4).fit(X, y)
    assert model.coef_.min() >= 0.0 and model.coef_.max() == 0.4
    with pytest.raises(ValueError, match="relax=True ignores limits in its refits"):
        PenalizedRegressorCV(relax=True, positive=True).fit(X, y)


def test_penalty_objects_have_limits_too():
    X, y = sample("logistic", 80, P)
    path = penalty_path(X, y, make_penalty("scad", 0.8), loss="logistic", positive=True, alphas=10)
    assert path.coefs.data.min() > 0.0 and not path.rescaled and path.converged[path.solved].all()
