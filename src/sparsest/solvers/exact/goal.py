"""What a search is after, by hooks, and where it stops."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from sparsest.arrays import Indices
from sparsest.problem import Problem
from sparsest.solvers.exact.tuning import USUAL, Tuning
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
    tuning: Tuning = USUAL


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
    def reached(self, support: Indices) -> None:
        """A node has this support alone."""


class BestSupport(Goal):
    """Find the best support; nodes that cannot improve it by more than the tolerance are closed."""

    def __init__(self, problem: Problem, clock: Clock, gap_tol: float, moves: LocalSearch) -> None:
        self.problem, self.clock, self.gap_tol, self.moves = problem, clock, gap_tol, moves
        self.fit = fit_support(problem, problem.include)
        self._null = null_value(problem)
        self._tried: set[bytes] = set()

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

    def polish(self, support: Indices | None = None) -> None:
        """Search among the neighbours of a support, or from none."""
        self.offer(self.moves.search(self.problem, start=support, expired=self.clock.expired))

    def rounded(self, support: Indices) -> None:
        """Fit a support not tried before; polish it when it is better."""
        key = support.tobytes()
        if key in self._tried or not self.problem.sparsity.admissible(support, self.problem.root):
            return
        if len(self._tried) >= _REMEMBERED:
            self._tried.clear()
        self._tried.add(key)
        fit = fit_support(self.problem, support, expired=self.clock.expired)
        if fit.primal < self.fit.primal:
            self.polish(support)

    def reached(self, support: Indices) -> None:
        """Nothing is left to decide."""
        self.rounded(np.sort(support))
