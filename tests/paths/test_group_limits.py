"""Paths of group penalties whose coefficients have limits, against cvxpy and by the conditions of optimality."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from covering import every_pair
from paths.test_groups import LABELS, MEMBERS, P, coefficients, path_of_groups
from paths.test_limits import some_limits
from samples import SMOOTH_NAMES, sample, sample_weights
from sparsest import PenalizedClassifierCV, PenalizedRegressor, PenalizedRegressorCV, penalty_path
from sparsest.core.losses import make_loss


def _path(loss, l1_ratio, intercept, n, seed, **settings):
    """A path within limits, which are those of signs for the first seed, its objectives and the least ones."""
    low, high = (np.zeros(P), np.full(P, np.inf)) if seed == 0 else some_limits(seed, P)
    path, objective, least = path_of_groups(loss, l1_ratio, intercept, n, seed, (low, high), **settings)
    for i in range(4):
        assert (coefficients(path, i) >= low).all() and (coefficients(path, i) <= high).all()
    return path, objective, least


@every_pair(loss=SMOOTH_NAMES, l1_ratio=[1.0, 0.5], intercept=[True, False], n=[40, 11], seed=range(4))
def test_convex_paths_reach_the_least_objective(loss, l1_ratio, intercept, n, seed):
    """With a Gram matrix where there are more observations than features, and without one."""
    path, objective, least = _path(loss, l1_ratio, intercept, n, seed, tol=1e-8)
    assert path.converged[path.solved][:3].all()
    for i in np.flatnonzero(path.converged)[1:3]:
        reached, best = objective(i, coefficients(path, i), path.intercepts[i]), least(i)
        assert reached - best <= 1e-6 * abs(best)


@every_pair(loss=SMOOTH_NAMES, l1_ratio=[1.0, 0.5], intercept=[True, False], max_iter=[1, 3, 10_000], seed=range(4))
def test_gaps_are_never_too_small(loss, l1_ratio, intercept, max_iter, seed):
    path, objective, least = _path(loss, l1_ratio, intercept, 25, seed, tol=0.03, max_iter=max_iter)
    assert path.solved.any() or max_iter < 10_000
    for i in np.flatnonzero(path.solved)[-2:]:
        reached = objective(i, coefficients(path, i), path.intercepts[i])
        # The null loss is at most the loss with other intercepts, so this is at most the relative excess.
        null = max(objective(i, np.zeros(P), b) for b in (0.0, path.intercepts[i]))
        assert (reached - least(i)) / null <= path.dual_gaps[i] * (1.0 + 1e-9) + 1e-7


def violation(path, i, X, y, loss, name, g, weights, low, high):
    """The largest violation of a group's condition, relative to alpha times the median of √d."""
    made, omega, alpha, coef = make_loss(loss), weights / weights.sum(), path.alphas[i], coefficients(path, i)
    scale = np.sqrt(omega @ (X - omega @ X) ** 2)
    Z, w, u = (X - omega @ X) / scale, coef * scale, X @ coef + path.intercepts[i]
    bend = np.maximum(made.second_derivative(y, u), 4e-4 * made.smoothness if np.isfinite(made.smoothness) else 0.0)
    grad, found, held = (omega * made.derivative(y, u)) @ Z, [], 0
    for group in MEMBERS:
        lam, members = alpha * np.sqrt(group.size), group[low[group] < high[group]]
        part, norm = Z[:, members], np.linalg.norm(w[members])
        if not members.size:
            continue
        v = ((omega * bend) @ part**2).sum() / (omega @ part**2).sum() if path.rescaled else 1.0
        t = v * norm
        slope = max(lam - t / g, 0.0) if name == "mcp" else lam if t <= lam else max(g * lam - t, 0.0) / (g - 1.0)
        along = grad[members] + (slope * w[members] / norm if norm > 0.0 else 0.0)
        at = ((coef[members] <= low[members]) & (along >= 0.0)) | ((coef[members] >= high[members]) & (along <= 0.0))
        held += int(at.sum()) if norm > 0.0 else 0
        found.append(np.linalg.norm(along[~at]) - (lam if norm == 0.0 else 0.0))
    sizes = [members.size for members in MEMBERS]
    return max(found) / (alpha * np.median(np.sqrt(np.repeat(sizes, sizes)))), held


@every_pair(
    loss=[name for name in SMOOTH_NAMES if name not in ("huber", "squared_hinge", "squared_epsilon_insensitive")],
    name=["mcp", "scad"], n=[120, 11], seed=range(3),
)  # fmt: skip
def test_concave_paths_satisfy_the_conditions(loss, name, n, seed):
    X, y = sample(loss, n, P, seed)
    weights, g = sample_weights(True, n), 3.0 if name == "mcp" else 3.7
    low, high = some_limits(seed, P)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        path = penalty_path(
            X, y, name, loss=loss, feature_groups=LABELS, sample_weight=weights, alphas=10, tol=1e-6, lower=low,
            upper=high,
        )  # fmt: skip
    assert path.converged[path.solved][:3].all()
    for i in np.flatnonzero(path.converged):
        found, _ = violation(path, i, X, y, loss, name, g, weights, low, high)
        assert found <= max(1.1 * path.kkt_violations[i], 1e-9)


def test_conditions_at_limits_are_compared():
    X, y = sample("squared", 120, P)
    low, high = np.full(P, -0.1), np.full(P, 0.1)
    path = penalty_path(X, y, "mcp", feature_groups=LABELS, alphas=10, tol=1e-6, lower=low, upper=high)
    found = [violation(path, i, X, y, "squared", "mcp", 3.0, np.ones(120), low, high) for i in range(10)]
    assert max(worst for worst, _ in found) <= 1.1e-6 and max(held for _, held in found) >= 5


@pytest.mark.parametrize("shape", [(60, 90), (120, 60)])
@pytest.mark.parametrize("penalty", ["l1", "elastic_net", "mcp"])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_groups_of_one_feature_are_features(shape, penalty, loss):
    X, y = sample(loss, *shape)
    share, alphas = 0.5 if penalty == "elastic_net" else 1.0, np.geomspace(0.4, 0.08, 6)
    settings = {"loss": loss, "l1_ratio": share, "alphas": alphas, "tol": 1e-9, "positive": True, "upper": 0.2}
    alone = penalty_path(X, y, penalty, **settings)
    groups = penalty_path(X, y, penalty, feature_groups=range(shape[1]), **settings)
    np.testing.assert_allclose(groups.coefs.toarray(), alone.coefs.toarray(), atol=2e-4)
    assert alone.coefs.nnz > 0


@pytest.mark.parametrize("penalty", ["l1", "elastic_net", "mcp", "scad"])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_limits_that_do_not_bind_change_nothing(penalty, loss):
    X, y = sample(loss, 100, 30)
    share, alphas = 0.5 if penalty == "elastic_net" else 1.0, np.geomspace(0.3, 0.08, 8)
    settings = {
        "loss": loss, "l1_ratio": share, "alphas": alphas, "tol": 1e-8, "feature_groups": np.arange(30) // 3,
    }  # fmt: skip
    free = penalty_path(X, y, penalty, **settings)
    wide = penalty_path(X, y, penalty, lower=-1e3, upper=1e3, **settings)
    np.testing.assert_allclose(wide.coefs.toarray(), free.coefs.toarray(), atol=1e-5)


@pytest.mark.parametrize("storage", [np.asfortranarray, sp.csc_array, lambda X: X.astype(np.float32)])
@pytest.mark.parametrize("shape", [(50, 400), (400, 100)])
def test_storages_and_many_groups(storage, shape):
    """Screening leaves out groups: the conditions of nonnegative coefficients hold for those too."""
    rng = np.random.default_rng(0)
    X = np.round(4.0 * rng.standard_normal(shape)) * (rng.random(shape) < 0.5)
    X[:, 3] = 1.0
    y = X[:, :10] @ rng.standard_normal(10) + rng.standard_normal(shape[0])
    groups = np.repeat(np.arange(shape[1] // 4), 4)[rng.permutation(shape[1])]
    path = penalty_path(storage(X), y, feature_groups=groups, alphas=30, tol=1e-7, positive=True)
    assert path.converged[path.solved].all() and path.n_nonzero.max() > 20
    scale = X.std(axis=0)
    scale[3] = 1.0
    Z = (X - X.mean(axis=0)) / scale
    for i in np.flatnonzero(path.solved):
        coef = coefficients(path, i)
        w, push = coef * scale, -(Z.T @ (X @ coef + path.intercepts[i] - y)) / shape[0]
        norms = np.sqrt(np.bincount(groups, w**2))[groups]
        lam = 2.0 * path.alphas[i]
        goal = np.divide(lam * w, norms, out=np.zeros(w.size), where=norms > 0.0)
        positive, idle = w > 0.0, (w == 0.0) & (norms > 0.0)
        assert (w >= 0.0).all() and coef[3] == 0.0
        np.testing.assert_allclose(push[positive], goal[positive], atol=2e-3 * lam)
        assert (push[idle] <= 2e-3 * lam).all()
        pushed = np.sqrt(np.bincount(groups, np.maximum(push, 0.0) ** 2))[groups]
        assert pushed[norms == 0.0].max() <= lam * (1.0 + 1e-3)


def test_estimators_and_cross_validation():
    X, y = sample("squared", 80, P)
    model = PenalizedRegressor(alpha=0.01, feature_groups=LABELS, upper=0.2, tol=1e-8).fit(X, y)
    expected = penalty_path(X, y, alphas=[0.01], feature_groups=LABELS, upper=0.2, tol=1e-8)
    np.testing.assert_allclose(model.coef_, coefficients(expected, 0))
    assert model.coef_.max() == 0.2 and clone(model).upper == 0.2
    for estimator, target in ((PenalizedRegressorCV, y), (PenalizedClassifierCV, np.sign(y - y.mean()))):
        for penalty in ("l1", "mcp"):
            chosen = estimator(penalty, alphas=15, feature_groups=LABELS, lower=-0.05, upper=0.5).fit(X, target)
            coef = np.ravel(chosen.coef_)
            assert coef.min() == -0.05 and 0.0 < coef.max() <= 0.5


def test_all_coefficients_may_be_held_at_zero():
    X, y = sample("squared", 30, P)
    path = penalty_path(X, y, lower=0.0, upper=0.0, alphas=3, feature_groups=LABELS)
    assert path.coefs.nnz == 0 and path.converged.all()
