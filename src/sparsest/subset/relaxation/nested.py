"""The relaxation over units with prices and nested limits: its regulariser, its working sets, and its quadratics."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sparsest.core.arrays import Array, Indices
from sparsest.core.problem import Problem
from sparsest.core.sparsity import Region
from sparsest.core.structure.structured import StructuredSparsity
from sparsest.runtime.faults import reach
from sparsest.subset.fits.linear_algebra import factor_positive, solve_positive
from sparsest.subset.relaxation.kernels.fista import Momentum, largest_eigenvalue
from sparsest.subset.relaxation.kernels.nested import NestedRegulariser, nested_penalty
from sparsest.subset.relaxation.kernels.nested_fista import relax_nested

# Number of iterations before w and s are alternated first, largest number of alternations, and smallest share of a unit
# whose coefficients are not set to zero.
_FIRST_ITERATIONS, _ALTERNATIONS, _SMALLEST_SHARE = 60, 10, 1e-9


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


def levels_of(w: Array, omega: NestedRegulariser) -> tuple[float, NestedLevels]:
    """Ω(w), and the multipliers and shares at which it is attained."""
    multipliers, shares = np.zeros(omega.room.size), np.empty(omega.forced.size)
    value = float(nested_penalty(w, omega, multipliers, shares))
    return value, NestedLevels(multipliers, shares[omega.unit])


class EnteringUnits(NamedTuple):
    """The rule by which units enter and stay in a working set; see :class:`sparsest.subset.relaxation.engine.Entering`.

    A unit has coefficients in the solution of the relaxation if its gain exceeds its price plus the largest multiplier
    of the nested sets that contain it.
    """

    share: float
    kept_share: float
    least: int
    growth: float

    def features(
        self, problem: Problem, rule: StructuredSparsity, region: Region, q: Array, known: Indices, w: Array,
        levels: NestedLevels | None,
    ) -> Indices:  # fmt: skip
        """The next working set, from the gains q of all columns, and the coefficients and levels of the last one."""
        state, gains = rule.state_of(region), rule.worth(q) + rule.prices
        threshold = np.zeros(rule.n_units)
        start, members, _ = rule.limits
        if levels is not None:
            np.maximum.at(threshold, members, np.repeat(levels.multipliers, np.diff(start)))
        threshold += rule.prices
        stays = (state == 1) | rule.units_of(known[w != 0.0])
        if levels is not None and self.kept_share < np.inf:
            stays |= rule.units_of(known) & (gains > self.kept_share * threshold)
        stays &= state >= 0
        enters = np.flatnonzero((state == 0) & ~stays & (gains > self.share * threshold))
        budget = rule.budget(region)
        ahead = 0 if rule.priced else 2 * min(budget, problem.n)
        most = max(self.least, ahead, int(self.growth * np.count_nonzero(stays))) if budget else 0
        if enters.size > most:
            excess = gains[enters] - threshold[enters]
            enters = enters[np.argpartition(-excess, most - 1)[:most]] if most else enters[:0]
        stays[enters] = True
        return rule.columns_of(stays)


def solve_nested_quadratic(
    H: Array,
    c: Array,
    omega: NestedRegulariser,
    w: Array,
    tolerance: float,
    cutoff: float,
    expired: Callable[[], bool],
    stretch: float,
    most_iterations: int,
) -> tuple[float, float, int]:
    """Minimise ``½w'Hw - c'w + Ω(w)`` from ``w``, which is overwritten, by restarted FISTA.

    Returns the primal value, the best dual value, and the number of iterations.  It ends when primal - dual ≤
    ``tolerance``, when dual ≥ ``cutoff``, or when a value is NaN.  ``expired`` is called after every ``stretch``
    multiplications.
    """
    L = 1.02 * float(largest_eigenvalue(H, 12)) + 1e-300
    at_once = int(stretch / max(c.size, 1) ** 2) + 1
    best, iterations, since, patience = -np.inf, 0, 0, _FIRST_ITERATIONS
    momentum = Momentum(np.empty(c.size), np.empty(c.size), np.zeros(1))
    while True:
        most = min(at_once, patience - since, most_iterations - iterations)
        reach("relax")
        primal, dual, count, L = relax_nested(H, c, omega, w, L, tolerance, cutoff, most, momentum)
        best, iterations, since = max(best, dual), iterations + count, since + count
        if count < most or iterations >= most_iterations or primal - best <= tolerance or expired():
            return primal, best, iterations
        if since >= patience:
            since = 0
            found = _with_fixed_shares(H, c, omega, w)
            if found is None:
                patience *= 2
            else:
                w[:], momentum.size[0] = found, 0.0


def _with_fixed_shares(H: Array, c: Array, omega: NestedRegulariser, w: Array) -> Array | None:
    """Alternate between the best w for given s and the best s for given w; None if that does not improve w.

    For given s the problem is one linear system, so an ill-conditioned H does not make steps short.
    """
    levels, shares = np.zeros(omega.room.size), np.empty(omega.forced.size)

    def value(trial: Array) -> float:
        return 0.5 * float(trial @ (H @ trial)) - float(c @ trial) + float(nested_penalty(trial, omega, levels, shares))

    found, best = None, value(w)
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
        found, best = trial, at_trial
    return found
