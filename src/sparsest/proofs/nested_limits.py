"""The limits of a structure that nest: every two of their sets are disjoint, or one contains the other.

The best choice of units under such limits is found by taking the best units first, and skipping those that break a
limit.  Equivalently, from the inside out, each set keeps its best units up to its limit.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple

import numpy as np

from sparsest.proofs.rounding import Indices
from sparsest.proofs.structure import Rules


class Level(NamedTuple):
    """Disjoint sets: the set of each unit, or -1, and the limit of each set."""

    set_of: Indices
    most: Indices

    def counts(self, units: Indices) -> Indices:
        """How many of some units each set contains."""
        sets = self.set_of[units]
        return np.bincount(sets[sets >= 0], minlength=self.most.size)


def nested_sets(rules: Rules) -> list[int]:
    """The numbers of the limits that are taken, in order, if they restrict anything and nest with those before."""
    taken: list[int] = []
    # The sets taken so far that contain a unit, smallest first: their sizes, and their numbers.
    sizes: dict[int, list[int]] = {}
    around: dict[int, list[int]] = {}
    for number, (units, _, most) in enumerate(rules.limits):
        size = len(units)
        if most >= size or not _nests(rules, units, sizes, around):
            continue
        taken.append(number)
        for unit in units:
            at = bisect_left(sizes.setdefault(unit, []), size)
            sizes[unit].insert(at, size)
            around.setdefault(unit, []).insert(at, number)
    return taken


def _nests(rules: Rules, units: tuple[int, ...], sizes: dict[int, list[int]], around: dict[int, list[int]]) -> bool:
    """Whether a set is disjoint from, inside of or around each set taken so far.

    For each unit of the set, the smallest larger set must be the same, so that it contains all of them, and the
    largest smaller set must have as many units in this set as it has at all.
    """
    larger: set[int] = set()
    smaller: dict[int, int] = {}
    for unit in units:
        numbers = around.get(unit, [])
        at = bisect_left(sizes.get(unit, []), len(units))
        larger.add(numbers[at] if at < len(numbers) else -1)
        if at:
            smaller[numbers[at - 1]] = smaller.get(numbers[at - 1], 0) + 1
    return len(larger) <= 1 and all(count == len(rules.limits[one][0]) for one, count in smaller.items())


def levels(rules: Rules, count: int) -> list[Level]:
    """The nested limits in levels of disjoint sets, from the inside out."""
    height = np.zeros(count, dtype=np.intp)
    members: list[list[int]] = []
    for number in sorted(nested_sets(rules), key=lambda one: len(rules.limits[one][0])):
        units = list(rules.limits[number][0])
        at = int(height[units].max())
        height[units] = at + 1
        if at == len(members):
            members.append([])
        members[at].append(number)
    found = []
    for numbers in members:
        set_of = np.full(count, -1)
        for i, number in enumerate(numbers):
            set_of[list(rules.limits[number][0])] = i
        found.append(Level(set_of, np.array([rules.limits[number][2] for number in numbers], dtype=np.intp)))
    return found
