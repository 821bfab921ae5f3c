"""The Boolean relaxation, solved to a computed gap on a growing working set; and the method "relaxation".

    min_{s ∈ [0,1]^p, Σs ≤ k} c(s)  =  min_w Σ ω ℓ(y, Xw + b) + (1/γ) Ω_k(w)  =  max_α D(α)

A round solves the relaxation on the working set, passes once over the living columns for ``u = X'α``, takes the
bound, fixes features with it, and adds the features whose gain exceeds the threshold ``1/(2σ²)`` of the working set's
solution. It stops when the relaxed primal value and the bound over *all* features are within the tolerance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsest.designs import Dense, Design
from sparsest.losses import dual_from_margin
from sparsest.problem import Cardinality, Problem, Region
from sparsest.proofs.steps import DualPoint, Fix, Leaf, Proof
from sparsest.result import Result, Root, Status
from sparsest.solvers.base import Callback, Clock, make_result, start_support
from sparsest.solvers.dual import Bound, null_value, scaled_bound, separation
from sparsest.solvers.local_search import LocalSearch
from sparsest.solvers.support import SupportFit, fit_support
from sparsest.solvers.threads import single_threaded
from sparsest.solvers.working_set import Point, make_shape, solve_working_set

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_MAX_ROUNDS = 100


class Living:
    """The columns that are not fixed out: the design itself, or a packed copy once they are few."""

    def __init__(self, problem: Problem) -> None:
        self.design: Design = problem.design
        self.index = np.arange(problem.p)
        self.position = np.arange(problem.p)
        self.passes = 0.0
        self._p = problem.p
        self._packed = False

    def products(self, alpha: Array) -> Array:
        """``X_j'α`` for the living columns, and zero for the dead."""
        self.passes += self.index.size / self._p if self._packed else 1.0
        if not self._packed:
            return self.design.tdot(alpha)
        out = np.zeros(self._p)
        out[self.index] = self.design.tdot(alpha)
        return out

    def columns(self, features: Indices) -> Array:
        """Packed columns."""
        return self.design.columns(self.position[features])

    def bury(self, dead: Indices) -> None:
        """Drop columns; they are physically gone once at most a fifth of all is left."""
        alive = np.ones(self._p, dtype=bool)
        alive[dead] = False
        keep = np.flatnonzero(alive)
        if 5 * keep.size > self._p or (self._packed and 2 * keep.size > self.index.size):
            return
        self.design = Dense(self.columns(keep))
        self.index, self._packed = keep, True
        self.position = np.full(self._p, -1)
        self.position[keep] = np.arange(keep.size)


class Relaxed(NamedTuple):
    """A solution of the relaxation over a region: primal point, dual point, and their values."""

    region: Region
    features: Indices
    w: Array
    b: float
    sigma: float
    alpha: Array
    q: Array
    primal: float
    dual: float
    rounds: int
    iterations: int

    @property
    def gap(self) -> float:
        """Relative primal-dual gap of the relaxation."""
        return (self.primal - self.dual) / max(abs(self.primal), 1e-300) if np.isfinite(self.primal) else 1.0

    def fractional(self, problem: Problem) -> Array:
        """The relaxed indicator ``s`` of every feature."""
        s = np.zeros(problem.p)
        used = self.w != 0
        s[self.features[used]] = np.minimum(1.0, self.sigma * np.sqrt(problem.ridge) * np.abs(self.w[used]))
        s[self.region.forced_in] = 1.0
        return s

    def rounded(self, problem: Problem) -> Indices:
        """An admissible support: the forced features and the largest relaxed ones."""
        free = np.flatnonzero(~np.isin(self.features, self.region.forced_in) & (self.w != 0))
        size = np.abs(self.w[free])
        n_forced = self.region.forced_in.size
        if problem.sparsity.cost(1) > 0:
            free = free[self.sigma * np.sqrt(problem.ridge) * size >= 0.5]
        else:
            budget = problem.sparsity.budget(n_forced, free.size)
            free = free[np.argsort(-size, kind="stable")[:budget]]
        return np.sort(np.concatenate([self.region.forced_in, self.features[free]]))


class Fixings:
    """The steps that lead from the root to a region by fixings, each with its dual point."""

    def __init__(self) -> None:
        self.points: list[DualPoint] = []
        self.fixes: list[Fix] = []

    def fix(self, alpha: Array, inside: Indices, outside: Indices) -> None:
        """Note that a dual point closes the other side of these features."""
        self.points.append(DualPoint(alpha))
        self.fixes.append(Fix(len(self.points) - 1, inside, outside))


class Start(NamedTuple):
    """Relaxed coefficients to begin from."""

    features: Indices
    w: Array
    b: float


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
        """Solve the relaxation; ``upper``, an upper bound asked after every round, fixes features on the way."""
        features, w, b = start or Start(np.empty(0, dtype=np.intp), np.empty(0), 0.0)
        best = self._first(problem, region, living, features, w, b)
        precision = 0.1
        iterations = 0
        for rounds in range(1, _MAX_ROUNDS + 1):
            features, w = _working_set(problem, best, w)
            forced = np.isin(features, best.region.forced_in)
            shape = make_shape(problem, forced)
            wanted = max(precision * min(best.gap, 1.0), 0.3 * self.tolerance * min(1.0, 10 * precision))
            scale = abs(best.primal) if np.isfinite(best.primal) else null_value(problem)
            columns = living.columns(features)
            with single_threaded():
                point = solve_working_set(problem, columns, shape, w, b, wanted * scale, np.inf, expired)
            w, b = point.w, point.b
            iterations += point.iterations
            sigma = shape.value(w)[1]
            alpha, q = self._pass(problem, living, point.alpha)
            bound = scaled_bound(problem, alpha, q, best.region)
            best = _combine(best, features, point, sigma, q, bound)._replace(rounds=rounds, iterations=iterations)
            if best.gap <= self.tolerance or expired():
                break
            if upper is not None and fixings is not None:
                target = upper(best)
                if best.dual >= target or expired():
                    break
                best = _fix(problem, best, bound, living, target, fixings)
            # Only where the working set's own gap is a good part of the whole does solving it better help.
            if point.primal - point.dual > 0.3 * (best.primal - best.dual):
                precision = max(0.1 * precision, 1e-5)
        return best

    def _pass(self, problem: Problem, living: Living, alpha: Array) -> tuple[Array, Array]:
        alpha = problem.feasible(alpha)
        return alpha, problem.gains_from(living.products(alpha))

    def _first(
        self, problem: Problem, region: Region, living: Living, features: Indices, w: Array, b: float
    ) -> Relaxed:
        """The start with its dual point; no primal value yet."""
        margin = living.columns(features) @ w
        b = problem.intercept_for(margin, b)
        alpha = dual_from_margin(problem.loss, problem.y, margin + b, problem.weights, 1.0)
        alpha, q = self._pass(problem, living, alpha)
        bound = scaled_bound(problem, alpha, q, region)
        return Relaxed(region, features, w, b, 0.0, bound.alpha, q, np.inf, bound.value, 0, 0)


def _working_set(problem: Problem, best: Relaxed, w: Array) -> tuple[Indices, Array]:
    """Forced and nonzero features, those near the threshold, and the largest of those above it."""
    region = best.region
    free = region.free(problem.p)
    old = dict(zip(best.features.tolist(), w.tolist(), strict=True))
    threshold = 0.5 / best.sigma**2 if best.sigma > 0 else np.inf
    q = best.q[free]
    gone = np.isin(best.features, region.forced_out)
    keep = best.features[~gone & ((w != 0) | (best.q[best.features] > 0.6 * threshold))]
    most = max(100, keep.size)
    if best.sigma == 0 and isinstance(problem.sparsity, Cardinality):
        most = max(most, 2 * problem.sparsity.budget(region.forced_in.size, min(free.size, problem.n)))
    above = np.flatnonzero(q > (0.999 * threshold if best.sigma > 0 else 0.0))
    if above.size > most:
        above = above[np.argpartition(-q[above], most)[:most]]
    features = np.union1d(np.union1d(keep, free[above]), region.forced_in)
    return features, np.array([old.get(j, 0.0) for j in features.tolist()])


def _combine(best: Relaxed, features: Indices, point: Point, sigma: float, q: Array, bound: Bound) -> Relaxed:
    """Take the new primal point with its gains, which guide the working set, and the better dual point."""
    dual_alpha, dual = (bound.alpha, bound.value) if bound.value >= best.dual else (best.alpha, best.dual)
    return best._replace(
        features=features, w=point.w, b=point.b, sigma=sigma, alpha=dual_alpha, q=q,
        primal=point.primal, dual=dual,
    )  # fmt: skip


def _fix(problem: Problem, best: Relaxed, bound: Bound, living: Living, upper: float, fixings: Fixings) -> Relaxed:
    """Fix what the newest dual point and an upper bound decide; the primal value then belongs to another region."""
    region = best.region
    free = region.free(problem.p)
    cost_in, cost_out = problem.sparsity.forcing_costs(bound.q[region.forced_in], bound.q[free])
    slack = upper - bound.value
    inside, outside = free[cost_out > slack], free[cost_in > slack]
    if inside.size + outside.size == 0:
        return best
    fixings.fix(bound.alpha, inside, outside)
    narrowed = Region(np.concatenate([region.forced_in, inside]), np.concatenate([region.forced_out, outside]))
    living.bury(narrowed.forced_out)
    return best._replace(region=narrowed, primal=np.inf)


@dataclass(frozen=True)
class Relaxation:
    """The method "relaxation": solve the relaxation, round it, refit and polish."""

    time_limit: float = 60.0
    gap_tol: float = 1e-4
    relaxation_tol: float = 1e-4
    fixing: bool = True
    polish: bool = True
    moves: LocalSearch = field(default_factory=LocalSearch)

    def solve(self, problem: Problem, start: Any = None, callback: Callback | None = None) -> Result:
        """Return the rounded solution with the relaxation's bound; OPTIMAL when they meet."""
        if np.isinf(problem.gamma):
            raise ValueError("the Boolean relaxation needs a ridge: give a finite gamma")
        clock = Clock(self.time_limit, callback)
        with clock.listening():
            return self._solve(problem, start, clock)

    def _solve(self, problem: Problem, start: Any, clock: Clock) -> Result:
        incumbent = _Incumbent(problem, clock, start_support(start, problem))
        living, fixings = Living(problem), Fixings()
        relaxed = Relaxer(self.relaxation_tol).relax(
            problem,
            problem.root,
            living,
            warm_start(start, problem),
            incumbent.after if self.fixing else None,
            fixings,
            clock.expired,
        )
        clock.tell(Root(clock.seconds(), relaxed.dual, relaxed.region.free(problem.p).size))
        incumbent.after(relaxed)
        if self.polish and incumbent.fit is not None and not clock.expired():
            incumbent.offer(self.moves.search(problem, relaxed.region, incumbent.fit.support, clock.expired))
        assert incumbent.fit is not None
        otherwise = clock.early() if clock.expired() else Status.HEURISTIC
        points = (*fixings.points, DualPoint(relaxed.alpha))
        proof = Proof((*fixings.fixes, Leaf(len(points) - 1)), points)
        # What fixing closed has passed the objective at that time, which is not below the last one.
        bound = min(relaxed.dual, incumbent.fit.primal) if fixings.fixes else relaxed.dual
        result = make_result(
            problem, incumbent.fit, proof, bound, clock=clock, gap_tol=self.gap_tol, otherwise=otherwise,
            trace={"relaxation": summary(problem, relaxed, living)},
        )  # fmt: skip
        result.trace["relaxation"]["tight"] = result.status is Status.OPTIMAL
        return result


def summary(problem: Problem, relaxed: Relaxed, living: Living) -> dict[str, Any]:
    """What a result tells of its relaxation."""
    n_root = problem.include.size, problem.exclude.size
    return {
        "primal": relaxed.primal,
        "dual": relaxed.dual,
        "gap": relaxed.gap,
        "features": relaxed.features,
        "w": relaxed.w,
        "b": relaxed.b,
        "s": relaxed.fractional(problem),
        "alpha": relaxed.alpha,
        "fixed_in": relaxed.region.forced_in[n_root[0] :],
        "fixed_out": relaxed.region.forced_out[n_root[1] :],
        "separation": separation(problem, relaxed.q, relaxed.region),
        "passes": living.passes,
        "rounds": relaxed.rounds,
        "iterations": relaxed.iterations,
    }


class _Incumbent:
    """The best model so far; rounding a relaxed solution may improve it."""

    def __init__(self, problem: Problem, clock: Clock, support: Indices | None) -> None:
        self.problem, self.clock = problem, clock
        self.fit: SupportFit | None = None
        self._tried: set[bytes] = set()
        if support is not None:
            self.offer(fit_support(problem, support, expired=clock.expired))

    def offer(self, fit: SupportFit) -> None:
        """Keep the better model."""
        if self.fit is None or fit.primal < self.fit.primal:
            self.fit = fit
            self.clock.found(fit)

    def after(self, relaxed: Relaxed) -> float:
        """Try the rounded support; return the best objective so far."""
        support = relaxed.rounded(self.problem)
        if support.tobytes() not in self._tried:
            self._tried.add(support.tobytes())
            self.offer(fit_support(self.problem, support, expired=self.clock.expired))
        assert self.fit is not None
        return self.fit.primal


def warm_start(start: Any, problem: Problem) -> Start | None:
    """The relaxed coefficients of an earlier result, or those of its model."""
    if not isinstance(start, Result) or start.coef.size != problem.p:
        return None
    known = start.trace.get("relaxation")
    if known is None:
        return None
    allowed = ~np.isin(known["features"], problem.exclude)
    return Start(known["features"][allowed], known["w"][allowed], known["b"])
