"""The relaxation of a whole problem, solved to a computed gap over all features, which fixes features on the way."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sparsest.core.losses import PiecewiseLinear
from sparsest.core.problem import Problem
from sparsest.subset.dual import null_value
from sparsest.subset.relaxation.active_columns import ActiveColumns
from sparsest.subset.relaxation.engine import Entering, Policy, relax
from sparsest.subset.relaxation.solution import Fixings, Relaxed, Start
from sparsest.subset.relaxation.working_solution import WorkingSolution

_MOST_ROUNDS = 100
# The first working set is solved to this part of the value without features: where the relaxation is tight one round is
# then enough, and where it is not this has cost nothing.
_FIRST_PRECISION = 1e-3
# A further round costs an interior-point method more than some features too many (hinge, 1000 × 10000, k = 50, nγ = 10:
# 8 rounds instead of 11 with a share of 0.9), and the other methods less.
_ENTERING = Entering(share=0.999, kept_share=0.6, least=100, growth=1.0)
_ENTERING_PIECEWISE = _ENTERING._replace(share=0.9)
# A working set is solved to this part of the gap over all features, and to this part of the tolerance at least.
_PRECISION, _LEAST_PRECISION = 0.1, 0.3
# Only where the working set's own gap is this part of the whole does solving it more precisely help; then to a tenth.
_OWN_SHARE, _MORE_PRECISE = 0.3, 0.1

UpperBound = Callable[[Relaxed], float]


class _ToGap(Policy):
    """Stop at a relative gap over all features; an upper bound, asked after every round, fixes features on the way."""

    most_rounds = _MOST_ROUNDS

    def __init__(self, problem: Problem, columns: ActiveColumns, tolerance: float, upper: UpperBound | None) -> None:
        self.problem, self.columns, self.gap, self.upper = problem, columns, tolerance, upper
        self.entering = _ENTERING_PIECEWISE if isinstance(problem.loss, PiecewiseLinear) else _ENTERING
        self.fixings = Fixings()
        self._precision, self._floor = _PRECISION, _LEAST_PRECISION * tolerance
        self._scale = self.open_gap = null_value(problem)
        self._near = _FIRST_PRECISION * self._scale
        self._stopped = False

    def is_done(self, best: Relaxed) -> bool:
        """Whether the gap is reached, the upper bound is, or time has run out; the first round is always made."""
        return self._stopped or (best.rounds > 0 and best.gap <= self.gap)

    def tolerance(self, best: Relaxed) -> float:
        """A part of the gap that is left."""
        if best.rounds > 0:
            self._near = self._precision * min(self.open_gap, self._scale)
        return max(self._near, self._floor * self._scale)

    def after_round(self, best: Relaxed, point: WorkingSolution) -> Relaxed:
        """Fix features against the upper bound; solve more precisely where the working set's own gap is in the way."""
        coarse = self._near > self._floor * self._scale
        if np.isfinite(best.primal):
            self.open_gap, self._scale = best.primal - best.dual, abs(best.primal)
        self._stopped = self.columns.expired()
        if self.upper is not None and not self._stopped:
            target = self.upper(best)
            self._stopped = best.dual >= target or self.columns.expired()
            if not self._stopped:
                best = self._fix(best, target)
        if point.primal - point.dual > _OWN_SHARE * (best.primal - best.dual):
            if coarse:
                self._precision = max(_MORE_PRECISE * self._precision, 1e-5)
            else:
                self._floor = max(_MORE_PRECISE * self._floor, 1e-5 * self.gap)
        return best

    def _fix(self, best: Relaxed, upper: float) -> Relaxed:
        """Fix what the newest dual point and an upper bound decide; the primal value then belongs to another region."""
        region, bound = best.region, self.columns.bound
        costs, slack = self.problem.sparsity.forcing_costs(bound.q, region), upper - bound.value
        goes_in, goes_out = costs.outside > slack, costs.inside > slack
        inside, outside = region.free[goes_in], region.free[goes_out]
        if inside.size + outside.size == 0:
            return best
        least = min(costs.outside[goes_in].min(initial=np.inf), costs.inside[goes_out].min(initial=np.inf))
        self.fixings.fix(bound.alpha, inside, outside, bound.value + float(least))
        narrowed = region.narrowed(inside, outside)
        self.columns.drop(narrowed.forced_out)
        return best._replace(region=narrowed, primal=np.inf)


def relax_problem(
    problem: Problem,
    tolerance: float,
    start: Start | None = None,
    upper: UpperBound | None = None,
    expired: Callable[[], bool] = lambda: False,
) -> tuple[Relaxed, Fixings]:
    """Relax a problem to a relative gap of ``tolerance`` over all features, from no coefficients by default.

    ``upper``, an upper bound asked after every round, fixes features on the way.  The solution is that of the region
    that the fixings leave.
    """
    columns = ActiveColumns(problem, expired)
    policy = _ToGap(problem, columns, tolerance, upper)
    relaxed = relax(columns, problem, problem.root, policy, start)
    return relaxed._replace(passes=columns.passes), policy.fixings
