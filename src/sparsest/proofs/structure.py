"""Rules that restrict supports: units, prices, limits, requirements and budgets, and which supports they admit.

A unit is a set of columns that are in a support together or not at all.  All other rules are about units.  The rules
also define rows ``A s ≤ β`` that hold for the indicators s of the units of every admissible support.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsest.proofs.rounding import Array, Indices
from sparsest.proofs.strict import are_counts, are_numbers, is_count, is_number, require

Limit = tuple[tuple[int, ...], int, int]
Requirement = tuple[int, tuple[int, ...], bool]
Budget = tuple[tuple[float, ...], float]


@dataclass(frozen=True)
class Rules:
    """The restrictions of supports.

    Parameters
    ----------
    units : the unit of each column, numbered from 0 in order of first appearance; None if every column is its own unit
    prices : the price of each unit, given instead of a common one
    limits : ``(units, least, most)``: a support has at least ``least`` and at most ``most`` of these units
    requires : ``(unit, needed, every)``: a support with the unit has every needed unit, or at least one of them
    budgets : ``(costs, most)``: the costs of the units of a support, summed with ``math.fsum``, are at most ``most``
    """

    units: tuple[int, ...] | None = None
    prices: tuple[float, ...] | None = None
    limits: tuple[Limit, ...] = ()
    requires: tuple[Requirement, ...] = ()
    budgets: tuple[Budget, ...] = ()

    def __post_init__(self) -> None:
        """Check all parts; types are checked strictly, because a file may contain anything."""
        if self.units is not None:
            require(are_counts(self.units) and _in_order(self.units), "structure with units", self.units)
        require(self.prices is None or _are_costs(self.prices), "structure with prices", self.prices)
        for name, fits in (("limits", _is_limit), ("requires", _is_requirement), ("budgets", _is_budget)):
            entries = getattr(self, name)
            require(isinstance(entries, tuple), f"structure with {name}", entries)
            for entry in entries:
                require(isinstance(entry, tuple) and fits(entry), f"structure with {name}", entry)

    def require_fit(self, p: int) -> None:
        """Refuse rules that are not about p columns."""
        require(self.units is None or len(self.units) == p, "columns and structure with units", (p, self.units))
        count = self.count(p)
        require(self.prices is None or len(self.prices) == count, "structure with prices", self.prices)
        for costs, _ in self.budgets:
            require(len(costs) == count, "structure with budgets", costs)
        require(self._largest_unit < count, "structure with a unit", self._largest_unit)

    @cached_property
    def _largest_unit(self) -> int:
        in_limits = (max(units) for units, _, _ in self.limits)
        in_requires = (max(unit, *needed) for unit, needed, _ in self.requires)
        return max((*in_limits, *in_requires), default=-1)

    def count(self, p: int) -> int:
        """The number of units of p columns."""
        return p if self.units is None else int(self.unit_of(p).max(initial=-1)) + 1

    def unit_of(self, p: int) -> Indices:
        """The unit of each of p columns."""
        return np.arange(p) if self.units is None else self._units

    @cached_property
    def _units(self) -> Indices:
        return np.array(self.units, dtype=np.intp)

    def price_of(self, units: Indices, common: float | None) -> float:
        """The price of some units, as a correctly rounded sum; ``common`` is the price of each without ``prices``."""
        if self.prices is None:
            return (common or 0.0) * units.size
        return fsum([self.prices[unit] for unit in units.tolist()])

    def complaints(self, support: Indices, p: int) -> list[str]:
        """The rules that a set of columns violates."""
        unit_of = self.unit_of(p)
        chosen = np.zeros(self.count(p), dtype=np.bool_)
        chosen[unit_of[support]] = True
        reasons = []
        if int(chosen[unit_of].sum()) != support.size:
            reasons.append("the incumbent has some columns of a unit, but not all")
        for units, least, most in self.limits:
            found = int(chosen[list(units)].sum())
            if not least <= found <= most:
                reasons.append(f"the incumbent has {found} of a set of units with a limit of {least} to {most}")
        for unit, needed, every in self.requires:
            if chosen[unit] and not (chosen[list(needed)].all() if every else chosen[list(needed)].any()):
                reasons.append(
                    f"the incumbent has unit {unit} without {'all' if every else 'one'} of the units it requires"
                )
        for costs, budget in self.budgets:
            cost = fsum([costs[unit] for unit in np.flatnonzero(chosen).tolist()])
            if not cost <= budget:
                reasons.append(f"the units of the incumbent cost {cost!r}, above a budget of {budget!r}")
        return reasons

    def exceeded_by(self, units: set[int]) -> bool:
        """Whether some units, and so any that include them, are too many for a limit or too costly for a budget."""
        if any(len(units & limited) > most for limited, most in self._limited_units):
            return True
        return any(fsum([costs[unit] for unit in units]) > most for costs, most in self.budgets)

    @cached_property
    def _limited_units(self) -> list[tuple[frozenset[int], int]]:
        return [(frozenset(units), most) for units, _, most in self.limits]

    def rows(self) -> Iterator[tuple[list[int], list[float], float]]:
        """The rows of ``A s ≤ β``: units, their coefficients, and the right-hand side.

        A rounded sum of costs is at most the budget, so the exact sum is below the next floating-point number.
        """
        for units, _, most in self.limits:
            yield list(units), [1.0] * len(units), float(most)
        for units, least, _ in self.limits:
            if least > 0:
                yield list(units), [-1.0] * len(units), -float(least)
        for unit, needed, every in self.requires:
            for group in [(one,) for one in needed] if every else [needed]:
                yield [unit, *group], [1.0] + [-1.0] * len(group), 0.0
        for costs, budget in self.budgets:
            used = [unit for unit, cost in enumerate(costs) if cost > 0.0]
            yield used, [float(costs[unit]) for unit in used], math.nextafter(budget, math.inf)

    def to_json(self) -> dict[str, Any]:
        """The rules in types of JSON."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_json(cls, data: Any) -> Rules:
        """Read the output of ``to_json``; ValueError if it is not a structure."""
        names = {field.name for field in fields(cls)}
        if not isinstance(data, dict) or set(data) != names:
            raise ValueError(f"the structure of a problem must be described by {', '.join(sorted(names))}")
        return cls(**{name: _as_tuples(value) for name, value in data.items()})

    @classmethod
    def part(cls, name: str, value: Any) -> Any:
        """One part, given in types of JSON or as tuples, as ``sorted_parts`` returns it; None if there is none."""
        return cls(**({} if value is None else {name: _as_tuples(value)})).sorted_parts()[name]

    def sorted_parts(self) -> dict[str, Any]:
        """All rules in an order that does not depend on how they are listed; None for absent kinds of rules."""
        limits = sorted((tuple(sorted(units)), least, most) for units, least, most in self.limits)
        requires = sorted((unit, tuple(sorted(needed)), every) for unit, needed, every in self.requires)
        parts = {"limits": limits, "requires": requires, "budgets": sorted(self.budgets)}
        return {"units": self.units, "prices": self.prices} | {name: part or None for name, part in parts.items()}

    def words(self) -> list[str]:
        """The rules in words, apart from units and prices."""
        found = []
        sizes = None if self.units is None else tuple(np.bincount(self._units).tolist())
        columns = [most for costs, most in self.budgets if costs == sizes]
        for count, name in (
            (len(self.limits), "limit"),
            (len(self.requires), "requirement"),
            (len(self.budgets) - len(columns), "budget"),
        ):
            if count:
                found.append(f"{count} {name}{'' if count == 1 else 's'}")
        return [*found, f"at most {min(columns):g} columns"] if columns else found


def fsum(values: list[float]) -> float:
    """The correctly rounded sum of nonnegative numbers; infinity if it is out of range."""
    try:
        return math.fsum(values)
    except OverflowError:
        return math.inf


def _as_tuples(value: Any) -> Any:
    """Lists of lists as tuples of tuples."""
    if not isinstance(value, (list, tuple)):
        return value
    nested = any(isinstance(part, (list, tuple)) for part in value)
    return tuple(map(_as_tuples, value)) if nested else tuple(value)


def _in_order(units: tuple[int, ...]) -> bool:
    """Whether units are numbered from 0 in order of first appearance."""
    numbers: NDArray[np.int64] = np.array(units, dtype=np.int64)
    before = np.maximum.accumulate(np.append(-1, numbers))[:-1]
    return bool((numbers <= before + 1).all())


def _are_costs(values: Any) -> bool:
    if not are_numbers(values):
        return False
    costs: Array = np.array(values, dtype=np.float64)
    return bool((costs >= 0.0).all() and np.isfinite(costs).all())


def _is_unit_set(units: Any) -> bool:
    return bool(are_counts(units) and units and len(set(units)) == len(units))


def _is_limit(entry: tuple[Any, ...]) -> bool:
    if len(entry) != 3 or not (is_count(entry[1]) and is_count(entry[2])):
        return False
    return _is_unit_set(entry[0]) and entry[1] <= entry[2]


def _is_requirement(entry: tuple[Any, ...]) -> bool:
    if len(entry) != 3 or not (is_count(entry[0]) and isinstance(entry[2], bool)):
        return False
    return _is_unit_set(entry[1]) and entry[0] not in entry[1]


def _is_budget(entry: tuple[Any, ...]) -> bool:
    if len(entry) != 2 or not is_number(entry[1]):
        return False
    return _are_costs(entry[0]) and 0.0 <= entry[1] < math.inf
