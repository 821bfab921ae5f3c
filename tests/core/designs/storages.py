"""Matrices that the tests of designs share: one small matrix in every form that users give it, and awful columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp

from sparsest.core.designs import Design, Survey, view_with
from sparsest.core.designs.base import refuse_entries, settled
from sparsest.core.designs.packs import DensePack

N, P = 13, 7
WEIGHTS = np.random.default_rng(1).uniform(0.5, 2.0, N)
NAMES = [f"x{j}" for j in range(P)]


def matrix():
    """Floats that float32 holds exactly, with zeros, a constant column and one of large mean."""
    rng = np.random.default_rng(0)
    X = np.round(64.0 * rng.standard_normal((N, P))) / 64.0
    X[rng.random((N, P)) < 0.4] = 0.0
    X[:, 2] = 3.0
    X[:, 5] += 1000.0
    return X


def many_rows():
    """More rows than kernels add up at once, and more columns than they take at once."""
    return np.round(8.0 * np.random.default_rng(5).standard_normal((1111, 75))) / 8.0


def offset_columns():
    """Columns with means up to 1e15 times their deviations, a constant one, and one whose entries are nearly all 1."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((N, P)) + np.array([0.0, 1e2, 1e6, -1e9, 1e12, 1e15, 1.0])
    X[:, 6] = 1.0
    X[4, 6] = 1.0 + 2.0**-52
    return np.column_stack([X, np.full(N, 0.1)])


def read_only(X):
    X.setflags(write=False)
    return X


def with_duplicates(X):
    """A COO matrix that holds every entry in two halves."""
    half = sp.coo_array(X / 2.0)
    rows, columns = (np.tile(part, 2) for part in half.coords)
    return sp.coo_array((np.tile(half.data, 2), (rows, columns)), shape=X.shape)


def twice(X, kind):
    """A COO, CSC or CSR matrix that stores every entry of X two times, in the type of X: it stands for 2X."""
    once = kind(X)
    if kind is sp.coo_array:
        return kind((np.repeat(once.data, 2), tuple(np.repeat(part, 2) for part in once.coords)), shape=X.shape)
    return kind((np.repeat(once.data, 2), np.repeat(once.indices, 2), 2 * once.indptr), shape=X.shape)


# Designs compute with these as they are stored.
DENSE = {
    "C order": np.ascontiguousarray,
    "Fortran order": np.asfortranarray,
    "float32": lambda X: X.astype(np.float32),
    "float32 Fortran order": lambda X: np.asfortranarray(X, dtype=np.float32),
    "read-only": read_only,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "int8": lambda X: np.clip(np.round(X), -99, 99).astype(np.int8),
    "uint8 Fortran order": lambda X: np.asfortranarray(np.clip(np.abs(X), 0, 255), dtype=np.uint8),
    "int32": lambda X: np.round(X).astype(np.int32),
    "booleans": lambda X: X > 0,
}
SPARSE = {
    "CSC": sp.csc_array,
    "CSC float32": lambda X: sp.csc_array(X.astype(np.float32)),
    "CSC matrix": sp.csc_matrix,
}
# These are converted.
CONVERTED = {
    "float16": lambda X: np.round(X / 8.0).astype(np.float16),
    "int64": lambda X: np.round(X).astype(np.int64),
    "swapped bytes": lambda X: X.astype(">f8"),
    "nested lists": lambda X: X.tolist(),
    "CSC integers": lambda X: sp.csc_array(np.round(X).astype(np.int64)),
    "CSR": sp.csr_array,
    "COO": sp.coo_array,
    "COO duplicates": with_duplicates,
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "pandas mixed": lambda X: pd.DataFrame(X, columns=NAMES).astype({"x2": int}),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
}
STORAGES = {**DENSE, **SPARSE, **CONVERTED}


def standardized(design, weights, *, center, scale):
    """The view with weighted mean 0 (``center``) and mean square 1 (``scale``)."""
    return view_with(design, design.moments(weights), center=center, scale=scale)


def dense(X):
    """The float64 matrix that something stands for."""
    return X.toarray().astype(float) if sp.issparse(X) else np.asarray(X).astype(float)


class Foreign(Design):
    """A design of another package, with the abstract methods only."""

    def __init__(self, array):
        self.array = array

    @property
    def shape(self):
        return self.array.shape

    def survey(self, weights, targets=None):
        if not np.isfinite(self.array).all():
            refuse_entries()
        share = weights / weights.sum()
        about = share @ self.array
        rest = share @ (self.array - about)
        variance = share @ (self.array - about - rest) ** 2
        constant = (self.array == self.array[0]).all(axis=0)
        products = np.empty((self.shape[1], 0)) if targets is None else self.array.T @ targets
        return Survey(settled(about, rest, variance, constant, self.array[0]), products)

    def dot(self, w, subset=None):
        return (self.array if subset is None else self.columns(subset)) @ w

    def tdot(self, r, subset=None):
        return (self.array if subset is None else self.columns(subset)).T @ r

    def columns(self, subset):
        return np.asfortranarray(self.array[:, np.asarray(subset, dtype=np.intp)])

    def rows(self, keep):
        return Foreign(self.array[keep])

    def take(self, subset):
        return Foreign(self.columns(subset))

    def nbytes_of(self, subset):
        return 8 * self.shape[0] * len(subset)

    def pack(self, centred):
        return DensePack(self, centred)
