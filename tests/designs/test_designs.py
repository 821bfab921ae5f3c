"""Every design has the products of the matrix it stands for, and leaves the user's memory alone."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from checks import best_subset
from design_contract import DesignContract
from exact import exact_deviations, exact_moments
from sparsest.designs import Dense, Sparse, Standardized, as_design, standardized, take_apart
from sparsest.designs import dense as module
from sparsest.result import Status

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
    "int8": lambda X: np.clip(np.round(X), -99, 99).astype(np.int8),
    "uint8 Fortran order": lambda X: np.asfortranarray(np.clip(np.abs(X), 0, 255), dtype=np.uint8),
    "int32": lambda X: np.round(X).astype(np.int32),
    "int64": lambda X: np.round(X).astype(np.int64),
    "swapped bytes": lambda X: X.astype(">f8"),
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
CASES = [(name, view) for name in STORAGES for view in ("as given", "standardised")]
CASES += [(name, view) for name in ("C order", "CSC") for view in ("centred", "scaled")]


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


class TestDesigns(DesignContract):
    """Every storage, as it is and standardised."""

    @pytest.fixture(params=CASES, ids=", ".join)
    def pair(self, request):
        storage, view = request.param
        center, scale = VIEWS[view]
        X = STORAGES[storage](matrix())
        return standardized(as_design(X), WEIGHTS, center=center, scale=scale), explicit(X, center, scale)


class TestSmallBlocks(DesignContract):
    """Dense matrices of which only two columns are converted at a time."""

    @pytest.fixture(params=["C order", "float32 Fortran order", "strided", "booleans"])
    def pair(self, request):
        X = STORAGES[request.param](matrix())
        return Dense(X, block_bytes=8 * N * 2), dense(X)


class TestColumnsOfLargeMeans(DesignContract):
    """Views that keep columns apart."""

    @pytest.fixture(params=["C order", "float32 Fortran order", "CSC"])
    def pair(self, request):
        X = matrix()
        X[:, [0, 6]] += 2.0**15
        X = STORAGES[request.param](X)
        view = standardized(as_design(X), WEIGHTS, center=True, scale=True)
        assert view.far.tolist() == [0, 2, 6]
        return view, explicit(X, True, True)


class TestManyRows(DesignContract):
    """More rows than kernels add up at once, and more columns than they take at once."""

    @pytest.fixture(params=["C order", "Fortran order", "float32", "float32 Fortran order", "int8", "CSC"])
    def pair(self, request):
        X = STORAGES[request.param](np.round(8.0 * np.random.default_rng(5).standard_normal((1111, 75))) / 8.0)
        return as_design(X), dense(X)


@pytest.mark.parametrize(
    "name",
    [
        "C order",
        "Fortran order",
        "float32",
        "float32 Fortran order",
        "read-only",
        "strided",
        "int8",
        "int32",
        "booleans",
    ],
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
    assert part.survey(np.ones(N), np.ones(N)).products.shape == (0,)
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
        as_design(make(X)).survey(WEIGHTS)


@pytest.mark.parametrize("row", [0, 3, 299])
@pytest.mark.parametrize("storage", ["C order", "Fortran order", "float32", "float32 Fortran order", "strided"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_not_finite_in_any_row(storage, bad, row):
    """Also where the row has no weight."""
    X = np.random.default_rng(0).standard_normal((300, 4))
    X[row, 2] = bad
    for weight in (0.0, 1.0):
        with pytest.raises(ValueError, match="NaN or infinity"):
            as_design(STORAGES[storage](X)).survey(np.where(np.arange(300) == row, weight, 1.0))


@makers
def test_finite_entries_with_an_overflowing_sum(make):
    X = np.full((4, 3), 1e308)
    X[1, 1] = -1e308
    X[:, 2] = [1e200, 2e200, 3e200, 4e200]
    moments = as_design(make(X)).moments(np.ones(4))
    np.testing.assert_allclose(moments.mean, [1e308, 5e307, 2.5e200], rtol=1e-15)
    assert moments.variance.tolist() == [0.0, np.inf, np.inf]


@pytest.mark.parametrize("order", ["C", "F"])
def test_moments_where_the_first_rows_are_not_like_the_others(order):
    X = np.random.default_rng(0).standard_normal((2000, 3))
    X[:300] += [0.0, 1e6, 1e12]
    weights = np.where(np.arange(2000) < 300, 1e-9, 1.0)
    moments = as_design(np.asarray(X, order=order)).moments(weights)
    for j in range(3):
        mean, variance = exact_moments(X[:, j], weights)
        assert moments.variance[j] == pytest.approx(float(variance), rel=1e-13)
        assert abs(float(mean) - moments.mean[j]) <= 1e-14 * float(variance) ** 0.5


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8])
def test_results_do_not_depend_on_the_number_of_threads(order, dtype, monkeypatch):
    rng = np.random.default_rng(0)
    X = np.asarray(20.0 * rng.standard_normal((1501, 603)), dtype=dtype, order=order)
    design, subset = Dense(X, thread_bytes=0), rng.permutation(603)[:500]
    r, w, weights = rng.standard_normal(1501), rng.standard_normal(603), rng.uniform(0.5, 2.0, 1501)
    found = []
    for n_cores in (1, 2, 5):
        monkeypatch.setattr(module, "cores", lambda n_cores=n_cores: n_cores)
        moments, products = design.survey(weights, r)
        found.append((*moments, products, design.columns(subset), design.dot(w[subset], subset)))
        # BLAS has threads of its own.
        if dtype != np.float64:
            found[-1] += (design.tdot(r), design.tdot(r, subset), design.dot(w))
    for others in found[1:]:
        for one, other in zip(found[0], others, strict=True):
            assert np.array_equal(one, other)


def test_surveys_do_not_depend_on_the_type():
    """Numbers that float32 and int8 hold give the same moments and products, but for the order of sums."""
    X = np.round(9.0 * np.random.default_rng(0).standard_normal((700, 70)))
    weights, y = np.random.default_rng(1).uniform(0.5, 2.0, (2, 700))
    moments, products = as_design(X).survey(weights, y)
    for dtype in (np.float32, np.int8, np.int16):
        for order in ("C", "F"):
            other = as_design(np.asarray(X, dtype=dtype, order=order)).survey(weights, y)
            np.testing.assert_allclose(other.products, products, rtol=1e-11, atol=1e-11)
            for found, wanted in zip(other.moments, moments, strict=True):
                np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", ["int8", "int32", "booleans", "float32", "CSC", "uint8 Fortran order"])
def test_proof_of_a_fit_on_any_type(name):
    X = STORAGES[name](np.random.default_rng(8).standard_normal((40, P)) * 3.0)
    y = dense(X) @ np.arange(P) + np.random.default_rng(9).standard_normal(40)
    result = best_subset(X, y, 2)
    assert result.status is Status.OPTIMAL
    assert result.certificate.verify(X, y).valid
    assert result.objective == pytest.approx(best_subset(dense(X), y, 2).objective, rel=1e-12)


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
        as_design(X).survey(np.ones(1))
