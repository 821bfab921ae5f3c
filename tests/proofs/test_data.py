"""The data as the checker reads them: exact shifts and scales, enclosures of variances, one fingerprint."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from proofs.helpers import indices, rule_of, sample_weights
from sparsest.proofs.bounds import ridge_below
from sparsest.proofs.columns import AllColumns
from sparsest.proofs.data import Data

seeds = st.integers(0, 10**6)


def data_of(X, y=None, weights=None, loss="squared", fit_intercept=True, scaled=False, **room):
    y = np.arange(float(len(X))) if y is None else y
    return Data(X, y, weights, rule_of(loss), fit_intercept, scaled, **room)


def exact_variance(column, weights, center):
    w = [Fraction(v) for v in weights.tolist()]
    x = [Fraction(v) for v in column.tolist()]
    mean = sum(a * b for a, b in zip(w, x, strict=True)) / sum(w) if center else 0
    return sum(a * (b - mean) ** 2 for a, b in zip(w, x, strict=True)) / sum(w)


@given(
    seeds,
    st.integers(2, 40),
    st.sampled_from([0.0, 1.0, 1e6, 1e12]),
    st.sampled_from([1e-140, 1e-8, 1.0, 1e8, 1e140]),
    st.booleans(),
    st.booleans(),
)
def test_ridges_enclose_the_exact_variance(seed, n, mean, scale, center, weighted):
    """Means up to 1e12 of the spread, weights from 1e-8 to 1e8."""
    rng = np.random.default_rng(seed)
    X = (rng.standard_normal((n, 2)) + mean * rng.standard_normal(2)) * scale
    weights = 10.0 ** rng.uniform(-8, 8, n) if weighted else np.ones(n)
    data = data_of(X, weights=weights, fit_intercept=center, scaled=True)
    block = data.block(indices(0, 1)).bounds
    _, exponents = data.scale(data.raw(indices(0, 1)))
    for j in range(2):
        exact = exact_variance(X[:, j], weights, center) / Fraction(4) ** int(exponents[j])
        assert Fraction(block.ridge_low[j]) <= exact <= Fraction(block.ridge_high[j])
        assert block.ridge_high[j] - block.ridge_low[j] <= 1e-11 * block.ridge_high[j]


@given(seeds, st.sampled_from([0.0, 1e6, 1e12]), st.sampled_from([1e-300, 1e-150, 1.0, 1e150, 1e290]))
def test_scaled_columns_are_within_a_rounding_of_exact_ones(seed, mean, scale):
    rng = np.random.default_rng(seed)
    X = (rng.standard_normal((9, 1)) + mean) * scale
    data = data_of(X)
    raw = data.raw(indices(0))
    values, exponents = data.scale(raw)
    high, low = data.exact_parts(indices(0))
    shift, factor = Fraction(data.shifts(raw)[0]), Fraction(2) ** -int(exponents[0])
    assert 0.5 <= np.abs(values).max() < 1.0
    for x, value, a, b in zip(X[:, 0], values[:, 0], high[:, 0], low[:, 0], strict=True):
        exact = (Fraction(x) - shift) * factor
        assert abs(Fraction(value) - exact) <= Fraction(1, 2**53) * abs(exact) + Fraction(1, 2**1070)
        assert abs(Fraction(a) + Fraction(b) - exact) <= Fraction(1, 2**1070)


def test_constant_columns_have_no_spread_and_a_ridge_of_one():
    X = np.array([[0.1, 0.0, 1.0], [0.1, 0.0, 2.0], [0.1, 0.0, 4.0]])
    for fit_intercept, expected in ((True, [True, True, False]), (False, [False, True, False])):
        block = data_of(X, fit_intercept=fit_intercept, scaled=True).block(indices(0, 1, 2)).bounds
        assert (block.weighted_norms == 0.0).tolist() == expected
        assert (block.ridge_low[expected] == 1.0).all() and (block.ridge_high[expected] == 1.0).all()


@given(seeds, st.sampled_from([1e-300, 1e-160, 1e-100, 1.0, 1e100, 1e160, 1e300]))
def test_ridges_of_columns_as_they_are(seed, scale):
    """``4^-e`` where it is in range, else nothing is known of it."""
    X = np.random.default_rng(seed).standard_normal((5, 1)) * scale
    data = data_of(X)
    block = data.block(indices(0)).bounds
    exact = Fraction(4) ** -int(data.scale(X)[1][0])
    assert Fraction(block.ridge_low[0]) <= exact
    assert block.ridge_high[0] == np.inf or Fraction(block.ridge_high[0]) >= exact
    assert (block.ridge_low[0] > 0.0) == (1e-140 < scale < 1e140)


@pytest.mark.parametrize("gamma", [1e-308, 1e-300, 1e-3, 1.0, 1e300, 1e308, np.inf])
def test_divided_ridges_are_lower_bounds_in_range(gamma):
    ridge = np.array([0.0, 1e-280, 1e-30, 0.3, 1.0, 1e280])
    below = ridge_below(ridge, gamma)
    for d, value in zip(ridge, below, strict=True):
        assert value == 0.0 or 1e-280 <= value <= 1e280
        assert np.isinf(gamma) or Fraction(value) <= Fraction(d) / Fraction(gamma)
    assert (below > 0.0).any() == (1e-308 <= gamma < np.inf)


# Refusals


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros((3, 0)), "rows and columns"),
        (np.zeros(3), "rows and columns"),
        (np.zeros((3, 2), dtype=complex), "real numbers"),
        (np.zeros((3, 2), dtype=np.longdouble), "at most double"),
        (np.full((3, 2), "a"), "real numbers"),
        (np.full((3, 2), None), "real numbers"),
        (np.full((3, 2), np.nan), "NaN or infinity"),
        (np.full((3, 2), np.inf), "NaN or infinity"),
        (np.full((3, 2), 2**53 + 1), "cannot represent"),
    ],
)
def test_bad_matrices(X, message):
    with pytest.raises(ValueError, match=message):
        AllColumns(data_of(X, np.arange(3.0))).read()


@pytest.mark.parametrize(
    "weights",
    [[-1.0, 1.0, 1.0], [0.0] * 3, [1.0, np.nan, 1.0], [1.0, np.inf, 1.0], [1.0] * 2, [1e-300, 1.0, 1.0], [1e300] * 3],
)
def test_bad_weights(weights):
    with pytest.raises(ValueError, match="sample_weight"):
        data_of(np.eye(3), weights=np.array(weights))


@pytest.mark.parametrize("n", [2, 9, 130, 1001])
def test_scales_do_not_depend_on_what_else_is_read(n):
    """A column read with others was shifted by another rounding of its mean, and might have another exponent."""
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, 9)) * 10.0 ** rng.uniform(-5, 5, 9)
    weights = sample_weights(n)
    for storage in (X, np.asfortranarray(X), sp.csr_array(X)):
        data = data_of(storage, np.zeros(n), weights)
        alone = [data.shifts(data.raw(indices(j)))[0] for j in range(9)]
        for few in (np.arange(9), indices(3, 1), indices(8, 0, 4, 5, 2), np.arange(0, 9, 2)):
            np.testing.assert_array_equal(data.shifts(data.raw(few)), np.array(alone)[few])
