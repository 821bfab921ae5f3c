"""The default ridge, and the grid of ridges."""

import numpy as np
import pytest

from samples import LOSS_NAMES, sample, sample_weights
from sparsest.core.data import make_data
from sparsest.core.losses import LOSSES
from sparsest.core.ridge import default_gamma, gamma_grid


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_units_do_not_matter(loss):
    """Columns in other units change the ridge by their squares; weights count as repetitions do."""
    X, y = sample(loss, 30, 4)
    data = make_data(X, y, loss=loss)
    assert default_gamma(make_data(10.0 * X, y, loss=loss)) == pytest.approx(default_gamma(data) / 100.0)
    doubled = make_data(np.vstack([X, X]), np.r_[y, y], loss=loss)
    weighted = make_data(X, y, loss=loss, sample_weight=np.full(30, 2.0))
    assert default_gamma(doubled) == pytest.approx(default_gamma(weighted)) == pytest.approx(default_gamma(data) / 2.0)


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_constant_columns_do_not_count(loss):
    X, y = sample(loss, 30, 4)
    constant = np.c_[X, np.full(30, 5.0), np.zeros(30)]
    assert default_gamma(make_data(constant, y, loss=loss)) == pytest.approx(default_gamma(make_data(X, y, loss=loss)))
    assert default_gamma(make_data(np.ones((30, 2)), y, loss=loss)) == 1.0


@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("weighted", [False, True])
def test_curvature_is_that_of_the_mean_loss(loss, weighted):
    """By differences where the loss is smooth, and positive for all."""
    X, y = sample(loss, 40, 2)
    data = make_data(X, y, loss=loss, sample_weight=sample_weights(weighted, 40))
    b, step = data.intercept_for(np.zeros(40)), 1e-4

    def mean(t):
        return data.weights @ data.loss.value(data.y, np.full(40, b + t)) / data.weights.sum()

    curvature = data.curvature
    assert 0.0 < curvature <= 10.0
    if loss in ("squared", "logistic") or LOSSES[loss].log_link:
        assert curvature == pytest.approx((mean(step) - 2.0 * mean(0.0) + mean(-step)) / step**2, rel=1e-5)


def test_a_perfect_null_model_has_some_ridge():
    X, _ = sample("epsilon_insensitive", 20, 3)
    assert make_data(X, np.zeros(20), loss="epsilon_insensitive").curvature == 1.0


def test_grid_doubles_from_the_first():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((50, 8)), rng.standard_normal(50)
    data = make_data(X, y, standardize=False, fit_intercept=False)
    grid = gamma_grid(data, 4)
    assert grid[0] == pytest.approx(8 / (4 * 50 * (X**2).sum(axis=1).max()))
    assert grid.size == 21
    np.testing.assert_allclose(grid[1:] / grid[:-1], 2.0)
    half = make_data(X, np.sign(y), loss="logistic", fit_intercept=False)
    assert gamma_grid(half, 4)[0] == pytest.approx(4.0 * grid[0])
