"""What a search is after, by hooks, and where it stops."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from sparsest.core.arrays import Indices
from sparsest.core.problem import Problem
from sparsest.runtime.clock import Clock
from sparsest.subset.dual import null_value
from sparsest.subset.fits.support import SupportFit
from sparsest.subset.incumbent import Incumbent
from sparsest.subset.local_search import LocalSearch
from sparsest.subset.tree.local_optima import LocalOptima
from sparsest.subset.tree.tuning import USUAL, Tuning

# Local optima that are left by a detour before the first node is split; later, of the optima found from the nodes'
# supports, one in this many: a detour takes ten times as long as the search that leads to an optimum.
_DETOURS_AT_ONCE, _POLISHED_PER_DETOUR = 2, 4
# What rounding may take from bounds, as a part of the values without features and of the incumbent: a guess, by which a
# search goes a little further than the tolerance asks for.
_ROUNDING = 2e-9


class Limits(NamedTuple):
    """Where a search stops: see :class:`sparsest.subset.tree.method.Tree`."""

    gap_tol: float
    node_limit: int
    max_memory: float
    n_jobs: int | None
    proof: bool
    tuning: Tuning = USUAL


class Goal(ABC):
    """The hooks of a search.

    An ``exhaustive`` search reaches every support below the cutoff; another one may leave
    out those that its bounds show to be no better than the incumbent.
    """

    exhaustive = False

    @property
    @abstractmethod
    def fit(self) -> SupportFit:
        """The incumbent."""

    @property
    @abstractmethod
    def cutoff(self) -> float:
        """Nodes with this bound hold nothing that is wanted."""

    @abstractmethod
    def rounded(self, support: Indices, polish: bool = False) -> None:
        """A relaxation has been rounded to this support; with ``polish`` there is time to look at its neighbours."""

    @abstractmethod
    def search_locally(self) -> None:
        """A relaxation is solved and its rounded support does not close the gap."""

    @abstractmethod
    def reached(self, support: Indices) -> None:
        """A node has this support alone."""


class BestSupport(Goal):
    """Find the best support; nodes that cannot improve it by more than the tolerance are closed."""

    def __init__(self, problem: Problem, clock: Clock, gap_tol: float, moves: LocalSearch) -> None:
        self.incumbent, self.gap_tol = Incumbent(problem, clock), gap_tol
        self.optima = LocalOptima(self.incumbent, moves)
        self._null = null_value(problem)
        self._given: list[Indices] = []
        # The best of the rounded supports as they are, whatever has been found from others.
        self._rounded: SupportFit | None = None
        # Whether neighbours of supports have been searched, and how many rounded supports have been polished since.
        self._searched, self._n_polished = False, 0

    @property
    def fit(self) -> SupportFit:
        """The incumbent."""
        return self.incumbent.fit

    @property
    def cutoff(self) -> float:
        """Nodes with this bound cannot improve the incumbent by more than the tolerance.

        A part of the tolerance is kept for rounding errors of the check.
        """
        primal, allowed = self.fit.primal, self.gap_tol * abs(self.fit.primal)
        return primal - max(0.5 * allowed, 0.95 * allowed - _ROUNDING * (abs(self._null) + abs(primal)))

    def begin_at(self, support: Indices) -> None:
        """Begin with a support that the caller knows."""
        self.incumbent.try_support(support)
        self._given.append(support)

    def rounded(self, support: Indices, polish: bool = False) -> None:
        """Fit a support not tried before; polish it when it is better or when asked to, once neighbours are searched.

        Where relaxations are tight the rounded support is the best one, and its neighbours would take most of the time.
        """
        problem, before = self.incumbent.problem, self.fit.primal
        if not problem.sparsity.admissible(support, problem.root):
            return
        fit = self.incumbent.try_support(support)
        if fit is None:
            return
        if self._rounded is None or fit.primal < self._rounded.primal:
            self._rounded = fit
        if self._searched and (polish or fit.primal < before):
            self.optima.polish(fit.support)
        if self._searched and polish:
            if self._n_polished % _POLISHED_PER_DETOUR == 0:
                self.optima.leave_best()
            self._n_polished += 1

    def search_locally(self) -> None:
        """Search from the best rounded support and, the first time, from others; then beyond the best optimum."""
        first, self._searched = not self._searched, True
        if self._rounded is not None:
            self.optima.begin("relaxation", self._rounded.support, thorough=True)
        if first:
            for support in self._given:
                self.optima.begin("given", support)
            self.optima.begin_elsewhere()
        self.optima.polish_incumbent()
        if first:
            self.optima.begin_at_small_steps()
        for _ in range(_DETOURS_AT_ONCE if first else 1):
            self.optima.leave_best()

    def reached(self, support: Indices) -> None:
        """Nothing is left to decide."""
        self.rounded(np.sort(support))
