"""Prices of rows: their effect is bounded in the right direction, and invalid prices are refused."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofs.helpers import indices
from proofs.structures import random_rules
from sparsest.proofs.rounding import UNDERFLOW, growth
from sparsest.proofs.side_rows import SideRows
from sparsest.proofs.steps import RowPrices
from sparsest.proofs.structure import Rules

COUNT = 6


@given(seed=st.integers(0, 10**6), scale=st.sampled_from([1e-320, 1e-150, 1.0, 1e150]))
def test_bounds_of_the_effect(seed, scale):
    rng = np.random.default_rng(seed)
    rules = random_rules(rng, COUNT, ("limits", "nested", "requires", "budgets"), (0, 1))
    rows = list(rules.rows())
    used = rng.permutation(len(rows))[: rng.integers(len(rows) + 1)]
    values = rng.exponential(size=used.size) * 10.0 ** rng.uniform(-8, 2, used.size) * scale
    found = SideRows(rules, COUNT).priced(RowPrices(used, values), 1.0)
    total, parts = Fraction(0), [Fraction(0)] * COUNT
    for row, value in zip(used.tolist(), values.tolist(), strict=True):
        units, coefficients, right = rows[row]
        total += Fraction(value) * Fraction(right)
        for unit, coefficient in zip(units, coefficients, strict=True):
            parts[unit] += Fraction(value) * Fraction(coefficient)
    assert total <= Fraction(found.total)
    assert found.total - float(total) <= 1e-13 * float(np.abs(values) @ np.abs([rows[i][2] for i in used])) + 1e-290
    for unit in range(COUNT):
        error = growth(found.operations + 8) * found.sizes[unit] + UNDERFLOW
        assert abs(parts[unit] - Fraction(found.parts[unit])) <= Fraction(error)


@pytest.mark.parametrize(
    ("rows", "values", "reason"),
    [
        ([0, 0], [1.0, 1.0], "distinct rows"),
        ([0], [1.0, 1.0], "distinct rows"),
        ([0, 1], [1.0], "distinct rows"),
        ([2], [1.0], "a row that does not exist"),
        ([-1], [1.0], "a row that does not exist"),
        ([0], [-1e-300], "nonnegative"),
        ([0], [np.nan], "finite"),
        ([0], [np.inf], "finite"),
    ],
)
def test_what_is_no_price(rows, values, reason):
    side_rows = SideRows(Rules(limits=(((0, 1), 0, 1), ((1, 2), 0, 1))), 3)
    with pytest.raises(ValueError, match=reason):
        side_rows.priced(RowPrices(indices(*rows), np.array(values)), 1.0)


def test_no_rows_and_no_prices():
    found = SideRows(Rules(), 3).priced(RowPrices(indices(), np.empty(0)), 1.0)
    assert not found.parts.any() and 0.0 <= found.total <= 1e-300
