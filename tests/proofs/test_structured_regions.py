"""Bounds of regions with a structure, at random dual points and prices, against all supports that they contain."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs.helpers import fraction, indices, rational, sample, statement_of
from proofs.structures import KINDS, BoundedSquares, admits, random_rules, supports, units_by_definition
from sparsest.proofs.check import prove, prove_closed
from sparsest.proofs.columns import AllColumns
from sparsest.proofs.data import Data, Room
from sparsest.proofs.exact import prove_exactly
from sparsest.proofs.exact_structure import ExactRegions
from sparsest.proofs.steps import Branch, DualPoint, Fix, Leaf, Proof, RowPrices, Split, SplitPoint
from sparsest.proofs.structured_regions import StructuredBounds, Units

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
@settings(max_examples=30)
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
@settings(max_examples=30)
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


@pytest.mark.parametrize("priced", [False, True])
@given(seed=seeds)
def test_bounds_are_never_rounded_up(priced, seed):
    """Gains, prices and constants of very different sizes, without any other error than that of the sums."""
    rng = np.random.default_rng(seed)
    rules = random_rules(rng, P, ("limits", "nested", "requires", "budgets", "prices"), (0, 1))
    statement = statement_of(*sample(N, P), k=int(rng.integers(1, P)), structure=rules)
    rows = len(list(rules.rows()))
    used = rng.permutation(rows)[: rng.integers(1, rows + 1)]
    prices = RowPrices(used, rng.exponential(size=used.size) * 10.0 ** rng.uniform(-8, 8))
    gains = rng.exponential(size=P) * 10.0 ** rng.uniform(-3, 3, P)
    constant = float(gains.sum() * rng.uniform(0.5, 2.0)) + 1e3
    state = rng.choice([-1, 0, 0, 0, 1], P).astype(np.int8)
    shared = StructuredBounds(statement, [prices], 1.0)
    regions, exact = shared.regions(np.arange(P)), ExactRegions(statement, np.arange(P), [prices])
    number = 0 if priced else None
    given = constant, [rational(q) for q in gains]
    truth = exact.bound(rational(given[0]), given[1], state, number)
    if truth is None:
        return
    bound = regions.bound(gains, state, constant, shared.priced(number))
    size = constant + float(gains.sum()) + sum(rules.prices) + float(prices.values.sum()) * 10 * P
    assert Fraction(bound) <= fraction(truth) and float(fraction(truth)) - bound <= 1e-13 * size
    for j in np.flatnonzero(state == 0):
        for sides, side in (((indices(j), indices()), -1), ((indices(), indices(j)), 1)):
            other = state.copy()
            other[j] = side
            closed = exact.bound(rational(constant), given[1], other, number)
            # As in a check, infinite costs need no warning.
            with np.errstate(invalid="ignore"):
                found = regions.bound_of_closed(gains, state, constant, shared.priced(number), *sides)
            assert closed is None or Fraction(found) <= fraction(closed)
            assert np.isinf(found) or (closed is not None and float(fraction(closed)) - found <= 1e-13 * size)


def test_sums_over_the_columns_of_a_unit_are_upper_bounds():
    rng = np.random.default_rng(0)
    statement = statement_of(*sample(N, P), k=2, structure=random_rules(rng, P, ("units",)))
    units = Units.of(statement, np.arange(P))
    for _ in range(200):
        gains = rng.exponential(size=P) * 10.0 ** rng.uniform(-8, 8, P)
        exact = [sum(Fraction(q) for q in gains[units.of_columns == i]) for i in range(units.numbers.size)]
        assert all(truth <= Fraction(found) for truth, found in zip(exact, units.sums(gains), strict=True))


def test_threads_and_batches_prove_the_same():
    rng = np.random.default_rng(5)
    statement, X, y = random_problem(rng, KINDS, "both")
    found = [random_point(rng, statement, X, y) for _ in range(6)]
    steps = [step for i in range(40) for step in (Branch(i % P), Leaf(i % 6, (i + 1) % 6))]
    proof = Proof((*steps, Leaf(0)), [point for point, _ in found], (), [prices for _, prices in found])
    whole = prove(Data.of(statement, X, y, None), statement, proof, threads=1)
    small = Data.of(statement, X, y, None, room=Room(gains=8 * N * 3))
    assert not whole.complaints
    for threads in (1, 2):
        assert prove(small, statement, proof, threads=threads).bound == pytest.approx(whole.bound, rel=1e-12)


@given(seed=seeds)
def test_worths_are_upper_bounds_if_their_parts_cancel(seed):
    """Prices of rows and of units that are nearly as large as the gains."""
    rng = np.random.default_rng(seed)
    rules = random_rules(rng, P, ("limits", "nested", "requires", "budgets"), (0, 1))
    gains = rng.exponential(size=P)
    near = gains * (1.0 + 1e-15 * rng.integers(-3, 4, P))
    rules = replace(rules, prices=tuple(np.where(rng.random(P) < 0.5, near, rng.exponential(size=P)).tolist()))
    statement = statement_of(*sample(N, P), k=3, structure=rules)
    rows = list(rules.rows())
    used = rng.permutation(len(rows))
    prices = RowPrices(used, rng.exponential(size=used.size) * 10.0 ** rng.uniform(-3, 3, used.size))
    shared = StructuredBounds(statement, [prices], 1.0)
    regions = shared.regions(np.arange(P))
    for number in (None, 0):
        exact = [Fraction(q) - Fraction(price) for q, price in zip(gains.tolist(), rules.prices, strict=True)]
        for row, value in zip(used.tolist(), prices.values.tolist(), strict=True):
            for unit, coefficient in zip(*rows[row][:2], strict=True):
                exact[unit] -= 0 if number is None else Fraction(value) * Fraction(coefficient)
        worth, _ = regions._worths(gains, shared.priced(number))
        assert all(truth <= Fraction(found) for truth, found in zip(exact, worth.tolist(), strict=True))
