"""Fits without shrinkage, and the reasons if there is none."""

import numpy as np
import pytest

from sparsest import best_subset
from sparsest.core.losses import LOSSES, make_loss
from sparsest.results.refits import refit

N = 60


def columns(seed=0, m=3):
    return np.random.default_rng(seed).standard_normal((N, m))


def fit(X, y, loss="logistic", **settings):
    names = [f"x{j}" for j in range(X.shape[1])]
    return refit(X, y, names, loss=make_loss(loss), **{"fit_intercept": True, **settings})


@pytest.mark.parametrize("gap", [0.5, 0.0])
def test_separated_classes_are_refused_by_name(gap):
    """Completely separated, and with a point of both classes on the border."""
    X = columns()
    X[:, 1] += np.sign(X[:, 1]) * gap
    y = np.where(X[:, 1] > 0, 1.0, -1.0)
    if gap == 0.0:
        X[:2, 1], y[:2] = 0.0, [-1.0, 1.0]
    with pytest.raises(ValueError, match=r"features.*x1.*separate the two classes"):
        fit(X, y)


def test_a_result_of_separated_classes_says_so():
    X = columns()
    result = best_subset(X, X[:, 1] > 0, 1, loss="logistic")
    with pytest.raises(ValueError, match=r"features 1 separate the two classes.*ridge keeps finite.*bootstrap"):
        result.inference(X, X[:, 1] > 0)


@pytest.mark.parametrize("loss", ["poisson", "negative_binomial", "tweedie"])
def test_a_level_whose_counts_are_all_zero_is_refused(loss):
    rng = np.random.default_rng(1)
    X = np.column_stack([np.arange(N) < 15, rng.standard_normal(N)]).astype(float)
    y = np.where(X[:, 0] == 1.0, 0.0, rng.poisson(3.0, N))
    with pytest.raises(ValueError, match="the features x0 determine which responses are zero"):
        fit(X, y, loss)


def test_nearly_separated_classes_are_fitted():
    """One observation on the other side makes all coefficients finite."""
    X = columns(m=1)
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    order = np.argsort(X[:, 0])
    y[order[[5, -5]]] *= -1
    found = fit(X, y)
    slope = found.rows.T @ found.slope
    assert np.abs(slope).max() < 1e-9 and np.isfinite(found.coef).all()


def test_dependent_and_constant_columns_are_named():
    X = columns()
    X[:, 2] = X[:, 0] - 2.0 * X[:, 1] + 3.0
    y = np.arange(N, dtype=float)
    with pytest.raises(ValueError, match=r"the features x0, x1, x2 depend on each other linearly"):
        fit(X, y, "squared")
    X[:, 2] = 4.0
    with pytest.raises(ValueError, match=r"the feature x2 is constant in these rows"):
        fit(X, y, "squared")
    assert np.isfinite(fit(X, y, "squared", fit_intercept=False).coef).all()


def test_no_degrees_of_freedom():
    X = columns()[:4]
    with pytest.raises(ValueError, match="4 observations leave no degrees of freedom for 4 coefficients"):
        fit(X, np.arange(4.0), "squared")


@pytest.mark.parametrize("loss", [name for name in LOSSES if not hasattr(LOSSES[name], "pieces")])
def test_the_gradient_vanishes(loss):
    rng = np.random.default_rng(2)
    X = columns(2)
    y = rng.poisson(2.0, N) + 0.5 if LOSSES[loss].log_link else rng.standard_normal(N) + X[:, 0]
    y = np.where(y > 0.3, 1.0, -1.0) if LOSSES[loss].classification else y
    weights = rng.uniform(0.5, 2.0, N)
    found = fit(X, y, loss, sample_weight=weights)
    gradient = found.rows.T @ (weights * found.slope)
    assert np.abs(gradient).max() < 1e-8 * weights.sum()
    u = np.column_stack([X, np.ones(N)]) @ found.coef
    np.testing.assert_allclose(found.slope, make_loss(loss).derivative(y, u), rtol=1e-8, atol=1e-9)
    assert (found.expected_curvature is None) == (LOSSES[loss].dispersion is None)


def test_many_outliers_for_huber():
    rng = np.random.default_rng(3)
    X = columns(3)
    y = X.sum(axis=1) + np.where(np.arange(N) % 2, 100.0, 0.0) * rng.choice([-1, 1], N)
    found = fit(X, y, "huber")
    assert np.abs(found.rows.T @ found.slope).max() < 1e-8
