"""Bounds of regions with a structure, at random dual points and prices, against all supports that they contain."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofs.helpers import indices, sample, statement_of
from proofs.structures import KINDS, BoundedSquares, admits, random_rules, supports, units_by_definition
from sparsest.proofs.check import prove, prove_closed
from sparsest.proofs.columns import AllColumns
from sparsest.proofs.data import Data
from sparsest.proofs.exact import prove_exactly
from sparsest.proofs.steps import DualPoint, Fix, Leaf, Proof, RowPrices, Split, SplitPoint

N, P = 14, 7
seeds = st.integers(0, 10**6)
STRUCTURES = [(kind,) for kind in KINDS] + [("units", "nested"), ("units", "requires", "budgets"), KINDS]
LIMITS = {
    "none": {},
    "nonnegative": {"lower": (0.0,) * P},
    "both": {
        "lower": (-0.3, 0.0, -np.inf, -1.0, 0.0, -0.1, -np.inf),
        "upper": (0.2, np.inf, 0.0, 0.0, 0.5, np.inf, 0.1),
    },
    "box": {"max_coef": 0.2, "upper": (0.1,) * P},
}


def random_problem(rng, kinds, limits):
    X, y = sample(N, P, int(rng.integers(100)))
    admitted = tuple(rng.permutation(3)[: rng.integers(1, 4)].tolist())
    rules = random_rules(rng, P, kinds, admitted)
    k = int(rng.integers(len(admitted), 5)) if rng.random() < 0.7 else None
    price = None if rules.prices or (k and rng.random() < 0.5) else float(rng.choice([0.0, 0.5, 5.0]))
    settings = {"gamma": float(rng.choice([0.05, 0.5])), "standardize": bool(rng.random() < 0.5), **LIMITS[limits]}
    asked = statement_of(
        X, y, k=k, l0_penalty=price, fit_intercept=bool(rng.random() < 0.7), **settings, structure=rules
    )
    unit_of = units_by_definition(rules, P)
    inside = [j for j in range(P) if unit_of[j] in admitted and rng.random() < 0.3]
    outside = [j for j in range(P) if unit_of[j] not in admitted and rng.random() < 0.3]
    return replace(asked, include=tuple(inside), exclude=tuple(outside)), X, y


def random_point(rng, statement, X, y):
    """A dual point near the residual on some columns, where bounds are of interest, and prices of rows."""
    chosen = rng.permutation(P)[: rng.integers(0, 4)]
    squares = BoundedSquares(replace(statement, lower=None, upper=None, max_coef=None), X, y)
    A, z = squares.A[:, chosen], squares.z
    w = np.linalg.solve(A.T @ A + np.diag(squares.ridge[chosen]), A.T @ z)
    alpha = rng.uniform(0.5, 1.0) * (A @ w - z)
    rows = len(list(statement.structure.rows()))
    used = rng.permutation(rows)[: rng.integers(0, rows + 1)] if rows else indices()
    prices = rng.exponential(size=used.size) * float(z @ z) * 10.0 ** rng.uniform(-4, 0, used.size)
    return DualPoint(alpha), RowPrices(used, prices)


@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("kinds", STRUCTURES, ids="-".join)
@given(seed=seeds)
def test_no_bound_of_a_region_is_above_its_supports(kinds, limits, seed):
    rng = np.random.default_rng(seed)
    statement, X, y = random_problem(rng, kinds, limits)
    point, prices = random_point(rng, statement, X, y)
    data = Data.of(statement, X, y, None)
    truth = BoundedSquares(statement, X, y).least(supports(statement))
    for number in (None, 0):
        proof = Proof((Leaf(0, number),), (point,), (), (prices,))
        rigorous, exact = prove(data, statement, proof), prove_exactly(data, statement, proof)
        assert not rigorous.complaints and not exact.complaints
        assert rigorous.bound <= truth * (1.0 + 1e-9)
        assert rigorous.bound <= exact.bound
        size = 1.0 + float(np.abs(y) @ np.abs(y)) + float(prices.values.sum()) * P
        assert np.isinf(exact.bound) or exact.bound - rigorous.bound <= 1e-11 * size


@pytest.mark.parametrize("limits", ["none", "both"])
@pytest.mark.parametrize("kinds", STRUCTURES, ids="-".join)
@given(seed=seeds)
def test_no_bound_of_a_fix_is_above_what_it_closes(kinds, limits, seed):
    rng = np.random.default_rng(seed)
    statement, X, y = random_problem(rng, kinds, limits)
    point, prices = random_point(rng, statement, X, y)
    data, squares = Data.of(statement, X, y, None), BoundedSquares(statement, X, y)
    unit_of, every = units_by_definition(statement.structure, P), supports(statement)
    for j in range(P):
        number = rng.choice([None, 0])
        for fix, left in (
            (Fix(0, indices(j), indices(), number), [chosen for chosen in every if unit_of[j] not in chosen]),
            (Fix(0, indices(), indices(j), number), [chosen for chosen in every if unit_of[j] in chosen]),
        ):
            bound = prove_closed(data, statement, [fix], [point], AllColumns(data), 1.0, [prices])
            assert bound <= squares.least(left) * (1.0 + 1e-9)
    # The costs of many units at a time are those that exact arithmetic finds for one at a time.
    cut, order = rng.integers(P + 1), rng.permutation(P)
    many = Proof((Fix(0, order[:cut], order[cut:], 0), Leaf(0)), (point,), (), (prices,))
    rigorous, exact = prove(data, statement, many).bound, prove_exactly(data, statement, many).bound
    assert rigorous <= exact
    size = 1.0 + float(y @ y) + float(prices.values.sum()) * P
    assert np.isinf(exact) or exact - rigorous <= 1e-11 * size


@pytest.mark.parametrize("limits", LIMITS)
@given(seed=seeds)
def test_splits_with_limits_of_coefficients(limits, seed):
    rng = np.random.default_rng(seed)
    statement, X, y = random_problem(rng, ("units", "nested"), limits)
    data = Data.of(statement, X, y, None)
    w = rng.standard_normal(3) * 0.3
    point = SplitPoint(rng.permutation(P)[:3], w, 0)
    proof = Proof((Leaf(0),), (point,), (Split(np.arange(P), np.full(P, rng.uniform(0.3, 1.0) / statement.gamma)),))
    rigorous, exact = prove(data, statement, proof), prove_exactly(data, statement, proof)
    assert not rigorous.complaints and not exact.complaints
    assert rigorous.bound <= exact.bound
    assert rigorous.bound <= BoundedSquares(statement, X, y).least(supports(statement)) * (1.0 + 1e-9)


def test_admissible_sets_are_those_of_the_definition():
    """The oracle itself: a set that each rule excludes in turn."""
    rules = random_rules(np.random.default_rng(0), P, ())
    statement = statement_of(*sample(N, P), k=2, structure=rules)
    assert admits(statement, {0, 1}) and not admits(statement, {0, 1, 2})
    for changes in (
        {"limits": (((0, 1), 0, 1),)},
        {"limits": (((2, 3), 1, 2),)},
        {"requires": ((0, (2,), True),)},
        {"requires": ((1, (2, 3), False),)},
        {"budgets": (((0.1, 0.2) + (0.0,) * (P - 2), 0.3 - 1e-16),)},
    ):
        assert not admits(replace(statement, structure=replace(rules, **changes)), {0, 1})
