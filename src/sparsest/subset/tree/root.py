"""The relaxation of all supports, with which a search begins."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsest.core.problem import Problem
from sparsest.core.sparsity import Region
from sparsest.proofs.steps import DualPoint, Fix
from sparsest.runtime.clock import Clock
from sparsest.subset.dual import best_bound
from sparsest.subset.relaxation.relaxer import relax_problem
from sparsest.subset.relaxation.solution import Relaxed, Start
from sparsest.subset.tree.goal import Goal

# The relaxation is solved to this part of the gap that is wanted, and not below rounding.
_PRECISION, _LEAST_PRECISION = 0.1, 1e-9
# Rounds after which a good support is worth more than a further one: tight relaxations take fewer.
_MOST_ROUNDS_BEFORE = 6
# Up to so many survivors the better bounds over them cost less than a search for a better support, and often close the
# gap: p = 2000 and 20 to 150 survivors, 3 to 9 ms against 30.
_FEW_SURVIVORS = 200


class RootRelaxation(NamedTuple):
    """What is left of all supports, their bound, and what proves it: the last point, after the fixings.

    ``closed`` is the smallest bound of what the fixings closed, ``relaxed`` the solution of the relaxation.
    """

    region: Region
    coefficients: Start
    bound: float
    points: list[DualPoint]
    fixes: list[Fix]
    closed: float
    relaxed: Relaxed | None


def relax_root(problem: Problem, goal: Goal, clock: Clock, gap_tol: float, start: Start | None) -> RootRelaxation:
    """Relax all supports and fix features against the goal's cutoff.

    Without a ridge or a box there is only the trivial bound.  The relaxation begins at ``start``, or at no
    coefficients; every round's rounded support is handed to the goal, and where these leave many features it is asked
    to search for a better one.
    """
    if not problem.has_dual_bounds:
        goal.search_locally()
        trivial = best_bound(problem, goal.fit.alpha, problem.root)
        nothing = Start(np.empty(0, dtype=np.intp), np.empty(0), 0.0)
        return RootRelaxation(problem.root, nothing, trivial.value, [DualPoint(trivial.alpha)], [], np.inf, None)
    tolerance = _PRECISION * gap_tol + _LEAST_PRECISION

    def after_round(relaxed: Relaxed) -> float:
        goal.rounded(relaxed.rounded(problem))
        solved = relaxed.gap <= tolerance or relaxed.rounds == _MOST_ROUNDS_BEFORE
        if solved and _survivors(problem, relaxed, goal.cutoff) > _FEW_SURVIVORS:
            goal.search_locally()
        return goal.cutoff

    relaxed, fixings = relax_problem(problem, tolerance, start, after_round, clock.expired)
    # Where time has run out in the first round nothing else has given a support.
    goal.rounded(relaxed.rounded(problem))
    return RootRelaxation(
        relaxed.region,
        Start(relaxed.features, relaxed.w, relaxed.b),
        relaxed.dual,
        [*fixings.points, DualPoint(relaxed.alpha)],
        fixings.fixes,
        fixings.closed,
        relaxed,
    )


def _survivors(problem: Problem, relaxed: Relaxed, cutoff: float) -> int:
    """About how many features the relaxation leaves if nothing above ``cutoff`` is wanted."""
    slack = cutoff - relaxed.dual
    if slack <= 0.0:
        return 0
    costs = problem.sparsity.forcing_costs(relaxed.q, relaxed.region)
    return relaxed.region.forced_in.size + int(np.count_nonzero(costs.inside <= slack))
