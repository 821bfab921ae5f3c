"""Admissible supports, their price, and the largest gain of a dual bound over them.

A rule answers questions about a region of supports and the gains ``q`` of all features.  No other code decides which
features may be chosen together.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsest.core.arrays import Array, Indices
from sparsest.core.checks import number, whole_number


@dataclass(frozen=True, eq=False)
class Region:
    """The supports among p features that contain ``forced_in`` and avoid ``forced_out``."""

    forced_in: Indices
    forced_out: Indices
    p: int

    @cached_property
    def state(self) -> NDArray[np.int8]:
        """For each feature: 1 if it is forced in, -1 if it is forced out, 0 if it is free."""
        state = np.zeros(self.p, dtype=np.int8)
        state[self.forced_in], state[self.forced_out] = 1, -1
        return state

    @cached_property
    def free(self) -> Indices:
        """The features that are neither forced in nor out."""
        return np.flatnonzero(self.state == 0)

    @cached_property
    def alive(self) -> Indices:
        """The features that are not forced out."""
        return np.flatnonzero(self.state >= 0)

    def narrowed(self, inside: Indices, outside: Indices) -> Region:
        """The part in which further features are forced in and out."""
        return Region(np.concatenate([self.forced_in, inside]), np.concatenate([self.forced_out, outside]), self.p)


class ForcingCosts(NamedTuple):
    """The increase of a bound if a free feature is forced in, and if it is forced out, for each feature."""

    inside: Array
    outside: Array


class Sparsity(NamedTuple):
    """At most ``k`` features, a price ``l0_penalty`` for each, or both; None if not given."""

    k: int | None
    l0_penalty: float | None = None

    @property
    def price(self) -> float:
        """The price of a feature."""
        return self.l0_penalty or 0.0

    @property
    def priced(self) -> bool:
        """Whether a feature has a price."""
        return self.price > 0.0

    def with_k(self, k: int | None) -> Sparsity:
        """The same rule for another number of features."""
        return self._replace(k=k)

    def among(self, columns: Indices) -> Sparsity:
        """The rule for some columns, numbered from 0: this one, because it does not tell columns apart."""
        return self

    def most(self, p: int) -> int:
        """The largest number of features, forced ones included."""
        return p if self.k is None else min(self.k, p)

    def budget(self, region: Region) -> int:
        """The number of free features that may still be chosen."""
        return max(0, min(self.most(region.p) - region.forced_in.size, region.free.size))

    def cost(self, support: Indices) -> float:
        """The price of a support."""
        return self.price * support.size

    def admits(self, support: Indices) -> bool:
        """Whether a support keeps the rule."""
        return True if self.k is None else support.size <= self.k

    def admissible(self, support: Indices, region: Region) -> bool:
        """Whether a support is in the region and keeps the rule."""
        chosen = np.zeros(region.p, dtype=bool)
        chosen[support] = True
        forced = chosen[region.forced_in].all() and not chosen[region.forced_out].any()
        return bool(support.size <= self.most(region.p) and forced)

    def propagate(self, region: Region) -> Region:
        """The smallest region with the same admissible supports."""
        if self.budget(region) > 0:
            return region
        return region.narrowed(region.free[:0], region.free)

    def choose(self, q: Array, region: Region) -> Indices:
        """The free features of the best choice: those with the largest gains, up to the budget, if above the price."""
        budget, free = self.budget(region), region.free
        if budget == 0:
            return free[:0]
        if budget < free.size:
            free = free[np.argpartition(-q[free], budget - 1)[:budget]]
        return free[q[free] > self.price] if self.price > 0.0 else free

    def gain(self, q: Array, region: Region) -> float:
        """The gain of the forced features and of the best choice, which the dual bound subtracts."""
        forced, chosen = q[region.forced_in], q[self.choose(q, region)]
        return float((forced - self.price).sum() + (chosen - self.price).sum())

    def forcing_costs(self, q: Array, region: Region) -> ForcingCosts:
        """The increase of the dual bound if a free feature is forced in, and if it is forced out, for each feature.

        Let k' be the budget and ``t = q - price``.  A feature with a smaller t that is forced in displaces the k'-th
        largest positive part of t; the next largest replaces a feature that is forced out of the choice.
        """
        t, budget = q[region.free] - self.price, self.budget(region)
        if budget == 0:
            return ForcingCosts(np.full(t.size, np.inf), np.zeros(t.size))
        last = following = 0.0
        if budget < t.size:
            order = np.argpartition(-t, (budget - 1, budget))
            last, following = max(t[order[budget - 1]], 0.0), max(t[order[budget]], 0.0)
        return ForcingCosts(np.maximum(last - t, 0.0), np.maximum(t - following, 0.0))

    def separation(self, q: Array, region: Region) -> float:
        """Return the smallest change of a gain that would change the best choice."""
        t, budget = np.sort(q[region.free] - self.price)[::-1], self.budget(region)
        if budget == 0 or (budget == t.size and self.price == 0.0):
            return np.inf
        rival = max(float(t[budget]), 0.0) if budget < t.size else 0.0
        last = float(t[budget - 1])
        return last - rival if last > 0.0 else float(np.abs(t[: budget + 1]).min())

    def rounded(self, indicator: Array, region: Region) -> Indices:
        """The admissible support nearest to a relaxed indicator; entries above 1 are ranked by size."""
        free = region.free[indicator[region.free] > (0.5 if self.price > 0.0 else 0.0)]
        chosen = free[np.argsort(-indicator[free], kind="stable")[: self.budget(region)]]
        return np.sort(np.concatenate([region.forced_in, chosen]))


def check_sparsity(k: Any, l0_penalty: Any, n_include: int, n_allowed: int) -> Sparsity:
    """Return the rule; raise a ValueError if it is not one."""
    if k is None and l0_penalty is None:
        raise ValueError("give k (a number of features), l0_penalty (a price per feature), or both")
    price = None if l0_penalty is None else number(l0_penalty, "l0_penalty", least=0)
    if k is None:
        return Sparsity(None, price)
    most = whole_number(k, "k", least=0)
    if most < n_include:
        raise ValueError(f"k = {most} is less than the {n_include} features that include forces in")
    return Sparsity(min(most, n_allowed), price)
