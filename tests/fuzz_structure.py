"""Structures of the fuzz, and which supports they admit, written without the library's rules."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import fsum

import numpy as np

from sparsest import Structure

# How many instances have a structure.
SHARE = 0.25


@dataclass(frozen=True, eq=False)
class Rules:
    """Units of columns, their prices, and rules about units: limits, requirements and budgets."""

    units: np.ndarray
    prices: np.ndarray
    most: int
    limits: tuple
    requires: tuple
    budgets: tuple

    def admits(self, z):
        """Whether units may be chosen together."""
        return (
            z.sum() <= self.most
            and all(least <= z[units].sum() <= most for units, least, most in self.limits)
            and all(not z[unit] or (z[some].all() if every else z[some].any()) for unit, some, every in self.requires)
            and all(fsum(costs[z]) <= most for costs, most in self.budgets)
        )

    def supports(self, include, exclude):
        """All admissible supports."""
        for choice in product([False, True], repeat=self.prices.size):
            z = np.array(choice, dtype=bool)
            support = np.flatnonzero(z[self.units])
            if np.isin(include, support).all() and not np.isin(exclude, support).any() and self.admits(z):
                yield tuple(support.tolist())

    def price(self, support):
        """The price of a support."""
        return fsum(self.prices[np.unique(self.units[list(support)])]) if support else 0.0


def draw_structure(seed, p, settings, traits):
    """Settings and rules of a structure; nothing for most instances and where no support would be left."""
    rng = np.random.default_rng([seed, 28])
    if rng.random() > SHARE or p < 2:
        return {}, None
    labels = rng.integers(0, max(2, p // 2), p) if rng.random() < 0.5 else np.arange(p)
    units = np.unique(labels, return_index=True)[1].argsort().argsort()[np.unique(labels, return_inverse=True)[1]]
    count = int(units.max()) + 1
    common = settings.get("l0_penalty")
    varied = common is not None and rng.random() < 0.5
    prices = np.round(common * rng.uniform(0.0, 2.0, count), 6) if varied else np.full(count, common or 0.0)
    limits, given = [], []
    for _ in range(rng.integers(0, 3)):
        columns = rng.choice(p, int(rng.integers(1, p + 1)), replace=False)
        some = np.unique(units[columns])
        least = int(rng.random() < 0.2)
        most = int(rng.integers(max(least, 1), some.size + 1))
        limits.append((some, least, most))
        given.append((columns.tolist(), least, most))
    requires, wanted = [], []
    for _ in range(rng.integers(0, 3)):
        column, *needed = rng.permutation(p)[: int(rng.integers(2, 4))].tolist()
        every = bool(rng.random() < 0.6)
        # A unit that needs itself needs the others only if it needs all.
        others = np.unique(units[needed])
        requires.append((units[column], others, every))
        wanted.append((column, needed, "all" if every else "any"))
    costs = 0.1 * rng.integers(0, 6, count)
    budgets, paid = [], {}
    if rng.random() < 0.3:
        paid = {"costs": costs.tolist(), "max_cost": float(0.1 * rng.integers(2, 12))}
        budgets.append((costs, paid["max_cost"]))
    rules = Rules(units, prices, settings.get("k", count), tuple(limits), tuple(requires), tuple(budgets))
    if not any(True for _ in rules.supports(settings["include"], settings["exclude"])):
        return {}, None
    traits.append("structure")
    changed = {"feature_groups": labels.tolist(), "structure": Structure(limits=given, requires=wanted, **paid)}
    return changed | ({"l0_penalty": prices.tolist()} if varied else {}), rules
