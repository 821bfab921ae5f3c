"""The method "tree": branch and bound over features, with a proof for every node that it prunes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sparsest.core.problem import Problem
from sparsest.results.result import Result
from sparsest.runtime.clock import Clock, finish_despite_interrupt
from sparsest.runtime.events import Status
from sparsest.runtime.memory import default_max_memory, limiting_memory
from sparsest.subset.enumeration import Enumeration, enumerate_supports, is_tiny
from sparsest.subset.local_search import LocalSearch
from sparsest.subset.relaxation.solution import warm_start
from sparsest.subset.results import make_result, searching, start_support
from sparsest.subset.tree.goal import BestSupport, Limits
from sparsest.subset.tree.search import Search
from sparsest.subset.tree.tuning import DEFAULT_TUNING, Tuning


@dataclass(frozen=True)
class Tree:
    """Settings of the branch and bound.

    ``max_memory`` limits the bytes of open nodes, proof, copied columns and Gram matrix together.  When open nodes take
    half of the memory that the other parts leave, the search becomes depth-first; at the limit it stops with the status
    NODE_LIMIT.  With ``proof=False`` no proof is kept, so there is no certificate and the status is never OPTIMAL.
    ``n_jobs`` is the number of threads (all cores by default); it does not change the result.
    """

    time_limit: float = 60.0
    gap_tol: float = 1e-4
    node_limit: int = 10_000_000
    max_memory: float | None = None
    n_jobs: int | None = None
    proof: bool = True
    moves: LocalSearch = field(default_factory=LocalSearch)
    tuning: Tuning = DEFAULT_TUNING

    def solve(self, problem: Problem, start: Any = None, clock: Clock | None = None) -> Result:
        """Search until the gap is closed or a limit is reached."""
        limits = self.limits()
        with searching(problem, self.time_limit, clock) as running, limiting_memory(limits.max_memory):
            return self._solve(problem, start, running, limits)

    def limits(self) -> Limits:
        """The settings that the search itself uses."""
        max_memory = default_max_memory() if self.max_memory is None else self.max_memory
        return Limits(self.gap_tol, self.node_limit, max_memory, self.n_jobs, self.proof, self.tuning)

    def _solve(self, problem: Problem, start: Any, clock: Clock, limits: Limits) -> Result:
        """Search, and assemble the result whatever ends the search."""
        goal = BestSupport(problem, clock, self.gap_tol, self.moves)
        search = Search(problem, goal, clock, limits)
        status = Status.OPTIMAL
        try:
            support = start_support(start, problem)
            if support is not None:
                goal.add_start(support)
            status = search.run(warm_start(start, problem))
        except KeyboardInterrupt as error:
            clock.interrupt(error)
            status = Status.INTERRUPTED
        return finish_despite_interrupt(lambda: self._result(search, goal, status))

    def _result(self, search: Search, goal: BestSupport, status: Status) -> Result:
        """Certify the incumbent; enumerate all supports of a tiny problem whose gap is still open."""
        problem, clock, trace = search.problem, search.clock, search.trace
        seconds = trace["seconds"].get("tree", 0.0)
        trace["nodes_per_second"] = search.n_nodes / seconds if seconds > 0 else 0.0
        trace["proof"] = "logged" if self.proof else "switched off: no certificate"
        if goal.optima.starts:
            trace["starts"] = goal.optima.starts
        began = clock.seconds()
        proof = search.assemble()
        trace["seconds"]["assembling"] = clock.seconds() - began

        def try_all(bound: float) -> Enumeration | None:
            possible = self.proof and is_tiny(problem) and not clock.expired()
            return enumerate_supports(problem, clock.expired) if possible else None

        return make_result(
            problem, goal.fit, proof, search.lower_bound(), clock=clock, gap_tol=self.gap_tol,
            otherwise=Status.HEURISTIC if status is Status.OPTIMAL else status, trace=trace, n_nodes=search.n_nodes,
            n_jobs=self.n_jobs, fallback=try_all, restart=search.restart,
        )  # fmt: skip
