"""Every design has the products of the matrix it stands for, and leaves the user's memory alone."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from exact import exact_deviations, exact_moments
from sparsest import designs
from sparsest.api import best_subset
from sparsest.designs import Dense, Sparse, Standardized, as_design, standardized, take_apart

N, P = 13, 7
WEIGHTS = np.random.default_rng(1).uniform(0.5, 2.0, N)


def matrix():
    """Floats that float32 holds exactly, with zeros, a constant column and one of large mean."""
    rng = np.random.default_rng(0)
    X = np.round(64.0 * rng.standard_normal((N, P))) / 64.0
    X[rng.random((N, P)) < 0.4] = 0.0
    X[:, 2] = 3.0
    X[:, 5] += 1000.0
    return X


def read_only(X):
    X.setflags(write=False)
    return X


def with_duplicates(X):
    """A COO matrix that holds every entry in two halves."""
    half = sp.coo_array(X / 2.0)
    rows, columns = (np.tile(part, 2) for part in half.coords)
    return sp.coo_array((np.tile(half.data, 2), (rows, columns)), shape=X.shape)


NAMES = [f"x{j}" for j in range(P)]
STORAGES = {
    "C order": np.ascontiguousarray,
    "Fortran order": np.asfortranarray,
    "float32": lambda X: X.astype(np.float32),
    "float32 Fortran order": lambda X: np.asfortranarray(X, dtype=np.float32),
    "float16": lambda X: np.round(X / 8.0).astype(np.float16),
    "read-only": read_only,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "integers": lambda X: np.round(X).astype(np.int32),
    "booleans": lambda X: X > 0,
    "nested lists": lambda X: X.tolist(),
    "CSC": sp.csc_array,
    "CSC float32": lambda X: sp.csc_array(X.astype(np.float32)),
    "CSC integers": lambda X: sp.csc_array(np.round(X).astype(np.int64)),
    "CSC matrix": sp.csc_matrix,
    "CSR": sp.csr_array,
    "COO": sp.coo_array,
    "COO duplicates": with_duplicates,
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "pandas mixed": lambda X: pd.DataFrame(X, columns=NAMES).astype({"x2": int}),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
}
VIEWS = {"as given": (False, False), "centred": (True, False), "scaled": (False, True), "standardised": (True, True)}


def dense(X):
    return X.toarray().astype(float) if sp.issparse(X) else np.asarray(X).astype(float)


def explicit(X, center, scale):
    """The standardised matrix, written out."""
    X = dense(X)
    if center:
        X = X - np.average(X, axis=0, weights=WEIGHTS)
    if scale:
        size = np.sqrt(np.average(X**2, axis=0, weights=WEIGHTS))
        X = X / np.where(size > 1e-9, size, 1.0)
    return X


@pytest.fixture(params=VIEWS)
def view(request):
    return VIEWS[request.param]


@pytest.fixture(params=STORAGES)
def pair(request, view):
    """A design and the matrix it stands for."""
    center, scale = view
    X = STORAGES[request.param](matrix())
    design = standardized(as_design(X), WEIGHTS, center=center, scale=scale)
    return design, explicit(X, center, scale)


def close(actual, expected):
    assert actual.dtype == np.float64
    # Means of a thousand are subtracted from columns of deviation one.
    np.testing.assert_allclose(actual, expected, rtol=1e-11, atol=1e-10 * np.abs(expected).max(initial=1.0))


def check_products(design, X):
    rng = np.random.default_rng(2)
    w, r, block = rng.standard_normal(P), rng.standard_normal(N), rng.standard_normal((N, 3))
    few = np.zeros(P)
    few[4] = 2.0
    assert design.shape == (N, P)
    close(design.dot(w), X @ w)
    close(design.dot(few), X @ few)
    close(design.dot(0.0 * w), np.zeros(N))
    close(design.tdot(r), X.T @ r)
    close(design.tdot(block), X.T @ block)
    close(design.column_norms(), np.linalg.norm(X, axis=0))
    mean, rest, variance = design.moments(WEIGHTS)
    close(mean + rest, np.average(X, axis=0, weights=WEIGHTS))
    close(variance, np.average((X - mean) ** 2, axis=0, weights=WEIGHTS))
    assert design.max_row_norm() == pytest.approx(np.linalg.norm(X, axis=1).max(), rel=1e-12)


def test_products(pair):
    check_products(*pair)


def test_products_in_small_blocks(pair, monkeypatch):
    monkeypatch.setattr(designs, "_BLOCK_BYTES", 8 * N * 3)
    check_products(*pair)


def test_columns_and_gram(pair):
    design, X = pair
    for subset in ([], [3], [5, 0, 3], np.arange(P)):
        index = np.asarray(subset, dtype=np.intp)
        block = design.columns(subset)
        assert block.flags.f_contiguous and block.flags.writeable
        close(block, X[:, index])
        close(design.gram(subset), X[:, index].T @ X[:, index])
        close(design.gram(subset, WEIGHTS), X[:, index].T @ (WEIGHTS[:, None] * X[:, index]))


def test_columns_are_a_copy(pair):
    design, X = pair
    design.columns([0, 1])[:] = -99.0
    close(design.columns(np.arange(P)), X)


@pytest.mark.parametrize(
    "name", ["C order", "Fortran order", "float32", "float32 Fortran order", "read-only", "strided"]
)
def test_dense_is_not_copied(name):
    X = STORAGES[name](matrix())
    design = as_design(X)
    assert isinstance(design, Dense) and np.shares_memory(design.array, X)
    view = standardized(design, WEIGHTS, center=True, scale=True)
    assert isinstance(view, Standardized) and view.base is design


@pytest.mark.parametrize("name", ["CSC", "CSC float32", "CSC matrix"])
def test_sparse_is_not_copied(name):
    X = STORAGES[name](matrix())
    design = as_design(X)
    assert isinstance(design, Sparse) and np.shares_memory(design.matrix.data, X.data)


def test_data_frame_is_not_copied():
    frame = pd.DataFrame(matrix())
    assert np.shares_memory(as_design(frame).array, frame.to_numpy())


@pytest.mark.parametrize("name", STORAGES)
def test_fit_changes_nothing(name):
    X = STORAGES[name](matrix())
    before, y = dense(X).copy(), np.arange(N, dtype=float)
    best_subset(X, y, 2, standardize=True, sample_weight=WEIGHTS)
    assert np.array_equal(dense(X), before)
    assert np.array_equal(y, np.arange(N))
    if name == "COO duplicates":
        assert X.nnz == 2 * np.count_nonzero(before)


@pytest.mark.parametrize("make", [np.asarray, sp.csc_array])
def test_no_columns(make):
    design = as_design(make(matrix()))
    part = Dense(design.columns([]))
    assert part.tdot(np.ones(N)).shape == (0,)
    assert np.array_equal(part.dot(np.empty(0)), np.zeros(N))


def test_a_design_is_taken_as_it_is():
    design = as_design(matrix())
    assert as_design(design) is design
    assert standardized(design, WEIGHTS, center=False, scale=False) is design


def test_constant_columns_keep_their_scale():
    X = np.full((N, 2), 1e6) + np.array([0.0, 1e-3]) * np.arange(N)[:, None]
    view = standardized(as_design(X), WEIGHTS, center=True, scale=True)
    assert view.scale[0] == 1.0
    assert view.scale[1] == pytest.approx(1e-3 * np.sqrt(np.cov(np.arange(N), aweights=WEIGHTS, ddof=0)), rel=1e-6)


def offset_columns():
    """Columns with means up to 1e15 times their deviations, a constant one, and one whose entries are nearly all 1."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((N, P)) + np.array([0.0, 1e2, 1e6, -1e9, 1e12, 1e15, 1.0])
    X[:, 6] = 1.0
    X[4, 6] = 1.0 + 2.0**-52
    return np.column_stack([X, np.full(N, 0.1)])


makers = pytest.mark.parametrize("make", [np.ascontiguousarray, np.asfortranarray, sp.csc_array])


@makers
def test_moments_of_columns_with_large_means(make):
    X = offset_columns()
    mean, rest, variance = as_design(make(X)).moments(WEIGHTS)
    for j in range(X.shape[1]):
        exact_mean, exact_variance = exact_moments(X[:, j], WEIGHTS)
        assert variance[j] == pytest.approx(float(exact_variance), rel=1e-13, abs=0.0)
        assert abs(float(exact_mean) - mean[j]) <= np.spacing(abs(mean[j]))
        assert abs(float(exact_mean - type(exact_mean)(mean[j])) - rest[j]) <= 1e-13 * np.sqrt(variance[j])


def test_moments_do_not_depend_on_the_memory_order():
    X = np.random.default_rng(0).standard_normal((301, 17))
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 301)
    for rows, columns in zip(
        as_design(X).moments(weights), as_design(np.asfortranarray(X)).moments(weights), strict=True
    ):
        np.testing.assert_allclose(rows, columns, rtol=1e-13, atol=1e-15)


@makers
@pytest.mark.parametrize("scale", [False, True])
def test_products_with_columns_of_large_means(make, scale):
    """They are right to a few roundings of the centred column, as far as means of a thousand deviations allow."""
    X = offset_columns()
    view = standardized(as_design(make(X)), WEIGHTS, center=True, scale=scale)
    exact = np.column_stack([exact_deviations(column, WEIGHTS) for column in X.T])
    if scale:
        exact /= np.sqrt([float(exact_moments(column, WEIGHTS)[1]) or 1.0 for column in X.T])
    norms = np.linalg.norm(exact, axis=0)
    rng = np.random.default_rng(4)
    r, w = rng.standard_normal((N, 2)), rng.standard_normal(X.shape[1])
    assert (np.abs(view.columns(np.arange(X.shape[1])) - exact) <= 1e-13 * norms).all()
    assert (np.abs(view.tdot(r) - exact.T @ r) <= 1e-12 * norms[:, None]).all()
    assert (np.abs(view.tdot(r[:, 0]) - exact.T @ r[:, 0]) <= 1e-12 * norms).all()
    assert (np.abs(view.dot(w) - exact @ w) <= 1e-12 * norms.sum()).all()
    moments = view.moments(WEIGHTS)
    assert (np.abs(moments.mean) <= 1e-13 * norms).all()
    np.testing.assert_allclose(moments.variance * WEIGHTS.sum(), WEIGHTS @ exact**2, rtol=1e-12)


@pytest.mark.parametrize("make", [np.asarray, sp.csc_array])
def test_only_columns_with_large_means_are_copied(make):
    design = as_design(make(offset_columns()))
    view = standardized(design, WEIGHTS, center=True, scale=True)
    assert view.base is design
    assert view.far.tolist() == [2, 3, 4, 5, 6, 7] and view.packed.shape == (N, 6)
    assert standardized(as_design(make(matrix()[:, :5] / 3.0)), WEIGHTS, center=True, scale=True).far.tolist() == [2]
    assert standardized(design, WEIGHTS, center=False, scale=True).far.size == 0


@pytest.mark.parametrize("make", [np.asarray, sp.csc_array])
def test_a_view_taken_apart_is_the_view(make):
    view = standardized(as_design(make(offset_columns())), WEIGHTS, center=True, scale=True)
    stored, shift, scale = take_apart(view)
    every = np.arange(view.shape[1])
    np.testing.assert_allclose((stored.columns(every) - shift) / scale, view.columns(every), atol=1e-13)


@pytest.mark.parametrize("make", [np.asarray, sp.csc_array])
def test_only_equal_entries_make_a_constant_column(make):
    X = np.full((N, 4), 1e9)
    X[2, 1] += np.spacing(1e9)
    X[:, 2] = 0.0
    X[:, 3] = np.where(np.arange(N) < 3, 1e-200, 0.0)
    moments = as_design(make(X)).moments(WEIGHTS)
    assert (moments.variance == 0.0).tolist() == [True, False, True, False]
    assert moments.mean[0] == 1e9 and moments.mean[2] == 0.0


@pytest.mark.parametrize("make", [np.asarray, sp.csc_array])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_not_finite(make, bad):
    X = matrix()
    X[3, 4] = bad
    with pytest.raises(ValueError, match="NaN or infinity"):
        as_design(make(X))


def test_finite_entries_with_an_overflowing_sum():
    X = np.full((4, 3), 1e308)
    assert as_design(X).array is X


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.ones(3), r"two dimensions, got 1; reshape a single column"),
        (np.ones((2, 2, 2)), "two dimensions, got 3"),
        (np.ones((0, 3)), r"at least one row and one column, got shape \(0, 3\)"),
        (np.ones((3, 0)), "at least one row and one column"),
        (sp.csc_array((0, 3)), "at least one row and one column"),
        ([["a", "b"]], "X must hold real numbers"),
        (pd.DataFrame({"a": ["x", "y"]}), "X must hold real numbers"),
        (np.ones((2, 2), dtype=complex), "X must hold real numbers"),
        (sp.csc_array(np.ones((2, 2), dtype=complex)), "X must hold real numbers"),
        (np.ones((2, 2), dtype="datetime64[D]"), "X must hold real numbers"),
        ([[1.0, None]], "NaN or infinity"),
    ],
    ids=str,
)
def test_bad_matrix(X, message):
    with pytest.raises(ValueError, match=message):
        as_design(X)
