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

from sparsest.core.checks import shown, whole_number
from sparsest.core.losses import Loss
from sparsest.core.problem import Problem
from sparsest.core.settings import SETTINGS, checked, documented
from sparsest.core.sparsity import check_sparsity
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
from sparsest.selection.criteria import Criterion
from sparsest.subset.api import Columns, Limits
from sparsest.subset.enumeration import enumerate_supports
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
        if there is no ridge and all features fit perfectly)
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
        exclude=exclude, feature_names=feature_names,
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
    sizes = _check_sizes(ks, problem, candidates)
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


def _check_sizes(ks: Any, problem: Problem, candidates: int) -> tuple[int, ...]:
    """The numbers of features to consider."""
    least = problem.include.size
    if ks is None:
        perfect = np.isinf(problem.gamma) and candidates > problem.n - 2
        largest = max(least, problem.n // 2) if perfect else candidates
        return tuple(range(least, largest + 1))
    if not np.iterable(ks):
        largest = whole_number(ks, "ks", least=least, or_else="a list of numbers of features")
        return tuple(range(least, min(largest, candidates) + 1))
    entries = [whole_number(k, "every entry of ks", least=least, most=candidates) for k in ks]
    if not entries:
        raise ValueError("ks is empty: give at least one number of features")
    return tuple(sorted(set(entries)))


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
        warnings.warn(
            f"{about_other_sizes(choice.not_excluded)}, and the gap of the chosen model is {best.gap:.2g}: give more "
            "time (time_limit), a smaller gamma, or fewer ks",
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
        first = self._single_support(sizes[0]) if sizes[0] == problem.include.size else None
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
        sparsity = check_sparsity(k, None, self.problem.include.size, self.criterion.p)
        return self.problem.with_sparsity(sparsity)

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
        """The best known model of at most k features.

        This may differ from ``results[k]``: a search can find a better model but prove a weaker bound.
        """
        admissible = [model for size, model in self.models.items() if size <= k]
        return min(admissible, key=lambda model: model.objective, default=None)

    def _bound_all(self) -> None:
        """Bound the objective of all supports by that of all features."""
        result = self._single_support(self.sizes[-1])
        if result is not None:
            self._offer(self.sizes[-1], result)

    def _single_support(self, k: int) -> Result | None:
        """Solve a size at which one support bounds all others: the forced features alone, or all features.

        None if time runs out.
        """
        problem = self._problem(k)
        found = enumerate_supports(problem, self.clock.expired)
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
        return solver.solve(self._problem(k), self._incumbent(k), self.clock.part(seconds))

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
        """The seconds for one open size: an equal share of the remaining time, but at least ``least``.

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
        return [k for k in left if self.finished.get(k, inf) > self._tolerance(k)]

    def _missing(self, k: int) -> float:
        """The share of a size's gap that must be closed to exclude it."""
        result, model = self.results.get(k), self._incumbent(k)
        if result is None or model is None:
            return 1.0
        wanted = self.criterion.losses_at(self.value, k) - result.lower_bound
        return wanted / max(model.objective - result.lower_bound, 1e-300)

    def _tolerance(self, k: int) -> float:
        """The gap that excludes a size, or proves the best model."""
        known = self._incumbent(k)
        if known is None or k == self.best.support.size or known.objective <= 0.0:
            return self.tree.gap_tol
        needed = 1.0 - self.criterion.losses_at(self.value, k) / known.objective
        return float(np.clip(_EXCLUDING_SHARE * needed, _LEAST_GAP, _LARGEST_GAP))

    def _searched(self, k: int, seconds: float) -> Result:
        """Search a size until it is excluded, or its model is proved.

        Better models are looked for first, because they reduce the gap that excludes the size: if the tree found one on
        its way, it would stop too early and have to be repeated.
        """
        if k not in self.polished:
            self._offer(k, self._relaxed(k, True, 1.0))
        tolerance = self._tolerance(k)
        solver = replace(self.tree, gap_tol=tolerance)
        result = solver.solve(self._problem(k), self._incumbent(k), self.clock.part(seconds))
        if result.status is not Status.TIME_LIMIT:
            self.finished[k] = tolerance
        return result
