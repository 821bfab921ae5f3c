"""From the data and settings of a user to a problem, and from the problem to its result.

This is the walk that :func:`sparsest.best_subset`, the estimators and the command line share: settings are checked, the
data are prepared once, the problem is posed, and a solver gets it with the clock of the call.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from sparsest.core.checks import by_number, check_names, column_names
from sparsest.core.data import Data, make_data
from sparsest.core.designs import on_demand, reporting, unstandardized
from sparsest.core.limits import check_limits
from sparsest.core.problem import PROBLEM_SETTINGS, Problem, pose
from sparsest.core.ridge import default_gamma
from sparsest.core.settings import SETTINGS, check_gamma, checked
from sparsest.core.structure.posing import group_labels
from sparsest.proofs.statement import Statement
from sparsest.results.advice import warn_if_short
from sparsest.results.result import Result
from sparsest.runtime.clock import Callback, Clock
from sparsest.runtime.progress import watching
from sparsest.subset.claims import restored
from sparsest.subset.solvers import ARGUMENTS, make_solver, staged

# Settings that say how to search; all others say what the problem is.
SEARCH_SETTINGS = ("method", *ARGUMENTS, "screen", "screen_by", "callback", "verbose", "options")


@dataclass(frozen=True, eq=False)
class Task:
    """A problem on prepared data, and the names and the groups of its columns."""

    problem: Problem
    names: tuple[str, ...] | None
    groups: tuple[str | int, ...] | None = None

    def first(self, start: Any) -> Any:
        """What to start from, with numbers for the names of columns."""
        return start if isinstance(start, Result) else by_number(start, "start", self.names)

    def complete(self, result: Result) -> Result:
        """Add names, groups and labels to a result."""
        classes = self.problem.data.classes
        return replace(result, feature_names=self.names, feature_groups=self.groups, classes=classes)


class Search(NamedTuple):
    """How to solve a task: the solver, with screening and the choice of the ridge, and its callback."""

    method: str
    solver: Any
    callback: Callback | None
    verbose: bool

    @property
    def time_limit(self) -> float:
        """Seconds for each model."""
        return float(self.solver.time_limit)

    def solve(self, make: Callable[[], Task], start: Any, clock: Clock) -> tuple[Result, Task]:
        """Prepare a task and return its result and the task; warn if it was to be proved and is not."""
        with watching(self.verbose, self.callback) as clock.callback:
            task = make()
            result = self.solver.solve(task.problem, task.first(start), clock)
        warn_if_short([result], self.method)
        return task.complete(result), task


def make_search(gamma: Any = SETTINGS["gamma"].default, **settings: Any) -> Search:
    """Check how to search; ``settings`` are some of ``SEARCH_SETTINGS``."""
    given = {name: SETTINGS[name].default for name in SEARCH_SETTINGS} | settings
    solver = make_solver(given["method"], given["options"], **{name: given[name] for name in ARGUMENTS})
    return Search(
        given["method"],
        staged(solver, gamma, given["screen"], given["screen_by"]),
        checked("callback", given["callback"]),
        checked("verbose", given["verbose"]),
    )


def make_task(X: Any, y: Any, *, feature_names: Any = None, clock: Clock | None = None, **settings: Any) -> Task:
    """Check and prepare the data, and pose the problem.

    Parameters
    ----------
    clock : tells of blocks of X that are read on demand
    **settings : those of :func:`pose_task` and of :func:`sparsest.core.data.make_data`
    """
    of_problem = {name: settings.pop(name) for name in ("k", *PROBLEM_SETTINGS) if name in settings}
    given = {"standardize": SETTINGS["standardize"].default, **settings}
    found = on_demand(X if clock is None else reporting(X, clock.read))
    data = make_data(X if found is None else found.fingerprinted(), y, **given)
    if feature_names is not None:
        names = check_names(feature_names, "feature_names", data.p)
    else:
        names = column_names(X) or unstandardized(data.design).names
    return pose_task(data, names, **of_problem)


def pose_task(
    data: Data,
    names: tuple[str, ...] | None,
    *,
    k: Any = None,
    l0_penalty: Any = None,
    gamma: Any = SETTINGS["gamma"].default,
    max_coef: Any = None,
    lower: Any = None,
    upper: Any = None,
    include: Any = (),
    exclude: Any = (),
    feature_groups: Any = None,
    structure: Any = None,
) -> Task:
    """Pose a problem on prepared data; "auto" is the default γ, with which the choice by leave-one-out begins too."""
    low, high = check_limits(data.p, names, lower, upper)
    groups = None if feature_groups is None else tuple(group_labels(feature_groups, data.p, names))
    automatic = isinstance(gamma, str) and gamma in ("auto", "loo")
    problem = pose(
        data,
        k,
        l0_penalty=l0_penalty,
        gamma=default_gamma(data) if automatic else check_gamma(gamma, or_else="'auto' or 'loo'"),
        include=by_number(include, "include", names),
        exclude=by_number(exclude, "exclude", names),
        max_coef=max_coef,
        lower=low,
        upper=high,
        feature_groups=groups,
        structure=structure,
        names=names,
    )
    data.evidence.begin_fingerprint()
    return Task(problem, names, groups)


def solve(X: Any, y: Any, *, start: Any = None, **settings: Any) -> tuple[Result, Data]:
    """The result of :func:`sparsest.best_subset` for these settings, together with the prepared data."""
    of_search = {name: settings.pop(name) for name in SEARCH_SETTINGS if name in settings}
    search = make_search(settings.get("gamma", SETTINGS["gamma"].default), **of_search)
    clock = Clock(search.time_limit)
    result, task = search.solve(lambda: make_task(X, y, clock=clock, **settings), start, clock)
    return result, task.problem.data


def problem_of(result: Result, X: Any, y: Any, **rows: Any) -> Problem:
    """Prepare the data of a result again, and pose its problem on them.

    Parameters
    ----------
    **rows : ``sample_weight``, ``offset`` and ``exposure`` of the fit
    """
    about = result.statement
    data = make_data(X, y, loss=result.loss, fit_intercept=about.fit_intercept, standardize=about.standardize, **rows)
    return problem_on(result, data)


def problem_on(result: Result, data: Data) -> Problem:
    """Pose the problem of a result on its prepared data; raise a ValueError if these are other data."""
    about = result.statement
    if data.p != about.p:
        raise ValueError(f"the result is for data with {about.p} columns, this X has {data.p}")
    if data.evidence.fingerprint() != about.fingerprint:
        raise ValueError(
            "X, y, sample_weight, offset or exposure are not those of the result: give the data of the fit again, in "
            "the same order (the class_weight of a classifier is a part of sample_weight)"
        )
    return posed_again(about, data)


def posed_again(about: Statement, data: Data) -> Problem:
    """Pose the problem of a statement on data with the same columns."""
    sparsity = restored(about)
    # Without a structure the rule is checked again; with one it replaces a rule that admits everything.
    k, price = (about.k, about.l0_penalty) if sparsity is None else (None, 0.0)
    problem = pose(
        data, k, l0_penalty=price, gamma=about.gamma, max_coef=about.max_coef, lower=about.lower, upper=about.upper,
        include=about.include, exclude=about.exclude,
    )  # fmt: skip
    if sparsity is None:
        return problem
    return replace(problem, sparsity=sparsity, exclude=np.array(about.exclude, dtype=np.intp))
