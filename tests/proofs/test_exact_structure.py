"""Bounds in exact arithmetic against all choices of units under the nested limits."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofs.helpers import fraction, indices, rational, sample, statement_of
from proofs.structures import random_rules
from proofs.test_nested_limits import by_definition
from sparsest.proofs.exact_structure import ExactRegions
from sparsest.proofs.steps import RowPrices

P = 6


@given(seed=st.integers(0, 10**6))
def test_the_bound_of_a_region_is_the_best_choice(seed):
    rng = np.random.default_rng(seed)
    rules = random_rules(rng, P, ("limits", "nested", "requires", "budgets", "prices"), (0, 1))
    statement = statement_of(*sample(8, P), k=int(rng.integers(1, P)), structure=rules)
    rows = list(rules.rows())
    used = rng.permutation(len(rows))[: rng.integers(len(rows) + 1)]
    prices = RowPrices(used, rng.exponential(size=used.size))
    state = rng.choice([-1, 0, 0, 0, 1], P).astype(np.int8)
    gains = rng.exponential(size=P) * 5.0
    regions = ExactRegions(statement, np.arange(P), [prices])
    found = regions.bound(rational(100.0), [rational(q) for q in gains], state, 0)
    worth = [Fraction(q) - Fraction(price) for q, price in zip(gains.tolist(), rules.prices, strict=True)]
    constant = Fraction(100)
    for row, value in zip(used.tolist(), prices.values.tolist(), strict=True):
        constant -= Fraction(value) * Fraction(rows[row][2])
        for unit, coefficient in zip(*rows[row][:2], strict=True):
            worth[unit] -= Fraction(value) * Fraction(coefficient)
    limits = [(set(rules.limits[i][0]), rules.limits[i][2]) for i in by_definition(rules.limits)]
    best = None
    for size in range(statement.k + 1):
        for choice in combinations(range(P), size):
            fits = all(len(units & set(choice)) <= most for units, most in limits)
            if fits and all(state[j] != (-1 if j in choice else 1) for j in range(P)):
                value = constant - sum(worth[j] for j in choice)
                best = value if best is None else min(best, value)
    floor = sum(Fraction(rules.prices[j]) for j in range(P) if state[j] == 1)
    assert (found is None) == (best is None)
    assert found is None or fraction(found) == max(best, floor)
    assert fraction(regions.floor(state)) == floor


@pytest.mark.parametrize(
    ("rows", "values", "reason"),
    [
        ([0, 0], [1.0, 1.0], "distinct"),
        ([1], [1.0], "a row that does not exist"),
        ([0], [-1.0], "nonnegative"),
        ([0], [np.nan], "finite"),
    ],
)
def test_what_is_no_price(rows, values, reason):
    rules = replace(random_rules(np.random.default_rng(0), P, ()), limits=(((0, 1), 0, 1),))
    regions = ExactRegions(
        statement_of(*sample(8, P), k=2, structure=rules), np.arange(P), [RowPrices(indices(*rows), np.array(values))]
    )
    with pytest.raises(ValueError, match=reason):
        regions.bound(rational(1.0), [rational(0.0)] * P, np.zeros(P, dtype=np.int8), 0)


def test_infinite_gains_prove_only_the_floor():
    rules = replace(random_rules(np.random.default_rng(0), P, ()), prices=(1.0,) * P)
    regions = ExactRegions(statement_of(*sample(8, P), k=2, structure=rules), np.arange(P), ())
    state = np.array([1, 0, 0, 0, 0, -1], dtype=np.int8)
    gains = [rational(0.0)] * P
    assert regions.bound(rational(9.0), [*gains[:5], None], state, None) == rational(10.0)
    assert regions.bound(rational(9.0), [gains[0], None, *gains[2:]], state, None) == rational(1.0)
