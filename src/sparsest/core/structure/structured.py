"""The sparsity rule of problems with a structure: units of columns, prices, nested limits, and further rules.

It answers the same questions as :class:`sparsest.core.sparsity.Sparsity`.  Regions, supports and gains speak of
columns; all columns of a unit always have the same state.  The gain of a unit is the sum of the gains of its columns.

The gain of a region keeps the number of units, prices and nested limits, and ignores the other rules, so bounds are
valid.  Propagation keeps all rules.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sparsest.core.arrays import Array, Indices, Mask
from sparsest.core.kernels.nested import choose_nested, nested_costs
from sparsest.core.sparsity import ForcingCosts, Region
from sparsest.core.structure.rules import NestedLimits, Rules, UnitState


@dataclass(frozen=True, eq=False)
class StructuredSparsity:
    """At most ``k`` units, a price for each, and rules about which units go together.

    Attributes
    ----------
    k : the largest number of units; None without a limit
    prices : the price of each unit
    units : the unit of each column
    rules : limits, requirements and budgets
    l0_penalty : the common price, if there is one; None otherwise
    first : units that keep all rules, known to exist when the problem was posed
    """

    k: int | None
    prices: Array
    units: Indices
    rules: Rules
    l0_penalty: float | None = None
    first: tuple[int, ...] = ()

    @property
    def priced(self) -> bool:
        """Whether a unit has a price."""
        return bool((self.prices > 0.0).any())

    @property
    def n_units(self) -> int:
        """The number of units."""
        return self.rules.n_units

    @property
    def most_units(self) -> int:
        """The largest number of units, forced ones included."""
        return self.n_units if self.k is None else min(self.k, self.n_units)

    @cached_property
    def limits(self) -> NestedLimits:
        """The limits that gains keep, the number of units last."""
        return self.rules.nested(self.most_units)

    @cached_property
    def sizes(self) -> Indices:
        """The number of columns of each unit."""
        return np.bincount(self.units, minlength=self.n_units)

    def with_k(self, k: int | None) -> StructuredSparsity:
        """The same rule for another number of units."""
        return replace(self, k=k)

    def with_prices(self, prices: Array) -> StructuredSparsity:
        """The same rule for other prices of units, which may be negative."""
        found = replace(self, prices=prices, l0_penalty=None)
        # Sorting the limits would take longer than a gain.
        vars(found).update(limits=self.limits, sizes=self.sizes)
        return found

    def among(self, columns: Indices) -> StructuredSparsity:
        """The rule for some columns, numbered from 0; units without columns are out."""
        return replace(self, units=self.units[columns])

    def most(self, p: int) -> int:
        """The largest number of columns, forced ones included."""
        return int(np.sort(self.sizes)[::-1][: self.most_units].sum())

    # Units and columns.

    def state_of(self, region: Region) -> UnitState:
        """The state of each unit in a region that has been propagated."""
        state = np.full(self.n_units, -1, dtype=np.int8)
        state[self.units] = region.state
        return state

    def columns_of(self, chosen: Mask) -> Indices:
        """The columns of the chosen units, in increasing order."""
        return np.flatnonzero(chosen[self.units])

    def units_of(self, support: Indices) -> Mask:
        """Mark the units that have a column in a support."""
        marked = np.zeros(self.n_units, dtype=bool)
        marked[self.units[support]] = True
        return marked

    def worth(self, q: Array) -> Array:
        """The gain of each unit minus its price."""
        return np.bincount(self.units, weights=q, minlength=self.n_units) - self.prices

    def budget(self, region: Region) -> int:
        """The number of free units that may still be chosen."""
        state = self.state_of(region)
        return max(0, min(self.most_units - int((state == 1).sum()), int((state == 0).sum())))

    # Supports.

    def cost(self, support: Indices) -> float:
        """The price of a support."""
        return float(self.prices[self.units_of(support)].sum()) if support.size else 0.0

    def keeps(self, chosen: Mask) -> bool:
        """Whether a choice of units keeps the number of units and all rules."""
        return bool(np.count_nonzero(chosen) <= self.most_units and self.rules.keeps(chosen))

    def admits(self, support: Indices) -> bool:
        """Whether a support consists of whole units that keep the rule."""
        chosen = self.units_of(support)
        return int(self.sizes[chosen].sum()) == support.size and self.keeps(chosen)

    def admissible(self, support: Indices, region: Region) -> bool:
        """Whether a support is in the region and keeps the rule."""
        chosen = np.zeros(region.p, dtype=bool)
        chosen[support] = True
        forced = chosen[region.forced_in].all() and not chosen[region.forced_out].any()
        return bool(forced) and self.admits(support)

    def propagate(self, region: Region) -> Region | None:
        """The smallest region with the same admissible supports that propagation finds; None if it is empty."""
        inside = np.zeros(self.n_units, dtype=bool)
        outside = self.sizes == 0
        inside[self.units[region.forced_in]] = True
        outside[self.units[region.forced_out]] = True
        if (inside & outside).any():
            return None
        state = inside.astype(np.int8) - outside.astype(np.int8)
        if not self.rules.propagate(state, self.most_units):
            return None
        columns = state[self.units]
        return Region(np.flatnonzero(columns == 1), np.flatnonzero(columns == -1), region.p)

    def close(self, state: UnitState) -> bool:
        """Propagate a state of columns, which is updated; False if the region is empty."""
        region = Region(np.flatnonzero(state == 1), np.flatnonzero(state == -1), state.size)
        found = self.propagate(region)
        if found is not None:
            state[:] = found.state
        return found is not None

    # Gains.

    def _choice(self, q: Array, region: Region) -> tuple[Array, UnitState, Mask, float]:
        worth, state = self.worth(q), self.state_of(region)
        chosen = np.empty(self.n_units, dtype=bool)
        return worth, state, chosen, choose_nested(worth, state, *self.limits, chosen)

    def choose(self, q: Array, region: Region) -> Indices:
        """The free columns of the best choice of units."""
        return self.columns_of(self._choice(q, region)[2])

    def gain(self, q: Array, region: Region) -> float:
        """The gain of the forced units and of the best choice, which the dual bound subtracts."""
        return float(self._choice(q, region)[3])

    def forcing_costs(self, q: Array, region: Region) -> ForcingCosts:
        """The increase of the dual bound if a free column's unit is forced in, and if it is forced out."""
        worth, state, chosen, _ = self._choice(q, region)
        inside, outside = np.empty(self.n_units), np.empty(self.n_units)
        nested_costs(worth, state, *self.limits, chosen, inside, outside)
        free = self.units[region.free]
        return ForcingCosts(inside[free], outside[free])

    def separation(self, q: Array, region: Region) -> float:
        """Return the smallest change of a unit's gain that would change the best choice."""
        costs = self.forcing_costs(q, region)
        return float(np.maximum(costs.inside, costs.outside).min(initial=np.inf))

    # Rounding.

    def rounded(self, indicator: Array, region: Region) -> Indices:
        """An admissible support near a relaxed indicator, as far as adding units one by one finds one."""
        s = np.zeros(self.n_units)
        np.maximum.at(s, self.units, indicator)
        state = self.state_of(region)
        least = 0.5 if self.priced else 0.0
        order = np.argsort(-s, kind="stable")
        for g in order[s[order] > least].tolist():
            self._force_in(state, g)
        if not self.rules.keeps(state == 1):
            # Too few units of some set: add units of broken rules, the largest indicators first.
            for g in order.tolist():
                if state[g] == 0 and self.rules.broken(state == 1)[g]:
                    self._force_in(state, g)
        return self.columns_of(state == 1)

    def _force_in(self, state: UnitState, unit: int) -> bool:
        """Add a unit and what it requires, if it is free and the rules allow it; ``state`` is updated."""
        if state[unit] != 0:
            return False
        trial = state.copy()
        trial[unit] = 1
        if not self.rules.propagate(trial, self.most_units):
            return False
        state[:] = trial
        return True

    def with_unit(self, chosen: Mask, unit: int, allowed: Mask) -> Mask | None:
        """The choice with a further unit and what it requires; None if that breaks a rule or is not allowed."""
        grown = chosen.copy()
        grown[unit] = True
        one, needed = self.rules.pairs
        while True:
            before = np.count_nonzero(grown)
            grown[needed[grown[one]]] = True
            if np.count_nonzero(grown) == before:
                break
        if (grown & ~chosen & ~allowed).any() or not self.keeps(grown):
            return None
        return grown

    def without_unit(self, chosen: Mask, unit: int) -> Mask:
        """The choice without a unit and those that require it; it may break other rules."""
        left = chosen.copy()
        left[unit] = False
        one, needed = self.rules.pairs
        while True:
            before = np.count_nonzero(left)
            left[one[~left[needed]]] = False
            if np.count_nonzero(left) == before:
                return left
