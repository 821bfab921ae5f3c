"""Local searches for a better incumbent, from many starts and beyond the optima that they end in."""

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

# The relaxation is also rounded for ridges this many times as strong, solved to this gap.
_STRONGER_RIDGES, _STRONGER_PRECISION = (16, 256), 1e-2
# The largest number of steps of a forward selection; each passes over the data.
_MOST_STEPS = 20
# Below this part of the value without features a fit is perfect, and what is better is rounding.
_PERFECT = 1e-9
# The best optima that have not been left are kept, up to this number.
_MOST_OPTIMA = 16


class LocalOptima:
    """The local optima that searches have ended in, and which of them have been left by a detour.

    Attributes
    ----------
    starts : the value that each kind of start led to by itself
    """

    def __init__(self, incumbent: Incumbent, moves: LocalSearch) -> None:
        self.incumbent, self.starts = incumbent, dict[str, float]()
        self._thorough, self._quick = moves, replace(moves, thorough=False)
        self._null = null_value(incumbent.problem)
        self._optima: list[SupportFit] = []
        # Supports beyond which a search has been made, and supports that were searched thoroughly.
        self._left: set[bytes] = set()
        self._polished: set[bytes] = set()

    def begin(self, name: str, support: Indices | None, thorough: bool = False) -> None:
        """Search from a support, or from a forward selection, and note what that led to."""
        fit = self.polish(support, thorough)
        if fit is not None:
            self.starts[name] = min(fit.primal, self.starts.get(name, np.inf))

    def begin_elsewhere(self) -> None:
        """Search from rounded relaxations with stronger ridges, and from a forward selection."""
        if np.isfinite(self.incumbent.problem.gamma):
            for factor in _STRONGER_RIDGES:
                self.begin(f"{factor} times the ridge", self._with_stronger_ridge(factor))
        self.begin("forward selection", None, thorough=True)

    def begin_at_small_steps(self) -> None:
        """Search from a forward selection that takes few features at a time, unless the fit is perfect."""
        if self._is_perfect():
            return
        problem = self.incumbent.problem
        rounds = max(1, min(problem.sparsity.most(problem.p), _MOST_STEPS))
        steps = forward(problem, problem.root, rounds, self.incumbent.clock.expired)
        self.begin("forward selection in more steps", steps.support)
        self.polish_incumbent()

    def polish(self, support: Indices | None, thorough: bool = False) -> SupportFit | None:
        """Search among the neighbours of a support, or of a forward selection; thoroughly only once."""
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
        """Search thoroughly among the neighbours of the best model."""
        self.polish(self.incumbent.fit.support, thorough=True)

    def leave_best(self) -> None:
        """Search beyond the best local optimum that has not been left yet."""
        incumbent = self.incumbent
        self._optima = [fit for fit in [incumbent.fit, *self._optima] if fit.support.tobytes() not in self._left]
        if not self._optima or incumbent.clock.expired() or self._is_perfect():
            return
        best = min(self._optima, key=lambda fit: fit.primal)
        beyond = self._quick.detour(incumbent.problem, best, incumbent.clock.expired)
        self._left |= {best.support.tobytes(), beyond.support.tobytes()}
        self.starts["detours"] = min(beyond.primal, self.starts.get("detours", np.inf))
        if incumbent.offer(beyond):
            self.polish_incumbent()

    def _is_perfect(self) -> bool:
        return self.incumbent.fit.primal <= _PERFECT * self._null

    def _with_stronger_ridge(self, factor: int) -> Indices:
        """The rounded relaxation of the problem with a stronger ridge, where features do less to imitate others."""
        problem = self.incumbent.problem
        stronger = problem.with_gamma(max(problem.gamma / factor, SMALLEST_GAMMA))
        relaxed, _ = relax_problem(stronger, _STRONGER_PRECISION, expired=self.incumbent.clock.expired)
        return relaxed.rounded(stronger)
