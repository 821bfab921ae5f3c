"""Proofs that leave no gap but rounding: where a bound is the optimum to the last digits, it is still not above it.

Scales, means, offsets, weights and ridges are odd, and columns nearly depend on others.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs.helpers import optimum_of, statement_of
from sparsest.proofs.check import prove
from sparsest.proofs.data import Data
from sparsest.proofs.splits import centred_columns
from sparsest.proofs.steps import (
    LEAF,
    Combination,
    DualPoint,
    Leaf,
    PrimalPoint,
    Proof,
    Regression,
    RegressionTree,
    Split,
    SplitPoint,
)

KINDS = ("primal", "dual", "combination", "split", "regression", "tree")


def odd_data(rng):
    n, p = int(rng.integers(2, 13)), int(rng.integers(1, 5))
    X, y = rng.standard_normal((n, p)), rng.standard_normal(n)
    if p > 1 and rng.random() < 0.3:
        X[:, 1] = X[:, 0] * (1.0 + 10.0 ** rng.uniform(-16, -2) * rng.standard_normal(n))
    if rng.random() < 0.5:
        X = X + 10.0 ** rng.uniform(0, 14) * rng.standard_normal(p)
    if rng.random() < 0.5:
        X = X * 10.0 ** rng.uniform(-8, 8, p)
    if rng.random() < 0.3:
        y = y + 10.0 ** rng.uniform(0, 14)
    if rng.random() < 0.3:
        y = y * 10.0 ** rng.uniform(-8, 8)
    return X, y, 10.0 ** rng.uniform(-8, 8, n) if rng.random() < 0.3 else None


def best_coefficients(data, statement):
    """The regression on all features, its residual, and a diagonal that it can spare nearly all of."""
    columns = centred_columns(data, np.arange(data.p), statement.gamma)
    M = columns.values.T @ columns.values + np.diag(columns.ridge)
    z = data.y - (data.weights @ data.y / data.total if data.fit_intercept else 0.0)
    z = np.sqrt(data.weights) * z
    w = np.linalg.lstsq(M, columns.values.T @ z, rcond=None)[0]
    unit = np.sqrt(np.maximum(M.diagonal(), 1e-300))
    spare = max(np.linalg.eigvalsh(M / np.outer(unit, unit))[0], 1e-18)
    alpha = -np.sqrt(data.weights) * (z - columns.values @ w)
    return w / columns.units, alpha, 0.999 * spare * unit**2 * columns.units**2


def proofs_of(w, alpha, delta):
    """A proof of each kind, about the same coefficients."""
    features = np.arange(w.size)
    points = (PrimalPoint(features, w, 0.0), DualPoint(alpha), SplitPoint(features, w, 0))
    steps = {
        "primal": Leaf(0),
        "dual": Leaf(1),
        "combination": Combination(np.arange(2), np.array([0.3, 0.4])),
        "split": Leaf(2),
        "regression": Regression(),
        "tree": RegressionTree(features, w, np.array([LEAF], dtype=np.int32)),
    }
    return {name: Proof((step,), points, (Split(features, delta),)) for name, step in steps.items()}


@settings(max_examples=150)
@given(
    seed=st.integers(0, 10**6),
    gamma=st.sampled_from([np.inf, 1e-6, 1e-2, 1.0, 1e3, 1e12]),
    fit_intercept=st.booleans(),
    standardize=st.booleans(),
)
def test_tight_bounds_are_not_above_the_optimum(seed, gamma, fit_intercept, standardize):
    X, y, weights = odd_data(np.random.default_rng(seed))
    p = X.shape[1]
    asked = {"k": p, "include": tuple(range(p)), "gamma": gamma, "standardize": standardize}
    statement = statement_of(X, y, weights, fit_intercept=fit_intercept, **asked)
    data = Data.of(statement, X, y, weights)
    optimum = optimum_of(statement, X, y, weights)
    for proof in proofs_of(*best_coefficients(data, statement)).values():
        for enough in (np.inf, float(optimum)):
            assert prove(data, statement, proof, enough).bound <= optimum


@given(seed=st.integers(0, 10**6), gamma=st.sampled_from([np.inf, 1e3]), fit_intercept=st.booleans())
def test_bounds_of_squares_that_underflow_are_not_above_the_optimum(seed, gamma, fit_intercept):
    """Least squares bounds were relative to sums of squares of about 1e-315, which have few digits."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(1, 8)), int(rng.integers(1, 3))
    X, y = rng.standard_normal((n, p)), rng.standard_normal(n) * 10.0 ** rng.uniform(-163, -150)
    statement = statement_of(X, y, k=p, include=tuple(range(p)), gamma=gamma, fit_intercept=fit_intercept)
    data = Data.of(statement, X, y, None)
    optimum = optimum_of(statement, X, y)
    for proof in proofs_of(*best_coefficients(data, statement)).values():
        assert prove(data, statement, proof).bound <= optimum


@pytest.mark.parametrize("kind", KINDS)
def test_they_are_tight(kind):
    """Of ordinary data every kind of proof reaches the optimum but for rounding."""
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((12, 3)), rng.standard_normal(12)
    # Least squares bounds leave out the ridge, and dual points need it.
    gamma = np.inf if kind == "regression" else 0.5
    statement = statement_of(X, y, k=3, include=(0, 1, 2), gamma=gamma)
    data = Data.of(statement, X, y, None)
    found = prove(data, statement, proofs_of(*best_coefficients(data, statement))[kind])
    optimum = float(optimum_of(statement, X, y))
    assert not found.complaints and optimum * (1.0 - 1e-10) < found.bound <= optimum
