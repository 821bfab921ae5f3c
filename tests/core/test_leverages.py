"""Squared lengths of rows in the metric of the inverse Hessian, and leverages."""

import numpy as np
import pytest

from sparsest.core.leverages import squared_lengths


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("ridge", [0.0, 0.7])
def test_equal_to_the_inverse(ridge, fit_intercept):
    rng = np.random.default_rng(3)
    columns, curvature = rng.standard_normal((20, 4)) * [1.0, 1e3, 1e-2, 1.0], rng.uniform(0.0, 2.0, 20)
    curvature[[0, 5]] = 0.0
    rows = np.column_stack([columns, np.ones(20)]) if fit_intercept else columns
    hessian = rows.T @ (curvature[:, None] * rows) + np.diag([ridge] * 4 + [0.0] * fit_intercept)
    expected = np.diag(rows @ np.linalg.inv(hessian) @ rows.T)
    np.testing.assert_allclose(squared_lengths(columns, curvature, ridge, fit_intercept), expected, rtol=1e-9)


def test_leverages_without_a_ridge_add_up_to_the_rank():
    rng = np.random.default_rng(4)
    columns = rng.standard_normal((12, 3))
    dependent = np.column_stack([columns, columns @ [1.0, -2.0, 0.5], np.zeros(12)])
    curvature = rng.uniform(0.5, 2.0, 12)
    leverages = curvature * squared_lengths(dependent, curvature, 0.0, True)
    assert leverages.sum() == pytest.approx(4.0, rel=1e-12)
    assert leverages.max() <= 1.0 + 1e-12


def test_without_curvature_or_columns_nothing_is_determined():
    assert not squared_lengths(np.ones((3, 2)), np.zeros(3), 0.0, True).any()
    assert not squared_lengths(np.empty((3, 0)), np.ones(3), 1.0, False).any()
