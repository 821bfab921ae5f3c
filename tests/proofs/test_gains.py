"""Gains of columns whose coefficients have limits, against exact arithmetic."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofs.helpers import sample, sample_weights, statement_of
from sparsest.proofs.check import prove
from sparsest.proofs.columns import AllColumns, PackedColumns
from sparsest.proofs.data import Data
from sparsest.proofs.exact import prove_exactly
from sparsest.proofs.gains import Gains, _gain_above
from sparsest.proofs.splits import Diagonals
from sparsest.proofs.steps import DualPoint, Leaf, Proof

N, P = 9, 4
LIMITS = {
    "nonnegative": ((0.0,) * P, None),
    "nonpositive": (None, (0.0,) * P),
    "both": ((-0.25, 0.0, -np.inf, -3.0), (np.inf, 0.5, 0.0, 0.125)),
    "zero": ((0.0,) * P, (0.0,) * P),
    "tiny and huge": ((-5e-324, -1e308, -1e-300, 0.0), (1e308, 5e-324, 0.0, 1e-310)),
}


def exact_gain(x, alpha, gamma, low, high):
    """``max -uw - w²/(2γ)`` for ``low ≤ w ≤ high``, for columns as they are; None if it is infinite."""
    u = sum((Fraction(a) * Fraction(v) for a, v in zip(alpha, x, strict=True)), Fraction(0))
    if np.isinf(gamma):
        end = high if u < 0 else low
        return Fraction(0) if u == 0 or end == 0 else None if np.isinf(end) else -u * Fraction(end)
    w = -u * Fraction(gamma)
    w = min(w, Fraction(high)) if np.isfinite(high) else w
    w = max(w, Fraction(low)) if np.isfinite(low) else w
    return -u * w - w * w / (2 * Fraction(gamma))


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize("scale", [1e-120, 1.0, 1e120])
@given(seed=st.integers(0, 10**6))
def test_gains_are_upper_bounds(name, scale, seed):
    rng = np.random.default_rng(seed)
    X, y = sample(N, P, seed % 50)
    X = X * scale * 10.0 ** rng.uniform(-3, 3, P)
    lower, upper = LIMITS[name]
    gamma = float(rng.choice([np.inf, 0.3, 10.0])) / (scale if rng.random() < 0.5 else 1.0) ** 2
    statement = statement_of(X, y, k=2, gamma=gamma, fit_intercept=False, lower=lower, upper=upper)
    data = Data.of(statement, X, y, None)
    point = DualPoint(rng.standard_normal(N) * 10.0 ** rng.uniform(-5, 5))
    found = Gains(data, statement, Diagonals(data, gamma, ()), 1.0)
    for columns in (AllColumns(data), PackedColumns(data, np.arange(P))):
        gains, _ = found.of([point], columns)
        for j in range(P):
            truth = exact_gain(X[:, j], point.values, gamma, statement.limits_below[j], statement.limits_above[j])
            gain = float(gains[0, j])
            assert not np.isfinite(gain) or (truth is not None and truth <= Fraction(gain))


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("max_coef", [None, 0.2])
@pytest.mark.parametrize("name", [name for name in LIMITS if name != "tiny and huge"])
def test_limits_are_for_the_data_as_given(name, max_coef, fit_intercept, standardize):
    """Columns of very different sizes, which are scaled inside: both checks agree."""
    X, y = sample(N, P)
    X = X * np.array([1.0, 1e-100, 1e100, 3.0])
    lower, upper = LIMITS[name]
    size = 1.0 / np.array([1.0, 1e-100, 1e100, 3.0])
    lower, upper = (None if limit is None else tuple((size * limit).tolist()) for limit in (lower, upper))
    asked = {"k": 2, "gamma": 0.5, "fit_intercept": fit_intercept, "standardize": standardize, "max_coef": max_coef}
    weights = sample_weights(N)
    statement = statement_of(X, y, weights, lower=lower, upper=upper, **asked)
    data = Data.of(statement, X, y, weights)
    point = DualPoint(-0.3 * weights * (y - np.average(y, weights=weights)))
    proof = Proof((Leaf(0),), (point,))
    rigorous, exact = prove(data, statement, proof).bound, prove_exactly(data, statement, proof).bound
    assert rigorous <= exact and exact - rigorous <= 1e-11 * (1.0 + exact)
    free = prove(data, replace(statement, lower=None, upper=None), proof).bound
    assert free <= rigorous


def test_one_sided_limits_prove_bounds_without_a_ridge():
    """A column that a point would only use with the wrong sign gains nothing."""
    X = np.abs(sample(N, P)[0]) + 0.1
    y = -np.ones(N)
    point = DualPoint(np.ones(N))
    asked = {"k": 2, "gamma": np.inf, "fit_intercept": False}
    statement = statement_of(X, y, lower=(0.0,) * P, **asked)
    data = Data.of(statement, X, y, None)
    bound = prove(data, statement, Proof((Leaf(0),), (point,))).bound
    assert 0.5 * N * (1.0 - 1e-12) <= bound <= 0.5 * N
    free = replace(statement, lower=None)
    assert prove(data, free, Proof((Leaf(0),), (point,))).bound == 0.0


def test_overflow_and_no_number_gain_everything():
    u = np.array([np.inf, np.nan, 1e300, 0.0, np.nan])
    ridge, box = np.array([1.0, 1.0, 0.0, 0.0, 1.0]), np.array([np.inf, np.inf, 1e300, np.inf, 0.0])
    with np.errstate(all="ignore"):
        gains = _gain_above(u, ridge, box)
    assert not np.isfinite(gains[:3]).any() and gains[3:].tolist() == [0.0, 0.0]
