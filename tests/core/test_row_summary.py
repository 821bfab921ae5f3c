"""Few rows that stand for many: their moments, losses, best subsets and paths, and the bound of the errors."""

from fractions import Fraction

import dask
import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

import sparsest
from clusters import two_workers
from sparsest.core.designs import as_design

N, P = 5000, 7


def data(n=N, p=P, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * np.logspace(-2, 2, p) + 10.0 * rng.standard_normal(p)
    y = 3.0 + X[:, 1] * 20.0 - X[:, 4] + 2.0 * rng.standard_normal(n)
    return X, y, rng.integers(0, 4, n).astype(float)


def loss(X, y, weights, w, b):
    return 0.5 * float(weights @ (y - X @ w - b) ** 2)


def pieces(X, y, weights):
    for part in np.array_split(np.arange(y.size), 9):
        yield X[part], y[part], weights[part]


FORMS = {
    "array": lambda X, y, w: (X, y, w),
    "Fortran order": lambda X, y, w: (np.asfortranarray(X), y, w),
    "generator": lambda X, y, w: (pieces(X, y, w),),
    "row chunks": lambda X, y, w: (np.array_split(X, 6), np.array_split(y, 6), w),
    "sparse": lambda X, y, w: (sp.csr_array(X), y, w),
    "design": lambda X, y, w: (as_design(np.array_split(X, 3)), y, w),
    "dask": lambda X, y, w: (da.from_array(X, chunks=(1234, 3)), da.from_array(y, chunks=500), w),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_model_has_the_same_loss(form):
    X, y, weights = data()
    with dask.config.set(scheduler="threads"):
        rows = sparsest.reduce_rows(*FORMS[form](X, y, weights))
        assert rows.compare(*FORMS[form](X, y, weights)) <= 2.0 * rows.relative_error
    assert rows.X.shape == (P + 2, P) and rows.n_rows == np.count_nonzero(weights)
    assert rows.sample_weight.sum() == pytest.approx(weights.sum(), rel=1e-14)
    rng = np.random.default_rng(1)
    for _ in range(5):
        w, b = rng.standard_normal(P), float(rng.standard_normal())
        whole, reduced = loss(X, y, weights, w, b), loss(rows.X, rows.y, rows.sample_weight, w, b)
        assert reduced == pytest.approx(whole, rel=1e-11)
        assert abs(whole - reduced) <= rows.error_of(w, b) + 1e-13 * whole
        assert rows.error_of(w, b) <= 1e-8 * whole


def test_the_bound_holds_in_rational_arithmetic():
    X, y, weights = data(300, 5, 5)
    rows = sparsest.reduce_rows(X, y, weights)
    exact = [[Fraction(float(value)) for value in row] for row in np.column_stack([X, y])]
    few = [[Fraction(float(value)) for value in row] for row in np.column_stack([rows.X, rows.y])]
    center = [Fraction(float(c)) for c in rows.center]

    def moments(table, omegas):
        z = [[Fraction(1), *(value - c for value, c in zip(row, center, strict=True))] for row in table]
        size = range(len(z[0]))
        return [
            [sum(Fraction(float(o)) * row[j] * row[k] for o, row in zip(omegas, z, strict=True)) for k in size]
            for j in size
        ]

    whole, reduced = moments(exact, weights), moments(few, rows.sample_weight)
    for j in range(7):
        for k in range(7):
            scale = (float(whole[j][j]) * float(whole[k][k])) ** 0.5
            assert float(abs(whole[j][k] - reduced[j][k])) <= rows.relative_error * scale
    assert rows.relative_error < 1e-11


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("standardize", [False, True])
def test_best_subsets_and_paths(fit_intercept, standardize):
    X, y, weights = data()
    rows = sparsest.reduce_rows(X, y, weights)
    settings = {"fit_intercept": fit_intercept, "standardize": standardize}
    whole = sparsest.best_subset(X, y, 2, sample_weight=weights, **settings)
    few = sparsest.best_subset(rows.X, rows.y, 2, sample_weight=rows.sample_weight, **settings)
    assert few.support.tolist() == whole.support.tolist() and few.status == whole.status
    assert few.statement.gamma == pytest.approx(whole.statement.gamma, rel=1e-9)
    assert few.objective == pytest.approx(whole.objective, rel=1e-9)
    np.testing.assert_allclose(few.coef, whole.coef, rtol=1e-6, atol=1e-9)
    assert few.intercept == pytest.approx(whole.intercept, rel=1e-6, abs=1e-8)
    assert few.certificate.verify(rows.X, rows.y, rows.sample_weight, k=2)
    settings |= {"alphas": 8, "tol": 1e-10}
    path = sparsest.penalty_path(X, y, sample_weight=weights, **settings)
    same = sparsest.penalty_path(rows.X, rows.y, sample_weight=rows.sample_weight, **settings)
    np.testing.assert_allclose(same.alphas, path.alphas, rtol=1e-9)
    np.testing.assert_allclose(same.coefs.toarray(), path.coefs.toarray(), rtol=1e-5, atol=1e-7)


def test_a_million_rows_in_small_chunks():
    """Twenty features, never more than ten thousand rows at a time."""
    rng = np.random.default_rng(3)

    def chunks():
        for _ in range(100):
            X = rng.standard_normal((10_000, 20), dtype=np.float32)
            yield X, X[:, 2] - 0.5 * X[:, 11] + 0.05 * X[:, 17] + rng.standard_normal(10_000)

    rows = sparsest.reduce_rows(chunks())
    assert rows.n_rows == 1_000_000 and rows.X.shape == (22, 20) and rows.relative_error < 2e-11
    result = sparsest.best_subset(rows.X, rows.y, 3, sample_weight=rows.sample_weight)
    assert result.support.tolist() == [2, 11, 17] and result.status.name == "OPTIMAL"
    assert result.certificate.verify(rows.X, rows.y, rows.sample_weight, k=3)
    assert rows.error_of(result.coef, result.intercept) < 1e-8 * result.objective


def test_on_workers():
    X, y, weights = data()
    here = sparsest.reduce_rows(X, y, weights)
    with two_workers():
        there = sparsest.reduce_rows(da.from_array(X, chunks=(999, 3)), y, weights)
    np.testing.assert_allclose(there.sample_weight, here.sample_weight, rtol=1e-14)
    # The bound grows with the number of rows that are added plainly: 999 there, 5000 here.
    assert there.relative_error < there.compare(X, y, weights) < 2.0 * here.relative_error


def test_large_means_constant_and_equal_columns():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((400, 4)) + np.array([0.0, 1e6, -1e4, 5.0])
    X = np.column_stack([X, np.full(400, 0.1), X[:, 0]])
    y = X[:, 0] + rng.standard_normal(400)
    rows = sparsest.reduce_rows(X, y)
    assert np.ptp(rows.X[:, 4]) == 0.0 and rows.X[0, 4] == 0.1
    np.testing.assert_allclose(rows.X.mean(axis=0), X.mean(axis=0), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(np.cov(rows.X.T, bias=True), np.cov(X.T, bias=True), atol=1e-9)


def test_rows_of_weight_zero_may_hold_anything():
    X, y, _ = data(50)
    weights = np.ones(50)
    weights[:3] = 0.0
    spoiled = X.copy()
    spoiled[:3] = np.nan
    one, other = sparsest.reduce_rows(spoiled, y, weights), sparsest.reduce_rows(X[3:], y[3:])
    np.testing.assert_allclose(one.X, other.X, rtol=1e-12)


def test_other_data_are_told_apart():
    X, y, _ = data()
    rows = sparsest.reduce_rows(X, y)
    other = X.copy()
    other[17, 3] += 0.1
    assert rows.compare(other, y) > 1e5 * rows.relative_error


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda X, y: (X, y[1:]), "y must have 50 entries"),
        (lambda X, y: (np.where(X > 30.0, np.nan, X), y), "NaN or infinity"),
        (lambda X, y: (X, np.full(50, np.inf)), "y contains NaN or infinity"),
        (lambda X, y: (X, y, -np.ones(50)), "not negative"),
        (lambda X, y: (X, y, np.zeros(50)), "no row with a positive weight"),
        (lambda X, y: ([(X, y), (X[:, 1:], y)],), "6 columns, expected 7"),
        (lambda X, y: ([X, X],), "pairs"),
        (lambda X, y: (X * 1e200, y), "too large"),
        (lambda X, y: (X * 1e-140, y), "rescale"),
        (lambda X, y: ([],), "no row"),
    ],
)
def test_bad_input(given, message):
    X, y, _ = data(50)
    with pytest.raises(ValueError, match=message):
        sparsest.reduce_rows(*given(X, y))
