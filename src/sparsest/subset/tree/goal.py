"""The goal of a search, as hooks that the search calls, and its limits."""

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
from sparsest.subset.tree.tuning import DEFAULT_TUNING, Tuning

# Number of local optima from which a detour starts before the first node is split, and number of polished supports per
# detour later.  A detour takes ten times as long as the local search that leads to an optimum.
_DETOURS_AT_ONCE, _POLISHED_PER_DETOUR = 2, 4
# Estimated loss of a bound by rounding errors of the check, relative to the sum of the objectives without features and
# of the incumbent.  The search goes beyond the tolerance by this amount.
_ROUNDING = 2e-9


class Limits(NamedTuple):
    """Limits of a search: see :class:`sparsest.subset.tree.method.Tree`."""

    gap_tol: float
    node_limit: int
    max_memory: float
    n_jobs: int | None
    proof: bool
    tuning: Tuning = DEFAULT_TUNING


class Goal(ABC):
    """The hooks of a search.

    An ``exhaustive`` search visits every support below the cutoff.  Any other search prunes nodes that cannot contain
    a better support than the incumbent.
    """

    exhaustive = False

    @property
    @abstractmethod
    def fit(self) -> SupportFit:
        """The incumbent."""

    @property
    @abstractmethod
    def cutoff(self) -> float:
        """Nodes whose bound reaches this value are pruned."""

    @abstractmethod
    def rounded(self, support: Indices, polish: bool = False) -> None:
        """Called with the support of a rounded relaxation; ``polish`` asks for a local search from it."""

    @abstractmethod
    def search_locally(self) -> None:
        """Called when a relaxation is solved and its rounded support does not close the gap."""

    @abstractmethod
    def search_quickly(self) -> None:
        """Called before all choices of features are tried, without a precise relaxation."""

    @abstractmethod
    def reached(self, support: Indices) -> None:
        """Called when a node contains only this support."""


class BestSupport(Goal):
    """Find the best support; nodes that cannot improve it by more than the tolerance are pruned."""

    def __init__(self, problem: Problem, clock: Clock, gap_tol: float, moves: LocalSearch) -> None:
        self.incumbent, self.gap_tol = Incumbent(problem, clock), gap_tol
        self.optima = LocalOptima(self.incumbent, moves)
        self._null = null_value(problem)
        self._given: list[Indices] = []
        # The best fit of a rounded support before any local search.
        self._rounded: SupportFit | None = None
        # Whether local search has begun, and the number of rounded supports polished since.
        self._searched, self._n_polished = False, 0

    @property
    def fit(self) -> SupportFit:
        """The incumbent."""
        return self.incumbent.fit

    @property
    def cutoff(self) -> float:
        """Nodes whose bound reaches this value cannot improve the incumbent by more than the tolerance.

        A part of the tolerance is reserved for rounding errors of the check.
        """
        primal, allowed = self.fit.primal, self.gap_tol * abs(self.fit.primal)
        return primal - max(0.5 * allowed, 0.95 * allowed - _ROUNDING * (abs(self._null) + abs(primal)))

    def add_start(self, support: Indices) -> None:
        """Start from a support given by the caller."""
        self.incumbent.try_support(support)
        self._given.append(support)

    def rounded(self, support: Indices, polish: bool = False) -> None:
        """Fit a support that was not tried before; polish it if it is better or if asked to.

        Nothing is polished before ``search_locally`` was called: if the relaxation is tight, the rounded support is
        optimal, and searching its neighbours would take most of the time.
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
                self.optima.detour_from_best()
            self._n_polished += 1

    def search_locally(self) -> None:
        """Search from the best rounded support, the first time also from other starts; then by detours."""
        first, self._searched = not self._searched, True
        if self._rounded is not None:
            self.optima.search_from("relaxation", self._rounded.support, thorough=True)
        if first:
            for support in self._given:
                self.optima.search_from("given", support)
            self.optima.search_from_other_starts()
        self.optima.polish_incumbent()
        if first:
            self.optima.search_from_small_steps()
        for _ in range(_DETOURS_AT_ONCE if first else 1):
            self.optima.detour_from_best()

    def search_quickly(self) -> None:
        """Search from a forward selection only."""
        self.optima.search_from("forward selection", None)

    def reached(self, support: Indices) -> None:
        """Try the only support of a node."""
        self.rounded(np.sort(support))
