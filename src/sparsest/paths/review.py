"""Better minima for the path of a concave penalty, from solutions of other alphas and of the Lasso.

The solutions for falling alphas follow one local minimum until it vanishes, and then jump to another one.  That minimum
may have been the better one for some larger alphas too.  So wherever the coefficients of one solution have a smaller
objective at the next larger alpha than the solution there, the problem is solved again from them, and so on to larger
alphas.

Before that, if there are fewer observations than features, the problem is solved again from the Lasso's solution at a
few alphas, and better solutions are followed to smaller alphas.  Only a smaller objective replaces a solution.
"""

from __future__ import annotations

import numpy as np

from sparsest.core.arrays import Array
from sparsest.core.penalties import nearly_convex
from sparsest.paths.task import Task
from sparsest.paths.walk import Fit, Walk
from sparsest.runtime.clock import Clock
from sparsest.runtime.faults import reach

# Solutions that may be computed, as a share of those of the path.  Each takes up to twice as long as one of the path:
# with 0.15 the CPU time of 14 paths with n < p is 1.2 times as much on average, with 0.25 up to 1.5 times.
_MAX_SHARE = 0.15
# An objective counts as smaller if the difference exceeds this share of it: less is not worth another solution.
_LEAST_GAIN = 1e-3
# Starts from the Lasso: their places in the part of the path that is not locally convex, as shares of its length.
_LASSO_POINTS = 0.25, 0.5, 0.75
# The number of multiplications that the starts may take, some hundredths of a second.  With a share of the path's time
# instead, paths of 500 to 1000 observations and 5000 to 20000 features took 1.3 to 1.5 times as long, and objectives
# were seldom better.  The other numbers are the products with all columns that are charged, beside the sweeps, for each
# start and for each solution that follows it to a smaller alpha.
_LASSO_WORK, _PRODUCTS_OF_START, _PRODUCTS_OF_STEP = 3e7, 10, 2


def improve(
    walk: Walk,
    alphas: Array,
    fits: list[Fit],
    max_features: int,
    clock: Clock,
    with_lasso: bool = True,
    lasso_work: float = _LASSO_WORK,
) -> None:
    """Replace solutions by better ones.

    Parameters
    ----------
    alphas, fits : the alphas in falling order, and their solutions, which are replaced.
    max_features : no solution with more features replaces another.
    with_lasso : whether better solutions are also looked for from those of the Lasso.
    lasso_work : the number of multiplications that these starts may take.
    """
    reach("review", with_lasso)
    first = next((i for i, fit in enumerate(fits) if not fit.locally_convex), len(fits))
    if not walk.task.penalty.convex and first < len(fits) - 1:
        review = _Review(walk, alphas, fits, max_features, clock, lasso_work)
        n, p = walk.task.view.shape
        if with_lasso and n < p:
            review.from_lasso(first)
        review.backwards(first)


class _Review:
    """The search for better solutions.

    ``left`` is how many may be computed from those of smaller alphas, ``work`` how many multiplications may be spent on
    those to which the Lasso leads.
    """

    def __init__(
        self, walk: Walk, alphas: Array, fits: list[Fit], max_features: int, clock: Clock, work: float
    ) -> None:
        self.walk, self.alphas, self.fits, self.max_features, self.clock = walk, alphas, fits, max_features, clock
        self.left, self.work = int(_MAX_SHARE * len(fits)), work
        # The solution at which the walk is, if it is at one of the path's.
        self._present: Fit | None = fits[-1]

    def from_lasso(self, first: int) -> None:
        """Start from the Lasso at some alphas after the first that is not locally convex."""
        last, lasso = len(self.fits) - 1, nearly_convex(self.walk.task.penalty)
        if lasso is None:
            return
        for i in sorted({round(first + share * (last - first)) for share in _LASSO_POINTS}):
            allowed, alpha = self._sweeps_allowed(i, _PRODUCTS_OF_START), float(self.alphas[i])
            if allowed < 1:
                return
            self._go_to(self.fits[i])
            self._present = None
            n_sweeps = self.walk.relax(alpha, lasso, allowed)
            found = self.walk.solve_again(alpha, allowed - n_sweeps)
            self._spend(i, n_sweeps + found.n_sweeps)
            if self._take(i, found):
                self._forwards(i + 1)

    def _forwards(self, first: int) -> None:
        """Follow the solution before this alpha to smaller alphas, while it leads to better ones."""
        for i in range(first, len(self.fits)):
            if not self._is_better(self.fits[i - 1], i):
                return
            allowed = self._sweeps_allowed(i, _PRODUCTS_OF_STEP)
            if allowed < 1:
                return
            found = self._solve_from(i - 1, i, allowed)
            self._spend(i, found.n_sweeps)
            if not self._take(i, found):
                return

    def backwards(self, first: int) -> None:
        """Go from the smallest alpha to the first that is not locally convex."""
        for i in range(len(self.fits) - 2, first - 1, -1):
            if self._is_better(self.fits[i + 1], i):
                if self.left == 0 or self.clock.expired():
                    return
                self.left -= 1
                self._take(i, self._solve_from(i + 1, i))

    def _sweeps_allowed(self, i: int, n_products: int) -> int:
        """The sweeps that the work allows at an alpha, after ``n_products`` products with all columns."""
        n, p = self.walk.task.view.shape
        self.work -= n_products * n * p
        return 0 if self.clock.expired() else int(self.work / self._sweep(i))

    def _sweep(self, i: int) -> int:
        return max(self.fits[i].w.size, 1) ** 2

    def _spend(self, i: int, n_sweeps: int) -> None:
        self.work -= n_sweeps * self._sweep(i)

    def _solve_from(self, other: int, i: int, max_sweeps: int | None = None) -> Fit:
        """Solve for an alpha from the solution of another one."""
        self._go_to(self.fits[other])
        self._present = None
        return self.walk.solve_again(float(self.alphas[i]), max_sweeps)

    def _go_to(self, fit: Fit) -> None:
        if self._present is not fit:
            self.walk.go_to(fit)

    def _take(self, i: int, found: Fit) -> bool:
        """Let this solution replace the one of an alpha if it is better; whether it is."""
        converged = found.kkt <= max(self.fits[i].kkt, self.walk.task.tol)
        if not (converged and self._is_better(found, i) and found.w.size <= self.max_features):
            return False
        self.fits[i] = self._present = found
        return True

    def _is_better(self, fit: Fit, i: int) -> bool:
        """Whether the coefficients of a solution have a smaller objective at an alpha than the solution there."""
        task, alpha = self.walk.task, float(self.alphas[i])
        return _objective(task, fit, alpha) < _smaller(_objective(task, self.fits[i], alpha))


def _smaller(objective: float) -> float:
    return objective - _LEAST_GAIN * abs(objective)


def _objective(task: Task, fit: Fit, alpha: float) -> float:
    """Loss plus penalty of a solution's coefficients at an alpha, which may be another than its own.

    A rescaled penalty keeps the curvature of the solution.
    """
    size, lam = fit.w, alpha * task.factor[fit.features]
    v = np.ones(size.size) if fit.curvature is None else fit.curvature
    if task.groups is not None:
        # One entry for each group: its norm, and what its features have in common.
        _, first, which = np.unique(task.groups[fit.features], return_index=True, return_inverse=True)
        size, lam, v = np.sqrt(np.bincount(which, size**2, first.size)), lam[first], v[first]
    return fit.loss + float(np.sum(task.plain.value(v * size, lam) / v))
