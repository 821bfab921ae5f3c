"""The method "cuts": outer approximation by cutting planes (Bertsimas, Pauphilet and Van Parys 2019, Algorithm 1).

    repeat   (s, η) ← argmin of the present cuts;   add the cut of α*(s)      until η ≥ c(s) - ε

The relaxation comes first: it gives cuts, an incumbent, and fixes features, so that the master problem is small.
HiGHS solves it anew in every round; SCIP and Gurobi run one tree and add cuts at its integral points.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sparsest.certificate import Certificate, certify
from sparsest.milp import MILP_MARGIN, Master, MilpSolution
from sparsest.problem import Cardinality, Problem
from sparsest.proof import Cuts as CutsStep
from sparsest.proof import DualPoint, Leaf, Point, Step
from sparsest.result import Bound as BoundEvent
from sparsest.result import Result, Root, Status, relative_gap
from sparsest.solvers.base import Callback, Clock, finish, insist, start_support
from sparsest.solvers.cut_pool import CutPool
from sparsest.solvers.local_search import LocalSearch
from sparsest.solvers.relaxation import Living, Proof, Relaxed, Relaxer, summary, warm_start
from sparsest.solvers.support import SupportFit, fit_support

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]

ENGINES = ("highs", "scip", "gurobi")


@dataclass(frozen=True)
class Cuts:
    """Settings of the cutting planes; ``pool`` is a :class:`CutPool` of an earlier run on the same data and loss."""

    time_limit: float = 60.0
    gap_tol: float = 1e-4
    engine: str = "highs"
    pool: CutPool | None = None
    max_rounds: int = 10_000
    moves: LocalSearch = field(default_factory=LocalSearch)

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise ValueError(f"unknown engine {self.engine!r}; choose one of {', '.join(ENGINES)}")

    def solve(self, problem: Problem, start: Any = None, callback: Callback | None = None) -> Result:
        """Search until the gap is closed or a limit is reached."""
        if np.isinf(problem.gamma):
            raise ValueError("cutting planes need a ridge: give a finite gamma, or use method='tree'")
        clock = Clock(self.time_limit, callback)
        with clock.listening():
            return self._solve(_CutSearch(self, problem, clock), start)

    def _solve(self, search: _CutSearch, start: Any) -> Result:
        status = Status.OPTIMAL
        try:
            search.begin(start)
            status = search.run()
        except KeyboardInterrupt as error:
            search.clock.interrupt(error)
            status = Status.INTERRUPTED
        return insist(lambda: search.result(status))


class Oracle(Protocol):
    """What an engine asks for."""

    def separate(self, chosen: Mask) -> tuple[float, float, Array]:
        """Evaluate a support; return its value and its cut's constant and gains."""


class _CutSearch:
    """The mutable state of one search."""

    def __init__(self, settings: Cuts, problem: Problem, clock: Clock) -> None:
        self.settings, self.problem, self.clock = settings, problem, clock
        self.pool = CutPool() if settings.pool is None else settings.pool
        self.fit: SupportFit = fit_support(problem, problem.include)
        self.survivors = np.arange(problem.p)
        self.forced = np.zeros(problem.p, dtype=bool)
        self.bound = problem.sparsity.cost(problem.include.size)
        self.proof, self.relaxed_alpha = Proof(), np.zeros(problem.n)
        self.by_cuts = False
        self.trace: dict[str, Any] = {"seconds": {}}
        self.rounds = 0

    def begin(self, start: Any) -> None:
        """Find an incumbent, solve the relaxation, and fix features."""
        problem, clock = self.problem, self.clock
        self._offer(self.settings.moves.search(problem, start=start_support(start, problem), expired=clock.expired))
        living = Living(problem)
        relaxed = Relaxer(0.1 * self.settings.gap_tol + 1e-9).relax(
            problem, problem.root, living, warm_start(start, problem), self._after_round, self.proof, clock.expired
        )
        self.bound, self.relaxed_alpha = max(self.bound, relaxed.dual), relaxed.alpha
        self.survivors = np.setdiff1d(np.arange(problem.p), relaxed.region.forced_out)
        self.forced = np.isin(self.survivors, relaxed.region.forced_in)
        self.pool.add(problem, relaxed.alpha)
        self.pool.add(problem, self.fit.alpha)
        self.trace["relaxation"] = summary(problem, relaxed, living)
        self.trace["seconds"]["root"] = clock.seconds()
        clock.tell(Root(clock.seconds(), self.bound, self.survivors.size))

    @property
    def cutoff(self) -> float:
        """Fixing closes what cannot be better than this."""
        return self.fit.primal - 0.5 * self.settings.gap_tol * abs(self.fit.primal)

    def _after_round(self, relaxed: Relaxed) -> float:
        self._offer(fit_support(self.problem, relaxed.rounded(self.problem), expired=self.clock.expired))
        return self.cutoff

    def _offer(self, fit: SupportFit) -> None:
        if fit.primal < self.fit.primal:
            self.fit = fit
            self.clock.found(fit)

    def closed(self) -> bool:
        """Whether the gap is within the tolerance."""
        return relative_gap(self.fit.primal, self.bound) <= self.settings.gap_tol

    def separate(self, chosen: Mask) -> tuple[float, float, Array]:
        """Evaluate a support; return its value and its cut's constant and gains over the survivors."""
        fit = fit_support(self.problem, self.survivors[chosen])
        self._offer(fit)
        constant, q = self.pool.cut(self.pool.add(self.problem, fit.alpha), self.problem.gamma)
        self.rounds += 1
        return fit.primal, constant, q[self.survivors]

    def raise_bound(self, bound: float) -> None:
        """Take over an engine's bound, less its tolerances; what fixing closed is at least the cutoff."""
        bound -= MILP_MARGIN * abs(self.fit.primal)
        bound = min(bound, self.cutoff) if self.proof.fixes else bound
        if bound > self.bound:
            self.bound, self.by_cuts = bound, True
        self.clock.tell(BoundEvent(self.clock.seconds(), self.bound, self.fit.primal, self.rounds))

    def master_arguments(self) -> tuple[int, Mask, int | None, float, float]:
        """Size, forced features, budget, price and scale of the master problem."""
        sparsity = self.problem.sparsity
        k = sparsity.k if isinstance(sparsity, Cardinality) else None
        return self.survivors.size, self.forced, k, sparsity.cost(1), self.fit.primal

    def cuts(self) -> list[tuple[float, Array]]:
        """All cuts of the pool over the survivors."""
        found = [self.pool.cut(number, self.problem.gamma) for number in range(len(self.pool))]
        return [(constant, q[self.survivors]) for constant, q in found]

    def run(self) -> Status:
        """Let the engine search."""
        if self.closed():
            return Status.OPTIMAL
        if self.clock.expired():
            return self.clock.early()
        if self.settings.engine == "highs":
            return self._rounds()
        from sparsest.solvers import engines

        run = engines.run_scip if self.settings.engine == "scip" else engines.run_gurobi
        return run(self)

    def _rounds(self) -> Status:
        master = Master(*self.master_arguments())
        for constant, q in self.cuts():
            master.add(constant, q)
        while self.rounds < self.settings.max_rounds:
            if self.clock.expired():
                return self.clock.early()
            solution: MilpSolution = master.solve(self.clock.left(), expired=self.clock.expired)
            self.raise_bound(solution.bound)
            if self.closed():
                return Status.OPTIMAL
            if not solution.finished:
                return self.clock.early()
            value, constant, q = self.separate(solution.chosen)
            master.add(constant, q)
            if value <= solution.bound + MILP_MARGIN * abs(self.fit.primal):
                return Status.OPTIMAL
        return Status.NODE_LIMIT

    def result(self, status: Status) -> Result:
        """Certify what was found: the engine's bound by its cuts, or the relaxation's by its dual point."""
        problem, fit = self.problem, self.fit
        self.trace.update(pool=self.pool, cuts=len(self.pool), rounds=self.rounds, engine=self.settings.engine)
        points: list[Point] = [*self.proof.points]
        steps: list[Step] = [*self.proof.fixes]
        if self.by_cuts:
            first = len(points)
            points += [DualPoint(alpha) for alpha in self.pool.alphas]
            steps.append(CutsStep(np.arange(first, len(points))))
            certificate = Certificate.claim(problem, fit.support, fit.w, fit.b, self.bound, points, steps)
        else:
            points.append(DualPoint(self.relaxed_alpha))
            steps.append(Leaf(len(points) - 1))
            certificate = certify(problem, fit.support, fit.w, fit.b, points, steps)
        if relative_gap(fit.primal, certificate.lower_bound) <= self.settings.gap_tol:
            status = Status.OPTIMAL
        elif status is Status.OPTIMAL:
            status = Status.HEURISTIC
        return finish(problem, fit, certificate, status, self.clock, self.trace, self.rounds, certificate.lower_bound)
