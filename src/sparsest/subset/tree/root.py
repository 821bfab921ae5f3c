"""The relaxation of the root node, which contains all supports."""

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

# Relative gap of the relaxation as a share of the requested gap, plus an allowance for rounding errors.
_PRECISION, _LEAST_PRECISION = 0.1, 1e-9
# Number of rounds after which a local search begins before the relaxation is solved; tight relaxations need fewer
# rounds.
_MOST_ROUNDS_BEFORE = 6
# Number of rounds after which the relaxation ends if all choices of features are tried then.
_MOST_ROUNDS_BEFORE_TRYING = 2
# Number of survivors up to which the tighter bounds over survivors are tried before a local search, because they take
# less time and often close the gap: with p = 2000 and 20 to 150 survivors, 3 to 9 ms instead of 30 ms.
_FEW_SURVIVORS = 200


class RootRelaxation(NamedTuple):
    """The region left by the fixings, and its bound, which the last of ``points`` proves.

    ``closed`` is the smallest bound of the regions that the fixings close; ``relaxed`` is the solution of the
    relaxation.
    """

    region: Region
    coefficients: Start
    bound: float
    points: list[DualPoint]
    fixes: list[Fix]
    closed: float
    relaxed: Relaxed | None


def relax_root(
    problem: Problem, goal: Goal, clock: Clock, gap_tol: float, start: Start | None, roughly: bool = False
) -> RootRelaxation:
    """Relax all supports and fix features against the goal's cutoff.

    Without a ridge or limits of coefficients there is only the trivial bound.  The relaxation starts from ``start``, or
    from zero coefficients.  The goal receives the rounded support of every round; if many features survive, it is asked
    for a local search.  ``roughly`` ends the relaxation after a few rounds, with a quick local search, because with a
    weak ridge it takes longer than trying all choices of features.
    """
    if not problem.has_dual_bounds:
        goal.search_locally()
        trivial = best_bound(problem, goal.fit.alpha, problem.root)
        nothing = Start(np.empty(0, dtype=np.intp), np.empty(0), 0.0)
        return RootRelaxation(problem.root, nothing, trivial.value, [DualPoint(trivial.alpha)], [], np.inf, None)
    tolerance = _PRECISION * gap_tol + _LEAST_PRECISION
    enough = False

    def after_round(relaxed: Relaxed) -> float:
        nonlocal enough
        goal.rounded(relaxed.rounded(problem))
        solved = relaxed.gap <= tolerance
        if roughly and not solved:
            enough = relaxed.rounds >= _MOST_ROUNDS_BEFORE_TRYING
            if enough:
                goal.search_quickly()
            return goal.cutoff
        due = solved or relaxed.rounds == _MOST_ROUNDS_BEFORE
        if due and _survivors(problem, relaxed, goal.cutoff) > _FEW_SURVIVORS:
            goal.search_locally()
        return goal.cutoff

    def ended() -> bool:
        return enough or clock.expired()

    relaxed, fixings = relax_problem(problem, tolerance, start, after_round, ended)
    # If the time limit was reached in the first round, there has been no support yet.
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
    """The approximate number of features that cannot be fixed out against ``cutoff``."""
    slack = cutoff - relaxed.dual
    if slack <= 0.0:
        return 0
    costs = problem.sparsity.forcing_costs(relaxed.q, relaxed.region)
    return relaxed.region.forced_in.size + int(np.count_nonzero(costs.inside <= slack))
