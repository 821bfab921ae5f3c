"""Propagation: what the rules of a structure decide about units once some are forced in or out.

Units are decided in waves, and counts for every rule are kept up to date, so that a step costs what it changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from sparsest.proofs.rounding import UNIT, Array, Indices
from sparsest.proofs.structure import Rules, fsum

IN, FREE, OUT = 1, 0, -1
# Sums of costs that differ from a budget by less than this share are compared in exact arithmetic.
_NEAR_BUDGET = 8.0 * UNIT


class Conflict(Exception):
    """The rules admit no support."""


class Lists:
    """Lists of numbers in one array: the list of each row, and the rows that contain a number."""

    def __init__(self, lists: Sequence[Sequence[int]], count: int) -> None:
        sizes = np.array([len(part) for part in lists], dtype=np.intp)
        values = np.fromiter(chain.from_iterable(lists), dtype=np.intp, count=int(sizes.sum()))
        rows = np.repeat(np.arange(sizes.size), sizes)
        self.sizes = sizes
        self._values, self._starts = values, _starts(sizes)
        order = np.argsort(values, kind="stable")
        self._rows, self._row_starts = rows[order], _starts(np.bincount(values, minlength=count))

    def of(self, rows: Indices) -> Indices:
        """The numbers in the lists of some rows, one list after the other."""
        return _gathered(self._values, self._starts, rows)

    def rows_with(self, numbers: Indices) -> Indices:
        """The rows that contain some numbers; a row is repeated for each number that it contains."""
        return _gathered(self._rows, self._row_starts, numbers)


def _starts(sizes: NDArray[np.intp]) -> Indices:
    return np.append(0, np.cumsum(sizes)).astype(np.intp)


def _gathered(values: Indices, starts: Indices, rows: Indices) -> Indices:
    """The parts of an array that belong to some rows."""
    if rows.size == 1:
        return values[starts[rows[0]] : starts[rows[0] + 1]]
    sizes = starts[rows + 1] - starts[rows]
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if ends.size else 0
    return values[np.repeat(starts[rows] - ends + sizes, sizes) + np.arange(total)]


class Propagation:
    """The states of all units: 1 in, -1 out, 0 free.  Changes can be undone in reverse order.

    If k units are in, all others are out; this is not written into the states, but ``states`` returns it.
    """

    def __init__(self, rules: Rules, count: int, k: int | None) -> None:
        self.k = k
        self._state = np.zeros(count, dtype=np.int8)
        self._n_in = 0
        self._changes: list[tuple[Indices, int]] = []
        self._waves: list[tuple[Indices, int]] = []
        self._limits = Lists([units for units, _, _ in rules.limits], count)
        self._least = np.array([least for _, least, _ in rules.limits], dtype=np.int64)
        self._most = np.array([most for _, _, most in rules.limits], dtype=np.int64)
        self._inside = np.zeros(self._least.size, dtype=np.int64)
        self._left = self._limits.sizes.astype(np.int64)
        self._needed = Lists([needed for _, needed, _ in rules.requires], count)
        self._heads = Lists([[unit] for unit, _, _ in rules.requires], count)
        self._head = np.array([unit for unit, _, _ in rules.requires], dtype=np.intp)
        self._every = np.array([every for _, _, every in rules.requires], dtype=np.bool_)
        self._needed_left = self._needed.sizes.astype(np.int64)
        self._budgets = [(np.array(costs, dtype=np.float64), float(most)) for costs, most in rules.budgets]

    @property
    def mark(self) -> int:
        """The number of changes so far, for ``undo``."""
        return len(self._changes)

    def states(self) -> NDArray[np.int8]:
        """The states of all units."""
        if self._is_full:
            return np.where(self._state == IN, IN, OUT).astype(np.int8)
        return self._state.copy()

    def start(self, inside: Indices, outside: Indices) -> bool:
        """Force units in and out at the beginning; return False if no support is left."""
        self._waves += [(inside, IN), (outside, OUT)]
        everywhere = np.arange(self._least.size)
        try:
            self._apply_limits(everywhere)
            self._apply_budgets()
            self._run()
        except Conflict:
            self._waves.clear()
            return False
        return True

    def force(self, units: Indices, side: int) -> bool:
        """Force units in or out; return False if no support is left."""
        self._waves.append((units, side))
        try:
            self._run()
        except Conflict:
            self._waves.clear()
            return False
        return True

    def undo(self, mark: int) -> None:
        """Undo all changes after a mark."""
        while len(self._changes) > mark:
            units, side = self._changes.pop()
            self._count(units, side, -1)
            self._state[units] = FREE

    @property
    def _is_full(self) -> bool:
        return self.k is not None and self._n_in >= self.k

    def _run(self) -> None:
        while self._waves:
            self._decide(*self._waves.pop())
        if self._is_full:
            self._require_complete()

    def _decide(self, units: Indices, side: int) -> None:
        """Decide units, and apply the rules that this affects."""
        states = self._state[units]
        if (states == -side).any():
            raise Conflict
        units = np.unique(units[states == FREE])
        if not units.size:
            return
        self._state[units] = side
        self._changes.append((units, side))
        limits, requires = self._count(units, side, 1)
        if self.k is not None and self._n_in > self.k:
            raise Conflict
        if limits.size:
            self._apply_limits(np.unique(limits))
        if side == IN:
            self._apply_budgets()
            requires = self._heads.rows_with(units)
        if requires.size:
            self._apply_requires(np.unique(requires))

    def _count(self, units: Indices, side: int, change: int) -> tuple[Indices, Indices]:
        """Update all counts; return the limits and the requirements with these units."""
        limits = self._limits.rows_with(units)
        requires = np.empty(0, dtype=np.intp)
        if side == IN:
            self._n_in += change * units.size
            np.add.at(self._inside, limits, change)
        else:
            requires = self._needed.rows_with(units)
            np.add.at(self._left, limits, -change)
            np.add.at(self._needed_left, requires, -change)
        return limits, requires

    def _apply_limits(self, limits: Indices) -> None:
        inside, left, least, most = (of[limits] for of in (self._inside, self._left, self._least, self._most))
        if (inside > most).any() or (left < least).any():
            raise Conflict
        full, tight = limits[inside == most], limits[left == least]
        if full.size:
            self._push(self._free(self._limits.of(full)), OUT)
        if tight.size:
            self._push(self._free(self._limits.of(tight)), IN)

    def _apply_requires(self, requires: Indices) -> None:
        inside = self._state[self._head[requires]] == IN
        every, sizes, left = self._every[requires], self._needed.sizes[requires], self._needed_left[requires]
        impossible = np.where(every, left < sizes, left == 0)
        self._push(self._head[requires[impossible]], OUT)
        forced = inside & (every | (left == 1))
        self._push(self._not_out(self._needed.of(requires[forced])), IN)

    def _apply_budgets(self) -> None:
        if not self._budgets:
            return
        inside, free = np.flatnonzero(self._state == IN), np.flatnonzero(self._state == FREE)
        for costs, most in self._budgets:
            used = costs[inside].tolist()
            total = fsum(used)
            if total > most:
                raise Conflict
            self._push(free[_exceeding(costs[free], used, total, most)], OUT)

    def _require_complete(self) -> None:
        """Check the only support of a region in which k units are in."""
        if (self._inside < self._least).any():
            raise Conflict
        requires = self._heads.rows_with(np.flatnonzero(self._state == IN))
        for one in requires.tolist():
            inside = self._state[self._needed.of(np.array([one]))] == IN
            if not (inside.all() if self._every[one] else inside.any()):
                raise Conflict

    def _push(self, units: Indices, side: int) -> None:
        if units.size:
            self._waves.append((units, side))

    def _free(self, units: Indices) -> Indices:
        return units[self._state[units] == FREE]

    def _not_out(self, units: Indices) -> Indices:
        return units[self._state[units] != OUT]


def _exceeding(costs: Array, used: list[float], total: float, most: float) -> NDArray[np.bool_]:
    """The units whose cost exceeds the budget together with the costs of others."""
    with np.errstate(over="ignore"):
        sums = total + costs
        over, near = sums * (1.0 - _NEAR_BUDGET) > most, sums * (1.0 + _NEAR_BUDGET) > most
    for i in np.flatnonzero(near & ~over):
        over[i] = fsum([*used, float(costs[i])]) > most
    return over
