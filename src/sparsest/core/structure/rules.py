"""The normal form of a structure: units, prices, limits, requirements and budgets.

A *unit* is a group of columns that are chosen together.  Limits, requirements and budgets are statements about units.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import fsum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsest.core.arrays import Array, Indices, Mask

# Over all units: 1 forced in, -1 forced out, 0 free.
UnitState = NDArray[np.int8]
# Relative difference from a budget up to which costs are added with correct rounding.
_NEAR = 1e-9


class Limit(NamedTuple):
    """Between ``least`` and ``most`` of these units."""

    units: tuple[int, ...]
    least: int
    most: int


class Requirement(NamedTuple):
    """A unit that needs all of some other units, or at least one of them."""

    unit: int
    needed: tuple[int, ...]
    all: bool


class Budget(NamedTuple):
    """The costs of all units, and the largest sum of the costs of those chosen, which is rounded correctly."""

    costs: tuple[float, ...]
    most: float


class Sets(NamedTuple):
    """Sets of units: those of set c are ``members[start[c]:start[c + 1]]``."""

    start: Indices
    members: Indices

    def counts(self, marked: Mask) -> Indices:
        """The number of marked units in each set."""
        totals = np.concatenate([[0], np.cumsum(marked[self.members])])
        found: Indices = totals[self.start[1:]] - totals[self.start[:-1]]
        return found

    def of(self, chosen: Mask) -> Mask:
        """Mark the units of the chosen sets."""
        return np.repeat(chosen, np.diff(self.start))


def make_sets(sets: Sequence[Sequence[int]]) -> Sets:
    """Store sets of units one after the other."""
    start = np.concatenate([[0], np.cumsum([len(one) for one in sets], dtype=np.int64)])
    return Sets(start.astype(np.int64), np.array([g for one in sets for g in one], dtype=np.int64))


class NestedLimits(NamedTuple):
    """Limits on sets that are disjoint or nested; a set comes after all sets that it contains, all units come last."""

    start: Indices
    members: Indices
    most: Indices


@dataclass(frozen=True, eq=False)
class Rules:
    """Which units may be chosen together, apart from their number.

    Attributes
    ----------
    n_units : the number of units
    limits, requires, budgets : what every choice has to keep
    """

    n_units: int
    limits: tuple[Limit, ...] = ()
    requires: tuple[Requirement, ...] = ()
    budgets: tuple[Budget, ...] = ()

    @cached_property
    def _limit_sets(self) -> Sets:
        return make_sets([limit.units for limit in self.limits])

    @cached_property
    def _least(self) -> Indices:
        return np.array([limit.least for limit in self.limits], dtype=np.int64)

    @cached_property
    def _most(self) -> Indices:
        return np.array([limit.most for limit in self.limits], dtype=np.int64)

    @cached_property
    def pairs(self) -> tuple[Indices, Indices]:
        """Units that need another one, and the units they need."""
        found = [(one.unit, needed) for one in self.requires if one.all for needed in one.needed]
        array = np.array(found, dtype=np.int64).reshape(-1, 2)
        return array[:, 0], array[:, 1]

    @cached_property
    def _any(self) -> tuple[Indices, Sets]:
        """Units that need one of several others, and these."""
        some = [one for one in self.requires if not one.all]
        return np.array([one.unit for one in some], dtype=np.int64), make_sets([one.needed for one in some])

    @cached_property
    def _costs(self) -> list[Array]:
        return [np.array(budget.costs) for budget in self.budgets]

    @property
    def wants_more(self) -> bool:
        """Whether a choice may break a rule because it has too few units."""
        return any(limit.least > 0 for limit in self.limits) or any(not one.all for one in self.requires)

    @cached_property
    def nested_numbers(self) -> tuple[int, ...]:
        """The limits that the gain of a bound keeps: walking through them, those that nest with all taken before."""
        taken: dict[int, frozenset[int]] = {}
        # The sets taken so far that contain each unit; all others are disjoint from a set without such units.
        around: dict[int, list[int]] = {}
        for at, limit in enumerate(self.limits):
            units = frozenset(limit.units)
            near = {one for g in units for one in around.get(g, ())}
            if limit.most < len(units) and all(units <= taken[one] or taken[one] <= units for one in near):
                for g in units:
                    around.setdefault(g, []).append(at)
                taken[at] = units
        return tuple(taken)

    def nested(self, k: int) -> NestedLimits:
        """These limits, the smallest sets first, and the number of units."""
        taken = sorted((self.limits[at] for at in self.nested_numbers), key=lambda limit: len(limit.units))
        sets = make_sets([sorted(limit.units) for limit in taken] + [list(range(self.n_units))])
        return NestedLimits(*sets, np.array([limit.most for limit in taken] + [k], dtype=np.int64))

    def keeps(self, chosen: Mask) -> bool:
        """Whether a choice of units keeps all rules."""
        counts = self._limit_sets.counts(chosen)
        unit, needed = self.pairs
        one, others = self._any
        return bool(
            (counts >= self._least).all()
            and (counts <= self._most).all()
            and (chosen[needed] | ~chosen[unit]).all()
            and ((others.counts(chosen) > 0) | ~chosen[one]).all()
            and all(self._affordable(chosen, at) for at in range(len(self.budgets)))
        )

    def broken(self, chosen: Mask) -> Mask:
        """Mark the units of the rules that a choice breaks."""
        marked = np.zeros(self.n_units, dtype=bool)
        sets, counts = self._limit_sets, self._limit_sets.counts(chosen)
        marked[sets.members[sets.of((counts < self._least) | (counts > self._most))]] = True
        unit, needed = self.pairs
        missing = chosen[unit] & ~chosen[needed]
        marked[unit[missing]] = marked[needed[missing]] = True
        one, others = self._any
        alone = chosen[one] & (others.counts(chosen) == 0)
        marked[one[alone]] = True
        marked[others.members[others.of(alone)]] = True
        for at, costs in enumerate(self._costs):
            if not self._affordable(chosen, at):
                marked |= costs > 0.0
        return marked

    def _affordable(self, chosen: Mask, budget: int, more: float = 0.0) -> bool:
        """Whether the cost of these units and of a further one is within a budget."""
        return fsum([*self._costs[budget][chosen].tolist(), more]) <= self.budgets[budget].most

    def propagate(self, state: UnitState, most: int) -> bool:
        """Force units in and out that every choice of a region has or lacks; False if the region is empty.

        ``state`` is updated; at most ``most`` units may be chosen.
        """
        while True:
            before = state.copy()
            inside = state == 1
            if not (self._number(state, most) and self._within_limits(state) and self._within_budgets(state)):
                return False
            if not self._required(state) or (state[inside] != 1).any():
                return False
            if np.array_equal(before, state):
                return True

    @staticmethod
    def _number(state: UnitState, most: int) -> bool:
        count = np.count_nonzero(state == 1)
        if count == most:
            state[state == 0] = -1
        return bool(count <= most)

    def _within_limits(self, state: UnitState) -> bool:
        if not self.limits:
            return True
        sets, inside, free = self._limit_sets, state == 1, state == 0
        n_inside, n_free = sets.counts(inside), sets.counts(free)
        if (n_inside > self._most).any() or (n_inside + n_free < self._least).any():
            return False
        full, short = n_inside == self._most, n_inside + n_free == self._least
        leaves, enters = np.zeros(state.size, dtype=bool), np.zeros(state.size, dtype=bool)
        leaves[sets.members[sets.of(full)]] = True
        enters[sets.members[sets.of(short)]] = True
        # A free unit that must both enter and leave makes the region empty.
        if (leaves & enters & free).any():
            return False
        state[leaves & free], state[enters & free] = -1, 1
        return True

    def _required(self, state: UnitState) -> bool:
        unit, needed = self.pairs
        wanted = needed[state[unit] == 1]
        if (state[wanted] == -1).any():
            return False
        state[wanted] = 1
        useless = unit[state[needed] == -1]
        if (state[useless] == 1).any():
            return False
        state[useless] = -1
        one, others = self._any
        if not one.size:
            return True
        left = others.counts(state >= 0)
        if (state[one[left == 0]] == 1).any():
            return False
        state[one[left == 0]] = -1
        last = others.members[others.of((left == 1) & (state[one] == 1))]
        state[last[state[last] == 0]] = 1
        return True

    def _within_budgets(self, state: UnitState) -> bool:
        for at, (costs, budget) in enumerate(zip(self._costs, self.budgets, strict=True)):
            inside = state == 1
            if not self._affordable(inside, at):
                return False
            total = float(costs[inside].sum())
            doubtful = np.flatnonzero((state == 0) & (total + costs > budget.most * (1.0 - _NEAR)))
            for g in doubtful.tolist():
                if total + costs[g] > budget.most * (1.0 + _NEAR) or not self._affordable(inside, at, costs[g]):
                    state[g] = -1
        return True
