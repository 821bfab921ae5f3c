"""The function :func:`certified_choice`: from data to a choice, by a search over the sizes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from inspect import signature
from typing import Any

from sparsest.core.checks import shown
from sparsest.core.losses import Loss
from sparsest.core.settings import SETTINGS, checked, documented
from sparsest.core.structure.user_rules import Groups, Structure
from sparsest.results.advice import convergence_warning, level_of_the_user
from sparsest.results.parts import Restart
from sparsest.results.result import Result
from sparsest.runtime.clock import Callback, Clock
from sparsest.runtime.events import Status
from sparsest.runtime.progress import watching
from sparsest.selection.certified import CertifiedChoice, about_other_sizes
from sparsest.selection.certified_sizes import admitted_sizes
from sparsest.selection.criteria import Criterion
from sparsest.selection.size_search import SizeSearch
from sparsest.subset.api import Columns, Limits
from sparsest.subset.solvers import make_solver
from sparsest.subset.task import Task, make_task

# Larger than any number of features; replaced when the data have been read.
_ALL = 2**31


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
    with watching(live, listener) as clock.callback:
        task = make_task(
            X, y, k=_ALL, gamma=gamma, lower=lower, upper=upper, loss=loss, theta=theta, fit_intercept=fit_intercept,
            standardize=standardize, sample_weight=sample_weight, offset=offset, exposure=exposure, include=include,
            exclude=exclude, feature_groups=feature_groups, structure=structure, feature_names=feature_names,
            clock=clock,
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
        with clock.listening():
            search = SizeSearch(problem, chosen, sizes, tree, clock)
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


def _finish(search: SizeSearch, task: Task) -> CertifiedChoice:
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
