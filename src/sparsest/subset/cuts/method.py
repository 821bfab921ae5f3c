"""The method "cuts": outer approximation by cutting planes (Bertsimas, Pauphilet and Van Parys 2020, Algorithm 1).

    repeat   (s, η) ← argmin of the current cuts;   add the cut of α*(s)      until η ≥ c(s) - ε

The relaxation is solved first: it gives cuts and an incumbent, and fixes features, so that the master problem is small.
The master problem is solved by one tree in which cuts are added at integral points.  The engine HiGHS solves the linear
programs of our tree (:mod:`sparsest.subset.cuts.tree`).  SCIP and Gurobi search in their own tree for most of the time;
our tree then computes and proves the bound that follows from their cuts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sparsest.core.arrays import Array, Mask
from sparsest.core.problem import Problem
from sparsest.core.settings import ENGINES
from sparsest.proofs.steps import DualPoint, Leaf, Proof, Step
from sparsest.results.parts import Restart
from sparsest.results.result import Result
from sparsest.runtime.clock import Clock, finish_despite_interrupt
from sparsest.runtime.events import Bound, Root, Status
from sparsest.subset.cuts.master import Master, master_of
from sparsest.subset.cuts.pool import CutPool
from sparsest.subset.cuts.tree import CutTree
from sparsest.subset.fits.support import SupportFit, fit_support
from sparsest.subset.incumbent import Incumbent
from sparsest.subset.local_search import LocalSearch
from sparsest.subset.relaxation.relaxer import relax_problem
from sparsest.subset.relaxation.solution import Fixings, Relaxed, summary, warm_start
from sparsest.subset.results import make_result, searching, start_support

# Share of the time limit that is reserved for the proof if SCIP or Gurobi searches.
_PROOF_TIME_SHARE = 0.4
# Regions are closed at this share of the tolerance below the incumbent; the rest is reserved for rounding errors.
_CLOSING_SHARE = 0.9


@dataclass(frozen=True)
class Cuts:
    """Settings of the cutting planes; ``pool`` is a :class:`CutPool` of an earlier run on the same data and loss."""

    time_limit: float = 60.0
    gap_tol: float = 1e-4
    engine: str = "highs"
    pool: CutPool | None = None
    node_limit: int = 10_000_000
    moves: LocalSearch = field(default_factory=LocalSearch)

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise ValueError(f"unknown engine {self.engine!r}; choose one of {', '.join(ENGINES)}")

    def solve(self, problem: Problem, start: Any = None, clock: Clock | None = None) -> Result:
        """Search until the gap is closed or a limit is reached."""
        if not problem.has_dual_bounds:
            raise ValueError(
                "the cuts need a ridge, or limits on both sides of every coefficient: give a finite gamma or max_coef, "
                "or use method='tree'"
            )
        with searching(problem, self.time_limit, clock) as running:
            return self._solve(_CutSearch(self, problem, running), start)

    def _solve(self, search: _CutSearch, start: Any) -> Result:
        status = Status.OPTIMAL
        try:
            search.begin(start)
            status = search.run()
        except KeyboardInterrupt as error:
            search.clock.interrupt(error)
            status = Status.INTERRUPTED
        return finish_despite_interrupt(lambda: search.result(status))


class _CutSearch:
    """The mutable state of one search."""

    def __init__(self, settings: Cuts, problem: Problem, clock: Clock) -> None:
        self.settings, self.problem, self.clock = settings, problem, clock
        self.pool = CutPool() if settings.pool is None else settings.pool
        if settings.pool is not None:
            self.pool.check_data(problem)
        self.incumbent = Incumbent(problem, clock)
        self.survivors = np.arange(problem.p)
        self.forced = np.zeros(problem.p, dtype=bool)
        self.fixings = Fixings()
        self.tree: CutTree | None = None
        self.trace: dict[str, Any] = {"seconds": {}}
        self.restart = Restart()
        self.rounds, self.n_nodes, self.bound = 0, 0, 0.0
        self.relaxed_alpha = np.zeros(problem.n)
        # Indices in the pool of the cuts in the tree.
        self._numbers: list[int] = []

    def begin(self, start: Any) -> None:
        """Find an incumbent, solve the relaxation, and fix features."""
        problem, clock = self.problem, self.clock
        support = start_support(start, problem)
        self.incumbent.offer(self.settings.moves.search(problem, start=support, expired=clock.expired))
        tolerance = 0.1 * self.settings.gap_tol + 1e-9
        relaxed, self.fixings = relax_problem(
            problem, tolerance, warm_start(start, problem), self._after_round, clock.expired
        )
        self.survivors = np.setdiff1d(np.arange(problem.p), relaxed.region.forced_out)
        self.forced = np.isin(self.survivors, relaxed.region.forced_in)
        self.bound, self.relaxed_alpha = relaxed.dual, relaxed.alpha
        if clock.expired():
            return
        first = self.pool.add(problem, relaxed.alpha)
        self.pool.add(problem, self.fit.alpha)
        self.tree = CutTree(problem, self.survivors, self.forced, abs(self.fit.primal), self.separate)
        for number in [first, *(i for i in range(len(self.pool)) if i != first)]:
            self._add_to_tree(number)
        self.tree.begin()
        self.trace["relaxation"], self.restart = summary(problem, relaxed), relaxed.restart()
        self.trace["seconds"]["root"] = clock.seconds()
        clock.tell(Root(clock.seconds(), self.bound, self.survivors.size))

    @property
    def fit(self) -> SupportFit:
        """The best model so far."""
        return self.incumbent.fit

    @property
    def cutoff(self) -> float:
        """Regions whose bound reaches this value cannot improve the incumbent by more than the tolerance."""
        return self.fit.primal - _CLOSING_SHARE * self.settings.gap_tol * abs(self.fit.primal)

    def _after_round(self, relaxed: Relaxed) -> float:
        self.incumbent.try_support(relaxed.rounded(self.problem))
        return self.cutoff

    def separate(self, chosen: Mask) -> tuple[float, Array]:
        """Fit a support; return the constant of its cut and its gains for the survivors."""
        fit = fit_support(self.problem, self.survivors[chosen])
        # Engines satisfy rows only up to a tolerance.
        if self.problem.sparsity.admits(fit.support):
            self.incumbent.offer(fit)
        number = self.pool.add(self.problem, fit.alpha)
        self.rounds += 1
        self._numbers.append(number)
        return self.cut(number)

    def cut(self, number: int) -> tuple[float, Array]:
        """The constant of a cut in the pool, and its gains for the survivors."""
        constant, q = self.pool.cut(number, self.problem)
        return constant, q[self.survivors]

    def _add_to_tree(self, number: int) -> None:
        assert self.tree is not None
        self._numbers.append(number)
        self.tree.add(*self.cut(number))

    def cuts(self) -> list[tuple[float, Array]]:
        """All cuts of the tree."""
        return [self.cut(number) for number in self._numbers]

    def master(self) -> Master:
        """The prices and rows of the master problem."""
        return master_of(self.problem, self.survivors)

    @property
    def scale(self) -> float:
        """The unit of the master problem's objective."""
        return abs(self.fit.primal)

    def run(self) -> Status:
        """Let an external engine search first if there is one; then search and prove the bound in our own tree."""
        if self.tree is None:
            return self.clock.early()
        if self.settings.engine != "highs" and self.bound < self.cutoff:
            from sparsest.subset.cuts import engines

            search = engines.run_scip if self.settings.engine == "scip" else engines.run_gurobi
            known = len(self._numbers)
            left = self.clock.limit - self.clock.seconds()
            search(self, self.clock.seconds() + (1.0 - _PROOF_TIME_SHARE) * left)
            for number in self._numbers[known:]:
                assert self.tree is not None
                self.tree.add(*self.cut(number))
        return self._prove()

    def _prove(self) -> Status:
        tree = self.tree
        assert tree is not None
        while not tree.is_finished():
            if self.clock.expired():
                return self.clock.early()
            if self.n_nodes >= self.settings.node_limit:
                return Status.NODE_LIMIT
            tree.step(self.cutoff, self.clock.left())
            self.n_nodes += 1
            self.bound = max(self.bound, self._proved())
            self.clock.tell(Bound(self.clock.seconds(), self.bound, self.fit.primal, self.n_nodes))
        return Status.OPTIMAL

    def _proved(self) -> float:
        """The bound proved by the fixings and the tree."""
        assert self.tree is not None
        return min(self.tree.lower_bound(), self.fixings.closed)

    def result(self, status: Status) -> Result:
        """The result, with the certificate of incumbent and bound."""
        self.trace.update(cuts=len(self.pool), rounds=self.rounds, engine=self.settings.engine)
        otherwise = Status.HEURISTIC if status is Status.OPTIMAL else status
        points, steps = [*self.fixings.points], list[Step]()
        if self.tree is None:
            steps = [*self.fixings.fixes, Leaf(len(points))]
            points.append(DualPoint(self.relaxed_alpha))
            bound = min(self.bound, self.fixings.closed)
        else:
            steps = [*self.fixings.fixes, *self.tree.steps(len(points))]
            points += [DualPoint(self.pool.alphas[number]) for number in self._numbers]
            bound = self._proved()
        proof = Proof(steps, points)
        return make_result(
            self.problem, self.fit, proof, bound, clock=self.clock, gap_tol=self.settings.gap_tol,
            otherwise=otherwise, trace=self.trace, n_nodes=self.n_nodes, restart=self.restart,
        )  # fmt: skip
