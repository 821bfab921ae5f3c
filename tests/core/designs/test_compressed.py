"""Compressed columns: what is stored is not copied, and buffers for columns in use grow."""

import numpy as np
import pytest
import scipy.sparse as sp

from sparsest.core.designs import compressed

N, P = 30, 8


def matrix(dtype=np.float64):
    rng = np.random.default_rng(0)
    return sp.csc_array((rng.random((N, P)) * (rng.random((N, P)) < 0.4)).astype(dtype))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_entries_stay_where_they_are(dtype):
    X = matrix(dtype)
    form = compressed.make_stored(X, np.zeros(P), np.ones(P), np.ones(N), True)
    kept, empty = (form.singles, form.entries) if dtype == np.float32 else (form.entries, form.singles)
    assert np.shares_memory(kept, X.data) and empty.size == 0
    assert (form.entries.dtype, form.singles.dtype) == (np.float64, np.float32)
    assert np.shares_memory(form.rows, X.indices)


def test_buffers_grow_and_keep_what_is_in_them():
    X = sp.csc_array(np.random.default_rng(0).standard_normal((N, 9000 // N)))
    form = compressed.make_stored(X, np.zeros(X.shape[1]), np.ones(X.shape[1]), np.ones(N), True)
    assert form.values.size == 4096
    form.begins[1], form.values[:4], form.places[:4] = 4, [1.0, 2.0, 3.0, 4.0], [5, 6, 7, 8]
    assert compressed.enlarged_stored(form, 1, 4096) is form
    larger = compressed.enlarged_stored(form, 1, 4100)
    assert larger.values.size == 8192
    np.testing.assert_array_equal(larger.values[:4], [1.0, 2.0, 3.0, 4.0])
    np.testing.assert_array_equal(larger.places[:4], [5, 6, 7, 8])
    assert compressed.enlarged_stored(larger, 1, 10 * X.nnz).values.size == 10 * X.nnz
