"""What a search is after, by hooks, and where it stops."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sparsest.core.arrays import Indices
from sparsest.core.problem import Problem
from sparsest.core.settings import SMALLEST_GAMMA
from sparsest.runtime.clock import Clock
from sparsest.subset.dual import null_value
from sparsest.subset.fits.support import SupportFit, fit_support
from sparsest.subset.local_search import LocalSearch, forward
from sparsest.subset.relaxation.relaxer import relax_problem
from sparsest.subset.tree.tuning import USUAL, Tuning

# Rounded supports that are remembered, so that none is tried twice in a row: some 100 MB at most.
_REMEMBERED = 100_000
# Supports of ridges so many times as strong are among those a search begins at; they are relaxed to this gap.
_STRONGER_RIDGES, _STRONGER_PRECISION = (16, 256), 1e-2
# A forward selection takes at most so many steps, each of which passes over the data.
_MOST_STEPS = 20
# A search goes beyond so many local optima before the first node is split, and later, where they are found from the
# nodes' supports, beyond one of so many: a detour takes ten times as long as what leads to an optimum.
_DETOURS_AT_ONCE, _POLISHED_PER_DETOUR = 2, 4
# What rounding may take from bounds, as a part of the values without features and of the incumbent: a guess, by which a
# search goes a little further than the tolerance asks for.
_ROUNDING = 2e-9
# Below this part of the value without features a fit is perfect, and what is better is rounding.
_PERFECT = 1e-9
# Of the optima that have not been left these many best ones are kept.
_MOST_OPTIMA = 16


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
        # Local optima, and the supports of those beyond which a search has been made.
        self._optima: list[SupportFit] = []
        self._left: set[bytes] = set()
        self._n_polished = 0
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
        return primal - max(0.5 * allowed, 0.95 * allowed - _ROUNDING * (abs(self._null) + abs(primal)))

    def offer(self, fit: SupportFit) -> None:
        """Keep the better model."""
        if fit.primal < self.fit.primal:
            self.fit = fit
            self.clock.found(fit.primal, fit.support)

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
            if self._n_polished % _POLISHED_PER_DETOUR == 0:
                self._leave_optimum()
            self._n_polished += 1

    def search_locally(self) -> None:
        """Search from the best rounded support and, the first time, from others; thoroughly and beyond the best of all.

        The others are what the caller knows, supports of stronger ridges, and forward selections.
        """
        first, self._searched = not self._searched, True
        if self._rounding is not None:
            self._start("relaxation", self._rounding.support, self.moves)
        if first:
            for support in self._given:
                self._start("given", support)
            if np.isfinite(self.problem.gamma):
                for factor in _STRONGER_RIDGES:
                    self._start(f"{factor} times the ridge", self._with_stronger_ridge(factor))
            self._start("forward selection", None, self.moves)
        self._polish(self.fit.support, self.moves)
        if first and self.fit.primal > _PERFECT * self._null:
            rounds = max(1, min(self.problem.sparsity.most(self.problem.p), _MOST_STEPS))
            steps = forward(self.problem, self.problem.root, rounds, self.clock.expired)
            self._start("forward selection in more steps", steps.support)
            self._polish(self.fit.support, self.moves)
        for _ in range(_DETOURS_AT_ONCE if first else 1):
            self._leave_optimum()

    def _leave_optimum(self) -> None:
        """Search beyond the best local optimum that has not been left yet."""
        self._optima = [fit for fit in [self.fit, *self._optima] if fit.support.tobytes() not in self._left]
        if not self._optima or self.clock.expired() or self.fit.primal <= _PERFECT * self._null:
            return
        best = min(self._optima, key=lambda fit: fit.primal)
        beyond = self._quick.detour(self.problem, best, self.clock.expired)
        self._left |= {best.support.tobytes(), beyond.support.tobytes()}
        self.starts["detours"] = min(beyond.primal, self.starts.get("detours", np.inf))
        if beyond.primal < self.fit.primal:
            self.offer(beyond)
            self._polish(beyond.support, self.moves)

    def _with_stronger_ridge(self, factor: int) -> Indices:
        """The rounded relaxation of the problem with a stronger ridge, where features do less to imitate others."""
        problem = self.problem.with_gamma(max(self.problem.gamma / factor, SMALLEST_GAMMA))
        relaxed, _ = relax_problem(problem, _STRONGER_PRECISION, expired=self.clock.expired)
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
        self._optima = sorted([*self._optima, fit], key=lambda optimum: optimum.primal)[:_MOST_OPTIMA]
        if moves is not None:
            self._polished |= {key, fit.support.tobytes()}
        return fit

    def reached(self, support: Indices) -> None:
        """Nothing is left to decide."""
        self.rounded(np.sort(support))
