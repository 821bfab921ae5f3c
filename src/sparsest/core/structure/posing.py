"""Convert the settings of users to the rule of a problem: resolve names to units, and report contradictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sparsest.core.arrays import Indices, Mask
from sparsest.core.checks import as_array, instance, number, optional, shown, whole_number
from sparsest.core.data import Data
from sparsest.core.structure.correlations import exclusive_sets
from sparsest.core.structure.feasibility import find_choice
from sparsest.core.structure.rules import Budget, Limit, Requirement, Rules
from sparsest.core.structure.structured import StructuredSparsity
from sparsest.core.structure.user_rules import Structure, check_limit, check_requirement


class Units:
    """The units of the columns, and the names by which users call them.

    Attributes
    ----------
    of_column : the unit of each column, numbered in the order of their first columns
    """

    def __init__(self, feature_groups: Any, p: int, names: tuple[str, ...] | None) -> None:
        self.p, self.names = p, names
        self.grouped = feature_groups is not None
        self._labels: dict[Any, int] = {}
        labels = range(p) if feature_groups is None else group_labels(feature_groups, p, names)
        self.of_column = np.array([self._labels.setdefault(label, len(self._labels)) for label in labels], np.int64)

    @property
    def count(self) -> int:
        """The number of units."""
        return len(self._labels)

    @property
    def word(self) -> str:
        """The word for units in messages."""
        return "groups" if self.grouped else "features"

    def unit(self, feature: Any, name: str) -> int:
        """The unit that a label, a column name or a column number stands for."""
        if isinstance(feature, str):
            if self.grouped and feature in self._labels:
                return self._labelled(feature, name)
            times = 0 if self.names is None else self.names.count(feature)
            if self.names is None or times != 1:
                found = f"has {times} times" if times else "does not have"
                what = "column or group" if self.grouped else "column"
                raise ValueError(f"{name} names the {what} {shown(feature)}, which X {found}")
            return int(self.of_column[self.names.index(feature)])
        plain = feature.item() if isinstance(feature, np.generic) else feature
        if isinstance(plain, bool) or not isinstance(plain, int) or not 0 <= plain < self.p:
            raise ValueError(f"{name} must hold names or column numbers from 0 to {self.p - 1}, got {shown(feature)}")
        return int(self.of_column[plain])

    def _labelled(self, label: str, name: str) -> int:
        """The unit with a label, which must not be the name of a column of another unit as well."""
        unit = self._labels[label]
        columns = [] if self.names is None else [j for j, own in enumerate(self.names) if own == label]
        if any(self.of_column[j] != unit for j in columns):
            raise ValueError(
                f"{name} names {shown(label)}, which is the label of a group and the name of a column of another; "
                "give the group another label, or its columns by number"
            )
        return unit

    def units(self, features: Any, name: str) -> tuple[int, ...]:
        """The units of several features, in increasing order."""
        return tuple(sorted({self.unit(feature, name) for feature in features}))

    def values(self, given: Any, name: str) -> tuple[float, ...]:
        """A number, not negative, for each unit: a list, or a dictionary by feature with zero for the others."""
        if isinstance(given, Mapping):
            if not given:
                raise ValueError(f"{name} must have a number for at least one of the {self.word}, got {{}}")
            found: dict[int, float] = {}
            for feature, value in given.items():
                unit = self.unit(feature, name)
                if unit in found:
                    what = f"one number for each of the {self.word}"
                    raise ValueError(f"{name} must have {what}, got two for {shown(feature)}")
                found[unit] = number(value, f"every value of {name}", least=0)
            return tuple(found.get(unit, 0.0) for unit in range(self.count))
        entries = as_array(given, name)
        if entries.shape != (self.count,):
            raise ValueError(
                f"{name} must have {self.count} numbers, one for each of the {self.word}, or be a dictionary by "
                f"feature, got {shown(given)}"
            )
        return tuple(number(value, f"every entry of {name}", least=0) for value in entries.tolist())

    def shown(self, units: Sequence[int]) -> str:
        """Names of units for a message."""
        labels = list(self._labels)
        words = [str(labels[g]) if self.grouped or self.names is None else self.names[labels[g]] for g in units[:5]]
        return ", ".join(words) + (", …" if len(units) > 5 else "")


def pose_structure(
    data: Data,
    names: tuple[str, ...] | None,
    k: int | None,
    l0_penalty: Any,
    feature_groups: Any,
    structure: Any,
    include: Indices,
    exclude: Indices,
) -> StructuredSparsity:
    """Return the rule of a problem with a structure; raise a ValueError if no support satisfies it."""
    if k is None and l0_penalty is None and structure is None:
        raise ValueError("give k (a number of features), l0_penalty (a price per feature), or both")
    units = Units(feature_groups, data.p, names)
    common = None if l0_penalty is None or _is_sequence(l0_penalty) else number(l0_penalty, "l0_penalty", least=0)
    if common is not None or l0_penalty is None:
        prices = np.full(units.count, common or 0.0)
    else:
        prices = np.array(units.values(l0_penalty, "l0_penalty"))
    given = optional(instance, kind=Structure)(structure, "structure") or Structure()
    rules = _rules(data, units, given)
    most = None if k is None else min(whole_number(k, "k", least=0), units.count)
    rule = StructuredSparsity(most, prices, units.of_column, rules, common)
    return _feasible(rule, units, include, exclude)


def _rules(data: Data, units: Units, given: Structure) -> Rules:
    limits: list[Limit] = []
    for features, least, most in map(check_limit, given.limits):
        some = units.units(features, "limits")
        if least > len(some):
            raise ValueError(
                f"a limit requires at least {least} {units.word}, but its set has only {len(some)}: {units.shown(some)}"
            )
        limits.append(Limit(some, least, len(some) if most is None else min(most, len(some))))
    if isinstance(given.exclusive, Sequence):
        sets = [units.units(features, "exclusive") for features in given.exclusive]
    else:
        sets = (
            []
            if given.exclusive is None
            else [tuple(some) for some in exclusive_sets(data, units.of_column, float(given.exclusive))]
        )
    limits += [Limit(some, 0, 1) for some in sets if len(some) > 1]
    requires = []
    for feature, needed, every in map(check_requirement, given.requires):
        unit, others = units.unit(feature, "requires"), units.units(needed, "requires")
        # A unit needs itself in any case: leave it out of "all of", and drop a "one of" that contains it.
        rest = tuple(g for g in others if g != unit)
        if rest and (every or len(rest) == len(others)):
            requires.append(Requirement(unit, rest, every))
    budgets = []
    if given.costs is not None:
        assert given.max_cost is not None
        budgets.append(Budget(units.values(given.costs, "costs"), float(given.max_cost)))
    if given.max_columns is not None:
        sizes = np.bincount(units.of_column, minlength=units.count).astype(float)
        budgets.append(Budget(tuple(sizes.tolist()), float(given.max_columns)))
    return Rules(units.count, tuple(limits), tuple(requires), tuple(budgets))


def _feasible(rule: StructuredSparsity, units: Units, include: Indices, exclude: Indices) -> StructuredSparsity:
    """The rule with a first choice of units; a ValueError if there is none."""
    forced, banned = rule.units_of(include), rule.units_of(exclude)
    both = np.flatnonzero(forced & banned)
    if both.size:
        raise ValueError(f"include and exclude both contain {units.word}: {units.shown(both.tolist())}")
    count = int(forced.sum())
    if count > rule.most_units:
        raise ValueError(f"k = {rule.k} cannot hold the {count} {units.word} that include forces in")
    first = find_choice(rule, forced, banned)
    if first is None:
        raise ValueError(
            f"no choice of {units.word} satisfies k, include, exclude and the structure together"
            + _culprit(rule, units, forced, banned)
        )
    return replace(rule, first=first)


def _count(limit: Limit) -> str:
    """How many units of its set a limit allows, in words."""
    if limit.least == limit.most:
        return f"exactly {limit.most}"
    if limit.least == 0:
        return f"at most {limit.most}"
    if limit.most == len(limit.units):
        return f"at least {limit.least}"
    return f"between {limit.least} and {limit.most}"


def _culprit(rule: StructuredSparsity, units: Units, forced: Mask, banned: Mask) -> str:
    """A single rule that contradicts k, include and exclude, for a message; empty if there is none."""
    rules = rule.rules
    candidates: list[tuple[str, Rules]] = []
    for limit in rules.limits:
        what = f"{_count(limit)} of {units.shown(limit.units)}"
        candidates.append((what, Rules(rules.n_units, limits=(limit,))))
    for one in rules.requires:
        what = f"{units.shown([one.unit])} needs {'all' if one.all else 'one'} of {units.shown(one.needed)}"
        candidates.append((what, Rules(rules.n_units, requires=(one,))))
    for budget in rules.budgets:
        candidates.append((f"costs of at most {budget.most:g}", Rules(rules.n_units, budgets=(budget,))))
    for what, alone in candidates:
        single = StructuredSparsity(rule.k, rule.prices, rule.units, alone)
        if find_choice(single, forced, banned) is None:
            return f": {what}"
    return ""


def structure_with_k(rule: StructuredSparsity, k: int, include: Indices, exclude: Indices) -> StructuredSparsity:
    """The same structure for another number of units; a ValueError if no support satisfies it."""
    names = Units(rule.units.tolist(), rule.units.size, None)
    return _feasible(rule.with_k(min(k, rule.n_units)), names, include, exclude)


def group_labels(given: Any, p: int, names: tuple[str, ...] | None) -> list[str | int]:
    """The groups of p columns, texts or whole numbers.

    Parameters
    ----------
    given : p labels; or a function from the name of a column to its label; or a dictionary of labels by the name of
        the column, where columns that are missing are not grouped
    """
    if (callable(given) or isinstance(given, Mapping)) and names is None:
        raise ValueError("feature_groups by name needs the names of columns: give a data frame or feature_names")
    if isinstance(given, Mapping):
        unknown = [name for name in given if name not in (names or ())]
        if unknown:
            raise ValueError(f"feature_groups names the column {shown(unknown[0])}, which X does not have")
        labels: Any = [given.get(name, name) for name in names or ()]
    else:
        labels = [given(name) for name in names or ()] if callable(given) else as_array(given, "feature_groups")
    if np.shape(labels) != (p,):
        raise ValueError(f"feature_groups must have {p} labels, one for each column, got {shown(given)}")
    found = [entry.item() if isinstance(entry, np.generic) else entry for entry in labels]
    if not all(isinstance(label, (str, int)) and not isinstance(label, bool) for label in found):
        raise ValueError(f"the labels of feature_groups must be texts or whole numbers, got {shown(given)}")
    return found


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Mapping) or as_array(value, "l0_penalty").ndim > 0


def wants_structure(l0_penalty: Any, feature_groups: Any, structure: Any) -> bool:
    """Whether these settings say more than a number of features and a common price."""
    return feature_groups is not None or structure is not None or (l0_penalty is not None and _is_sequence(l0_penalty))


def forced_columns(of_column: Indices, columns: Indices) -> Indices:
    """All columns of the units of some columns."""
    return np.flatnonzero(np.isin(of_column, of_column[columns]))
