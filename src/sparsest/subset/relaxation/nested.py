"""The relaxation over units with prices and nested limits: its regulariser, its working sets, and its quadratics."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsest.core.arrays import Array, Indices
from sparsest.core.problem import Problem
from sparsest.core.sparsity import Region
from sparsest.core.structure.structured import StructuredSparsity
from sparsest.subset.fits.linear_algebra import factor_positive, solve_positive
from sparsest.subset.relaxation.kernels.nested import NestedRegulariser, nested_penalty

# Largest number of alternations, and smallest share of a unit whose coefficients are not set to zero.
_ALTERNATIONS, _SMALLEST_SHARE = 10, 1e-9


class NestedLevels(NamedTuple):
    """The multiplier of each nested set, and the relaxed indicator of the columns of a working set."""

    multipliers: Array
    shares: Array


def make_nested(problem: Problem, rule: StructuredSparsity, region: Region, features: Indices) -> NestedRegulariser:
    """Return Ω for a working set of whole units, which has all forced units."""
    state = rule.state_of(region)
    units, unit = np.unique(rule.units[features], return_inverse=True)
    place = np.full(rule.n_units, -1)
    place[units] = np.arange(units.size)
    start, members, most = rule.limits
    n_forced = np.add.reduceat(np.append(state[members] == 1, False).astype(np.int64), start[:-1])
    n_forced[start[:-1] == start[1:]] = 0
    kept = (place[members] >= 0) & (state[members] == 0)
    ends = np.concatenate([[0], np.cumsum(kept)])[start]
    size = features.size
    root = np.full(size, np.sqrt(problem.ridge))
    bounds = problem.bounds.of(features)
    infinite = np.full(size, np.inf)
    low, high = (bounds.low, bounds.high) if bounds.exist else (-infinite, infinite)
    return NestedRegulariser(
        root, unit.astype(np.int64), state[units] == 1, rule.prices[units], ends.astype(np.int64),
        place[members[kept]].astype(np.int64), most - n_forced, low, high, bounds.exist,
    )  # fmt: skip


def levels_of(w: Array, omega: NestedRegulariser) -> NestedLevels:
    """The multipliers and shares at which Ω(w) is attained."""
    multipliers, shares = np.zeros(omega.room.size), np.empty(omega.forced.size)
    nested_penalty(w, omega, multipliers, shares)
    return NestedLevels(multipliers, shares[omega.unit])


def multipliers_of(rule: StructuredSparsity, levels: NestedLevels) -> Array:
    """The price of each unit plus the largest multiplier of the nested sets that contain it."""
    largest = np.zeros(rule.n_units)
    start, members, _ = rule.limits
    np.maximum.at(largest, members, np.repeat(levels.multipliers, np.diff(start)))
    return largest + rule.prices


def alternate_shares(H: Array, c: Array, omega: NestedRegulariser, w: Array) -> bool:
    """Move w by alternating between the best w for given s and the best s for given w; return whether it improves.

    For given s the problem is one linear system, so an ill-conditioned H does not make steps short.
    """
    levels, shares = np.zeros(omega.room.size), np.empty(omega.forced.size)

    def value(trial: Array) -> float:
        return 0.5 * float(trial @ (H @ trial)) - float(c @ trial) + float(nested_penalty(trial, omega, levels, shares))

    improved, best = False, value(w)
    for _ in range(_ALTERNATIONS):
        s = shares[omega.unit]
        used = np.flatnonzero(s > _SMALLEST_SHARE)
        A = H[np.ix_(used, used)]
        A.flat[:: used.size + 1] += omega.root_delta[used] ** 2 / s[used]
        factor = factor_positive(A)
        if factor is None:
            break
        trial = np.zeros(w.size)
        trial[used] = solve_positive(factor, c[used])
        if omega.bounded:
            trial[used] = np.clip(trial[used], omega.low[used] * s[used], omega.high[used] * s[used])
        at_trial = value(trial)
        if not at_trial < best:
            break
        w[:], improved, best = trial, True, at_trial
    return improved
