"""The method "local": an incumbent found by local search, and the bound of its dual point."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sparsest.core.problem import Problem
from sparsest.results.result import Result
from sparsest.runtime.clock import Clock
from sparsest.runtime.events import Status
from sparsest.subset.claims import single_leaf
from sparsest.subset.dual import best_bound
from sparsest.subset.fits.support import SupportFit
from sparsest.subset.local_search import LocalSearch
from sparsest.subset.results import make_result, searching, start_support


@dataclass(frozen=True)
class Local:
    """Local search from a forward selection; it does not search for a better bound."""

    time_limit: float = 60.0
    gap_tol: float = 1e-4
    moves: LocalSearch = field(default_factory=LocalSearch)

    def solve(self, problem: Problem, start: Any = None, clock: Clock | None = None) -> Result:
        """Return the incumbent; the status is OPTIMAL only if the bound of its dual point closes the gap."""
        with searching(problem, self.time_limit, clock) as running:
            return self._solve(problem, start, running)

    def _solve(self, problem: Problem, start: Any, clock: Clock) -> Result:
        def improved(fit: SupportFit) -> None:
            clock.found(fit.primal, fit.support)

        begin = start_support(start, problem)
        fit = self.moves.search(problem, start=begin, expired=clock.expired, improved=improved)
        otherwise = clock.early() if clock.expired() else Status.HEURISTIC
        bound = best_bound(problem, fit.alpha, problem.root)
        proof = single_leaf(bound.alpha)
        return make_result(problem, fit, proof, bound.value, clock=clock, gap_tol=self.gap_tol, otherwise=otherwise)
