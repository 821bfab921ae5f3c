"""Dense matrices: products and surveys in every type and order, bit for bit equal for every number of threads."""

import os

import numpy as np
import pytest

from core.designs.storages import DENSE, N, dense, many_rows, matrix, offset_columns
from design_contract import DesignContract
from exact import exact_moments
from sparsest.core.designs import Dense

orders = pytest.mark.parametrize("order", ["C", "F"])


class TestDense(DesignContract):
    """Every type and order."""

    @pytest.fixture(params=DENSE)
    def pair(self, request):
        X = DENSE[request.param](matrix())
        return Dense(X), dense(X)


class TestSmallBlocks(DesignContract):
    """Matrices of which only two columns are converted at a time."""

    @pytest.fixture(params=["C order", "float32 Fortran order", "strided", "booleans"])
    def pair(self, request):
        X = DENSE[request.param](matrix())
        return Dense(X, block_bytes=8 * N * 2), dense(X)


class TestManyRows(DesignContract):
    """More than kernels add up at once."""

    @pytest.fixture(params=["C order", "Fortran order", "float32", "float32 Fortran order", "int8"])
    def pair(self, request):
        X = DENSE[request.param](many_rows())
        return Dense(X), dense(X)


def test_no_columns():
    part = Dense(np.empty((N, 0)))
    assert part.tdot(np.ones(N)).shape == (0,)
    assert part.survey(np.ones(N), np.ones(N)).products.shape == (0,)
    assert np.array_equal(part.dot(np.empty(0)), np.zeros(N))


def test_moments_do_not_depend_on_the_memory_order():
    X = np.random.default_rng(0).standard_normal((301, 17))
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 301)
    for rows, columns in zip(Dense(X).moments(weights), Dense(np.asfortranarray(X)).moments(weights), strict=True):
        np.testing.assert_allclose(rows, columns, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("row", [0, 3, 299])
@pytest.mark.parametrize("storage", ["C order", "Fortran order", "float32", "float32 Fortran order", "strided"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_not_finite_in_any_row(storage, bad, row):
    """Also where the row has no weight."""
    X = np.random.default_rng(0).standard_normal((300, 4))
    X[row, 2] = bad
    for weight in (0.0, 1.0):
        with pytest.raises(ValueError, match="NaN or infinity"):
            Dense(DENSE[storage](X)).survey(np.where(np.arange(300) == row, weight, 1.0))


@orders
def test_moments_where_the_first_rows_are_not_like_the_others(order):
    X = np.random.default_rng(0).standard_normal((2000, 3))
    X[:300] += [0.0, 1e6, 1e12]
    weights = np.where(np.arange(2000) < 300, 1e-9, 1.0)
    moments = Dense(np.asarray(X, order=order)).moments(weights)
    for j in range(3):
        mean, variance = exact_moments(X[:, j], weights)
        assert moments.variance[j] == pytest.approx(float(variance), rel=1e-13)
        assert abs(float(mean) - moments.mean[j]) <= 1e-14 * float(variance) ** 0.5


@orders
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8])
def test_results_do_not_depend_on_the_number_of_threads(order, dtype, monkeypatch):
    rng = np.random.default_rng(0)
    X = np.asarray(20.0 * rng.standard_normal((1501, 603)), dtype=dtype, order=order)
    design, subset = Dense(X, thread_bytes=0), rng.permutation(603)[:500]
    r, w, weights = rng.standard_normal(1501), rng.standard_normal(603), rng.uniform(0.5, 2.0, 1501)
    found = []
    for n_cores in (1, 2, 5):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, n_cores=n_cores: range(n_cores), raising=False)
        moments, products = design.survey(weights, r)
        found.append((*moments, products, design.columns(subset), design.dot(w[subset], subset)))
        # BLAS has its own threads.
        if dtype != np.float64:
            found[-1] += (design.tdot(r), design.tdot(r, subset), design.dot(w))
    for others in found[1:]:
        for one, other in zip(found[0], others, strict=True):
            assert np.array_equal(one, other)


def test_surveys_do_not_depend_on_the_type():
    """Numbers that float32 and int8 hold give the same moments and products, but for the order of sums."""
    X = np.round(9.0 * np.random.default_rng(0).standard_normal((700, 70)))
    weights, y = np.random.default_rng(1).uniform(0.5, 2.0, (2, 700))
    moments, products = Dense(X).survey(weights, y)
    for dtype in (np.float32, np.int8, np.int16):
        for order in ("C", "F"):
            other = Dense(np.asarray(X, dtype=dtype, order=order)).survey(weights, y)
            np.testing.assert_allclose(other.products, products, rtol=1e-11, atol=1e-11)
            for found, wanted in zip(other.moments, moments, strict=True):
                np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", ["float32", "int8", "booleans", "strided"])
def test_parts_are_stored_alike(name):
    """What rows and columns are taken keeps the type, the order where there is one, and the bytes of an entry."""
    X = DENSE[name](matrix())
    design = Dense(X)
    for part in (design.rows(np.array([3, 1])), design.take([4, 0, 2])):
        assert part.array.dtype == X.dtype and not np.shares_memory(part.array, X)
        assert part.nbytes_of([0, 1]) == 2 * part.shape[0] * X.itemsize
    by_column = Dense(np.asfortranarray(X))
    assert by_column.rows(np.array([3, 1])).array.flags.f_contiguous and by_column.take([4, 0]).array.flags.f_contiguous


def test_columns_of_large_means_are_read_to_the_last_digit():
    X = offset_columns()
    assert np.array_equal(Dense(X).columns([5, 3]), X[:, [5, 3]])
