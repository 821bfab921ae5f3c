"""Relaxations with stronger ridges, for problems whose own relaxation proves little.

With more features than observations and a weak ridge, the relaxation can fit almost every observation.  Its value is
then a small share of the objective of any model, and solving it takes long, because thousands of features are active.
Relaxations with stronger ridges take less time, and models that begin from their rounded supports are rarely worse.
Their coefficients bound the value of the relaxation with the weak ridge from above.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sparsest.core.problem import Problem
from sparsest.core.ridge import default_gamma
from sparsest.subset.dual import best_bound
from sparsest.subset.relaxation.regularisers import value_of
from sparsest.subset.relaxation.relaxer import relax_problem
from sparsest.subset.relaxation.solution import Fixings, Relaxed, Start
from sparsest.subset.relaxation.working_set import make_regulariser

# A ridge is weak from this multiple of the default γ on.
_WEAK = 64.0
# The first γ relative to the default one, and the factor from one to the next.
_FIRST, _FACTOR = 0.25, 4.0
# Relative gap to which the relaxations are solved: they are only rounded.
_PRECISION = 0.05
# If the value of a relaxation is at most this share of an objective, its bound is not worth the time.
_WORTHLESS = 0.1


def gammas_before(problem: Problem) -> list[float]:
    """The increasing γ of stronger ridges to begin with; none unless the ridge is weak and p > n.

    Bounds of coefficients limit what features can fit, whatever the ridge; with them there are none either.
    """
    if problem.p <= problem.n or problem.bounds.exist:
        return []
    default = default_gamma(problem.data)
    if not problem.gamma > _WEAK * default:
        return []
    gammas = [_FIRST * default]
    while gammas[-1] * _FACTOR < problem.gamma:
        gammas.append(gammas[-1] * _FACTOR)
    return gammas


def relax_stronger(
    problem: Problem,
    gammas: list[float],
    start: Start | None,
    rounded: Callable[[Relaxed], float],
    expired: Callable[[], bool],
) -> tuple[Start | None, tuple[Relaxed, Fixings] | None]:
    """Relax with stronger ridges in turn; return a start for the problem's own ridge, and a relaxation if it is enough.

    ``gammas`` are those of :func:`gammas_before`.  ``rounded`` is called with each relaxation and returns the objective
    of the best model.  A relaxation is enough if its coefficients show that the value with the problem's own ridge is a
    small share of this objective.  It is returned with that value and with the bound of its dual point.
    """
    objective = 0.0
    for gamma in gammas:
        stronger = problem.with_gamma(gamma)

        def stop_at(relaxed: Relaxed, stronger: Problem = stronger, most: float = _WORTHLESS * abs(objective)) -> float:
            """The dual value at which to stop: any, if this relaxation is enough already."""
            return -np.inf if _value(problem, stronger, relaxed) <= most else np.inf

        relaxed, nothing_fixed = relax_problem(stronger, _PRECISION, start, stop_at, expired)
        start = Start(relaxed.features, relaxed.w, relaxed.b)
        objective = rounded(relaxed)
        value = _value(problem, stronger, relaxed)
        if value <= _WORTHLESS * abs(objective) or expired():
            bound = best_bound(problem, relaxed.alpha, problem.root)
            enough = relaxed._replace(primal=value, dual=bound.value, alpha=bound.alpha, q=bound.q)
            return start, (enough, nothing_fixed)
    return start, None


def _value(problem: Problem, stronger: Problem, relaxed: Relaxed) -> float:
    """The objective of relaxed coefficients with the ridge of ``problem``."""
    at, before = (
        value_of(relaxed.w, make_regulariser(this, relaxed.region, relaxed.features)) for this in (problem, stronger)
    )
    return relaxed.primal - before + at
