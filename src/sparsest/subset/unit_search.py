"""Local search for problems with a structure: adding, removing and swapping units, if the rules admit the result.

Additions are ranked by the decrease of a quadratic model with the curvature of the unit's columns alone, and the most
promising ones are fitted.  The first that improves the model is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from sparsest.core.arrays import Array, Mask
from sparsest.core.losses import PiecewiseLinear
from sparsest.core.problem import Problem
from sparsest.core.sparsity import Region
from sparsest.core.structure.structured import StructuredSparsity
from sparsest.runtime.threads import single_threaded
from sparsest.subset.fits.support import SupportFit, fit_support

# Smallest relative improvement of the objective by a move; smaller ones are rounding errors.
_IMPROVEMENT = 1e-9
# Share of the largest squared norm below which the directions of a unit's columns are rounding errors.
_NO_DIRECTION = 1e-10


class UnitSearch:
    """One local search; ``expired`` is called between fits."""

    def __init__(
        self, problem: Problem, rule: StructuredSparsity, region: Region, trials: int, expired: Callable[[], bool]
    ) -> None:
        self.problem, self.rule, self.trials, self.expired = problem, rule, trials, expired
        state = rule.state_of(region)
        self.allowed, self.movable = state >= 0, state == 0
        self._units = [np.empty(0, dtype=np.intp)] * rule.n_units
        order = np.argsort(rule.units, kind="stable")
        for columns in np.split(order, np.cumsum(rule.sizes)[:-1]):
            if columns.size:
                self._units[int(rule.units[columns[0]])] = columns
        # Inverse square roots of the Hessians of units, by unit, computed when a unit is tried first.
        self._whitening: dict[int, Array] = {}

    def fit(self, chosen: Mask, near: SupportFit | None = None) -> SupportFit:
        """The model of some units."""
        support = self.rule.columns_of(chosen)
        start = None
        if near is not None:
            w = np.zeros(self.problem.p)
            w[near.support] = near.w
            start = w[support], near.b
        return fit_support(self.problem, support, start, expired=self.expired)

    def run(
        self, fit: SupportFit, max_moves: int, improved: Callable[[SupportFit], None] = lambda fit: None
    ) -> SupportFit:
        """Make moves until none improves the model."""
        for _ in range(max_moves):
            if self.expired():
                break
            with single_threaded():
                better = self._better(fit)
            if better is None:
                break
            fit = better
            improved(fit)
        return fit

    def forward(self, chosen: Mask) -> SupportFit:
        """Add one unit after the other to the chosen ones, as long as the model improves."""
        fit = self.fit(chosen)
        while not self.expired():
            grown = next((unit for unit in self._tried(fit, chosen, 1)), None)
            if grown is None:
                break
            following = self.fit(grown, fit)
            if not following.primal < fit.primal:
                break
            chosen, fit = grown, following
        return fit

    def _better(self, fit: SupportFit) -> SupportFit | None:
        """The first better model by adding, removing or swapping a unit; None if no move that is tried improves it."""
        chosen = self.rule.units_of(fit.support)
        target = fit.primal - _IMPROVEMENT * max(abs(fit.primal), 1e-300)
        for candidate in self._moves(fit, chosen):
            if self.expired():
                return None
            found = self.fit(candidate, fit)
            if found.primal < target:
                return found
        return None

    def _moves(self, fit: SupportFit, chosen: Mask) -> Iterator[Mask]:
        """The choices of units that are worth fitting: additions, then removals and swaps, cheapest removals first."""
        yield from self._tried(fit, chosen, self.trials)
        sizes = np.bincount(self.rule.units[fit.support], weights=fit.w**2, minlength=self.rule.n_units)
        inside = np.flatnonzero(chosen & self.movable)
        for unit in inside[np.argsort(sizes[inside], kind="stable")].tolist():
            left = self.rule.without_unit(chosen, unit)
            if (chosen & ~left & ~self.movable).any() or self.expired():
                continue
            if self.rule.priced and self.rule.keeps(left):
                yield left
            yield from self._tried(self.fit(left, fit), left, self.trials, without=unit)

    def _tried(self, fit: SupportFit, chosen: Mask, count: int, without: int | None = None) -> Iterator[Mask]:
        """The most promising choices with a further unit."""
        scores = self._scores(fit, chosen)
        if without is not None:
            scores[without] = -np.inf
        order = np.argsort(-scores, kind="stable")
        found = 0
        for unit in order.tolist():
            # Scores ignore the support, so a unit whose price exceeds its score may still improve the model.
            if scores[unit] == -np.inf or found >= count:
                return
            grown = self.rule.with_unit(chosen, unit, self.allowed)
            if grown is not None:
                found += 1
                yield grown

    def _scores(self, fit: SupportFit, chosen: Mask) -> Array:
        """The decrease of the quadratic model by adding each allowed unit, minus its price; -inf for all others.

        Scores use the curvature of single columns; the best units are then scored again with that of all their columns.
        """
        problem, rule = self.problem, self.rule
        slopes = fit.alpha
        if isinstance(problem.loss, PiecewiseLinear):
            margin = problem.design.columns(fit.support) @ fit.w + fit.b
            slopes = problem.weights * problem.loss.smoothed(1.0).derivative(problem.y, margin)
        gradient = problem.design.tdot(slopes)
        curvature = problem.column_norms**2 * problem.data.curvature + problem.ridge
        single = np.where(curvature > 0.0, gradient**2 / (2.0 * np.where(curvature > 0.0, curvature, 1.0)), 0.0)
        gains = np.bincount(rule.units, weights=single, minlength=rule.n_units)
        outside = self.allowed & ~chosen
        most = 8 * self.trials
        candidates = np.flatnonzero(outside)
        if candidates.size > most:
            candidates = candidates[np.argpartition(-gains[candidates], most)[:most]]
        for unit in candidates.tolist():
            columns = self._units[unit]
            if columns.size > 1:
                gains[unit] = 0.5 * float(np.sum((self._whitening_of(unit).T @ gradient[columns]) ** 2))
        return np.where(outside, gains - rule.prices, -np.inf)

    def _whitening_of(self, unit: int) -> Array:
        """R with ``RR' = (X'DX + λI)^{-1}`` for the columns of a unit, D the curvature of the loss."""
        found = self._whitening.get(unit)
        if found is None:
            problem = self.problem
            columns = problem.design.columns(self._units[unit])
            H = columns.T @ (problem.weights[:, None] * columns) * problem.data.curvature
            H.flat[:: H.shape[0] + 1] += problem.ridge
            values, vectors = np.linalg.eigh(H)
            usable = values > _NO_DIRECTION * max(float(values[-1]), 1e-300)
            found = self._whitening[unit] = vectors[:, usable] / np.sqrt(values[usable])
        return found
