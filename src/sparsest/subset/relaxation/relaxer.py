"""The relaxation of a whole problem, solved to a certified gap over all features, with features fixed on the way."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sparsest.core.losses import PiecewiseLinear
from sparsest.core.problem import Problem
from sparsest.core.sparsity import Region, Sparsity
from sparsest.subset.dual import null_value
from sparsest.subset.relaxation.active_columns import ActiveColumns
from sparsest.subset.relaxation.engine import Policy, relax
from sparsest.subset.relaxation.entering import Entering
from sparsest.subset.relaxation.solution import Fixings, Relaxed, Start
from sparsest.subset.relaxation.working_solution import WorkingSolution

# Largest number of rounds.
_MOST_ROUNDS = 100
# Tolerance of the first working set, relative to the objective without features.  If the relaxation is tight, one round
# then suffices; if it is not, the extra cost is negligible.
_FIRST_PRECISION = 1e-3
# The rules by which features enter.  For an interior-point method a further round costs more than some superfluous
# features do (hinge loss, 1000 × 10000, k = 50, nγ = 10: a share of 0.9 needs 8 rounds instead of 11); for the other
# methods it costs less.
_ENTERING = Entering(share=0.999, kept_share=0.6, least=100, growth=1.0)
_ENTERING_PIECEWISE = _ENTERING._replace(share=0.9)
# Tolerance of a working set as a share of the gap over all features, and its lower limit as a share of the requested
# tolerance.
_PRECISION, _LEAST_PRECISION = 0.1, 0.3
# If the gap on the working set exceeds the first share of the gap over all features, the tolerance is multiplied by the
# second number; otherwise a more precise solution would not help.
_OWN_SHARE, _MORE_PRECISE = 0.3, 0.1

UpperBound = Callable[[Relaxed], float]


class _ToGap(Policy):
    """Stop at a relative gap over all features; fix features after every round if there is an upper bound."""

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
        """Whether the gap, the upper bound or the time limit is reached; the first round always takes place."""
        return self._stopped or (best.rounds > 0 and best.gap <= self.gap)

    def tolerance(self, best: Relaxed) -> float:
        """A share of the remaining gap."""
        if best.rounds > 0:
            self._near = self._precision * min(self.open_gap, self._scale)
        return max(self._near, self._floor * self._scale)

    def after_round(self, best: Relaxed, point: WorkingSolution) -> Relaxed:
        """Fix features against the upper bound; tighten the tolerance if the gap on the working set is too large."""
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
        """Fix features by the newest dual point and an upper bound; the primal value is then no longer valid."""
        region, bound = best.region, self.columns.bound
        costs, slack = self.problem.sparsity.forcing_costs(bound.q, region), upper - bound.value
        goes_in, goes_out = costs.outside > slack, costs.inside > slack
        inside, outside = region.free[goes_in], region.free[goes_out]
        if inside.size + outside.size == 0:
            return best
        least = min(costs.outside[goes_in].min(initial=np.inf), costs.inside[goes_out].min(initial=np.inf))
        self.fixings.fix(bound.alpha, inside, outside, bound.value + float(least))
        narrowed = self._propagated(region.narrowed(inside, outside))
        if narrowed is None:
            # Every support is closed by a fixing.
            self._stopped = True
            return best._replace(primal=np.inf, dual=np.inf)
        self.columns.drop(narrowed.forced_out)
        return best._replace(region=narrowed, primal=np.inf)

    def _propagated(self, region: Region) -> Region | None:
        """The region after propagation; a rule without a structure fixes features by bounds alone."""
        sparsity = self.problem.sparsity
        return region if isinstance(sparsity, Sparsity) else sparsity.propagate(region)


def relax_problem(
    problem: Problem,
    tolerance: float,
    start: Start | None = None,
    upper: UpperBound | None = None,
    expired: Callable[[], bool] = lambda: False,
) -> tuple[Relaxed, Fixings]:
    """Relax a problem to a relative gap of ``tolerance`` over all features; by default from zero coefficients.

    ``upper`` is called after every round and returns an upper bound, against which features are fixed.  The solution is
    that of the region left by the fixings.
    """
    columns = ActiveColumns(problem, expired)
    policy = _ToGap(problem, columns, tolerance, upper)
    relaxed = relax(columns, problem, problem.root, policy, start)
    return relaxed._replace(passes=columns.passes), policy.fixings
