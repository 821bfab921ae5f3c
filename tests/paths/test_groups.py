"""Paths of group penalties, against cvxpy and by the conditions of optimality."""

import warnings

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from covering import every_pair
from oracles import EXPONENTIAL, _cvxpy_losses, loss_value, precise
from samples import SMOOTH_NAMES, sample, sample_weights
from sparsest import PenalizedClassifierCV, PenalizedRegressor, PenalizedRegressorCV, penalty_path
from sparsest.core.losses import make_loss
from sparsest.core.penalties import MCP, SCAD

LABELS = np.array(["b", "a", "b", "c", "d", "a", "e", "e", "b", "f", "d", "f"])
P = LABELS.size
MEMBERS = [np.flatnonzero(label == LABELS) for label in dict.fromkeys(LABELS)]


def coefficients(path, i):
    return path.coefs[:, [i]].toarray()[:, 0]


def path_of_groups(loss, l1_ratio, intercept, n, seed, limits=None, **settings):
    """A path with a group that is not penalised, its objectives and the least ones."""
    X, y = sample(loss, n, P, seed)
    rng = np.random.default_rng(seed)
    weights, factor = rng.uniform(0.5, 2.0, n), np.ones(P)
    factor[MEMBERS[2]], factor[MEMBERS[4]] = 0.0, 2.0
    low, high = (np.full(P, -np.inf), np.full(P, np.inf)) if limits is None else limits
    if limits is not None:
        settings |= {"lower": low, "upper": high}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        path = penalty_path(
            X, y, "l1" if l1_ratio == 1.0 else "elastic_net", l1_ratio=l1_ratio, loss=loss, alphas=4,
            fit_intercept=intercept, standardize=False, sample_weight=weights, penalty_factor=factor,
            feature_groups=LABELS, **settings,
        )  # fmt: skip
    weights /= weights.sum()
    strength = [factor[members[0]] * np.sqrt(members.size) for members in MEMBERS]

    def objective(i, w, b):
        norms = np.array([np.linalg.norm(w[members]) for members in MEMBERS])
        penalty = path.alphas[i] * (strength @ (l1_ratio * norms + 0.5 * (1.0 - l1_ratio) * norms**2))
        return float(weights @ loss_value(loss, y, X @ w + b) + penalty)

    def least(i):
        w, b = cp.Variable(P), cp.Variable()
        penalty = sum(
            s * (l1_ratio * cp.norm(w[members]) + 0.5 * (1.0 - l1_ratio) * cp.sum_squares(w[members]))
            for s, members in zip(strength, MEMBERS, strict=True)
        )
        total = weights @ _cvxpy_losses(loss, y, X @ w + (b if intercept else 0.0)) + path.alphas[i] * penalty
        within = [w[j] >= low[j] for j in np.flatnonzero(np.isfinite(low))]
        within += [w[j] <= high[j] for j in np.flatnonzero(np.isfinite(high))]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            precise(total, within, tolerance=1e-8 if loss in EXPONENTIAL else 1e-10)
        return objective(i, np.clip(w.value, low, high), float(b.value) if intercept else 0.0)

    return path, objective, least


@every_pair(loss=SMOOTH_NAMES, l1_ratio=[1.0, 0.5], intercept=[True, False], n=[40, 11], seed=range(2))
def test_convex_paths_reach_the_least_objective(loss, l1_ratio, intercept, n, seed):
    """With a Gram matrix where there are more observations than features, and without one."""
    path, objective, least = path_of_groups(loss, l1_ratio, intercept, n, seed, tol=1e-8)
    for i in np.flatnonzero(path.solved)[1:3]:
        w = coefficients(path, i)
        assert all((w[members] != 0.0).all() or not w[members].any() for members in MEMBERS)
        reached, best = objective(i, w, path.intercepts[i]), least(i)
        if path.converged[i]:
            assert reached - best <= 1e-6 * abs(best)
    assert path.converged[path.solved][:3].all()


@every_pair(loss=SMOOTH_NAMES, l1_ratio=[1.0, 0.5], intercept=[True, False], max_iter=[1, 3, 10_000], seed=range(3))
def test_gaps_of_groups_are_never_too_small(loss, l1_ratio, intercept, max_iter, seed):
    path, objective, least = path_of_groups(loss, l1_ratio, intercept, 25, seed, tol=0.03, max_iter=max_iter)
    assert path.solved.any() or max_iter < 10_000
    for i in np.flatnonzero(path.solved)[-2:]:
        reached = objective(i, coefficients(path, i), path.intercepts[i])
        # The null loss is at most the loss with other intercepts, so this is at most the relative excess.
        null = max(objective(i, np.zeros(P), b) for b in (0.0, path.intercepts[i]))
        assert (reached - least(i)) / null <= path.dual_gaps[i] * (1.0 + 1e-9) + 1e-7


def violation(path, i, X, y, loss, name, g, weights, rescaled):
    """The largest violation of a group's condition, relative to alpha times the median of √d."""
    made, omega, alpha, coef = make_loss(loss), weights / weights.sum(), path.alphas[i], coefficients(path, i)
    center = omega @ X
    scale = np.sqrt(omega @ (X - center) ** 2)
    Z, w, u = (X - center) / scale, coef * scale, X @ coef + path.intercepts[i]
    bend = np.maximum(made.second_derivative(y, u), 4e-4 * made.smoothness if np.isfinite(made.smoothness) else 0.0)
    grad, found = (omega * made.derivative(y, u)) @ Z, []
    for members in MEMBERS:
        part, lam = Z[:, members], alpha * np.sqrt(members.size)
        v = ((omega * bend) @ part**2).sum() / (omega @ part**2).sum() if rescaled else 1.0
        norm = np.linalg.norm(w[members])
        t = v * norm
        slope = max(lam - t / g, 0.0) if name == "mcp" else lam if t <= lam else max(g * lam - t, 0.0) / (g - 1.0)
        if norm == 0.0:
            found.append(np.linalg.norm(grad[members]) - lam)
        else:
            found.append(np.linalg.norm(grad[members] + slope * w[members] / norm))
    return max(found) / (alpha * np.median(np.repeat([np.sqrt(m.size) for m in MEMBERS], [m.size for m in MEMBERS])))


@every_pair(
    loss=[name for name in SMOOTH_NAMES if name not in ("huber", "squared_hinge", "squared_epsilon_insensitive")],
    name=["mcp", "scad"], by_name=[True, False], n=[120, 11],
)  # fmt: skip
def test_concave_paths_satisfy_the_conditions(loss, name, by_name, n):
    X, y = sample(loss, n, P)
    weights, g = sample_weights(True, n), 3.0 if name == "mcp" else 3.7
    penalty = name if by_name else (MCP if name == "mcp" else SCAD)(g)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        path = penalty_path(X, y, penalty, loss=loss, feature_groups=LABELS, sample_weight=weights, alphas=10, tol=1e-6)
    assert path.converged[path.solved][:3].all() and path.n_nonzero[path.solved].max() > 0
    for i in np.flatnonzero(path.converged):
        found = violation(path, i, X, y, loss, name, g, weights, by_name and loss != "squared")
        assert found <= max(1.1 * path.kkt_violations[i], 1e-9)


@pytest.mark.parametrize("shape", [(60, 90), (120, 60)])
@pytest.mark.parametrize("penalty", ["l1", "elastic_net"])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_groups_of_one_feature_are_features(shape, penalty, loss):
    X, y = sample(loss, *shape)
    share, alphas = 0.5 if penalty == "elastic_net" else 1.0, np.geomspace(0.4, 0.08, 6)
    settings = {"loss": loss, "l1_ratio": share, "alphas": alphas, "tol": 1e-9}
    alone = penalty_path(X, y, penalty, **settings)
    groups = penalty_path(X, y, penalty, feature_groups=range(shape[1]), **settings)
    np.testing.assert_allclose(groups.coefs.toarray(), alone.coefs.toarray(), atol=2e-4)
    np.testing.assert_array_equal(groups.n_nonzero, alone.n_nonzero)


@pytest.mark.parametrize("storage", [np.asfortranarray, sp.csc_array, lambda X: X.astype(np.float32)])
@pytest.mark.parametrize("shape", [(50, 400), (400, 100)])
def test_storages_and_many_groups(storage, shape):
    """Screening leaves out groups: the conditions hold for those too."""
    rng = np.random.default_rng(0)
    X = np.round(4.0 * rng.standard_normal(shape)) * (rng.random(shape) < 0.5)
    X[:, 3] = 1.0
    y = X[:, :10] @ rng.standard_normal(10) + rng.standard_normal(shape[0])
    groups = np.repeat(np.arange(shape[1] // 4), 4)[rng.permutation(shape[1])]
    path = penalty_path(storage(X), y, feature_groups=groups, alphas=30, tol=1e-7)
    assert path.converged[path.solved].all() and path.n_nonzero.max() > 20
    scale = X.std(axis=0)
    scale[3] = 1.0
    Z = (X - X.mean(axis=0)) / scale
    for i in np.flatnonzero(path.solved):
        coef = coefficients(path, i)
        grad = Z.T @ (X @ coef + path.intercepts[i] - y) / shape[0]
        norms = np.sqrt(np.bincount(groups, grad**2))
        used = np.bincount(groups, coef**2) > 0.0
        assert coef[3] == 0.0
        np.testing.assert_allclose(norms[used], 2.0 * path.alphas[i], rtol=1e-3)
        assert norms.max() <= 2.0 * path.alphas[i] * (1.0 + 1e-3)


def test_estimators_and_cross_validation():
    X, y = sample("squared", 80, P)
    model = PenalizedRegressor(alpha=0.3, feature_groups=LABELS, tol=1e-8).fit(X, y)
    expected = penalty_path(X, y, alphas=[0.3], feature_groups=LABELS, tol=1e-8)
    np.testing.assert_allclose(model.coef_, coefficients(expected, 0))
    assert (clone(model).feature_groups == LABELS).all()
    for estimator, target in ((PenalizedRegressorCV, y), (PenalizedClassifierCV, np.sign(y - y.mean()))):
        for penalty in ("l1", "mcp"):
            chosen = estimator(penalty, alphas=15, feature_groups=LABELS).fit(X, target)
            used = np.ravel(chosen.coef_) != 0.0
            assert used.any() and all(used[members].all() or not used[members].any() for members in MEMBERS)
    relaxed = PenalizedRegressorCV(alphas=15, feature_groups=LABELS, relax=True).fit(X, y)
    assert relaxed.coef_.any()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"feature_groups": [0, 1]}, "must have 12 labels, one for each column"),
        ({"feature_groups": [np.nan] * 12}, "must be texts or whole numbers"),
        ({"feature_groups": ["a"] * 11 + [None]}, "must be texts or whole numbers"),
        ({"feature_groups": {"a": "b"}}, "needs the names of columns"),
        ({"feature_groups": LABELS, "penalty_factor": np.arange(12.0)}, "the same for all columns of a group"),
    ],
)
def test_what_is_refused(settings, message):
    X, y = sample("squared", 40, P)
    with pytest.raises(ValueError, match=message):
        penalty_path(X, y, **settings)


def test_groups_by_name():
    X, y = sample("squared", 40, P)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(P)])
    by_name = {name: f"group {label}" for name, label in zip(frame.columns, LABELS, strict=True)}
    expected = penalty_path(frame, y, alphas=5, feature_groups=LABELS).coefs.toarray()
    assert expected.any()
    for given in (by_name, by_name.get):
        assert (penalty_path(frame, y, alphas=5, feature_groups=given).coefs.toarray() == expected).all()
