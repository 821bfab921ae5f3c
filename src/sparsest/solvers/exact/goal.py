"""What a search is after, by hooks, and where it stops."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sparsest.arrays import Indices
from sparsest.problem import Problem
from sparsest.solvers.exact.tuning import USUAL, Tuning
from sparsest.solvers.relaxation.living import Living
from sparsest.solvers.relaxation.relaxer import Relaxer
from sparsest.solvers.shared.claims import allowance
from sparsest.solvers.shared.clock import Clock
from sparsest.solvers.shared.dual import null_value
from sparsest.solvers.shared.local_search import LocalSearch
from sparsest.solvers.shared.support import SupportFit, fit_support

# Rounded supports that are remembered, so that none is tried twice in a row: some 100 MB at most.
_REMEMBERED = 100_000
# A support of the ridge this many times as strong is one of those a search begins at; it is relaxed to this gap.
_STRONGER_RIDGE, _STRONGER_PRECISION = 16.0, 1e-2


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
        self.problem, self.clock, self.gap_tol, self.moves = problem, clock, gap_tol, moves
        self.fit = fit_support(problem, problem.include)
        self._null = null_value(problem)
        self._tried: set[bytes] = set()
        self._given: list[Indices] = []
        # The value that each kind of start led to by itself.
        self.starts: dict[str, float] = {}
        # The incumbent beyond which a search has been made.
        self._left: SupportFit | None = None
        # The best of the rounded supports as they are, whatever has been found from others.
        self._rounding: SupportFit | None = None
        self._searched = False
        self._quick = replace(moves, thorough=False)
        # Supports all of whose neighbours are known to be no better, or lead where the search has been.
        self._polished: set[bytes] = set()

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
        self._given.append(self._fit(support).support)

    def rounded(self, support: Indices, polish: bool = False) -> None:
        """Fit a support not tried before; polish it when it is better or when asked to, once neighbours are looked at.

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
        if self._rounding is None or fit.primal < self._rounding.primal:
            self._rounding = fit
        if self._searched and (polish or fit.primal < before):
            self._polish(fit.support)
        if self._searched and polish:
            self._leave_optimum()

    def search_locally(self) -> None:
        """Search from the best rounded support and, the first time, from others; thoroughly and beyond the best of all.

        The others are what the caller knows, the support of a stronger ridge, and a forward selection.
        """
        first, self._searched = not self._searched, True
        if self._rounding is not None:
            self._start("relaxation", self._rounding.support, self.moves)
        if first:
            for support in self._given:
                self._start("given", support)
            if np.isfinite(self.problem.gamma):
                self._start("stronger ridge", self._with_stronger_ridge())
            self._start("forward selection", None)
        self._polish(self.fit.support, self.moves)
        self._leave_optimum()

    def _leave_optimum(self) -> None:
        """Search beyond the incumbent, a local optimum, unless that has been done."""
        if self._left is not self.fit:
            self.offer(self._quick.detour(self.problem, self.fit, self.clock.expired))
            self.starts["detours"] = self.fit.primal
            self._polish(self.fit.support, self.moves)
            self._left = self.fit

    def _with_stronger_ridge(self) -> Indices:
        """The rounded relaxation of the problem with a stronger ridge, where features do less to imitate others."""
        problem = self.problem.with_gamma(self.problem.gamma / _STRONGER_RIDGE)
        relaxed = Relaxer(_STRONGER_PRECISION).relax(problem, problem.root, Living(problem), expired=self.clock.expired)
        return relaxed.rounded(problem)

    def _fit(self, support: Indices) -> SupportFit:
        fit = fit_support(self.problem, support, expired=self.clock.expired)
        self.offer(fit)
        return fit

    def _start(self, name: str, support: Indices | None, moves: LocalSearch | None = None) -> None:
        """Begin at a support, and keep what that led to."""
        fit = self._polish(support, moves)
        if fit is not None:
            self.starts[name] = min(fit.primal, self.starts.get(name, np.inf))

    def _polish(self, support: Indices | None, moves: LocalSearch | None = None) -> SupportFit | None:
        """Search among the likely neighbours of a support, or of a forward selection; a support only once."""
        key = b"" if support is None else support.tobytes()
        if key in self._polished:
            return None
        fit = (moves or self._quick).search(self.problem, start=support, expired=self.clock.expired)
        self.offer(fit)
        if moves is not None:
            self._polished |= {key, fit.support.tobytes()}
        return fit

    def reached(self, support: Indices) -> None:
        """Nothing is left to decide."""
        self.rounded(np.sort(support))
