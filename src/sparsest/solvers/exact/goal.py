"""What a search is after, by hooks, and where it stops."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from sparsest.arrays import Indices
from sparsest.problem import Problem
from sparsest.solvers.shared.claims import allowance
from sparsest.solvers.shared.clock import Clock
from sparsest.solvers.shared.dual import null_value
from sparsest.solvers.shared.local_search import LocalSearch
from sparsest.solvers.shared.support import SupportFit, fit_support

# Rounded supports that are remembered, so that none is tried twice in a row: some 100 MB at most.
_REMEMBERED = 100_000


class Limits(NamedTuple):
    """Where a search stops: see :class:`sparsest.solvers.exact.tree.Tree`."""

    gap_tol: float
    node_limit: int
    max_memory: float
    n_jobs: int | None
    proof: bool


class Goal(ABC):
    """The hooks of a search.

    ``fit`` is the incumbent.  An ``exhaustive`` search reaches every support below the cutoff; another one may leave
    out those that its bounds show to be no better than the incumbent.
    """

    fit: SupportFit
    exhaustive = False

    @property
    @abstractmethod
    def cutoff(self) -> float:
        """Nodes with this bound hold nothing that is wanted."""

    @abstractmethod
    def rounded(self, support: Indices) -> None:
        """A relaxation has been rounded to this support."""

    @abstractmethod
    def search_locally(self) -> None:
        """A relaxation is solved and its rounded support does not close the gap."""

    @abstractmethod
    def reached(self, support: Indices) -> None:
        """A node has this support alone."""


class BestSupport(Goal):
    """Find the best support; nodes that cannot improve it by more than the tolerance are closed."""

    def __init__(self, problem: Problem, clock: Clock, gap_tol: float, moves: LocalSearch) -> None:
        self.problem, self.clock, self.gap_tol, self.moves = problem, clock, gap_tol, moves
        self.fit = fit_support(problem, problem.include)
        self._null = null_value(problem)
        self._tried: set[bytes] = set()
        self._starts: list[SupportFit] = []
        self._searched = False

    @property
    def cutoff(self) -> float:
        """Nodes with this bound cannot improve the incumbent by more than the tolerance.

        A part of the tolerance is kept for rounding errors of the check.
        """
        primal, allowed = self.fit.primal, self.gap_tol * abs(self.fit.primal)
        return primal - max(0.5 * allowed, 0.95 * allowed - 2.0 * allowance(self._null, primal))

    def offer(self, fit: SupportFit) -> None:
        """Keep the better model."""
        if fit.primal < self.fit.primal:
            self.fit = fit
            self.clock.found(fit)

    def begin_at(self, support: Indices) -> None:
        """Begin with a support that the caller knows."""
        self._starts.append(self._fit(support))

    def rounded(self, support: Indices) -> None:
        """Fit a support not tried before; polish it when it is better, once the search among neighbours is on.

        Where relaxations are tight the rounded support is the best one, and its neighbours would take most of the time.
        """
        key = support.tobytes()
        if key in self._tried or not self.problem.sparsity.admissible(support, self.problem.root):
            return
        if len(self._tried) >= _REMEMBERED:
            self._tried.clear()
        self._tried.add(key)
        before = self.fit.primal
        fit = self._fit(support)
        if self._searched and fit.primal < before:
            self._polish(fit.support)

    def search_locally(self) -> None:
        """Search from the best rounded support, from what the caller knows, and from a forward selection."""
        starts = [self.fit, *self._starts]
        self._searched = True
        for support in {fit.support.tobytes(): fit.support for fit in starts if fit.support.size}.values():
            self._polish(support)
        self._polish(None)

    def _fit(self, support: Indices) -> SupportFit:
        fit = fit_support(self.problem, support, expired=self.clock.expired)
        self.offer(fit)
        return fit

    def _polish(self, support: Indices | None) -> None:
        """Search among the neighbours of a support, or of a forward selection."""
        self.offer(self.moves.search(self.problem, start=support, expired=self.clock.expired))

    def reached(self, support: Indices) -> None:
        """Nothing is left to decide."""
        self.rounded(np.sort(support))
