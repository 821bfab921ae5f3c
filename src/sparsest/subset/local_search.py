"""Local search for a good incumbent: blockwise forward selection, then swaps, additions and removals.

Moves are ranked by the scores of :mod:`sparsest.subset.moves`.  For the squared loss without bounds the scores are
exact and the best move is taken.  Otherwise the most promising moves are refitted, and the first one that improves the
model is taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from sparsest.core.arrays import Array, Indices
from sparsest.core.losses import Squared
from sparsest.core.problem import Problem
from sparsest.core.sparsity import Region, Sparsity
from sparsest.core.structure.structured import StructuredSparsity
from sparsest.runtime.threads import single_threaded
from sparsest.subset.fits.support import SupportFit, fit_support
from sparsest.subset.moves import most_promising
from sparsest.subset.pool import Pool, forward_scores, promise_of_adding, promise_of_swapping
from sparsest.subset.unit_search import UnitSearch

# Smallest relative improvement of the objective by a move; smaller ones are rounding errors.
_IMPROVEMENT = 1e-9
# Number of features that a detour tries to leave out if every move has to be fitted.
_DETOURS_BY_FITS = 4


@dataclass(frozen=True)
class LocalSearch:
    """Settings of the search for an incumbent; ``expired`` is called between moves.

    A ``thorough`` search ends when no swap with any feature improves the model or, for losses other than the squared
    one, its quadratic model.  Any other search ends when no swap with a feature of the pool does: the ``pool`` features
    with the largest products with the residuals.
    """

    rounds: int = 8
    pool: int = 400
    trials: int = 8
    max_moves: int = 1000
    thorough: bool = True

    def search(
        self,
        problem: Problem,
        region: Region | None = None,
        start: Indices | None = None,
        expired: Callable[[], bool] = lambda: False,
        improved: Callable[[SupportFit], None] = lambda fit: None,
    ) -> SupportFit:
        """Return the best model found, starting from a support or from forward selection."""
        region = problem.root if region is None else region
        if not isinstance(problem.sparsity, Sparsity):
            return self._search_units(problem, problem.sparsity, region, start, expired, improved)
        if start is None:
            fit = forward(problem, region, self.rounds, expired)
        else:
            fit = fit_support(problem, np.sort(start), expired=expired)
        improved(fit)
        moves = 0
        # First the features with the largest products with the residuals; if none helps, those with the best swaps.
        thorough = False
        while moves < self.max_moves and not expired():
            promise = (promise_of_swapping if thorough else promise_of_adding)(problem, fit)
            pool = self._pool(problem, region, fit, promise)
            better, taken = self._exhaust_pool(pool, fit, self.max_moves - moves, expired, improved)
            moves += taken
            if better is not None:
                fit, thorough = better, False
            elif thorough or not self.thorough or pool.features.size == region.p - region.forced_out.size:
                break
            else:
                thorough = True
        return fit

    def detour(self, problem: Problem, fit: SupportFit, expired: Callable[[], bool] = lambda: False) -> SupportFit:
        """Escape from a local optimum: search without one of its features, then allow it again.

        The features are tried in turn, starting with the one whose removal costs least.  After a better model is found,
        the detour starts again from there.
        """
        if not isinstance(problem.sparsity, Sparsity):
            return fit
        better: SupportFit | None = fit
        while better is not None and not expired():
            fit, better = better, self._detour(problem, better, expired)
        return fit

    def _search_units(
        self,
        problem: Problem,
        rule: StructuredSparsity,
        region: Region,
        start: Indices | None,
        expired: Callable[[], bool],
        improved: Callable[[SupportFit], None],
    ) -> SupportFit:
        """The search over units, from a support that the rule admits or from a forward selection."""
        search = UnitSearch(problem, rule, region, self.trials, expired)
        if start is None or not rule.admissible(start, region):
            fit = forward(problem, region, self.rounds, expired)
        else:
            fit = fit_support(problem, np.sort(start), expired=expired)
        improved(fit)
        return search.run(fit, self.max_moves, improved)

    def _detour(self, problem: Problem, fit: SupportFit, expired: Callable[[], bool]) -> SupportFit | None:
        """The first better model found by leaving out a feature; None if there is none."""
        exact = isinstance(problem.loss, Squared)
        searching = self if exact else replace(self, trials=1)
        pool = self._pool(problem, problem.root, fit, promise_of_swapping(problem, fit))
        for feature in pool.by_removal_loss(fit)[: None if exact else _DETOURS_BY_FITS]:
            there = pool.refit(fit, feature, None, expired)
            for banned in ([feature], []):
                pool.banned = banned
                there = searching._exhaust_pool(pool, there, self.max_moves, expired)[0] or there
            if there.primal < fit.primal - _IMPROVEMENT * abs(fit.primal):
                return there
        return None

    def _pool(self, problem: Problem, region: Region, fit: SupportFit, promise: Array) -> Pool:
        """The support and the most promising features outside."""
        outside = np.setdiff1d(region.free, fit.support)
        promising = most_promising(outside, promise, fit.support.size, self.pool)
        return Pool(problem, region, np.union1d(fit.support, promising))

    def _exhaust_pool(
        self,
        pool: Pool,
        fit: SupportFit,
        max_moves: int,
        expired: Callable[[], bool],
        improved: Callable[[SupportFit], None] = lambda fit: None,
    ) -> tuple[SupportFit | None, int]:
        """Make moves among the features of a pool until none improves the model; return the model and their number."""
        best: SupportFit | None = None
        for moves in range(max_moves):
            if expired():
                return best, moves
            with single_threaded():
                move = self._best_move(pool, fit if best is None else best, expired)
            if move is None:
                return best, moves
            best = move
            improved(best)
        return best, max_moves

    def _best_move(self, pool: Pool, fit: SupportFit, expired: Callable[[], bool]) -> SupportFit | None:
        exact = isinstance(pool.problem.loss, Squared) and not pool.problem.bounds.exist
        threshold = _IMPROVEMENT * max(abs(fit.primal), 1e-300)
        for predicted, out, into in pool.moves(fit, self.trials):
            # Scores of other losses, and scores with bounds, are estimates whose sign may be wrong: the best are tried.
            if (exact and predicted <= threshold) or expired():
                return None
            candidate = pool.refit(fit, out, into, expired, fit.primal)
            if candidate.primal < fit.primal - threshold:
                return candidate
        return None


def forward(problem: Problem, region: Region, rounds: int, expired: Callable[[], bool] = lambda: False) -> SupportFit:
    """Grow a support in a few rounds, each of which adds the features with the largest scores.

    With a structure, units are added one by one.
    """
    sparsity = problem.sparsity
    if not isinstance(sparsity, Sparsity):
        first = sparsity.units_of(problem.first_support)
        return UnitSearch(problem, sparsity, region, 1, expired).forward(first)
    free = region.free[problem.column_norms[region.free] > 0]
    budget = min(sparsity.budget(region), free.size)
    fit = fit_support(problem, np.sort(region.forced_in))
    priced = sparsity.priced
    step = 16 if priced else max(1, math.ceil(budget / rounds))
    chosen = 0
    for _ in range(rounds):
        candidates = np.setdiff1d(free, fit.support)
        take = min(step, budget - chosen, candidates.size)
        if take <= 0 or expired():
            break
        score = forward_scores(problem, fit, candidates)
        best = np.argpartition(-score, take - 1)[:take]
        if priced:
            best = best[score[best] > sparsity.price]
            if best.size == 0:
                break
        grown = fit_support(problem, np.sort(np.concatenate([fit.support, candidates[best]])), expired=expired)
        if grown.primal >= fit.primal and priced:
            break
        fit, chosen = grown, chosen + best.size
    return fit
