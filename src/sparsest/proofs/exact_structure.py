"""Bounds of regions with a structure in exact arithmetic: the definitions, one unit at a time; needs python-flint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sparsest.proofs.enclosures import Number, library, rational
from sparsest.proofs.nested_limits import nested_sets
from sparsest.proofs.regions import State
from sparsest.proofs.rounding import Indices
from sparsest.proofs.statement import Statement
from sparsest.proofs.steps import RowPrices

flint = library()


class ExactRegions:
    """Regions of units with these numbers."""

    def __init__(self, statement: Statement, numbers: Indices, row_prices: Sequence[RowPrices]) -> None:
        rules = statement.structure
        assert rules is not None
        self._rules, self._row_prices = rules, row_prices
        self.numbers = numbers.tolist()
        prices = [statement.price] * (max(self.numbers, default=-1) + 1) if rules.prices is None else rules.prices
        self._prices: list[Any] = [rational(prices[unit]) for unit in self.numbers]
        chosen = nested_sets(rules)
        self._limits = [(set(rules.limits[i][0]), rules.limits[i][2]) for i in chosen]
        if statement.k is not None:
            self._limits.append((set(self.numbers), statement.k))

    def floor(self, state: State) -> Number:
        """The price of the units forced in."""
        return sum((self._prices[i] for i in np.flatnonzero(state == 1)), flint.fmpq(0))

    def bound(
        self, constant: Number, gains: Sequence[Number | None], state: State, row_prices: int | None
    ) -> Number | None:
        """The bound of a region; None if it is empty.  A gain of None is infinite."""
        forced = [i for i in range(len(self.numbers)) if state[i] == 1]
        rooms = [most - sum(self.numbers[i] in units for i in forced) for units, most in self._limits]
        if any(room < 0 for room in rooms):
            return None
        floor = self.floor(state)
        if any(gains[i] is None for i in range(len(self.numbers)) if state[i] >= 0):
            return floor
        total, parts = self._priced(row_prices)
        worth: list[Any] = [
            None if gain is None else gain - parts.get(unit, 0) - price
            for gain, unit, price in zip(gains, self.numbers, self._prices, strict=True)
        ]
        value = constant - total - sum((worth[i] for i in forced), flint.fmpq(0))
        free = [i for i in range(len(self.numbers)) if state[i] == 0 and worth[i] > 0]
        for i in sorted(free, key=lambda i: worth[i], reverse=True):
            around = [j for j, (units, _) in enumerate(self._limits) if self.numbers[i] in units]
            if all(rooms[j] > 0 for j in around):
                value -= worth[i]
                for j in around:
                    rooms[j] -= 1
        return max(value, floor)

    def _priced(self, number: int | None) -> tuple[Number, dict[int, Number]]:
        """``ν'β`` and ``A'ν``."""
        total, parts = flint.fmpq(0), dict[int, Any]()
        if number is None:
            return total, parts
        given, rows = self._row_prices[number], list(self._rules.rows())
        given.require_valid(len(rows))
        for row, value in zip(given.rows.tolist(), given.values.tolist(), strict=True):
            units, coefficients, right = rows[row]
            total += rational(value) * rational(right)
            for unit, coefficient in zip(units, coefficients, strict=True):
                parts[unit] = parts.get(unit, flint.fmpq(0)) + rational(value) * rational(coefficient)
        return total, parts
