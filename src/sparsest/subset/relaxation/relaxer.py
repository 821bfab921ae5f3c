"""The Boolean relaxation, solved to a computed gap on a growing working set.

    min_{s ∈ [0,1]^p, Σs ≤ k} c(s)  =  min_w Σ ω ℓ(y, Xw + b) + (1/γ) Ω_k(w)  =  max_α D(α)

A round solves the relaxation on the working set, passes once over the living columns for ``u = X'α``, takes the
bound, fixes features with it, and adds the features whose gain exceeds the threshold ``1/(2σ²)`` of the working set's
solution. It stops when the relaxed primal value and the bound over *all* features are within the tolerance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sparsest.core.arrays import Array, Indices
from sparsest.core.losses import PiecewiseLinear, dual_from_margin
from sparsest.core.problem import Problem
from sparsest.core.sparsity import Region
from sparsest.runtime.threads import single_threaded
from sparsest.subset.dual import DualBound, null_value, scaled_bound
from sparsest.subset.relaxation.kernels.fista import penalty_value
from sparsest.subset.relaxation.living import Living
from sparsest.subset.relaxation.memory import Memory
from sparsest.subset.relaxation.solution import Fixings, Relaxed, Start
from sparsest.subset.relaxation.working_set import WorkingSolution, make_regulariser, solve_working_set

_MAX_ROUNDS = 100
# The first working set is solved to this part of the value without features: where the relaxation is tight one round is
# then enough, and where it is not this has cost nothing.
_FIRST_PRECISION = 1e-3
# The part of the threshold above which features enter.  A further round costs an interior-point method more than some
# features too many (hinge, 1000 × 10000, k = 50, nγ = 10: 8 rounds instead of 11), and the others less.
_ENTERING, _ENTERING_PIECEWISE = 0.999, 0.9


@dataclass(frozen=True)
class Relaxer:
    """Solves the relaxation of a region to a relative gap of ``tolerance`` over all features."""

    tolerance: float = 1e-4

    def relax(
        self,
        problem: Problem,
        region: Region,
        living: Living,
        start: Start | None = None,
        upper: Callable[[Relaxed], float] | None = None,
        fixings: Fixings | None = None,
        expired: Callable[[], bool] = lambda: False,
    ) -> Relaxed:
        """Solve the relaxation, from no coefficients by default.

        ``upper``, an upper bound asked after every round, fixes features on the way; it ends when none is fixed more.
        """
        features, w, b = start or Start(np.empty(0, dtype=np.intp), np.empty(0), 0.0)
        best = self._first(problem, region, living, features, w, b)
        precision, floor = 0.1, 0.3 * self.tolerance
        gap, scale, iterations, memory = 1.0, null_value(problem), 0, Memory()
        for rounds in range(1, _MAX_ROUNDS + 1):
            features, w = _working_set(problem, best, w)
            forced = np.isin(features, best.region.forced_in)
            omega = make_regulariser(problem, forced)
            near = precision * min(gap, 1.0) if rounds > 1 else _FIRST_PRECISION
            wanted = max(near, floor)
            columns = living.columns(features)
            memory.enter(features, gap * scale)
            with single_threaded():
                point = solve_working_set(problem, columns, omega, w, b, wanted * scale, np.inf, expired, memory=memory)
            w, b = point.w, point.b
            iterations += point.iterations
            sigma = penalty_value(w, omega, 0.0)[1]
            alpha, products = self._pass(problem, living, point.alpha)
            bound = scaled_bound(problem, alpha, products, best.region)
            q = problem.gains_from(products)
            best = _combine(best, features, point, sigma, q, bound)._replace(rounds=rounds, iterations=iterations)
            # Fixings, which belong to another region, leave these the best guess.
            gap, scale = best.gap, abs(best.primal) if np.isfinite(best.primal) else scale
            if expired():
                break
            if upper is not None and fixings is not None:
                target = upper(best)
                if best.dual >= target or expired():
                    break
                best = _fix(problem, best, bound, living, target, fixings)
            if best.gap <= self.tolerance:
                break
            # Only where the working set's own gap is a good part of the whole does solving it better help.
            if point.primal - point.dual > 0.3 * (best.primal - best.dual):
                if near > floor:
                    precision = max(0.1 * precision, 1e-5)
                else:
                    floor = max(0.1 * floor, 1e-5 * self.tolerance)
        return best

    def _pass(self, problem: Problem, living: Living, alpha: Array) -> tuple[Array, Array]:
        alpha = problem.feasible(alpha)
        return alpha, living.products(alpha)

    def _first(
        self, problem: Problem, region: Region, living: Living, features: Indices, w: Array, b: float
    ) -> Relaxed:
        """The start with its dual point; no primal value yet.  That of no coefficients is known from the data."""
        if features.size == 0:
            b, alpha, products = problem.data.null.b, problem.data.null.alpha, problem.data.null.products
        else:
            margin = living.columns(features) @ w
            b = problem.data.intercept_for(margin, b)
            alpha = dual_from_margin(problem.loss, problem.y, margin + b, problem.weights, 1.0)
            alpha, products = self._pass(problem, living, alpha)
        bound, q = scaled_bound(problem, alpha, products, region), problem.gains_from(products)
        return Relaxed(region, features, w, b, 0.0, bound.alpha, q, np.inf, bound.value, 0, 0)


def _working_set(problem: Problem, best: Relaxed, w: Array) -> tuple[Indices, Array]:
    """Forced and nonzero features, those near the threshold, and the largest of those above it."""
    region = best.region
    free = region.free
    old, chosen = np.zeros(problem.p), np.zeros(problem.p, dtype=bool)
    old[best.features] = w
    threshold = _threshold(problem, best, w)
    q = best.q[free]
    chosen[best.features] = (w != 0) | (best.q[best.features] > 0.6 * threshold)
    chosen[region.forced_out] = False
    most = max(100, int(np.count_nonzero(chosen)))
    if best.sigma == 0 and problem.sparsity.price == 0.0:
        most = max(most, 2 * min(problem.sparsity.budget(region), problem.n))
    entering = _ENTERING_PIECEWISE if isinstance(problem.loss, PiecewiseLinear) else _ENTERING
    above = np.flatnonzero(q > (entering * threshold if best.sigma > 0 else 0.0))
    if above.size > most:
        above = above[np.argpartition(-q[above], most)[:most]]
    chosen[free[above]] = True
    chosen[region.forced_in] = True
    features = np.flatnonzero(chosen)
    return features, old[features]


def _threshold(problem: Problem, best: Relaxed, w: Array) -> float:
    """The gain beyond which features enter: that of the budget's multiplier, or of the price."""
    if not best.sigma > 0:
        return np.inf
    if problem.max_coef is None:
        return 0.5 / best.sigma**2
    # Where the box limits all coefficients these do not tell it: the least gain of the best choice among them does.
    budget, price = problem.sparsity.budget(best.region), problem.sparsity.price
    gains = np.sort(best.q[best.features[(w != 0) & ~np.isin(best.features, best.region.forced_in)]])
    return max(float(gains[-budget]), price) if 0 < budget <= gains.size else price


def _combine(
    best: Relaxed, features: Indices, point: WorkingSolution, sigma: float, q: Array, bound: DualBound
) -> Relaxed:
    """Take the new primal point with its gains, which guide the working set, and the better dual point."""
    dual_alpha, dual = (bound.alpha, bound.value) if bound.value >= best.dual else (best.alpha, best.dual)
    return best._replace(
        features=features, w=point.w, b=point.b, sigma=sigma, alpha=dual_alpha, q=q,
        primal=point.primal, dual=dual,
    )  # fmt: skip


def _fix(problem: Problem, best: Relaxed, bound: DualBound, living: Living, upper: float, fixings: Fixings) -> Relaxed:
    """Fix what the newest dual point and an upper bound decide; the primal value then belongs to another region."""
    region = best.region
    costs, slack = problem.sparsity.forcing_costs(bound.q, region), upper - bound.value
    goes_in, goes_out = costs.outside > slack, costs.inside > slack
    inside, outside = region.free[goes_in], region.free[goes_out]
    if inside.size + outside.size == 0:
        return best
    least = min(costs.outside[goes_in].min(initial=np.inf), costs.inside[goes_out].min(initial=np.inf))
    fixings.fix(bound.alpha, inside, outside, bound.value + float(least))
    narrowed = region.narrowed(inside, outside)
    living.bury(narrowed.forced_out)
    return best._replace(region=narrowed, primal=np.inf)
