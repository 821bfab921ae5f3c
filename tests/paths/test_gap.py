"""Duality gaps against the excess over a precise solution, for every smooth loss."""

import warnings

import cvxpy as cp
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from covering import every_pair
from oracles import EXPONENTIAL, _cvxpy_losses, loss_value, precise
from samples import SMOOTH_NAMES, sample, sample_weights
from sparsest import penalty_path
from sparsest.core.data import make_data
from sparsest.core.penalties import make_penalty
from sparsest.paths.features import FeatureRules
from sparsest.paths.general_walk import GeneralWalk
from sparsest.paths.task import make_task


@pytest.mark.parametrize("loss", SMOOTH_NAMES)
@pytest.mark.parametrize("penalty", [make_penalty("l1"), make_penalty("elastic_net", 0.5)], ids=lambda p: p.name)
@pytest.mark.parametrize("intercept", [True, False])
def test_the_gap_bounds_the_excess(loss, penalty, intercept):
    """The objective is recomputed from the data; a precise walk tells the minimum."""
    X, y = sample(loss, 80, 40)
    data = make_data(
        X, y, loss=loss, fit_intercept=intercept, standardize=True, sample_weight=sample_weights(True, y.size)
    )
    factor = np.ones(40)
    # One feature is never penalised.
    factor[2] = 0.0
    rough, precise = (GeneralWalk(make_task(data, penalty, FeatureRules(factor), tol, 10_000)) for tol in (1e-2, 1e-10))
    task = rough.task

    def objective(fit, alpha):
        w = np.zeros(40)
        w[fit.features] = fit.w
        values = task.loss.value(task.y, task.view.dot(w) + fit.b)
        return task.weights @ values + penalty.value(w, alpha * factor).sum()

    excesses = []
    for alpha in np.geomspace(0.9, 0.05, 8) * rough.alpha_max:
        fit, best = rough.advance(alpha), precise.advance(alpha)
        excesses.append((objective(fit, alpha) - objective(best, alpha)) / rough.null_loss)
        assert -1e-9 <= excesses[-1] <= fit.gap + 1e-9 and fit.gap <= 1e-2
    assert max(excesses) > 1e-8


def _rough_path(loss, l1_ratio, intercept, seed):
    """A path with some unpenalised features that mostly ends before it has converged, and its objectives."""
    rng = np.random.default_rng([seed, intercept, int(10 * l1_ratio)])
    n, p = int(rng.integers(6, 40)), int(rng.integers(2, 12))
    X, y = sample(loss, n, p, seed)
    weights, factor = rng.uniform(0.5, 2.0, n), np.ones(p)
    factor[rng.choice(p, int(rng.integers(0, p + 1)), replace=False)] = 0.0
    tol, max_iter = 10.0 ** rng.uniform(-5.0, -0.5), int(rng.choice([1, 3, 10, 10_000]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        path = penalty_path(
            X, y, "l1" if l1_ratio == 1.0 else "elastic_net", l1_ratio=l1_ratio, loss=loss, alphas=4,
            fit_intercept=intercept, standardize=False, sample_weight=weights, penalty_factor=factor, tol=tol,
            max_iter=max_iter,
        )  # fmt: skip
    weights /= weights.sum()

    def objective(i, w, b):
        penalty = path.alphas[i] * factor @ (l1_ratio * np.abs(w) + 0.5 * (1.0 - l1_ratio) * w**2)
        return float(weights @ loss_value(loss, y, X @ w + b) + penalty)

    def least(chosen):
        """For several alphas, as one conic program."""
        W, b = cp.Variable((p, chosen.size)), cp.Variable((1, chosen.size))
        strength = np.outer(factor, path.alphas[chosen])
        penalty = cp.multiply(strength, l1_ratio * cp.abs(W) + 0.5 * (1.0 - l1_ratio) * cp.square(W))
        responses, u = np.tile(y[:, None], chosen.size), X @ W + (np.ones((n, 1)) @ b if intercept else 0.0)
        total = cp.sum(weights @ _cvxpy_losses(loss, responses, u)) + cp.sum(penalty)
        precise(total, tolerance=1e-8 if loss in EXPONENTIAL else 1e-10)
        constants = b.value[0] if intercept else np.zeros(chosen.size)
        return [objective(i, W.value[:, at], float(constants[at])) for at, i in enumerate(chosen)]

    null = make_data(X, y, loss=loss, fit_intercept=intercept, sample_weight=weights)
    return path, objective, least, objective(0, np.zeros(p), null.null.b + null.y_offset if intercept else 0.0)


@every_pair(loss=SMOOTH_NAMES, l1_ratio=[1.0, 0.5, 0.1], intercept=[True, False])
def test_gaps_with_unpenalised_features_are_never_too_small(loss, l1_ratio, intercept):
    """Whether a path has converged or not, by a general convex solver; gaps that are too small end tests elsewhere."""
    compared = 0
    for seed in range(12):
        path, objective, least, null = _rough_path(loss, l1_ratio, intercept, seed)
        solved = np.flatnonzero(path.solved)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            known = least(solved)
        for i, best in zip(solved, known, strict=True):
            excess = (objective(i, path.coefs[:, [i]].toarray()[:, 0], path.intercepts[i]) - best) / null
            assert excess <= path.dual_gaps[i] * (1.0 + 1e-9) + 1e-7, (seed, i)
            compared += excess > 1e-6
    assert compared >= 12


@pytest.mark.parametrize("l1_ratio", [1.0, 0.5])
def test_classes_that_unpenalised_features_separate(l1_ratio):
    """No objective is smallest: its infimum is zero, and gaps are as large as the objectives."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 3))
    y = np.where(X[:, 0] > 0.0, 1, -1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        path = penalty_path(
            X, y, "elastic_net", l1_ratio=l1_ratio, loss="logistic", alphas=[0.1], penalty_factor=[0, 1, 1], tol=1e-9,
            standardize=False,
        )  # fmt: skip
    coef = path.coefs.toarray()[:, 0]
    value = loss_value("logistic", y, X @ coef + path.intercepts[0]).mean()
    value += 0.1 * (l1_ratio * np.abs(coef[1:]).sum() + 0.5 * (1.0 - l1_ratio) * (coef[1:] ** 2).sum())
    null = make_data(X, y, loss="logistic")
    null_loss = loss_value("logistic", y, np.full(30, null.null.b)).mean()
    assert path.dual_gaps[0] >= (1.0 - 1e-9) * value / null_loss


def test_gaps_where_few_sweeps_are_allowed():
    """The residual points away from the response: its scale is limited in either direction."""
    for seed in range(40):
        X, y = sample("squared", 8, 9, seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            rough = penalty_path(X, y, alphas=5, max_iter=5, tol=1e-4)
            fine = penalty_path(X, y, alphas=5, tol=1e-9)
        null = 0.5 * ((y - y.mean()) ** 2).mean()
        # At the first alpha no coefficient is used.
        assert rough.solved[0] and fine.solved[0]
        for i in np.flatnonzero(rough.solved & fine.solved):
            values = []
            for path in (rough, fine):
                coef = path.coefs[:, [i]].toarray()[:, 0]
                residual = y - X @ coef - path.intercepts[i]
                penalty = path.alphas[i] * (np.abs(coef) * X.std(axis=0)).sum()
                values.append((0.5 * (residual**2).mean() + penalty) / null)
            assert values[0] - values[1] <= rough.dual_gaps[i] + 1e-9
