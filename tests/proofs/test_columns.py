"""Columns: a pass over all of them encloses what is exact, and packed ones are those that are read."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from proofs.helpers import assert_enclosing, indices, rule_of, sample
from proofs.test_data import data_of
from sparsest.proofs.columns import AllColumns, PackedColumns
from sparsest.proofs.data import Room
from sparsest.proofs.points import feasible
from sparsest.proofs.reading import RowBlocks

seeds = st.integers(0, 10**6)


def test_columns_that_are_read_again_are_the_packed_ones():
    X, y = sample(9, 7)
    A = np.random.default_rng(0).standard_normal((9, 4))
    for few in (np.arange(7), indices(1, 4, 6), indices()):
        one = PackedColumns(data_of(X, y), few)
        two = PackedColumns(data_of(X, y, room=Room(packed=0, block=8 * 9 * 2)), few)
        np.testing.assert_allclose(one.products(A), two.products(A), rtol=1e-12, atol=1e-13)
        for packed, read in zip(one.bounds, two.bounds, strict=True):
            np.testing.assert_array_equal(packed, read)
        if few.size:
            at = np.arange(few.size)
            np.testing.assert_array_equal(one.block(at).values, two.block(at).values)


@given(
    seeds,
    st.integers(2, 40),
    st.sampled_from([0.0, 5.0, 1e6, 1e12]),
    st.sampled_from([1e-160, 1e-60, 1.0, 1e60, 1e140]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_a_pass_over_all_columns_encloses_what_is_exact(seed, n, mean, scale, center, scaled, weighted, by_rows):
    """Variances, norms and products of every column, as fractions; outliers in the first row, constant columns."""
    rng = np.random.default_rng(seed)
    X = (rng.standard_normal((n, 6)) + mean * rng.standard_normal(6)) * scale
    X[0, 1] += 100.0 * scale
    X[:, 2] = X[0, 2]
    X[:, 3] = 0.0
    X[:, 4] *= 1e-150
    weights = 10.0 ** rng.uniform(-4, 4, n) if weighted else np.full(n, 2.0)
    stored = RowBlocks(X.shape, lambda begin, end: X[begin:end], 7) if by_rows else X
    data = data_of(stored, np.arange(float(n)), weights=weights, fit_intercept=center, scaled=scaled)
    alpha = feasible(rule_of("squared"), data.y, weights, rng.standard_normal((n, 2)), center)
    columns = AllColumns(data)
    for _ in range(2):
        assert_enclosing(columns, X, weights, alpha)
