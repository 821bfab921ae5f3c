"""Bounds of regions whose supports have a structure: ``constant - ν'β - gain(Q - A'ν)``.

``Q_g`` is the sum of the gains of the columns of unit g, and ``Q_g - (A'ν)_g - price_g`` its worth.  ``gain`` is the
largest total worth of a choice of units that contains those forced in, avoids those forced out, and respects k and the
nested limits.  Upper bounds of the worths give an upper bound of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsest.proofs.nested_limits import Level, levels
from sparsest.proofs.rounding import UNDERFLOW, Array, Indices, growth
from sparsest.proofs.side_rows import PricedRows, SideRows
from sparsest.proofs.statement import Statement
from sparsest.proofs.steps import RowPrices

State = NDArray[np.int8]

# Factor by which the number of units tried grows if limits exclude too many of the best ones.
_MORE = 4


class Units(NamedTuple):
    """The units of some columns: their numbers in the statement, and the position of the unit of each column.

    ``largest`` is the largest number of columns of a unit.
    """

    numbers: Indices
    of_columns: Indices
    largest: int

    @classmethod
    def of(cls, statement: Statement, features: Indices) -> Units:
        """The units of some columns; the columns of a unit must all be among them, or none."""
        assert statement.structure is not None
        found = statement.structure.unit_of(statement.p)[features]
        numbers, of_columns = np.unique(found, return_inverse=True)
        return cls(numbers, of_columns, int(np.bincount(of_columns).max(initial=0)))

    def sums(self, gains: Array) -> Array:
        """Upper bounds of the sums of gains over the columns of each unit; gains are upper bounds themselves."""
        if self.largest <= 1:
            sums = np.empty(self.numbers.size)
            sums[self.of_columns] = gains
            return sums
        return np.asarray(np.bincount(self.of_columns, gains, self.numbers.size) * (1.0 + growth(self.largest + 2)))


class Choice(NamedTuple):
    """The best choice of free units, all free units of positive worth, and the room in the sets of each level."""

    chosen: Indices
    candidates: Indices
    rooms: list[Indices]


class StructuredRegions:
    """The bounds of regions for the units of some columns."""

    def __init__(self, statement: Statement, nested: Sequence[Level], units: Units, caution: float) -> None:
        rules = statement.structure
        assert rules is not None
        self.units, self.caution = units, caution
        prices = statement.price if rules.prices is None else np.array(rules.prices, dtype=np.float64)[units.numbers]
        self._prices: Array = np.broadcast_to(np.asarray(prices, dtype=np.float64), units.numbers.size)
        self._levels = [level._replace(set_of=level.set_of[units.numbers]) for level in nested]
        self._limited = statement.k is not None
        if statement.k is not None:
            everything = np.zeros(units.numbers.size, dtype=np.intp)
            self._levels.append(Level(everything, np.array([statement.k])))

    def floor(self, state: State) -> float:
        """The price of the units forced in, rounded down: losses are nonnegative."""
        forced = self._prices[state == 1]
        return float(forced.sum()) * (1.0 - growth(forced.size + 2))

    def bound(self, gains: Array, state: State, constant: float, prices: PricedRows | None) -> float:
        """A lower bound of the objective over the supports of a region."""
        worth, total = self._worths(gains, prices)
        value, size = self._value(worth, self._choose(worth, state), state, constant, total)
        floor = self.floor(state)
        return max(value, floor) if np.isfinite(size) else floor

    def bound_of_closed(
        self, gains: Array, state: State, constant: float, prices: PricedRows | None, inside: Indices, outside: Indices
    ) -> float:
        """The smallest bound of the region with one unit of ``inside`` forced out, or one of ``outside`` forced in."""
        worth, total = self._worths(gains, prices)
        choice = self._choose(worth, state)
        value, size = self._value(worth, choice, state, constant, total)
        floor = self.floor(state)
        if not np.isfinite(size):
            return floor
        last, following = self._compared(worth, choice)
        costs = [worth[inside] - following[inside], last[outside] - worth[outside]]
        # A unit that is forced in adds its price to the floor.
        floors = [np.full(inside.size, floor), (floor + self._prices[outside]) * (1.0 - growth(2))]
        cost = np.maximum(np.concatenate(costs), 0.0)
        bounds = value + cost - self.caution * growth(8) * (size + cost)
        bounds = np.where(np.isinf(cost), np.inf, np.maximum(bounds, np.concatenate(floors)))
        return float(bounds.min(initial=np.inf))

    def _worths(self, gains: Array, prices: PricedRows | None) -> tuple[Array, float]:
        """Upper bounds of ``Q - A'ν - price``, and of ``ν'β``."""
        sums = self.units.sums(gains)
        if prices is None:
            return sums - self._prices + self.caution * growth(4) * (sums + self._prices), 0.0
        parts, sizes = prices.parts[self.units.numbers], prices.sizes[self.units.numbers]
        error = growth(prices.operations + 8) * (sums + sizes + self._prices)
        return sums - parts - self._prices + self.caution * error + UNDERFLOW, prices.total

    def _value(self, worth: Array, choice: Choice, state: State, constant: float, total: float) -> tuple[float, float]:
        """A lower bound of ``constant - ν'β - gain``, and the size of its terms; infinite if it proves nothing."""
        terms = np.concatenate([worth[choice.chosen], worth[state == 1]])
        size = abs(constant) + abs(total) + float(np.abs(terms).sum())
        if not (np.isfinite(size) and np.isfinite(worth[state >= 0]).all()):
            return -np.inf, np.inf
        return constant - total - float(terms.sum()) - self.caution * growth(terms.size + 16) * size, size

    def _choose(self, worth: Array, state: State) -> Choice:
        """The best choice; units of less worth than the k best ones are tried only if limits exclude some of those."""
        found, forced = np.flatnonzero((state == 0) & (worth > 0.0)), np.flatnonzero(state == 1)
        rooms = [np.maximum(level.most - level.counts(forced), 0) for level in self._levels]
        most = min(int(rooms[-1][0]), found.size) if self._limited else found.size
        tried = most + (_MORE * most + _MORE if len(self._levels) > 1 else 0)
        chosen = self._best_of(_largest(found, worth, tried), rooms)
        while chosen.size < most and tried < found.size:
            tried *= _MORE
            chosen = self._best_of(_largest(found, worth, tried), rooms)
        return Choice(chosen, found, rooms)

    def _best_of(self, units: Indices, rooms: list[Indices]) -> Indices:
        """From the inside out, each set keeps its best units up to its room; units are sorted by worth."""
        for level, room in zip(self._levels, rooms, strict=True):
            units = _best_of_each(units, level.set_of[units], room)
        return units

    def _compared(self, worth: Array, choice: Choice) -> tuple[Array, Array]:
        """The worths that forcing a unit compares with, for all units.

        If a unit is forced in, the unit of least worth in the smallest full set around it has to give way; the worth is
        infinite if all units of the set are forced, and zero if no set is full.  If a unit is forced out, the best of
        the other units whose smallest full set contains it takes its place, if there is one.
        """
        last, owner = np.zeros(worth.size), np.full(worth.size, -1)
        full_sets = []
        for i, (level, room) in reversed(list(enumerate(zip(self._levels, choice.rooms, strict=True)))):
            full = level.counts(choice.chosen) >= room
            least = np.full(room.size, np.inf)
            sets = level.set_of[choice.chosen]
            np.minimum.at(least, sets[sets >= 0], worth[choice.chosen[sets >= 0]])
            # The last entry is for units in no set, which have the number -1.
            inside = np.append(full, False)[level.set_of]
            last[inside], owner[inside] = least[level.set_of[inside]], i
            full_sets.append((i, level, inside))
        following, chosen = np.zeros(worth.size), np.zeros(worth.size, dtype=np.bool_)
        chosen[choice.chosen] = True
        rest = choice.candidates[~chosen[choice.candidates]]
        for i, level, inside in full_sets:
            others = rest[owner[rest] == i]
            best = np.zeros(level.most.size)
            np.maximum.at(best, level.set_of[others], worth[others])
            following[inside] = np.maximum(following[inside], best[level.set_of[inside]])
        return last, following


def _largest(units: Indices, worth: Array, count: int) -> Indices:
    """The units of largest worth, sorted by it."""
    if count < units.size:
        units = units[np.argpartition(-worth[units], count)[:count]]
    return units[np.argsort(-worth[units], kind="stable")]


def _best_of_each(units: Indices, sets: Indices, rooms: Indices) -> Indices:
    """Units, sorted by worth, without those of each set beyond its room."""
    if rooms.size == 1 and (sets == 0).all():
        return units[: rooms[0]]
    order = np.argsort(sets, kind="stable")
    ordered = sets[order]
    rank = np.arange(units.size) - np.searchsorted(ordered, ordered)
    kept = np.sort(order[(ordered < 0) | (rank < rooms[ordered])])
    return units[kept]


class StructuredBounds:
    """Bounds of the regions of a proof, each for the units of some columns, for the check of a proof."""

    def __init__(self, statement: Statement, row_prices: Sequence[RowPrices], caution: float) -> None:
        assert statement.structure is not None
        self.statement, self.row_prices, self.caution = statement, row_prices, caution
        self._rules, self._count = statement.structure, statement.structure.count(statement.p)
        self._known: tuple[Indices, StructuredRegions] | None = None

    def regions(self, features: Indices) -> StructuredRegions:
        """The regions of these columns."""
        known = self._known
        if known is None or known[0] is not features:
            units = Units.of(self.statement, features)
            known = features, StructuredRegions(self.statement, self._nested, units, self.caution)
            self._known = known
        return known[1]

    def priced(self, number: int | None) -> PricedRows | None:
        """The effect of the prices of rows with a number."""
        return None if number is None else self._rows.priced(self.row_prices[number], self.caution)

    @cached_property
    def _nested(self) -> list[Level]:
        return levels(self._rules, self._count)

    @cached_property
    def _rows(self) -> SideRows:
        return SideRows(self._rules, self._count)
