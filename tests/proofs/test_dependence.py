"""Exact dependences are found, and near ones are never taken for exact."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofs.helpers import sample
from sparsest.proofs.data import Data
from sparsest.proofs.dependence import independent_columns
from sparsest.proofs.losses import RULES
from sparsest.proofs.reading import ColumnBlocks


def kept(X, fit_intercept=True):
    n, p = X.shape
    return independent_columns(Data(X, np.zeros(n), None, RULES["squared"](), fit_intercept, False), np.arange(p))


def quarters(n, p, seed=0):
    """Columns whose sums are exact."""
    return np.round(4.0 * np.random.default_rng([seed, n, p]).standard_normal((n, p))) / 4.0


def test_dummies_depend_on_the_intercept_only():
    dummies = (np.arange(12)[:, None] % 3 == np.arange(3)).astype(float)
    assert kept(dummies).tolist() == [0, 1]
    assert kept(dummies, False).tolist() == [0, 1, 2]


@given(st.integers(0, 10**6), st.integers(1, 12), st.lists(st.integers(-9, 9), min_size=3, max_size=3))
def test_whole_combinations_are_found(seed, denominator, factors):
    X = quarters(14, 4, seed)
    X[:, :3] *= denominator
    X[:, 3] = X[:, :3] @ np.array(factors) / denominator + 5.0
    found = kept(X)
    assert found.tolist() == [0, 1, 2]
    changed = X.copy()
    changed[3, 3] = np.nextafter(changed[3, 3], np.inf)
    assert kept(changed).tolist() == ([0, 1, 2, 3])


def test_constant_columns_add_nothing():
    X = quarters(10, 3)
    X[:, 1] = 0.1
    assert kept(X).tolist() == [0, 2]
    assert kept(X, False).tolist() == [0, 1, 2]
    X[:, 1] = 0.0
    assert kept(X, False).tolist() == [0, 2]


@pytest.mark.parametrize("decade", range(1, 17))
def test_near_dependence_is_no_dependence(decade):
    X = sample(12, 3)[0]
    X[:, 2] = X[:, 0] * (1.0 + 10.0**-decade * np.arange(12))
    expected = [0, 1, 2] if (X[:, 2] != X[:, 0]).any() else [0, 1]
    assert kept(X).tolist() == expected


def test_columns_of_other_scales_are_related_as_given():
    X = quarters(12, 3)
    X[:, 2] = 2.0**20 * X[:, 0] - 2.0**-3 * X[:, 1]
    assert set(kept(X).tolist()) <= {0, 1, 2}
    X[:, 2] = 1000.0 * X[:, 0] - 3.0 * X[:, 1]
    assert kept(X).tolist() == [0, 1]


def test_one_observation_is_explained_by_anything():
    assert kept(np.ones((1, 3))).tolist() == [0, 1, 2]
    assert kept(np.ones((1, 3)), False).tolist() == [0, 1, 2]
    assert kept(np.zeros((1, 3)), False).tolist() == []


def test_many_columns_take_no_longer_than_a_factorisation():
    """Only columns that leave hardly anything of themselves are read again, one by one."""
    X = quarters(200, 120)
    X[:, 119] = X[:, 3] + X[:, 4]
    X[:, 50] = X[:, 7]
    read = []

    def columns(features):
        read.append(features.tolist())
        return X[:, features]

    assert kept(ColumnBlocks(X.shape, columns)).tolist() == [j for j in range(119) if j != 50]
    assert [features for features in read if len(features) == 1] == [[50], [119]]


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_as_many_columns_as_observations_are_all_kept(fit_intercept):
    X = np.random.default_rng(0).standard_normal((6, 9))
    assert kept(X, fit_intercept).tolist() == list(range(9))
    X[:, 2] = X[:, 1]
    assert kept(X[:, :4], fit_intercept).tolist() == [0, 1, 3]
