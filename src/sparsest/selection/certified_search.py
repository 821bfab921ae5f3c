"""The function :func:`certified_choice`: the order of its searches, and their time limits.

Sizes are bounded by the fit of all features, then by relaxations, and if they are still not excluded by the tree, which
stops as soon as its bound excludes the size.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from inspect import signature
from math import inf
from typing import Any

import numpy as np

from sparsest.core.checks import shown
from sparsest.core.losses import Loss
from sparsest.core.problem import Problem
from sparsest.core.settings import SETTINGS, checked, documented
from sparsest.core.sparsity import Sparsity
from sparsest.core.structure.user_rules import Groups, Structure
from sparsest.results.advice import convergence_warning, level_of_the_user
from sparsest.results.parts import Restart
from sparsest.results.result import Result
from sparsest.runtime.clock import Callback, Clock
from sparsest.runtime.events import Status
from sparsest.runtime.progress import watching
from sparsest.selection.certified import (
    CertifiedChoice,
    about_other_sizes,
    bounds_of_sizes,
    open_sizes,
    value_above,
)
from sparsest.selection.certified_sizes import (
    admitted_sizes,
    bounded_by_all,
    price_of_a_column,
    problem_of_size,
    with_price,
    without_price,
)
from sparsest.selection.criteria import Criterion
from sparsest.subset.api import Columns, Limits
from sparsest.subset.enumeration import Enumeration, enumerate_supports
from sparsest.subset.local import Local
from sparsest.subset.relaxation.method import Relaxation
from sparsest.subset.results import make_result
from sparsest.subset.solvers import make_solver
from sparsest.subset.task import Task, make_task
from sparsest.subset.tree.method import Tree

# Larger than any number of features; replaced when the data have been read.
_ALL = 2**31
# Shares of the time limit after which relaxations of increasing sizes end, and those of the largest open sizes.
_SHARE_OF_WALK, _SHARE_OF_COVER = 0.3, 0.5
# The walk ends this many sizes, or this part of the best, after the last improvement.
_PATIENCE, _PATIENCE_SHARE = 4, 0.5
# A size is searched to this share of the gap that excludes it, within these limits (rounding allows no smaller gap).
_EXCLUDING_SHARE, _LEAST_GAP, _LARGEST_GAP = 0.95, 1e-8, 0.9
# Least number of seconds of a search, and the factor by which it grows from round to round without a time limit: a
# search cannot be resumed, it starts again.
_FIRST_SECONDS, _SECONDS_GROWTH = 1.0, 4.0


@documented
def certified_choice(
    X: Any,
    y: Any,
    criterion: str = "bic",
    ks: int | Sequence[int] | None = None,
    *,
    gamma: float | str = "auto",
    lower: Limits = None,
    upper: Limits = None,
    loss: str | Loss = "squared",
    theta: float | None = None,
    noise_variance: float | None = None,
    xi: float = 1.0,
    fit_intercept: bool = True,
    standardize: bool = True,
    sample_weight: Any = None,
    offset: Any = None,
    exposure: Any = None,
    include: Columns = (),
    exclude: Columns = (),
    feature_groups: Groups | None = None,
    structure: Structure | None = None,
    feature_names: Sequence[str] | None = None,
    time_limit: float = 60.0,
    gap_tol: float = 1e-4,
    n_jobs: int | None = None,
    max_memory: float | None = None,
    callback: Callback | None = None,
    verbose: bool = False,
) -> CertifiedChoice:
    """Choose the number of features by an information criterion, over all supports, with a proof.

    The criterion is that of the penalised likelihood, ``C(f(S)) + penalty(|S|)`` with f(S) the least objective of
    :func:`sparsest.best_subset` on the support S; with ``gamma=inf`` it is the classical one.  See
    :mod:`sparsest.selection.certified` for the theorem.

    Parameters
    ----------
    criterion : "aic", "aicc", "bic", "ebic", "gic" or "mbic"; see :mod:`sparsest.selection.criteria`
    ks : the numbers of features to consider, or the largest one; all by default (up to half the number of observations
        if there is no ridge and all features fit perfectly).  A group counts as many as it has columns
    noise_variance : variance of the noise, if it is known (squared loss)
    xi : the ξ of EBIC, between 0 (BIC) and 1
    gamma : the ridge is ``‖w‖²/(2γ)``, the same for all sizes: a number, ``inf`` for no ridge, or "auto"
    time_limit : seconds for all sizes together, excluding compilation of kernels
    gap_tol : relative gap of the objective at which the model counts as the best of its size

    Returns
    -------
    CertifiedChoice
        The model, the bounds of all sizes with their certificates, and the sizes that are not excluded.

    Warns
    -----
    ConvergenceWarning
        If some sizes are not excluded.

    Examples
    --------
    >>> import sparsest
    >>> data = sparsest.datasets.load_diabetes_quadratic()
    >>> choice = sparsest.certified_choice(data.X[:, :10], data.y, "bic")
    >>> choice.k, choice.not_excluded, choice.status.name
    (5, (), 'OPTIMAL')
    """
    tree = make_solver("tree", time_limit=time_limit, gap_tol=gap_tol, n_jobs=n_jobs, max_memory=max_memory)
    if isinstance(gamma, str) and gamma != "auto":
        raise ValueError(f"gamma must be a number > 0, inf or 'auto', the same for all sizes, got {gamma!r}")
    listener, live = checked("callback", callback), checked("verbose", verbose)
    clock = Clock(tree.time_limit)
    task = make_task(
        X, y, k=_ALL, gamma=gamma, lower=lower, upper=upper, loss=loss, theta=theta, fit_intercept=fit_intercept,
        standardize=standardize, sample_weight=sample_weight, offset=offset, exposure=exposure, include=include,
        exclude=exclude, feature_groups=feature_groups, structure=structure, feature_names=feature_names,
    )  # fmt: skip
    problem = task.problem
    candidates = problem.p - problem.exclude.size
    chosen = Criterion(
        criterion,
        problem.loss.name,
        float(problem.weights.sum()),
        candidates,
        problem.fit_intercept,
        noise_variance,
        xi,
    )
    sizes = admitted_sizes(ks, problem, candidates)
    with watching(live, listener) as clock.callback, clock.listening():
        search = _Search(problem, chosen, sizes, tree, clock)
        search.run()
    return _finish(search, task)


def settings_of_a_choice(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings of :func:`sparsest.best_subset` that this function shares; all others must be at their defaults."""
    known = signature(certified_choice).parameters
    usual = {"options": {}} | {name: SETTINGS[name].default for name in ("method", "screen_by")}
    for name, value in settings.items():
        if name not in known and value is not None and not (name in usual and value == usual[name]):
            raise ValueError(f"{name} must not be given if a criterion chooses k, got {shown(value)}")
    return {name: value for name, value in settings.items() if name in known}


def _finish(search: _Search, task: Task) -> CertifiedChoice:
    """Build the choice, and warn if it is not proved."""
    best, gap_tol = search.best, search.tree.gap_tol
    early = search.clock.early() if search.clock.expired() else Status.HEURISTIC

    def completed(result: Result) -> Result:
        # A search that only had to exclude its size may have used another tolerance.
        status = Status.OPTIMAL if result.gap <= gap_tol else early
        return task.complete(replace(result, status=status))

    proved = not search.open_sizes() and best.gap <= gap_tol
    choice = CertifiedChoice(
        completed(best),
        search.criterion,
        search.sizes,
        {k: completed(replace(result, trace={}, restart=Restart())) for k, result in sorted(search.results.items())},
        Status.OPTIMAL if proved else early,
        search.clock.seconds(),
    )
    if choice.status not in (Status.OPTIMAL, Status.INTERRUPTED):
        others = about_other_sizes(choice.not_excluded, "feature" if task.groups is None else "column")
        warnings.warn(
            f"{others}, and the gap of the chosen model is {best.gap:.2g}: give more time (time_limit), a smaller "
            "gamma, or fewer ks",
            convergence_warning(),
            stacklevel=level_of_the_user(),
        )
    return choice


class _Search:
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
        return price_of_a_column(self.criterion, self.value, self.best.support.size, self.problem, k)

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
