"""Compressed columns: products cost what is stored, and moments lose no digits to the zeros."""

import numpy as np
import pytest
import scipy.sparse as sp

from core.designs.storages import SPARSE, N, dense, many_rows, matrix
from design_contract import DesignContract
from sparsest.core.designs import Sparse


class TestSparse(DesignContract):
    """Both types of entries."""

    @pytest.fixture(params=["CSC", "CSC float32"])
    def pair(self, request):
        X = SPARSE[request.param](matrix())
        return Sparse(X), dense(X)


class TestManyRows(DesignContract):
    """More rows and columns than stored entries matter for."""

    @pytest.fixture
    def pair(self):
        X = np.where(np.random.default_rng(0).random((1111, 75)) < 0.1, many_rows(), 0.0)
        return Sparse(sp.csc_array(X)), X


def test_bytes_are_those_of_the_stored_entries():
    X = sp.csc_array(matrix().astype(np.float32))
    design, count = Sparse(X), np.diff(X.indptr)
    each = 4 + X.indices.itemsize
    for subset in ([], [2], [0, 5, 5]):
        assert design.nbytes_of(subset) == each * count[subset].sum() + X.indptr.itemsize * len(subset)
    assert design.nbytes_of([3]) < 8 * N


def test_replaced_columns():
    X = matrix()
    columns = np.asfortranarray(np.random.default_rng(0).standard_normal((N, 2)))
    other = Sparse(sp.csc_array(X)).replaced(np.array([1, 5]), columns)
    X[:, [1, 5]] = columns
    assert isinstance(other, Sparse) and np.array_equal(other.columns(np.arange(X.shape[1])), X)


def test_stored_zeros_are_zeros():
    """A column of stored zeros is constant, like one without stored entries."""
    X = matrix()
    X[:, [0, 3]] = 0.0
    stored = sp.csc_array(np.where(X == 0.0, 1.0, X))
    stored.data[stored.data == 1.0] = 0.0
    assert stored.nnz == X.size
    for one, other in zip(Sparse(stored).moments(np.ones(N)), Sparse(sp.csc_array(X)).moments(np.ones(N)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-14, atol=1e-14)
    assert (Sparse(stored).moments(np.ones(N)).variance[[0, 3]] == 0.0).all()
