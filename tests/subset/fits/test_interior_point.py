"""The interior-point method for piecewise linear losses, against a conic solver."""

import numpy as np
import pytest

from oracles import loss_value, objective, support_value
from samples import sample, sample_weights
from sparsest.core.losses import make_loss
from sparsest.subset.fits.interior_point import InteriorPoint, minimise, stack

LOSSES = ["hinge", "epsilon_insensitive", "quantile"]
losses = pytest.mark.parametrize("loss", LOSSES)


def never():
    return False


@losses
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_rows_are_the_loss(loss, fit_intercept):
    X, y = sample(loss, 15, 4)
    weights = sample_weights(True, 15)
    rows = stack(X, weights, make_loss(loss).pieces(y), fit_intercept)
    z = np.random.default_rng(0).standard_normal(4 + fit_intercept)
    u = X @ z[:4] + (z[4] if fit_intercept else 0.0)
    assert rows.omega @ np.maximum(rows.a - rows.margins(z), 0.0) == pytest.approx(weights @ loss_value(loss, y, u))


@losses
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("gamma", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("m", [1, 5])
def test_the_fit_is_that_of_a_conic_solver(loss, fit_intercept, gamma, m):
    X, y = sample(loss, 40, m, 3, noise=1.5)
    weights = sample_weights(True, 40)
    size = np.sqrt(weights @ X**2)
    rows = stack(X / size, weights, make_loss(loss).pieces(y), fit_intercept)
    t, b, alpha = minimise(rows, 1.0 / (gamma * size**2), fit_intercept, 1e-9, never)
    expected = support_value(loss, X, y, gamma, fit_intercept, weights)
    assert objective(loss, X, y, t / size, b, gamma, weights) == pytest.approx(expected, rel=1e-7)
    # The multipliers are a dual point with the same objective.
    kind = make_loss(loss)
    conjugate = weights @ kind.conjugate(y, kind.project(y, alpha / weights))
    assert -conjugate - 0.5 * gamma * ((X.T @ alpha) ** 2).sum() == pytest.approx(expected, rel=1e-6)
    assert not fit_intercept or abs(alpha.sum()) <= 1e-6 * np.abs(alpha).sum()


@losses
def test_slacks_and_multipliers_stay_positive_and_their_products_vanish(loss):
    X, y = sample(loss, 30, 5, 1)
    rows = stack(X, np.ones(30), make_loss(loss).pieces(y), True)
    delta = np.append(np.ones(5), 0.0)
    method = InteriorPoint(rows, delta, delta > 0.0, 2, 0.0)
    x = method.start()
    first = method.complementarity(x)
    for _ in range(200):
        following = method.step(x)
        assert following is not None
        x = following
        assert all((part > 0.0).all() for part in x.positive())
        np.testing.assert_allclose(x.beta + x.nu, rows.omega, rtol=1e-9)
        if method.complementarity(x) < 1e-8 * first:
            break
    assert method.complementarity(x) < 1e-8 * first


def test_data_that_are_not_finite_end_the_iteration():
    X, y = sample("hinge", 20, 3)
    rows = stack(X, np.ones(20), make_loss("hinge").pieces(y), False)
    broken = rows._replace(Z=np.where(rows.Z > 1.0, np.nan, rows.Z))
    method = InteriorPoint(broken, np.ones(3), np.zeros(3, dtype=bool), -1, 0.0)
    assert method.step(method.start()) is None


@losses
def test_the_iteration_ends_if_the_minimum_is_above_the_cutoff(loss):
    X, y = sample(loss, 40, 5, 3, noise=1.5)
    size = np.sqrt((X**2).sum(axis=0))
    rows, ridge = stack(X / size, np.ones(40), make_loss(loss).pieces(y), True), 1.0 / size**2
    expected = support_value(loss, X, y, 1.0, True)
    asked = []

    def value(cutoff):
        asked.clear()
        t, b, _ = minimise(rows, ridge, True, 1e-9, lambda: bool(asked.append(1)), cutoff)
        return objective(loss, X, y, t / size, b, 1.0), len(asked)

    precise, steps = value(1.001 * expected)
    assert precise == pytest.approx(expected, rel=1e-7)
    above, fewer = value(0.9 * expected)
    assert above >= expected * (1.0 - 1e-9)
    assert fewer < steps
