"""Prices of the rows ``A s ≤ β`` that a structure implies beside its nested limits.

For every admissible s and all prices ν ≥ 0, ``worth's ≤ ν'β + (worth - A'ν)'s``.  The bound of a region is therefore
that of units whose prices are higher by ``A'ν``, minus ``ν'β``.  As a function of ν, the value of the relaxation is
concave, and ``A s - β`` at its solution s is a supergradient.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from math import inf, nextafter

import numpy as np
import scipy.sparse as sp

from sparsest.core.arrays import Array, Indices
from sparsest.core.structure.rules import Rules
from sparsest.core.structure.structured import StructuredSparsity
from sparsest.proofs.steps import RowPrices

# Share of its right-hand side, or of 1, by which a row has to be violated before its price rises.
_VIOLATED = 1e-6


@dataclass(frozen=True, eq=False)
class PricedRows:
    """Prices of rows, and what follows from them.

    Attributes
    ----------
    values : ν
    rule : the rule with the prices ``A'ν`` added to those of units
    total, size : ``ν'β``, and the sum of the sizes of all terms, which rounding errors are relative to
    step : the length of the last step along the supergradient; 0 if prices are no longer changed
    stored : the prices as a proof stores them; None if all are zero
    """

    values: Array
    rule: StructuredSparsity
    total: float
    size: float
    step: float
    stored: RowPrices | None

    def nbytes(self) -> int:
        """Memory in bytes; prices of zero are shared."""
        return 0 if self.stored is None else self.values.nbytes + self.rule.prices.nbytes


class SideRows:
    """The rows that may restrict supports of some units more than the nested limits do.

    Attributes
    ----------
    numbers : their numbers in certificates
    """

    def __init__(self, rule: StructuredSparsity) -> None:
        self.rule = rule
        rows = list(numbered_rows(rule.rules))
        starts = np.cumsum([0, *(len(units) for units, _, _ in rows)])
        units = np.fromiter(chain.from_iterable(units for units, _, _ in rows), np.int64, starts[-1])
        values = np.fromiter(chain.from_iterable(part for _, part, _ in rows), np.float64, starts[-1])
        matrix = sp.csr_array((values, units, starts), shape=(len(rows), rule.n_units))
        right = np.array([most for _, _, most in rows], dtype=np.float64)
        reached = np.maximum(matrix.data, 0.0) * (rule.sizes > 0)[matrix.indices]
        largest = np.bincount(np.repeat(np.arange(right.size), np.diff(starts)), reached, right.size)
        open_rows = largest > right
        open_rows[list(rule.rules.nested_numbers)] = False
        self.numbers: Indices = np.flatnonzero(open_rows)
        self._matrix, self._right = matrix[self.numbers], right[self.numbers]

    @cached_property
    def none(self) -> PricedRows:
        """Prices of zero that stay."""
        return PricedRows(np.zeros(self.numbers.size), self.rule, 0.0, 0.0, 0.0, None)

    def excess(self, indicator: Array, prices: PricedRows) -> Array:
        """``A s - β`` where a price may change in this direction; zero elsewhere.  The indicator is of columns."""
        s = np.zeros(self.rule.n_units)
        np.maximum.at(s, self.rule.units, indicator)
        excess = self._matrix @ s - self._right
        excess[np.abs(excess) <= _VIOLATED * np.maximum(np.abs(self._right), 1.0)] = 0.0
        return np.where((prices.values > 0.0) | (excess > 0.0), excess, 0.0)

    def moved(self, prices: PricedRows, direction: Array, step: float) -> PricedRows:
        """The prices after a step, at least zero."""
        return self.priced(np.maximum(prices.values + step * direction, 0.0), step)

    def priced(self, values: Array, step: float) -> PricedRows:
        """These prices with what follows from them."""
        used = np.flatnonzero(values > 0.0)
        stored = RowPrices(self.numbers[used], values[used]) if used.size else None
        rule = self.rule.with_prices(self.rule.prices + self._matrix.T @ values)
        size = float(values @ np.abs(self._right) + (abs(self._matrix).T @ values).sum())
        return PricedRows(values, rule, float(values @ self._right), size, step, stored)


def numbered_rows(rules: Rules) -> Iterator[tuple[Sequence[int], Sequence[float], float]]:
    """The rows of a structure in the order of certificates: units, their coefficients, and right-hand sides."""
    for limit in rules.limits:
        yield limit.units, [1.0] * len(limit.units), float(limit.most)
    for limit in rules.limits:
        if limit.least > 0:
            yield limit.units, [-1.0] * len(limit.units), -float(limit.least)
    for one in rules.requires:
        for needed in [(g,) for g in one.needed] if one.all else [one.needed]:
            yield (one.unit, *needed), [1.0] + [-1.0] * len(needed), 0.0
    for budget in rules.budgets:
        units = [g for g, cost in enumerate(budget.costs) if cost > 0.0]
        # A sum that is rounded correctly to at most the budget is below the next number.
        yield units, [budget.costs[g] for g in units], nextafter(budget.most, inf)
