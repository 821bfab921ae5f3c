"""Answers do not depend on units, means or storage; data out of the numerical range are refused."""

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp

from checks import best_subset
from exact import least_squares_value
from samples import DIFFERENCES, LOSS_NAMES, sample
from sparsest.core.losses import LOSSES
from sparsest.subset.api import METHODS

STORAGES = (np.ascontiguousarray, np.asfortranarray, sp.csc_array)


def as_they_occur(n=60, seed=0):
    """Incomes, rates and ages; y depends on the second column."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([1e7 * rng.lognormal(size=n), 1e-3 * rng.uniform(size=n), rng.uniform(20, 80, n)])
    return X, 8e3 * X[:, 1] + 0.2 * rng.standard_normal(n)


@pytest.mark.parametrize("method", ["tree", "local"])
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_units_as_they_occur(method, standardize, seed):
    X, y = as_they_occur(seed=seed)
    result = best_subset(X, y, 2, gamma=np.inf, standardize=standardize, method=method)
    best = min(least_squares_value(X[:, list(pair)], y) for pair in combinations(range(3), 2))
    assert result.objective == pytest.approx(best, rel=1e-10)
    assert result.lower_bound <= best * (1.0 + 1e-12)


@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("make", STORAGES)
@pytest.mark.parametrize("mean", [2.0**20, 2.0**40])
def test_large_means(loss, make, mean):
    """Of columns and of y: entries are rounded so that they can be added without error."""
    X, y = sample(loss, 30, 5)
    X = np.round(64.0 * X) / 64.0
    plain = np.round(64.0 * y) / 64.0 if loss in DIFFERENCES else y
    offset = mean if loss in DIFFERENCES else 0.0
    expected = best_subset(X, plain, 2, gamma=1.0, loss=loss)
    result = best_subset(make(X + mean * np.array([1.0, 0.0, -1.0, 2.0, 1.0])), plain + offset, 2, gamma=1.0, loss=loss)
    assert result.support.tolist() == expected.support.tolist()
    assert result.objective == pytest.approx(expected.objective, rel=1e-8)
    assert expected.objective * (1.0 - 2e-4) <= result.lower_bound <= expected.objective * (1.0 + 1e-9)
    np.testing.assert_allclose(result.coef, expected.coef, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("standardize", [True, False])
def test_out_of_range(method, standardize):
    X, y = sample("squared", 40, 8)
    with pytest.raises(ValueError, match="rescale y"):
        best_subset(X, 1e160 * y, 2, method=method, standardize=standardize)
    with pytest.raises(ValueError, match="rescale column 0 of X"):
        best_subset(1e160 * X, y, 2, method=method, standardize=standardize)


@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("scale", [1e-70, 1e-30, 1e30, 1e70])
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("method", ["local", "relaxation"])
def test_extreme_units_give_numbers(loss, scale, standardize, method):
    X, y = sample(loss, 20, 4)
    target = y if LOSSES[loss].classification else scale * y
    cases = [(scale * X, y), (X, target), (scale * X, target)]
    # The curvature of these losses has the unit of y: with that of X squared the default ridge is out of range.
    for matrix, response in cases[: 2 if LOSSES[loss].log_link else 3]:
        result = best_subset(matrix, response, 2, loss=loss, standardize=standardize, method=method)
        assert np.isfinite(result.objective) and result.lower_bound <= result.objective
        assert np.isfinite(result.coef).all() and not np.isnan(result.lower_bound)
