"""Odd but valid input: the objective is the one computed directly from the plain data."""

from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from checks import best_subset, best_subset_path
from oracles import objective, supports
from samples import sample
from sparsest.estimators import BestSubsetClassifier, BestSubsetRegressor, PenalizedRegressor
from sparsest.paths.api import penalty_path
from sparsest.runtime.events import Status
from sparsest.subset.api import near_optimal

N, P, GAMMA = 12, 4, 0.5
X, Y = sample("squared", N, P)
WHOLE = np.round(3.0 * X)
SPARSE = np.where(np.abs(WHOLE) > 3, WHOLE, 0.0)


def direct(X, y, k, gamma=GAMMA, weights=None, include=(), exclude=()):
    """The least ``½Σω(y - Xw - b)² + ‖w‖²/(2γ)`` over all supports, by normal equations."""
    X, y = np.asarray(X, dtype=np.float64), np.ravel(y).astype(np.float64)
    weights = np.ones(y.size) if weights is None else np.asarray(weights, dtype=np.float64)
    share = weights / weights.sum()
    A, r = X - share @ X, y - share @ y
    values = []
    for support in supports(X.shape[1], min(k, X.shape[1])):
        if not set(include) <= set(support) or set(exclude) & set(support):
            continue
        columns = A[:, support]
        w = np.linalg.solve((columns.T * weights) @ columns + np.eye(len(support)) / gamma, columns.T @ (weights * r))
        values.append(objective("squared", columns, r, w, 0.0, gamma, weights))
    return min(values)


def agrees(value, X=X, y=Y, k=2, precision=1e-6, **settings):
    """The result is proved, and its objective is that of the plain data."""
    result = value if hasattr(value, "objective") else best_subset(value, y, k, gamma=GAMMA, **settings)
    wanted = direct(X, y, k, **{("weights" if n == "sample_weight" else n): v for n, v in settings.items()})
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(wanted, rel=1.1e-4)
    assert result.objective >= wanted * (1.0 - precision)


def frozen(array):
    copy = array.copy()
    copy.flags.writeable = False
    return copy


def twice(X):
    """Every entry as two halves."""
    rows, columns = np.nonzero(X)
    return sp.coo_array((np.repeat(0.5 * X[rows, columns], 2), (np.repeat(rows, 2), np.repeat(columns, 2))), X.shape)


def claimed_canonical(X):
    """Every entry as two halves in a matrix that says there are no such entries."""
    rows, columns = np.nonzero(X)
    order = np.argsort(columns, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(2 * np.count_nonzero(X, axis=0))])
    data = np.repeat(0.5 * X[rows, columns][order], 2)
    matrix = sp.csc_array((data, np.repeat(rows[order], 2), indptr), shape=X.shape)
    matrix.has_canonical_format = True
    return matrix


def unsorted(X):
    matrix = sp.csc_array(X)
    flipped = [np.arange(a, b)[::-1] for a, b in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True)]
    order = np.concatenate(flipped)
    return sp.csc_array((matrix.data[order], matrix.indices[order], matrix.indptr), shape=X.shape)


# What is given, and the plain matrix that it means.
DESIGNS = {
    "read-only": (frozen(X), X),
    "Fortran order": (np.asfortranarray(X), X),
    "every second row of a view": (np.repeat(X, 2, axis=0)[::2], X),
    "reversed columns": (X[:, ::-1], X[:, ::-1]),
    "a transposed view": (np.ascontiguousarray(X.T).T, X),
    "float32": (X.astype(np.float32), X.astype(np.float32)),
    "float16": (X.astype(np.float16), X.astype(np.float16)),
    "long double": (X.astype(np.longdouble), X),
    "big endian": (X.astype(">f8"), X),
    "int8": (WHOLE.astype(np.int8), WHOLE),
    "uint64": (np.abs(WHOLE).astype(np.uint64), np.abs(WHOLE)),
    "booleans": (X > 0, X > 0),
    "objects": (X.astype(object), X),
    "large whole numbers": ((WHOLE.astype(object)) * 10**20, WHOLE * 1e20),
    "fractions": (np.array([[Fraction(int(x), 3) for x in row] for row in WHOLE]), WHOLE / 3.0),
    "lists": (X.tolist(), X),
    "tuples of arrays": (tuple(X), X),
    "np.matrix": (np.asarray(X).view(np.matrix), X),
    "masked array without masked entries": (np.ma.masked_array(X, np.zeros(X.shape, dtype=bool)), X),
    "frame": (pd.DataFrame(X), X),
    "frame with a name twice": (pd.DataFrame(X, columns=list("abab")), X),
    "frame of several types": (pd.DataFrame(WHOLE).astype({0: np.int8, 1: np.float32, 2: object}), WHOLE),
    "frame of nullable integers": (pd.DataFrame(WHOLE).astype("Int64"), WHOLE),
    "frame with another index": (pd.DataFrame(X, index=list("lkjihgfedcba")), X),
    "polars frame": (pl.DataFrame(X), X),
    "polars frame of several types": (pl.DataFrame(WHOLE).with_columns(pl.col("column_0").cast(pl.Int8)), WHOLE),
    "CSR": (sp.csr_array(SPARSE), SPARSE),
    "COO": (sp.coo_array(SPARSE), SPARSE),
    "DOK": (sp.dok_array(SPARSE), SPARSE),
    "LIL": (sp.lil_array(SPARSE), SPARSE),
    "BSR": (sp.bsr_array(SPARSE, blocksize=(3, 2)), SPARSE),
    "DIA": (sp.dia_array(SPARSE), SPARSE),
    "old sparse matrix": (sp.csr_matrix(SPARSE), SPARSE),
    "sparse integers": (sp.csc_array(SPARSE.astype(np.int16)), SPARSE),
    "sparse booleans": (sp.csc_array(SPARSE > 0), SPARSE > 0),
    "sparse float32": (sp.csc_array(SPARSE.astype(np.float32)), SPARSE),
    "sparse with unsorted indices": (unsorted(SPARSE), SPARSE),
    "sparse with entries twice": (twice(SPARSE), SPARSE),
    "sparse that hides entries twice": (claimed_canonical(SPARSE), SPARSE),
    "sparse without entries": (sp.csc_array((N, P)), np.zeros((N, P))),
    "one column": (X[:, :1], X[:, :1]),
    "constant columns": (np.column_stack([np.ones(N), X, np.full(N, 7.0)]), np.column_stack([X, np.ones((N, 2))])),
    "only constant columns": (np.ones((N, 3)), np.ones((N, 3))),
    "columns of zeros": (np.column_stack([np.zeros(N), X]), X),
    "duplicated columns": (np.hstack([X, X]), np.hstack([X, X])),
    "a column and its negative": (np.hstack([X, -X[:, :1]]), np.hstack([X, -X[:, :1]])),
    "more columns than rows": (np.hstack([X, X**2, X**3, np.abs(X)]), np.hstack([X, X**2, X**3, np.abs(X)])),
}


@pytest.mark.parametrize("kind", DESIGNS)
def test_design(kind):
    given, plain = DESIGNS[kind]
    agrees(given, plain)


RESPONSES = {
    "read-only": frozen(Y),
    "a column": Y[:, None],
    "a view": np.repeat(Y, 3)[::3],
    "float32": Y.astype(np.float32),
    "whole numbers": np.round(Y).astype(np.int8),
    "booleans": Y > 0,
    "objects": Y.astype(object),
    "a list": Y.tolist(),
    "series": pd.Series(Y, index=range(5, 5 + N)),
    "frame of one column": pd.DataFrame(Y),
    "polars series": pl.Series(Y),
    "constant": np.full(N, 3.0),
    "zero": np.zeros(N),
    "one spike": np.where(np.arange(N) == 3, 1.0, 0.0),
}


@pytest.mark.parametrize("kind", RESPONSES)
def test_response(kind):
    y = RESPONSES[kind]
    result = best_subset(X, y, 2, gamma=GAMMA)
    assert result.objective == pytest.approx(direct(X, np.asarray(y), 2), rel=1.1e-4, abs=1e-12)


WEIGHTS = np.arange(1.0, N + 1.0)
WEIGHTINGS = {
    "one number": (2, np.full(N, 2.0)),
    "a numpy number": (np.float32(0.5), np.full(N, 0.5)),
    "whole numbers": (WEIGHTS.astype(int), WEIGHTS),
    "a list": (WEIGHTS.tolist(), WEIGHTS),
    "series": (pd.Series(WEIGHTS), WEIGHTS),
    "read-only": (frozen(WEIGHTS), WEIGHTS),
    "zero for some": (np.where(WEIGHTS > 3, WEIGHTS, 0.0), np.where(WEIGHTS > 3, WEIGHTS, 0.0)),
    "a mask": (WEIGHTS > 3, WEIGHTS > 3),
    "zero for all but one": (np.where(WEIGHTS > 11, 1.0, 0.0), np.where(WEIGHTS > 11, 1.0, 0.0)),
}


@pytest.mark.parametrize("kind", WEIGHTINGS)
@pytest.mark.parametrize("make", [np.asarray, sp.csc_array, pd.DataFrame, np.ndarray.tolist])
def test_weights(kind, make):
    given, plain = WEIGHTINGS[kind]
    result = best_subset(make(X), Y, 2, gamma=GAMMA, sample_weight=given)
    assert result.objective == pytest.approx(direct(X, Y, 2, weights=plain), rel=1.1e-4, abs=1e-12)


class NumpyTrue:
    """A callback whose answer is not the True that stops a search; its name is the same in all processes."""

    def __call__(self, event):
        return np.True_

    def __repr__(self):
        return "np.True_"


SETTINGS = [
    {"k": np.int8(2)},
    {"k": np.uint64(2)},
    {"k": np.array(2)},
    {"k": 0},
    {"k": P},
    {"k": 10**30},
    {"gamma": np.float32(0.25)},
    {"gamma": np.array(2.0)},
    {"gamma": Fraction(1, 3)},
    {"gamma": 3},
    {"gamma": 1e-9},
    {"include": np.array([1], dtype=np.uint8)},
    {"include": {1, 2}},
    {"include": (1, 1)},
    {"include": pd.Series([3])},
    {"exclude": range(3)},
    {"exclude": list(range(P))},
    {"include": [0], "exclude": [3]},
    {"time_limit": np.inf},
    {"time_limit": np.float32(30.0)},
    {"time_limit": 10**20},
    {"gap_tol": np.float64(1e-6)},
    {"fit_intercept": np.bool_(True)},
    {"standardize": np.bool_(False)},
    {"method": np.str_("tree")},
    {"n_jobs": np.int64(1)},
    {"node_limit": np.int32(10**6)},
    {"max_memory": np.inf},
    {"start": (0, 0, 1)},
    {"start": {2}},
    {"start": [0, 1, 2, 3]},
    {"start": []},
    {"callback": NumpyTrue()},
]


@pytest.mark.parametrize("given", SETTINGS, ids=str)
def test_settings(given):
    result = best_subset(X, Y, **{"k": 2, "gamma": GAMMA, **given})
    plain = {name: value for name, value in given.items() if name in ("include", "exclude")}
    wanted = direct(X, Y, int(given.get("k", 2)), float(given.get("gamma", GAMMA)), **plain)
    assert result.status is Status.OPTIMAL and result.objective == pytest.approx(wanted, rel=1.1e-4)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize("method", ["tree", "local", "relaxation", "subgradient", "cuts"])
def test_smallest_data(n, p, method):
    A, y = sample("squared", n, p)
    for k in range(p + 2):
        result = best_subset(A, y, k, gamma=GAMMA, method=method)
        wanted = direct(A, y, k)
        assert result.objective >= wanted - 1e-9
        assert result.lower_bound <= wanted + 1e-9
        assert result.status is not Status.OPTIMAL or result.objective <= wanted * (1 + 1.1e-4) + 1e-12


def test_automatic_ridge():
    wanted = best_subset(X, Y, 2).objective
    asked = best_subset(X, Y, 2, gamma="auto"), best_subset_path(X, Y, [2], gamma="auto")[0]
    model = BestSubsetRegressor(2, gamma="auto", standardize=False).fit(X, Y)
    assert [result.objective for result in (*asked, model.result_)] == pytest.approx([wanted] * 3, rel=1e-9)


LABELS = np.where(np.median(Y) < Y, 1.0, -1.0)
KINDS_OF_LABELS = {
    "booleans": LABELS > 0,
    "text": np.where(LABELS > 0, "yes", "no"),
    "bytes": np.where(LABELS > 0, b"b", b"a"),
    "objects": np.where(LABELS > 0, "yes", "no").astype(object),
    "large numbers": np.where(LABELS > 0, 10**18, -(10**18)),
    "floats": np.where(LABELS > 0, 0.5, 0.25),
    "dates": np.where(LABELS > 0, np.datetime64("2021-01-01"), np.datetime64("2020-01-01")),
    "categories": pd.Series(pd.Categorical(np.where(LABELS > 0, "yes", "no"))),
    "a column": LABELS[:, None],
    "polars series": pl.Series(np.where(LABELS > 0, "yes", "no")),
}


@pytest.mark.parametrize("kind", KINDS_OF_LABELS)
def test_labels(kind):
    wanted = best_subset(X, LABELS, 2, gamma=GAMMA, loss="logistic")
    result = best_subset(X, KINDS_OF_LABELS[kind], 2, gamma=GAMMA, loss="logistic")
    chosen = X[:, result.support]
    value = objective("logistic", chosen, LABELS, result.coef[result.support], result.intercept, GAMMA)
    assert result.objective == pytest.approx(value, rel=1e-9)
    assert result.objective == pytest.approx(wanted.objective, rel=1e-8)


def test_ks_in_any_order_and_type():
    ks = [np.int8(2), 0, 99, np.uint16(1), 2]
    for k, result in zip(ks, best_subset_path(X, Y, ks, gamma=GAMMA), strict=True):
        agrees(result, k=int(k))
    for k, result in zip((3, 1), best_subset_path(X, Y, np.array([3, 1]), gamma=GAMMA, method="cuts"), strict=True):
        agrees(result, k=k)


def test_near_optimal_settings_of_numpy_types():
    result = best_subset(X, Y, 2, gamma=GAMMA)
    plain = near_optimal(result, X, Y, 0.5, 3, n_jobs=1)
    odd = near_optimal(result, X, Y, np.float32(0.5), np.int8(3), time_limit=np.inf, n_jobs=np.int8(1))
    assert len(odd.supports) == 3 and odd.objectives == pytest.approx(plain.objectives, rel=1e-9)


PATHS = [
    {"alphas": [0.1, 0.5]},
    {"alphas": (np.float32(0.5), 0.1)},
    {"alphas": pd.Series([0.5, 0.1])},
    {"alphas": [0.1, 0.5, 0.5]},
    {"alphas": [0.5, 0.1], "penalty_factor": [1] * P},
    {"alphas": [0.5, 0.1], "max_features": np.int8(P + 1)},
    {"alphas": [0.5, 0.1], "l1_ratio": 1, "tol": np.float32(1e-5)},
    {"alphas": [0.5, 0.1], "sample_weight": 3},
]


@pytest.mark.parametrize("given", PATHS, ids=str)
def test_paths(given):
    path = penalty_path(X, Y, **given)
    assert (np.diff(path.alphas) <= 0.0).all() and path.converged.all()
    scale = X.std(axis=0)

    def value(w, b, alpha):
        return 0.5 * np.mean((Y - X @ w - b) ** 2) + alpha * np.abs(w * scale).sum()

    for i, alpha in enumerate(path.alphas):
        w, b = path.coefs.toarray()[:, i], path.intercepts[i]
        at_solution = value(w, b, alpha)
        for j in range(P):
            for step in (1e-3, -1e-3):
                assert value(w + step * np.eye(P)[j], b, alpha) >= at_solution * (1.0 - 1e-6)


def test_path_without_features():
    path = penalty_path(X, Y, alphas=5, max_features=0)
    assert (path.n_nonzero == 0).all() and path.intercepts[0] == pytest.approx(Y.mean())


@pytest.mark.parametrize(
    "kind", ["CSR", "DOK", "sparse integers", "sparse that hides entries twice", "float32", "lists"]
)
def test_estimators(kind):
    given, plain = DESIGNS[kind]
    model = BestSubsetRegressor(2, gamma=GAMMA, standardize=False).fit(given, Y)
    agrees(model.result_, plain)
    np.testing.assert_allclose(model.predict(given), np.asarray(plain) @ model.coef_ + model.intercept_, rtol=1e-5)
    dense = np.asarray(plain, dtype=np.float64)
    classifier = BestSubsetClassifier(np.int8(1), gamma=np.float32(1.0)).fit(given, LABELS > 0)
    usual = BestSubsetClassifier(1, gamma=1.0).fit(dense, LABELS > 0)
    assert classifier.predict(given).dtype == bool
    np.testing.assert_allclose(classifier.decision_function(given), usual.decision_function(dense), atol=1e-4)
    penalized, usual = (PenalizedRegressor(alpha=alpha) for alpha in (np.float32(0.125), 0.125))
    np.testing.assert_allclose(
        penalized.fit(given, Y).predict(given), usual.fit(dense, Y).predict(dense), rtol=1e-3, atol=1e-3
    )
