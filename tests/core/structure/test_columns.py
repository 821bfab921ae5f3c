"""Supports of at most some columns, against all choices of units."""

from itertools import chain, combinations

import numpy as np
import pytest

from sparsest.core.structure.columns import column_limit, sums_of_sizes, within_columns
from sparsest.core.structure.rules import Limit, Rules
from sparsest.core.structure.structured import StructuredSparsity

UNITS = np.array([0, 0, 0, 1, 2, 2, 3])
NONE = np.empty(0, dtype=np.intp)


def choices(n_units):
    return chain.from_iterable(combinations(range(n_units), r) for r in range(n_units + 1))


@pytest.mark.parametrize("columns", range(8))
def test_the_rule_admits_what_has_few_enough_columns(columns):
    rules = Rules(4, limits=(Limit((1, 3), 0, 1),))
    found = within_columns(StructuredSparsity(4, np.zeros(4), UNITS, rules), columns, NONE, NONE)
    for chosen in choices(4):
        support = np.flatnonzero(np.isin(UNITS, chosen))
        assert found.admits(support) == (support.size <= columns and not {1, 3} <= set(chosen))


def test_forced_units_leave_fewer_columns():
    rule = StructuredSparsity(4, np.zeros(4), UNITS, Rules(4))
    assert within_columns(rule, 2, np.array([0, 1, 2]), NONE) is None
    found = within_columns(rule, 4, np.array([0, 1, 2]), np.array([3]))
    assert found.most_units == 2 and found.first == (0,)


def test_units_of_one_size_need_no_budget():
    none = np.zeros(3, dtype=bool)
    assert column_limit(np.array([2, 2, 2]), none, none, 5) == (2, None)
    assert column_limit(np.array([2, 1, 1]), none, none, 3).budget == ((2.0, 1.0, 1.0), 3.0)
    banned = np.array([True, False, False])
    assert column_limit(np.array([2, 1, 1]), none, banned, 9) == (2, None)


def test_sums_of_sizes():
    sizes = [3, 1, 4]
    sums = {2 + sum(some) for r in range(4) for some in combinations(sizes, r)}
    assert sums_of_sizes(2, sizes) == tuple(sorted(sums)) and sums_of_sizes(5, []) == (5,)
