"""Structures whose supports are limited by their number of columns, not of units."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sparsest.core.arrays import Indices, Mask
from sparsest.core.structure.feasibility import find_choice
from sparsest.core.structure.rules import Budget, Rules
from sparsest.core.structure.structured import StructuredSparsity


class ColumnLimit(NamedTuple):
    """What a number of columns means for units: how many there can be, and the budget where sizes differ."""

    most_units: int
    budget: Budget | None


def column_limit(sizes: Indices, forced: Mask, banned: Mask, columns: int) -> ColumnLimit:
    """Limit supports to some number of columns.

    Parameters
    ----------
    sizes : the number of columns of each unit
    forced, banned : units that every support has, and that none has
    columns : the largest number of columns
    """
    free = np.sort(sizes[~forced & ~banned])
    left = columns - int(sizes[forced].sum())
    most = int(forced.sum()) + int(np.searchsorted(np.cumsum(free), left, side="right"))
    # Units of the same size need no budget: a limit on their number is enough.
    alike = free.size == 0 or free[0] == free[-1]
    budget = None if alike else Budget(tuple(sizes.astype(float).tolist()), float(columns))
    return ColumnLimit(most, budget)


def within_columns(
    rule: StructuredSparsity, columns: int, include: Indices, exclude: Indices
) -> StructuredSparsity | None:
    """The rule restricted to supports of at most ``columns`` columns; None if there are none.  A budget comes last."""
    forced, banned = rule.units_of(include), rule.units_of(exclude)
    limit = column_limit(rule.sizes, forced, banned, columns)
    rules = rule.rules
    if limit.budget is not None:
        rules = Rules(rules.n_units, rules.limits, rules.requires, (*rules.budgets, limit.budget))
    found = replace(rule, k=min(limit.most_units, rule.most_units), rules=rules)
    first = find_choice(found, forced, banned)
    return None if first is None else replace(found, first=first)


def sums_of_sizes(start: int, sizes: Iterable[int]) -> tuple[int, ...]:
    """All sums of ``start`` and any of the sizes, in increasing order."""
    reached = 1
    for size in sizes:
        reached |= reached << int(size)
    return tuple(start + at for at, bit in enumerate(reversed(bin(reached)[2:])) if bit == "1")
