"""The method "local": an incumbent by swap search, and the bound of its own dual point."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sparsest.problem import Problem
from sparsest.result import Result, Status
from sparsest.solvers.shared.claims import single_leaf
from sparsest.solvers.shared.clock import Callback, Clock
from sparsest.solvers.shared.dual import best_bound
from sparsest.solvers.shared.local_search import LocalSearch
from sparsest.solvers.shared.results import make_result, start_clock, start_support


@dataclass(frozen=True)
class Local:
    """Swap search from a forward start; no search for a better bound."""

    time_limit: float = 60.0
    gap_tol: float = 1e-4
    moves: LocalSearch = field(default_factory=LocalSearch)

    def solve(self, problem: Problem, start: Any = None, callback: Callback | None = None) -> Result:
        """Return the incumbent; HEURISTIC, or why it stopped early, unless one dual point happens to prove it."""
        clock = start_clock(problem, self.time_limit, callback)
        with clock.listening():
            return self._solve(problem, start, clock)

    def _solve(self, problem: Problem, start: Any, clock: Clock) -> Result:
        fit = self.moves.search(
            problem, start=start_support(start, problem), expired=clock.expired, improved=clock.found
        )
        otherwise = clock.early() if clock.expired() else Status.HEURISTIC
        bound = best_bound(problem, fit.alpha, problem.root)
        proof = single_leaf(bound.alpha)
        return make_result(problem, fit, proof, bound.value, clock=clock, gap_tol=self.gap_tol, otherwise=otherwise)
