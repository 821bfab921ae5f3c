"""The method "relaxation": solve the Boolean relaxation, round it, refit and polish."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sparsest.core.problem import Problem
from sparsest.proofs.certificate import relative_gap
from sparsest.proofs.steps import DualPoint, Leaf, Proof
from sparsest.results.result import Result
from sparsest.runtime.clock import Clock
from sparsest.runtime.events import Bound, Root, Status
from sparsest.subset.incumbent import Incumbent
from sparsest.subset.local_search import LocalSearch
from sparsest.subset.relaxation.relaxer import relax_problem
from sparsest.subset.relaxation.solution import Relaxed, summary, warm_start
from sparsest.subset.relaxation.stronger_ridges import gammas_before, relax_stronger
from sparsest.subset.results import make_result, require_dual_bounds, searching, start_support


@dataclass(frozen=True)
class Relaxation:
    """The method "relaxation": solve the relaxation, round it, refit and polish.

    With a weak ridge and more features than observations, forward selection and relaxations with stronger ridges are
    polished first.  If they show that the problem's own relaxation could prove little, it is not solved.

    With ``proof=False`` no proof is kept, so there is no certificate and the status is never OPTIMAL.
    """

    time_limit: float = 60.0
    gap_tol: float = 1e-4
    relaxation_tol: float = 1e-4
    fixing: bool = True
    polish: bool = True
    proof: bool = True
    moves: LocalSearch = field(default_factory=LocalSearch)

    def solve(self, problem: Problem, start: Any = None, clock: Clock | None = None) -> Result:
        """Return the rounded solution with the relaxation's bound; OPTIMAL if the gap is at most ``gap_tol``."""
        require_dual_bounds(problem)
        with searching(problem, self.time_limit, clock) as running:
            return self._solve(problem, start, running)

    def _solve(self, problem: Problem, start: Any, clock: Clock) -> Result:
        incumbent = Incumbent(problem, clock, start_support(start, problem))

        def after_round(relaxed: Relaxed) -> float:
            incumbent.try_support(relaxed.rounded(problem))
            # A round takes one pass over the data.
            clock.tell(Bound(clock.seconds(), relaxed.dual, incumbent.fit.primal, 0))
            return incumbent.fit.primal

        def round_and_polish(relaxed: Relaxed) -> float:
            fit = incumbent.try_support(relaxed.rounded(problem))
            if fit is not None and self.polish and not clock.expired():
                incumbent.offer(self.moves.search(problem, problem.root, fit.support, clock.expired))
            return incumbent.fit.primal

        gammas = gammas_before(problem)
        if self.polish and gammas:
            incumbent.offer(self.moves.search(problem, expired=clock.expired))
        first, enough = relax_stronger(problem, gammas, warm_start(start, problem), round_and_polish, clock.expired)
        upper = after_round if self.fixing else None
        relaxed, fixings = enough or relax_problem(problem, self.relaxation_tol, first, upper, clock.expired)
        clock.tell(Root(clock.seconds(), relaxed.dual, relaxed.region.free.size))
        incumbent.try_support(relaxed.rounded(problem))
        bound = min(relaxed.dual, fixings.closed)
        open_gap = relative_gap(incumbent.fit.primal, bound) > self.gap_tol
        if self.polish and open_gap and not clock.expired():
            incumbent.offer(self.moves.search(problem, relaxed.region, incumbent.fit.support, clock.expired))
        otherwise = clock.early() if clock.expired() else Status.HEURISTIC
        points = (*fixings.points, DualPoint(relaxed.alpha))
        proof = Proof((*fixings.fixes, Leaf(len(points) - 1)), points) if self.proof else None
        result = make_result(
            problem, incumbent.fit, proof, bound, clock=clock, gap_tol=self.gap_tol,
            otherwise=otherwise, trace={"relaxation": summary(problem, relaxed)},
            restart=relaxed.restart(),
        )  # fmt: skip
        result.trace["relaxation"]["tight"] = result.status is Status.OPTIMAL
        return result
