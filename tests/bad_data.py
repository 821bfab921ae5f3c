"""Invalid data, each with a part of the expected error, and of scikit-learn's error if its check comes first.

The arrays of the sparse matrices contradict each other, as after reading a broken file.
"""

from __future__ import annotations

from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp

from samples import sample

N, P = 12, 4
X, Y = sample("squared", N, P)
LABELS = np.where(np.median(Y) < Y, 1, 0)
TEXT = np.where(X > 0, "high", "low")


def with_entry(value, like=X):
    """The data with one entry replaced."""
    changed = np.array(like, dtype=object if not isinstance(value, float) else None)
    changed.flat[5] = value
    return changed


def broken(form, **parts):
    """A sparse matrix of that format whose parts were replaced."""
    matrix = getattr(sp, f"{form}_array")(X)
    for name, change in parts.items():
        setattr(matrix, name, change(getattr(matrix, name).copy()))
    return matrix


def first(value):
    """Replace the first entry of an array."""

    def change(array):
        array[0] = value
        return array

    return change


def broken_dictionary():
    matrix = sp.dok_array(X)
    matrix._dict[(0, P)] = 1.0
    return matrix


def broken_lists(change):
    matrix = sp.lil_array(X)
    change(matrix)
    return matrix


REAL, FINITE, BROKEN = "must hold real numbers", "NaN or infinity", "broken sparse matrix"
TWO, EXACT = "two dimensions", "that double precision cannot represent"
HUGE = np.arange(N, dtype=np.uint64) + np.uint64(2**53 - 3)
FRAME = pd.DataFrame(X, columns=list("abcd"))

# X, the error of the functions, and the error of the estimators if scikit-learn checks first.
BAD_X = {
    "NaN": (with_entry(np.nan), FINITE, "contains NaN"),
    "infinity": (with_entry(np.inf), FINITE, "contains infinity"),
    "minus infinity": (with_entry(-np.inf), FINITE, "contains infinity"),
    "float32 NaN": (with_entry(np.nan).astype(np.float32), FINITE, "contains NaN"),
    "None entry": (with_entry(None), FINITE, "contains NaN"),
    "nothing": (None, TWO, None),
    "a number": (3.0, TWO, None),
    "a file name": ("data.csv", TWO, None),
    "a dictionary": ({"a": [1, 2]}, TWO, None),
    "a generator": ((row for row in X), TWO, None),
    "a function": (np.ones, TWO, None),
    "one dimension": (X[:, 0], "reshape", "2D array"),
    "three dimensions": (X[:, :, None], TWO, "dim 3"),
    "an empty list": ([], TWO, "2D array"),
    "no rows": (X[:0], "at least one row", "0 sample"),
    "no columns": (X[:, :0], "at least one row and one column", "0 feature"),
    "no entries in lists": ([[], []], "at least one row and one column", "0 feature"),
    "too few rows": (X[:-1], "X has 11 rows but y has 12", "inconsistent numbers of samples"),
    "ragged lists": ([[1.0, 2.0], [3.0]], "rows may have different lengths", None),
    "text": (TEXT, REAL, None),
    "text that looks like numbers": (X.astype(str), REAL, None),
    "bytes": (X.astype("S"), REAL, None),
    "one text among numbers": (with_entry("1.5"), REAL, None),
    "one list among numbers": (with_entry([1.0]), REAL, "setting an array element"),
    "one date among numbers": (with_entry(date(2020, 1, 1)), REAL, "date"),
    "one date of NumPy's among numbers": (with_entry(np.datetime64("2020-01-01")), REAL, None),
    "one complex number among objects": (with_entry(1j), REAL, "complex"),
    "an integer beyond floats": (with_entry(10**400), REAL, None),
    "dates": (X.astype("datetime64[D]"), REAL, None),
    "durations": (X.astype("timedelta64[D]"), REAL, None),
    "complex numbers": (X + 0j, REAL, "Complex data not supported"),
    "records": (np.zeros((N, P), dtype=[("a", float), ("b", float)]), REAL, None),
    "masked entries": (np.ma.masked_array(X, X > 1.0), "masked entries", None),
    "frame with text": (FRAME.assign(b="x"), REAL, None),
    "frame with dates": (FRAME.assign(b=pd.Timestamp("2020-01-01")), REAL, "DType"),
    "frame with durations": (FRAME.assign(b=pd.Timedelta("1D")), REAL, "DType"),
    "frame with categories": (FRAME.assign(b=pd.Categorical(["u", "v"] * 6)), REAL, None),
    "frame with NA": (FRAME.assign(b=pd.array([None] + [1] * 11, dtype="Int64")), "missing values", "NaN"),
    "frame with nothing": (FRAME.assign(b=None), FINITE, "NaN"),
    "frame without rows": (FRAME[:0], "at least one row", "0 sample"),
    "a series": (FRAME["a"], TWO, "2-dimensional"),
    "polars frame with text": (pl.DataFrame({"a": X[:, 0], "b": ["x"] * N}), REAL, None),
    "polars frame with null": (pl.DataFrame({"a": X[:, 0], "b": [None] + [1.0] * 11}), FINITE, "NaN"),
    "polars frame with dates": (pl.DataFrame({"a": X[:, 0], "b": [date(2020, 1, 1)] * N}), REAL, None),
    "lazy polars frame": (pl.DataFrame({"a": X[:, 0]}).lazy(), TWO, None),
    "whole numbers beyond double precision": (np.column_stack([HUGE] * P), EXACT, None),
    "negative ones": (-np.column_stack([HUGE] * P).astype(np.int64), EXACT, None),
    "such a whole number among objects": (with_entry(2**53 + 1), EXACT, None),
    "sparse whole numbers beyond double precision": (sp.csr_array(np.column_stack([HUGE] * P)), EXACT, None),
    "sparse NaN": (sp.csc_array(with_entry(np.nan)), FINITE, "contains NaN"),
    "sparse infinity": (sp.coo_array(with_entry(np.inf)), FINITE, "contains infinity"),
    "sparse complex": (sp.csc_array(X + 0j), REAL, None),
    "sparse objects": (broken("csc", data=lambda a: a.astype(object)), REAL, None),
    "sparse vector": (sp.coo_array(X[:, 0]), TWO, None),
    "sparse without rows": (sp.csr_array((0, P)), "at least one row", "0 sample"),
    "CSC with an index too large": (broken("csc", indices=first(N)), BROKEN, None),
    "CSC with a gigantic index": (broken("csc", indices=first(2**31 - 1)), BROKEN, None),
    "CSC with a negative index": (broken("csc", indices=first(-1)), BROKEN, None),
    "CSC with float indices": (broken("csc", indices=lambda a: a.astype(float)), BROKEN, None),
    "CSC with a falling indptr": (broken("csc", indptr=lambda a: a[[0, 2, 1, 3, 4]]), BROKEN, None),
    "CSC with an indptr from 1": (broken("csc", indptr=first(1)), BROKEN, None),
    "CSC with an indptr beyond its entries": (broken("csc", indptr=lambda a: a + np.arange(5)), BROKEN, None),
    "CSC with a short indptr": (broken("csc", indptr=lambda a: a[:-1]), BROKEN, None),
    "CSC with a long indptr": (broken("csc", indptr=lambda a: np.append(a, a[-1])), BROKEN, None),
    "CSC with too few entries": (broken("csc", data=lambda a: a[:-3]), BROKEN, None),
    "CSC with a matrix of entries": (broken("csc", data=lambda a: a[:, None]), BROKEN, None),
    "CSR with an index too large": (broken("csr", indices=first(P)), BROKEN, None),
    "CSR with a falling indptr": (broken("csr", indptr=lambda a: a[::-1].copy()), BROKEN, None),
    "BSR with an index too large": (broken("bsr", indices=first(99)), BROKEN, None),
    "BSR with flat blocks": (broken("bsr", data=lambda a: a[:, :, 0]), BROKEN, None),
    "BSR with blocks that do not fill it": (broken("bsr", data=lambda a: np.ones((len(a), 5, 5))), BROKEN, None),
    "COO with a row too large": (broken("coo", row=first(N)), BROKEN, None),
    "COO with a negative column": (broken("coo", col=first(-1)), BROKEN, None),
    "COO with too few entries": (broken("coo", data=lambda a: a[:-1]), BROKEN, None),
    "DOK with a column too large": (broken_dictionary(), BROKEN, None),
    "LIL with a column too large": (broken_lists(lambda m: m.rows[0].__setitem__(0, P)), BROKEN, None),
    "LIL with too few entries": (broken_lists(lambda m: m.data[0].pop()), BROKEN, None),
    "LIL with too few rows": (broken_lists(lambda m: setattr(m, "rows", m.rows[:-1])), BROKEN, None),
    "DIA with too few diagonals": (broken("dia", data=lambda a: a[:-1]), BROKEN, None),
}

ONE = "y must be one-dimensional"
BAD_Y = {
    "NaN": (with_entry(np.nan, Y), FINITE, "contains NaN"),
    "infinity": (with_entry(np.inf, Y), FINITE, "contains infinity"),
    "None entry": (with_entry(None, Y), FINITE, "contains NaN"),
    "nothing": (None, ONE, "requires y"),
    "a number": (1.0, ONE, None),
    "a name": ("target", ONE, None),
    "two columns": (np.column_stack([Y, Y]), ONE, "columns, but this estimator fits one"),
    "a row": (Y[None], ONE, "columns, but this estimator fits one"),
    "three dimensions": (Y[:, None, None], ONE, None),
    "too short": (Y[:-1], "X has 12 rows but y has 11", "inconsistent numbers of samples"),
    "too long": (np.append(Y, 0.0), "X has 12 rows but y has 13", "inconsistent numbers of samples"),
    "empty": ([], "y has 0 entries", "inconsistent numbers of samples"),
    "ragged": ([[1.0], [1.0, 2.0]], "rows may have different lengths", None),
    "text": (["low", "high"] * 6, REAL, None),
    "text that looks like numbers": (Y.astype(str), REAL, None),
    "complex": (Y + 0j, REAL, "Complex data not supported"),
    "dates": (Y.astype("datetime64[D]"), REAL, None),
    "masked entries": (np.ma.masked_array(Y, Y > 0.0), "masked entries", None),
    "an integer beyond floats": (with_entry(10**400, Y), REAL, None),
    "whole numbers beyond double precision": (HUGE, EXACT, None),
    "such a whole number among objects": (with_entry(2**53 + 1, Y), EXACT, None),
    "series with NA": (pd.Series([None] + [1] * 11, dtype="Int64"), "y ", "y "),
    "sparse": (sp.csc_array(Y[:, None]), ONE, None),
}

BAD_LABELS = {
    "one class": (np.ones(N), "got 1 class", "only one class"),
    "three classes": (np.arange(N) % 3, "got 3 class", "Only binary"),
    "numbers": (Y, "got 12 class", "Unknown label type"),
    "unsortable": (with_entry("a", LABELS), "cannot be sorted", "nknown label type"),
    "None label": (with_entry(None, LABELS), "cannot be sorted", "nknown label type"),
    "NaN": (with_entry(np.nan, LABELS.astype(float)), FINITE, "contains NaN"),
    "NaN object": (with_entry(np.nan, LABELS.astype(object)), "missing labels", "NaN"),
    "not a date": (with_entry(np.datetime64("NaT"), LABELS).astype("datetime64[D]"), "y ", "y "),
    "lists": (np.array([[0], [1, 2], []] * 4, dtype=object), "got 3 class", "multi-label"),
    "two columns": (np.column_stack([LABELS, LABELS]), ONE, "columns, but this estimator fits one"),
    "masked": (np.ma.masked_array(LABELS, LABELS > 0), "masked entries", None),
    "too short": (LABELS[:-1], "X has 12 rows but y has 11", "inconsistent numbers of samples"),
}

WEIGHTS = "sample_weight"
BAD_WEIGHTS = {
    "too short": np.ones(N - 1),
    "too long": np.ones(N + 1),
    "empty": [],
    "a matrix": np.ones((N, 2)),
    "a column": np.ones((N, 1)),
    "one negative": with_entry(-1.0, np.ones(N)),
    "all negative": -np.ones(N),
    "a negative number": -1.0,
    "NaN": with_entry(np.nan, np.ones(N)),
    "infinity": with_entry(np.inf, np.ones(N)),
    "all zero": np.zeros(N),
    "zero": 0,
    "text": "balanced",
    "text entries": ["1"] * N,
    "complex": np.ones(N) + 0j,
    "a dictionary": {0: 1.0, 1: 2.0},
    "masked entries": np.ma.masked_array(np.ones(N), Y > 0),
    "ragged": [[1.0], [1.0, 2.0]],
    "whole numbers beyond double precision": HUGE,
}
