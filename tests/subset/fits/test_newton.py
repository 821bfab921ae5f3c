"""Newton's method: the minimum that a general solver finds, its dual point, and fits that are given up."""

import numpy as np
import pytest
from scipy.optimize import minimize

from samples import SMOOTH_NAMES, sample
from sparsest.core.data import make_data
from sparsest.subset.fits.linear_algebra import Coordinates
from sparsest.subset.fits.newton import Model, newton

RIDGE = 0.4


def model_of(loss, fit_intercept=True):
    X, y = sample(loss, 30, 3, 1)
    data = make_data(X, y, loss=loss, fit_intercept=fit_intercept)
    columns = data.design.columns(np.arange(3))
    coordinates = Coordinates(columns, np.full(3, RIDGE), None)
    return Model(coordinates, data.y, data.weights, data.loss, fit_intercept, data.curvature)


@pytest.mark.parametrize("loss", SMOOTH_NAMES)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_minimum_of_a_general_solver(loss, fit_intercept):
    model = model_of(loss, fit_intercept)

    def objective(x):
        b = x[3] if fit_intercept else 0.0
        return model.objective(x[:3], model.columns @ x[:3] + b)

    other = minimize(objective, np.zeros(4), method="BFGS", options={"gtol": 1e-9}).fun
    found = newton(model, None, 1e-11)
    assert found.value <= other * (1.0 + 1e-10) and found.value == pytest.approx(other, rel=1e-6)
    np.testing.assert_allclose(found.margin, model.columns @ found.t + found.b, atol=1e-10)
    assert found.value == pytest.approx(model.objective(found.t, found.margin), rel=1e-12)
    # At the minimum the dual point balances the ridge, and sums to zero under an intercept.
    np.testing.assert_allclose(model.columns.T @ found.alpha, -RIDGE * found.t, atol=1e-5)
    assert not fit_intercept or abs(found.alpha.sum()) <= 1e-6 * np.abs(found.alpha).sum()


def test_a_fit_that_cannot_be_good_enough_is_given_up():
    model = model_of("logistic")
    least = newton(model, None, 1e-11).value
    assert newton(model, (np.zeros(3), 0.0), 1e-6, unless=0.5 * least) is None
    assert newton(model, (np.zeros(3), 0.0), 1e-6, unless=1.001 * least).value == pytest.approx(least, rel=1e-6)


def test_without_time_one_step_is_made():
    model = model_of("poisson")
    start = model.objective(np.zeros(3), np.zeros(30))
    found = newton(model, (np.zeros(3), 0.0), 1e-11, expired=lambda: True)
    assert newton(model, None, 1e-11).value < found.value < start
