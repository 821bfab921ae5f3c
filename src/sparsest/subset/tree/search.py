"""A search: bound the root, then leaps and bounds or a tree over regions.

    bound the root and fix features; if that closes it: done
    search by leaps and bounds, if there are few features
    while there are open nodes and time is left:
        take the nodes with the lowest bounds
        relax each; offer the rounded support to the goal
        fix features by the bound; close the node, or split it on a feature

The lower bound is the smallest bound of open and closed nodes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sparsest.core.problem import Problem
from sparsest.proofs.steps import Proof
from sparsest.results.parts import Restart
from sparsest.runtime.clock import Clock
from sparsest.runtime.events import Bound, Status
from sparsest.subset.claims import check_proof
from sparsest.subset.relaxation.solution import Start
from sparsest.subset.tree.goal import Goal, Limits
from sparsest.subset.tree.leaps import ALL_LIMITS, BEFORE_REGIONS, Leaps
from sparsest.subset.tree.node_bounds import NodeBounds
from sparsest.subset.tree.progress import Progress
from sparsest.subset.tree.root_phase import RootPhase
from sparsest.subset.tree.tree_loop import TreeLoop
from sparsest.subset.tree.trying import Trying


class Search:
    """One search: its phases, its nodes and its proof; ``goal`` decides which supports it looks for."""

    def __init__(self, problem: Problem, goal: Goal, clock: Clock, limits: Limits) -> None:
        self.problem, self.goal, self.clock, self.limits = problem, goal, clock, limits
        self.trace: dict[str, Any] = {"seconds": {}}
        self.progress = Progress(problem, limits.proof)
        self.bounds = NodeBounds(problem, goal, clock, limits, self.progress)
        self.trying = Trying(problem, goal, clock, limits, self.trace)
        self.root = RootPhase(self.bounds, self.trying, self.trace)
        self.loop = TreeLoop(self.bounds, self.trying, self.trace["seconds"], self._report, self._try_proof)
        self._last_report = 0.0

    def run(self, start: Start | None = None) -> Status:
        """Search until no node is open or a limit is reached; ``start`` is the warm start of the root relaxation."""
        began = self.clock.seconds()
        coefficients = self.root.relax(start)
        if not self.root.is_open():
            return self.root.report(began)
        with self.clock.watching(self.bounds.stop):
            self.root.narrow(coefficients)
            status = self.root.report(began)
            return self._explore() if self.root.is_open() else status

    def _explore(self) -> Status:
        """Search the root by leaps and bounds if that applies, otherwise by branch and bound over regions."""
        began = self.clock.seconds()
        if self.bounds.found is None:
            return self.clock.early()
        by_leaps = None if self.goal.exhaustive else self._leaps(began)
        if by_leaps is None and self._only_leaps():
            self.trying.improve(self.progress.survivors)
            by_leaps = Status.HEURISTIC
        if by_leaps is None:
            return self.loop.run(began)
        self.progress.close(self.progress.root)
        return by_leaps

    def _only_leaps(self) -> bool:
        """Whether regions have no bounds: neither ridge nor limits of coefficients nor the Gram matrix provide any."""
        return not self.problem.has_dual_bounds and not self.bounds.strong

    def _leaps(self, began: float) -> Status | None:
        """Try leaps and bounds within a share of the limits; None if branch and bound over regions has to continue."""
        progress, limits, clock = self.progress, self.limits, self.clock
        root, only_leaps = progress.root, self._only_leaps()
        left = root.state >= 0
        survivors, forced = progress.survivors[left], root.state[left] == 1
        given = limits.gap_tol, limits.proof, limits.tuning
        search = Leaps.start(self.problem, survivors, forced, self.goal.fit, *given)
        if search is None:
            return None
        part = ALL_LIMITS if only_leaps else BEFORE_REGIONS
        search.run_within(clock, limits, part, lambda n_nodes: self._report(root.bound, n_nodes))
        progress.n_nodes += search.n_nodes
        if search.best.any():
            self.goal.rounded(np.sort(search.support()))
        bound = min(progress.closed, search.bound(self.goal.cutoff, self.goal.fit.primal))
        if bound > root.bound:
            progress.add_leaps(bound, search.step())
        self.trace["seconds"]["tree"] = clock.seconds() - began
        if search.finished:
            return Status.OPTIMAL if bound >= self.goal.cutoff else None
        if not only_leaps:
            return None
        return clock.early() if clock.expired() else Status.NODE_LIMIT

    @property
    def n_nodes(self) -> int:
        """The number of nodes so far."""
        return self.progress.n_nodes

    @property
    def restart(self) -> Restart:
        """What a later search of a similar problem can start from."""
        return self.root.restart

    def lower_bound(self) -> float:
        """The lower bound at this moment."""
        return self.progress.lower_bound()

    def assemble(self) -> Proof | None:
        """The proof of the lower bound; None if no proof is kept."""
        return self.progress.assemble()

    def _try_proof(self) -> None:
        """Assemble and check the proof of the current lower bound."""
        proof = self.assemble()
        if proof is not None:
            check_proof(self.problem, proof, self.lower_bound(), self.limits.gap_tol, self.limits.n_jobs)

    def _report(self, bound: float, n_nodes: int) -> None:
        now = self.clock.seconds()
        if now - self._last_report > self.limits.tuning.report_seconds:
            self._last_report = now
            self.clock.tell(Bound(now, bound, self.goal.fit.primal, n_nodes))
