"""Residuals on forced features differ from the exact ones by at most their error bounds."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofs.helpers import ExactSquares, fraction, indices, sample, sample_weights, statement_of
from sparsest.proofs.data import Data
from sparsest.proofs.last_columns import LastColumns

P = 6


@given(
    seed=st.integers(0, 10**6),
    n_forced=st.integers(0, 3),
    gamma=st.sampled_from([0.1, 1e3, np.inf]),
    fit_intercept=st.booleans(),
    standardize=st.booleans(),
    decade=st.sampled_from([0, 3, 6]),
)
def test_values_and_products_are_enclosed(seed, n_forced, gamma, fit_intercept, standardize, decade):
    """f(S), and the gain of every single feature beside S, against rational arithmetic."""
    X, y = sample(11, P, seed)
    X[:, 1] = X[:, 0] + 10.0**-decade * X[:, 1]
    weights = sample_weights(11, seed)
    statement = statement_of(X, y, weights, k=3, gamma=gamma, fit_intercept=fit_intercept, standardize=standardize)
    columns = LastColumns(Data.of(statement, X, y, weights), gamma, np.arange(P))
    forced, others = np.arange(n_forced), np.arange(n_forced, P)
    found = columns.residuals(forced, others)
    assert found is not None
    exact = ExactSquares(statement, X, y, weights)
    value = fraction(exact.value(forced.tolist()))
    assert Fraction(found.value) <= value
    scale = columns.z_norm**2
    assert found.value == pytest.approx(float(value), abs=1e-6 * scale)
    for i, j in enumerate(others.tolist()):
        gain = float(value - fraction(exact.value([*forced.tolist(), j])))
        square = found.rows[i] @ found.rows[i] + columns.ridge[j]
        product, spare = abs(found.products[i]), found.product_error
        low = max(product - spare, 0.0) ** 2 / (2.0 * (square + 3.0 * found.row_error))
        high = (product + spare) ** 2 / (2.0 * max(square - 3.0 * found.row_error, 1e-300))
        assert low * (1.0 - 1e-9) - 1e-300 <= gain <= high * (1.0 + 1e-9) + 1e-300


def test_dependent_features_leave_nothing_to_be_known():
    X, y = sample(11, P)
    X[:, 1] = 2.0 * X[:, 0]
    statement = statement_of(X, y, k=3, gamma=np.inf)
    columns = LastColumns(Data.of(statement, X, y, None), np.inf, np.arange(P))
    assert columns.residuals(indices(0, 1), indices(2, 3)) is None
    assert columns.residuals(indices(0), indices(2, 3)) is not None


def test_a_constant_column_spans_nothing():
    X, y = sample(11, P)
    X[:, 2] = 5.0
    statement = statement_of(X, y, k=3, gamma=np.inf)
    columns = LastColumns(Data.of(statement, X, y, None), np.inf, np.arange(P))
    assert columns.constant.tolist() == [False, False, True, False, False, False]
    assert columns.residuals(indices(2), indices(0)) is None


def test_responses_out_of_range_are_refused():
    X, y = sample(11, P)
    for scale in (1e-120, 1e120):
        statement = statement_of(X, scale * y, k=2)
        with pytest.raises(ValueError, match="out of range"):
            LastColumns(Data.of(statement, X, scale * y, None), 0.3, np.arange(P))
