"""The search of a certified choice: the order in which sizes are bounded, and its time limits.

Sizes are bounded by the fit of all features, then by relaxations, and if they are still not excluded by the tree, which
stops as soon as its bound excludes the size.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any

import numpy as np

from sparsest.core.problem import Problem
from sparsest.core.sparsity import Sparsity
from sparsest.results.result import Result
from sparsest.runtime.clock import Clock
from sparsest.runtime.events import Status
from sparsest.runtime.faults import reach
from sparsest.selection.certified import (
    bounds_of_sizes,
    open_sizes,
    value_above,
)
from sparsest.selection.certified_sizes import (
    bounded_by_all,
    price_of_a_column,
    problem_of_size,
    with_price,
    without_price,
)
from sparsest.selection.criteria import Criterion
from sparsest.subset.enumeration import Enumeration, enumerate_supports
from sparsest.subset.local import Local
from sparsest.subset.relaxation.method import Relaxation
from sparsest.subset.results import make_result
from sparsest.subset.tree.method import Tree

# Shares of the time limit after which relaxations of increasing sizes end, and those of the largest open sizes.
_SHARE_OF_WALK, _SHARE_OF_COVER = 0.3, 0.5
# The walk ends this many sizes, or this part of the best, after the last improvement.
_PATIENCE, _PATIENCE_SHARE = 4, 0.5
# A size is searched to this share of the gap that excludes it, within these limits (rounding allows no smaller gap).
_EXCLUDING_SHARE, _LEAST_GAP, _LARGEST_GAP = 0.95, 1e-8, 0.9
# Least number of seconds of a search, and the factor by which it grows from round to round without a time limit: a
# search cannot be resumed, it starts again.
_FIRST_SECONDS, _SECONDS_GROWTH = 1.0, 4.0


class SizeSearch:
    """The state of a search: the best model so far, and the results that bound each size."""

    def __init__(
        self,
        problem: Problem,
        criterion: Criterion,
        sizes: tuple[int, ...],
        tree: Tree,
        clock: Clock,
    ) -> None:
        self.problem, self.criterion, self.sizes = problem, criterion, sizes
        self.tree, self.clock = tree, clock
        # For each size the result with the best bound, and for each number of features the best model.
        self.results: dict[int, Result] = {}
        self.models: dict[int, Result] = {}
        # Sizes whose models have been improved by swaps.
        self.polished: set[int] = set()
        # The tolerance that the last search of a size reached; the same tolerance need not be tried again.
        self.finished: dict[int, float] = {}
        # Sizes that are searched without a price per column, because a search with it did not decide them.
        self.unpriced: set[int] = set()
        self.value = inf
        first = self._single_support(sizes[0]) if sizes[0] == problem.root.forced_in.size else None
        self.best = first or self._relaxed(sizes[0], True, _SHARE_OF_WALK)
        self.value = self._value(self.best)
        self._offer(sizes[0], self.best)

    def run(self) -> None:
        """Bound all sizes by the fit of all features, then by relaxations, then open sizes by trees."""
        if self.sizes[-1] == self.criterion.p:
            self._bound_all()
        self._walk()
        self._cover()
        self._prove()

    def open_sizes(self) -> tuple[int, ...]:
        """The sizes that are not excluded, without that of the best model."""
        known = {k: result.lower_bound for k, result in self.results.items()}
        bounds = bounds_of_sizes(self.criterion, self.sizes, known)
        return open_sizes(self.sizes, bounds, self.value, self.best.support.size)

    def _problem(self, k: int) -> Problem:
        problem = problem_of_size(self.problem, k, self.criterion.p)
        assert problem is not None
        return problem

    def _price(self, k: int) -> float:
        """The price of a column in searches of this size."""
        if k in self.unpriced or np.isinf(self.value):
            return 0.0
        price = price_of_a_column(self.criterion, self.value, self.best.support.size, self.problem, k)
        return float(reach("price", k) or price)

    def _solved(self, k: int, solver: Any, seconds: float) -> Result:
        """Solve a size; the result does not include the price of columns."""
        problem, price, clock = self._problem(k), self._price(k), self.clock.part(seconds)
        if price == 0.0:
            return solver.solve(problem, self._incumbent(k), clock)
        result = solver.solve(with_price(problem, price), self._incumbent(k), clock)
        return without_price(result, problem, price, k, self.clock, self.tree.gap_tol)

    def _value(self, result: Result) -> float:
        """The criterion of a result's model; infinite if its size is not considered."""
        size = int(result.support.size)
        return value_above(self.criterion, result.objective, size) if size in self.sizes else inf

    def _offer(self, k: int, result: Result) -> bool:
        """Keep the better bound and the better model; return whether the model is the best so far."""
        if k not in self.results or result.lower_bound >= self.results[k].lower_bound:
            self.results[k] = result
        size = int(result.support.size)
        if size not in self.models or result.objective < self.models[size].objective:
            self.models[size] = result
        value = self._value(result)
        better = value < self.value
        # The objectives that two searches give for the same support differ by rounding errors.
        same = np.array_equal(result.support, self.best.support)
        if better or (same and result.lower_bound > self.best.lower_bound):
            self.best, self.value = result, value
        return better

    def _incumbent(self, k: int) -> Result | None:
        """The best known model of at most k columns, where a column may have a price.

        This may differ from ``results[k]``: a search can find a better model but prove a weaker bound.
        """
        price = self._price(k)
        admissible = [model for size, model in self.models.items() if size <= k]
        return min(admissible, key=lambda model: model.objective + price * model.support.size, default=None)

    def _bound_all(self) -> None:
        """Bound the objective of all supports by that of all features."""
        k = self.sizes[-1]
        problem = self._problem(k)
        if isinstance(problem.sparsity, Sparsity) or problem.sparsity.admits(problem.root.alive):
            result = self._single_support(k)
        else:
            # The structure does not admit all features at once, but they bound all that it admits.
            result = self._proved(problem, bounded_by_all(problem, self.best.support))
        if result is not None:
            self._offer(k, result)

    def _single_support(self, k: int) -> Result | None:
        """Solve a size at which one support bounds all others: the forced features alone, or all features.

        None if time runs out.
        """
        problem = self._problem(k)
        return self._proved(problem, enumerate_supports(problem, self.clock.expired))

    def _proved(self, problem: Problem, found: Enumeration | None) -> Result | None:
        """The result of a model with its proof."""
        if found is None:
            return None
        with self.clock.silenced():
            return make_result(
                problem, found.fit, found.proof, found.bound, clock=self.clock.part(inf), gap_tol=self.tree.gap_tol,
                otherwise=Status.HEURISTIC,
            )  # fmt: skip

    def _relaxed(self, k: int, polish: bool, share: float) -> Result:
        """Solve a size by its relaxation, or by swaps without a ridge."""
        seconds, gap_tol = self._left(share), self.tree.gap_tol
        self.polished |= {k} if polish else set()
        solver = Local(gap_tol=gap_tol) if np.isinf(self.problem.gamma) else Relaxation(gap_tol=gap_tol, polish=polish)
        return self._solved(k, solver, seconds)

    def _left(self, share: float = 1.0) -> float:
        return max(share * self.clock.limit - self.clock.seconds(), 1e-3)

    def _late(self, share: float) -> bool:
        return self.clock.expired() or self.clock.seconds() > share * self.clock.limit

    def _walk(self) -> None:
        """Relax increasing sizes until the criterion has not improved for a while."""
        last = 0
        for i, k in enumerate(self.sizes):
            if self._late(_SHARE_OF_WALK) or i - last > max(_PATIENCE, _PATIENCE_SHARE * last):
                return
            if k not in self.results and self._offer(k, self._relaxed(k, True, _SHARE_OF_WALK)):
                last = i

    def _cover(self) -> None:
        """Relax the largest open size, whose bound also holds for smaller sizes, until every open size has a result."""
        while not self._late(_SHARE_OF_COVER) and not np.isinf(self.problem.gamma):
            left = [k for k in self.open_sizes() if k not in self.results]
            if not left:
                return
            self._offer(left[-1], self._relaxed(left[-1], False, _SHARE_OF_COVER))

    def _prove(self) -> None:
        """Search the open sizes with the tree, those nearest to being excluded first."""
        first = _FIRST_SECONDS
        while left := self._to_search():
            for i, k in enumerate(left):
                if not self.clock.expired() and k in self._to_search():
                    self._offer(k, self._searched(k, self._share(len(left) - i, first)))
            first *= _SECONDS_GROWTH

    def _share(self, n_open: int, least: float) -> float:
        """The seconds for one open size: an equal share of the remaining time, but at least one second.

        Sizes that finish early leave their time to harder ones.  Without a time limit a search gets ``least`` seconds,
        because a better model found later may exclude the size at once.
        """
        left = self._left()
        return least if np.isinf(left) else min(max(left / n_open, _FIRST_SECONDS), left)

    def _to_search(self) -> list[int]:
        """The size of the best model if it is not proved, then the open sizes by the gap that is left."""
        if self.clock.expired():
            return []
        first = [int(self.best.support.size)] if self.best.gap > self.tree.gap_tol else []
        left = [*first, *sorted(self.open_sizes(), key=self._missing)]
        return [k for k in left if self.finished.get(k, inf) > self._tolerance(k) or self._price(k) > 0.0]

    def _missing(self, k: int) -> float:
        """The share of a size's gap that must be closed to exclude it."""
        result, model = self.results.get(k), self._incumbent(k)
        if result is None or model is None:
            return 1.0
        wanted = self.criterion.losses_at(self.value, k) - result.lower_bound
        return wanted / max(model.objective - result.lower_bound, 1e-300)

    def _tolerance(self, k: int) -> float:
        """The gap that excludes a size, or proves the best model."""
        known, price = self._incumbent(k), self._price(k)
        if known is None or known.objective <= 0.0:
            return self.tree.gap_tol
        objective = known.objective + price * known.support.size
        if k == self.best.support.size:
            return self.tree.gap_tol * known.objective / objective
        needed = 1.0 - (self.criterion.losses_at(self.value, k) + price * k) / objective
        return float(np.clip(_EXCLUDING_SHARE * needed, _LEAST_GAP, _LARGEST_GAP))

    def _searched(self, k: int, seconds: float) -> Result:
        """Search a size until it is excluded, or its model is proved.

        Better models are looked for first, because they reduce the gap that excludes the size: if the tree found one on
        its way, it would stop too early and have to be repeated.
        """
        if k not in self.polished:
            self._offer(k, self._relaxed(k, True, 1.0))
        if self.finished.get(k, inf) <= self._tolerance(k):
            # The search with a price has ended, and the size is still open.
            self.unpriced.add(k)
        tolerance = self._tolerance(k)
        result = self._solved(k, replace(self.tree, gap_tol=tolerance), seconds)
        if result.status is not Status.TIME_LIMIT:
            self.finished[k] = tolerance
        return result
