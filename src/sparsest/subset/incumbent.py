"""The best model that a search has found so far."""

from __future__ import annotations

from sparsest.core.arrays import Indices
from sparsest.core.problem import Problem
from sparsest.runtime.clock import Clock
from sparsest.subset.fits.support import SupportFit, fit_support

# Largest number of supports that are remembered to avoid fitting them again; they take at most about 100 MB.
_REMEMBERED = 100_000


class Incumbent:
    """The best model so far; at first that of the problem's ``first_support``.

    Attributes
    ----------
    fit : the model
    """

    def __init__(self, problem: Problem, clock: Clock, start: Indices | None = None) -> None:
        self.problem, self.clock = problem, clock
        self.fit = fit_support(problem, problem.first_support)
        self._tried: set[bytes] = set()
        if start is not None:
            self.try_support(start)

    def offer(self, fit: SupportFit) -> bool:
        """Keep the better model; return whether that is the new one."""
        if not fit.primal < self.fit.primal:
            return False
        self.fit = fit
        self.clock.found(fit.primal, fit.support)
        return True

    def try_support(self, support: Indices) -> SupportFit | None:
        """Fit a support and offer its model; None for one that was tried or that the structure does not admit."""
        key = support.tobytes()
        if key in self._tried:
            return None
        if len(self._tried) >= _REMEMBERED:
            self._tried.clear()
        self._tried.add(key)
        if not self.problem.sparsity.admits(support):
            return None
        fit = fit_support(self.problem, support, expired=self.clock.expired)
        self.offer(fit)
        return fit
