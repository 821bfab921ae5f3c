"""The contract: a design of another package needs only the abstract methods; moments of any columns."""

import numpy as np
import pytest
import scipy.sparse as sp

from core.designs.storages import WEIGHTS, Foreign, N, matrix, offset_columns
from design_contract import DesignContract
from exact import exact_moments
from samples import sample
from sparsest import penalty_path
from sparsest.core.designs import Design, Moments, as_design
from sparsest.core.designs.base import FAR, settled

makers = pytest.mark.parametrize("make", [np.ascontiguousarray, np.asfortranarray, sp.csc_array])


class TestForeign(DesignContract):
    """Only the abstract methods are its own."""

    @pytest.fixture
    def pair(self):
        return Foreign(matrix()), matrix()


def test_a_design_lacks_nothing():
    class Incomplete(Foreign):
        dot = Design.dot

    with pytest.raises(TypeError, match=r"abstract method '?dot"):
        Incomplete(matrix())


def test_a_foreign_design_has_a_path():
    X, y = sample("squared", 30, 7)
    foreign, known = (penalty_path(design, y, "mcp", alphas=10, tol=1e-10) for design in (Foreign(X), X))
    np.testing.assert_allclose(foreign.coefs.toarray(), known.coefs.toarray(), atol=1e-8)


def test_columns_far_from_zero():
    deviation = np.array([1.0, 1.0, 0.5, 0.0, 0.0])
    mean = np.array([0.9, -1.1, 0.6, 1e-30, 0.0]) * FAR
    assert Moments(mean, np.zeros(5), deviation**2).far().tolist() == [1, 2, 3]


def test_settled_moments():
    """The mean is the nearest float; variances vanish for constant columns alone."""
    about, rest = np.array([1e16, 3.0, 0.1, 5.0]), np.array([1.25, 0.25, 1e-18, 7.0])
    constant = np.array([False, False, False, True])
    first = np.array([0.0, 0.0, 0.0, 9.0])
    mean, remains, variance = settled(about, rest, np.array([2.0, 0.0, -1e-20, 4.0]), constant, first)
    assert mean.tolist() == [1e16 + 2.0, 3.25, 0.1, 9.0]
    assert remains.tolist() == [-0.75, 0.0, 1e-18, 0.0]
    tiny = np.finfo(np.float64).tiny
    assert variance.tolist() == [2.0, tiny, tiny, 0.0]


@makers
def test_moments_of_columns_with_large_means(make):
    X = offset_columns()
    mean, rest, variance = as_design(make(X)).moments(WEIGHTS)
    for j in range(X.shape[1]):
        exact_mean, exact_variance = exact_moments(X[:, j], WEIGHTS)
        assert variance[j] == pytest.approx(float(exact_variance), rel=1e-13, abs=0.0)
        assert abs(float(exact_mean) - mean[j]) <= np.spacing(abs(mean[j]))
        assert abs(float(exact_mean - type(exact_mean)(mean[j])) - rest[j]) <= 1e-13 * np.sqrt(variance[j])


@makers
def test_only_equal_entries_make_a_constant_column(make):
    X = np.full((N, 4), 1e9)
    X[2, 1] += np.spacing(1e9)
    X[:, 2] = 0.0
    X[:, 3] = np.where(np.arange(N) < 3, 1e-200, 0.0)
    moments = as_design(make(X)).moments(WEIGHTS)
    assert (moments.variance == 0.0).tolist() == [True, False, True, False]
    assert moments.mean[0] == 1e9 and moments.mean[2] == 0.0


@makers
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_not_finite(make, bad):
    X = matrix()
    X[3, 4] = bad
    with pytest.raises(ValueError, match="NaN or infinity: impute or drop"):
        as_design(make(X)).survey(WEIGHTS)


@makers
def test_finite_entries_with_an_overflowing_sum(make):
    X = np.full((4, 3), 1e308)
    X[1, 1] = -1e308
    X[:, 2] = [1e200, 2e200, 3e200, 4e200]
    moments = as_design(make(X)).moments(np.ones(4))
    np.testing.assert_allclose(moments.mean, [1e308, 5e307, 2.5e200], rtol=1e-15)
    assert moments.variance.tolist() == [0.0, np.inf, np.inf]
