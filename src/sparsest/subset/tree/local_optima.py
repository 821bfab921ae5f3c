"""Local searches for a better incumbent, from several starts and by detours from the local optima found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sparsest.core.arrays import Indices
from sparsest.core.settings import SMALLEST_GAMMA
from sparsest.subset.dual import null_value
from sparsest.subset.fits.support import SupportFit
from sparsest.subset.incumbent import Incumbent
from sparsest.subset.local_search import LocalSearch, forward
from sparsest.subset.relaxation.relaxer import relax_problem

# Factors of the stronger ridges whose relaxations are rounded as further starts, and the relative gap of these
# relaxations.
_STRONGER_RIDGES, _STRONGER_PRECISION = (16, 256), 1e-2
# Largest number of steps of a forward selection; each step is a pass over the data.
_MOST_STEPS = 20
# A fit counts as perfect if its objective is below this share of the objective without features; smaller differences
# are rounding errors.
_PERFECT = 1e-9
# Largest number of local optima that are kept as starts of detours.
_MOST_OPTIMA = 16


class LocalOptima:
    """The local optima found so far, and those from which a detour has already started.

    Attributes
    ----------
    starts : the best objective that each kind of start led to
    """

    def __init__(self, incumbent: Incumbent, moves: LocalSearch) -> None:
        self.incumbent, self.starts = incumbent, dict[str, float]()
        self._thorough, self._quick = moves, replace(moves, thorough=False)
        self._null = null_value(incumbent.problem)
        self._optima: list[SupportFit] = []
        # Supports from which a detour has started or in which one has ended, and supports searched thoroughly.
        self._detoured: set[bytes] = set()
        self._polished: set[bytes] = set()

    def search_from(self, name: str, support: Indices | None, thorough: bool = False) -> None:
        """Search from a support, or from a forward selection if None, and record the objective under ``name``."""
        fit = self.polish(support, thorough)
        if fit is not None:
            self.starts[name] = min(fit.primal, self.starts.get(name, np.inf))

    def search_from_other_starts(self) -> None:
        """Search from rounded relaxations with stronger ridges and from a forward selection."""
        if np.isfinite(self.incumbent.problem.gamma):
            for factor in _STRONGER_RIDGES:
                self.search_from(f"{factor} times the ridge", self._with_stronger_ridge(factor))
        self.search_from("forward selection", None, thorough=True)

    def search_from_small_steps(self) -> None:
        """Search from a forward selection that adds few features per step, unless the fit is perfect."""
        if self._is_perfect():
            return
        problem = self.incumbent.problem
        rounds = max(1, min(problem.sparsity.most(problem.p), _MOST_STEPS))
        steps = forward(problem, problem.root, rounds, self.incumbent.clock.expired)
        self.search_from("forward selection in more steps", steps.support)
        self.polish_incumbent()

    def polish(self, support: Indices | None, thorough: bool = False) -> SupportFit | None:
        """Search from a support, or from a forward selection if None; no support is searched thoroughly twice."""
        key = b"" if support is None else support.tobytes()
        if key in self._polished:
            return None
        moves = self._thorough if thorough else self._quick
        fit = moves.search(self.incumbent.problem, start=support, expired=self.incumbent.clock.expired)
        self.incumbent.offer(fit)
        self._optima = sorted([*self._optima, fit], key=lambda optimum: optimum.primal)[:_MOST_OPTIMA]
        if thorough:
            self._polished |= {key, fit.support.tobytes()}
        return fit

    def polish_incumbent(self) -> None:
        """Search thoroughly from the incumbent."""
        self.polish(self.incumbent.fit.support, thorough=True)

    def detour_from_best(self) -> None:
        """Start a detour from the best local optimum from which none has started yet."""
        incumbent = self.incumbent
        self._optima = [fit for fit in [incumbent.fit, *self._optima] if fit.support.tobytes() not in self._detoured]
        if not self._optima or incumbent.clock.expired() or self._is_perfect():
            return
        best = min(self._optima, key=lambda fit: fit.primal)
        beyond = self._quick.detour(incumbent.problem, best, incumbent.clock.expired)
        self._detoured |= {best.support.tobytes(), beyond.support.tobytes()}
        self.starts["detours"] = min(beyond.primal, self.starts.get("detours", np.inf))
        if incumbent.offer(beyond):
            self.polish_incumbent()

    def _is_perfect(self) -> bool:
        return self.incumbent.fit.primal <= _PERFECT * self._null

    def _with_stronger_ridge(self, factor: int) -> Indices:
        """The rounded relaxation with a stronger ridge, where combinations of features approximate others less well."""
        problem = self.incumbent.problem
        stronger = problem.with_gamma(max(problem.gamma / factor, SMALLEST_GAMMA))
        relaxed, _ = relax_problem(stronger, _STRONGER_PRECISION, expired=self.incumbent.clock.expired)
        return relaxed.rounded(stronger)
