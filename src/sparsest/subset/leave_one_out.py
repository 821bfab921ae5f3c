"""The ridge by leave-one-out: γ and the support are chosen in turn until neither changes.

For a fixed support the leave-one-out error of every γ has a closed form (:mod:`sparsest.subset.fits.influence`), so no
model is fitted to a part of the data.  The error treats the support as given.  It is too small if the same responses
have chosen the support, so with more features than observations the chosen ridge shrinks too little;
``benchmarks/README.md`` has errors on held-out rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from sparsest.core.arrays import Indices
from sparsest.core.problem import Problem
from sparsest.results.result import Result
from sparsest.runtime.clock import Clock
from sparsest.runtime.faults import reach
from sparsest.subset.fits.influence import check_curved, leave_one_out_error
from sparsest.subset.fits.support import fit_support
from sparsest.subset.relaxation.method import Relaxation
from sparsest.subset.results import Solver

# γ is searched within this factor of the default, first on a grid of this many points.
_FACTOR, _POINTS = 1e3, 13
# Relative precision of the best γ, and the largest number of turns.
_PRECISION, _MOST_TURNS = 1e-3, 10
_GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)


class Turn(NamedTuple):
    """A support, the γ with the smallest leave-one-out error for it, and that error."""

    support: Indices
    gamma: float
    error: float


@dataclass(frozen=True)
class LeaveOneOut:
    """Chooses γ for the support and the support for γ; ``inner`` solves, at the end, for the γ that was chosen."""

    inner: Any

    @property
    def time_limit(self) -> float:
        """Seconds for all turns together."""
        return float(self.inner.time_limit)

    def solve(self, problem: Problem, start: Any = None, clock: Clock | None = None) -> Result:
        """Take turns, first with the relaxation, then with the method itself; the problem's γ is the first."""
        check_curved(problem.loss)
        if problem.bounds.exist:
            raise ValueError(
                "gamma='loo' has no closed form with max_coef, lower or upper: give a number or 'auto', or "
                "cross-validate"
            )
        clock = Clock(self.inner.time_limit) if clock is None else clock
        quick = Relaxation(gap_tol=self.inner.gap_tol)
        turns: list[Turn] = []
        with clock.listening():
            with clock.silenced():
                result = self._alternate(quick, problem, start, clock, turns)
            result = self._alternate(self.inner, problem, result, clock, turns)
        history = {
            "supports": [turn.support for turn in turns],
            "gammas": [turn.gamma for turn in turns],
            "errors": [turn.error for turn in turns],
            "stable": np.array_equal(turns[-1].support, result.support),
        }
        return replace(result, trace={**result.trace, "leave_one_out": history})

    @staticmethod
    def _alternate(solver: Solver, problem: Problem, start: Any, clock: Clock, turns: list[Turn]) -> Result:
        """Solve for the last γ until the support is the one that γ was chosen for; append to ``turns``."""
        result, met = start, set[bytes]()
        for _ in range(_MOST_TURNS):
            gamma = turns[-1].gamma if turns else problem.gamma
            result = solver.solve(problem.with_gamma(gamma), result, clock)
            if turns and np.array_equal(turns[-1].support, result.support):
                break
            if clock.expired():
                break
            if result.support.tobytes() in met:
                # Supports and ridges repeat in a cycle: take the best of them.
                best = min(turns, key=lambda turn: turn.error)
                turns.append(best)
                return solver.solve(problem.with_gamma(best.gamma), best.support, clock)
            met.add(result.support.tobytes())
            turn = best_turn(problem, result.support)
            turns.append(reach("turn", turn) or turn)
        return result


def best_turn(problem: Problem, support: Indices) -> Turn:
    """The γ with the smallest leave-one-out error of the models on a support, within limits about the problem's own."""
    if not support.size:
        return Turn(support, problem.gamma, leave_one_out_error(problem, fit_support(problem, support)))
    columns = problem.design.columns(support)

    def error(log_gamma: float) -> float:
        changed = problem.with_gamma(float(np.exp(log_gamma)))
        return leave_one_out_error(changed, fit_support(changed, support, columns=columns))

    reach = np.log(_FACTOR)
    grid = np.log(problem.gamma) + np.linspace(-reach, reach, _POINTS)
    at = int(np.argmin([error(t) for t in grid]))
    low, high = grid[max(at - 1, 0)], grid[min(at + 1, _POINTS - 1)]
    while high - low > _PRECISION:
        a, b = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        low, high = (low, b) if error(a) <= error(b) else (a, high)
    best = 0.5 * (low + high)
    return Turn(support, float(np.exp(best)), error(best))
