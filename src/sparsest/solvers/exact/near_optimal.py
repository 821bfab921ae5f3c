"""All supports within a given distance of the optimum, by the same tree with a higher cutoff."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from sparsest.arrays import Indices
from sparsest.problem import Problem
from sparsest.result import Result, Status
from sparsest.solvers.exact.bounder import NodeOutcome
from sparsest.solvers.exact.frontier import Node, branching_feature
from sparsest.solvers.exact.tree import Tree, _Search
from sparsest.solvers.relaxation.solution import Relaxed
from sparsest.solvers.shared.clock import Clock
from sparsest.solvers.shared.support import SupportFit, fit_support


class NearOptimal(NamedTuple):
    """Supports in order of their objectives; ``complete`` means that no other is within ``threshold``."""

    supports: list[Indices]
    objectives: list[float]
    threshold: float
    complete: bool
    status: Status
    n_nodes: int
    seconds: float


@dataclass(frozen=True)
class NearOptimalSearch:
    """Enumerates the supports whose objective is at most ``(1 + within)`` times the incumbent's."""

    within: float = 0.01
    limit: int = 100
    tree: Tree = field(default_factory=Tree)

    def solve(self, problem: Problem, result: Result) -> NearOptimal:
        """Search until every other support is excluded, or a limit is reached."""
        clock = Clock(self.tree.time_limit)
        with clock.listening():
            return self._solve(problem, result, clock)

    def _solve(self, problem: Problem, result: Result, clock: Clock) -> NearOptimal:
        fit = fit_support(problem, result.support)
        threshold = fit.primal + self.within * abs(fit.primal)
        search = _Enumeration(self.tree, problem, clock, fit, threshold, self.limit)
        try:
            with search._watched():
                search._root(None)
                status = search._explore()
        except KeyboardInterrupt as error:
            clock.interrupt(error)
            status = Status.INTERRUPTED
        found = sorted(search.found.values(), key=lambda found: found.primal)
        complete = status is Status.OPTIMAL and len(found) <= self.limit
        kept = found[: self.limit]
        return NearOptimal(
            [one.support for one in kept],
            [one.primal for one in kept],
            threshold,
            complete,
            status,
            search.n_nodes,
            search.clock.seconds(),
        )


class _Enumeration(_Search):
    """A search that keeps every support up to a threshold instead of the best one."""

    def __init__(
        self, settings: Tree, problem: Problem, clock: Clock, fit: SupportFit, threshold: float, limit: int
    ) -> None:
        super().__init__(settings, problem, clock)
        self.fit, self.threshold, self.limit = fit, threshold, limit
        self.found: dict[bytes, SupportFit] = {}

    @property
    def cutoff(self) -> float:
        """Nothing above the threshold is wanted; the margin keeps what lies exactly on it."""
        return self.threshold + 1e-9 * abs(self.threshold)

    def _after_round(self, relaxed: Relaxed) -> float:
        return self.cutoff

    def _leaps(self, began: float) -> None:
        """Leaps and bounds keeps the best support only."""

    def _try_rounding(self, outcome: NodeOutcome) -> None:
        """Rounded supports are found when the tree reaches them."""

    def _deal(self, node: Node, outcome: NodeOutcome) -> None:
        self.n_nodes += 1
        point = self._absorb(node, outcome)
        if node.bound >= self.cutoff:
            self._close(node)
            return
        free = np.flatnonzero(node.state == 0)
        if free.size == 0:
            self._keep(np.sort(self.survivors[node.state == 1]))
            self._close(node)
            return
        feature = branching_feature(outcome.indicator, node.state)
        if feature < 0:
            feature = int(free[np.argmax(outcome.indicator[free])])
        self._split(node, outcome, point, feature)

    def _keep(self, support: Indices) -> None:
        fit = fit_support(self.problem, support)
        if fit.primal <= self.cutoff:
            self.found[support.tobytes()] = fit
        if len(self.found) > self.limit:
            self.clock.interrupted = True
