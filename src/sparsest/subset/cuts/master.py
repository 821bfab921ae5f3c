"""The prices and the rows of the master problem, over the features that survived the root."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsest.core.arrays import Array, Indices, Mask
from sparsest.core.problem import Problem
from sparsest.core.sparsity import Sparsity
from sparsest.core.structure.feasibility import rows_of
from sparsest.core.structure.structured import StructuredSparsity

# Relative violation of a row that is accepted from engines.
_TOLERANCE = 1e-6


class Row(NamedTuple):
    """``low ≤ coefficients's ≤ high``."""

    coefficients: Array
    low: float
    high: float


class Master(NamedTuple):
    """The price of each feature, and the rows that every admissible support satisfies."""

    prices: Array
    rows: list[Row]

    def admits(self, chosen: Mask) -> bool:
        """Whether a support satisfies all rows."""
        values = [(float(row.coefficients[chosen].sum()), row) for row in self.rows]
        return all(
            row.low - _TOLERANCE <= value <= row.high + _TOLERANCE * (1.0 + abs(row.high)) for value, row in values
        )


def master_of(problem: Problem, survivors: Indices) -> Master:
    """The master problem over some features; k is at most their number."""
    sparsity, size = problem.sparsity, survivors.size
    if isinstance(sparsity, Sparsity):
        return Master(np.full(size, sparsity.price), [Row(np.ones(size), -np.inf, float(sparsity.most(size)))])
    return _with_structure(sparsity.among(survivors))


def _with_structure(rule: StructuredSparsity) -> Master:
    """The rows of the rules, for the first column of each unit; further rows make the other columns equal to it."""
    first = np.zeros(rule.n_units, dtype=np.int64)
    present, columns = np.unique(rule.units, return_index=True)
    first[present] = columns
    size = rule.units.size
    is_first = np.zeros(size, dtype=bool)
    is_first[columns] = True
    rows = [Row(is_first.astype(float), -np.inf, float(rule.most_units))]
    for j in np.flatnonzero(~is_first).tolist():
        same = np.zeros(size)
        same[j], same[first[rule.units[j]]] = 1.0, -1.0
        rows.append(Row(same, 0.0, 0.0))
    A, b = rows_of(rule.rules)
    for coefficients, most in zip(A, b, strict=True):
        row = np.zeros(size)
        # A unit without a surviving column is forced out, so it does not count.
        row[columns] = coefficients[present]
        rows.append(Row(row, -np.inf, float(most)))
    return Master(np.where(is_first, rule.prices[rule.units], 0.0), rows)
