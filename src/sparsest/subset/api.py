"""The functions most users call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsest.core.checks import (
    by_number,
    check_names,
    column_names,
    flag,
    function,
    instance,
    number,
    optional,
    whole_number,
    word,
)
from sparsest.core.data import encode_labels
from sparsest.core.designs import as_design
from sparsest.core.losses import Loss, make_loss
from sparsest.core.problem import Problem, make_problem
from sparsest.core.ridge import default_gamma
from sparsest.results.advice import warn_if_short
from sparsest.results.result import Result
from sparsest.runtime.clock import Callback, Clock
from sparsest.runtime.progress import watching
from sparsest.subset.cuts.pool import CutPool
from sparsest.subset.leave_one_out import LeaveOneOut
from sparsest.subset.screening import RANKINGS, Screened
from sparsest.subset.settings import METHODS, check_n_jobs, check_time_limit, make_solver
from sparsest.subset.subset_grid import check_gammas, check_ks, solve_grid
from sparsest.subset.tree.near_optimal import NearOptimal, NearOptimalSearch

__all__ = ["METHODS", "best_subset", "best_subset_path", "near_optimal"]

Columns = Sequence[int] | Sequence[str]

_check_callback = optional(function)
_check_screen = optional(whole_number, least=1)


def best_subset(
    X: Any,
    y: Any,
    k: int | None = None,
    *,
    l0_penalty: float | None = None,
    gamma: float | str = "auto",
    max_coef: float | None = None,
    loss: str | Loss = "squared",
    epsilon: float | None = None,
    delta: float | None = None,
    quantile: float | None = None,
    theta: float | None = None,
    method: str = "tree",
    fit_intercept: bool = True,
    standardize: bool = True,
    sample_weight: Any = None,
    offset: Any = None,
    exposure: Any = None,
    include: Columns = (),
    exclude: Columns = (),
    feature_names: Sequence[str] | None = None,
    start: Any = None,
    screen: int | None = None,
    screen_by: str = "relaxation",
    time_limit: float = 60.0,
    gap_tol: float = 1e-4,
    engine: str | None = None,
    n_jobs: int | None = None,
    node_limit: int | None = None,
    max_memory: float | None = None,
    callback: Callback | None = None,
    verbose: bool = False,
    options: dict[str, Any] | None = None,
) -> Result:
    """Find the best model with few features, and prove how far any other could be better.

    Minimises ``Σ_i ω_i ℓ(y_i, x_i'w + b) + (1/2γ)‖w‖²`` subject to ``‖w‖_0 ≤ k``, with ``l0_penalty · ‖w‖_0`` added,
    or both; and, if wanted, ``|w_j| ≤ max_coef``.  A search for a proof (methods "tree" and "cuts") that ends without
    it warns with a ``ConvergenceWarning``.

    Parameters
    ----------
    X : matrix, sparse matrix or data frame of shape (n, p)
    y : n responses; for a classification loss any two labels (the larger one, in sorted order, is the positive class)
    k : the largest number of features
    l0_penalty : the price of a feature; give ``k``, ``l0_penalty`` or both
    gamma : the ridge is ``‖w‖²/(2γ)``; ``inf`` means none.  "auto" shrinks coefficients by about a tenth: it is 10/n
        for the squared loss on standardised columns, see :func:`sparsest.core.ridge.default_gamma`.  "loo" takes the
        one with the smallest leave-one-out error of the chosen support, for more observations than features; see
        :mod:`sparsest.subset.leave_one_out`
    max_coef : an upper limit of every coefficient's size, ``|w_j| ≤ max_coef``, for columns of mean square 1 where
        these are standardised: ``|coef_j| · std_j`` for the data as given, which does not depend on units, like the
        ridge.  None (default) has no such limit.  Bounds are the better the smaller it is, and it makes proofs possible
        without a ridge; it is a part of the problem, so choose it larger than any coefficient that makes sense
    loss : "squared", "epsilon_insensitive", "squared_epsilon_insensitive", "huber" or "quantile" for any y; "logistic",
        "hinge" or "squared_hinge" for two labels; "poisson", "negative_binomial" or "tweedie" for y ≥ 0, "gamma" for
        y > 0, with the mean ``e^{x'w + b}``; or an object of :mod:`sparsest.core.losses`
    epsilon : half width of the zone of the epsilon-insensitive losses, by default 0.1
    delta : residual from which on Huber's loss is linear, by default 1.35
    quantile : the quantile, between 0 and 1, that the quantile loss predicts, by default 0.5
    theta : of the negative binomial loss, by default 1: the variance is ``μ + μ²/θ``
    method : how to solve it; see the table of methods in the README
    fit_intercept : whether to fit an intercept, which is not penalised
    standardize : solve for columns of mean square 1; coefficients are returned for the data as given
    sample_weight : n weights, not negative
    offset : n numbers that are added to ``x'w + b``
    exposure : n numbers above zero that the mean is proportional to, for losses with a logarithmic link
    include, exclude : columns that must, and must not, be in the model, by number or by name
    feature_names : names of the columns; by default those of a data frame
    start : an earlier ``Result`` or a list of columns to start from
    screen : solve for this many features; ``trace["screening"]["safe"]`` says whether the others are proved to be in no
        better model, and the certificate is for all features in either case
    screen_by : what ranks them: the Boolean "relaxation", or the order in which they enter a Lasso "path"
    time_limit : seconds, without those for compiling kernels
    gap_tol : relative gap at which the status is OPTIMAL
    engine : who searches for cuts (method "cuts"): "highs" (default), "scip" or "gurobi"
    n_jobs : number of threads (method "tree"); all cores by default, one in a worker of joblib or Dask
    node_limit : the largest number of nodes (methods "tree" and "cuts"); 10 million by default
    max_memory : bytes for open nodes, proof, copied columns and Gram matrix (method "tree"); 2e9 by default
    callback : called with every event of the search; returning True stops it
    verbose : show incumbent, bound, gap and nodes while the search runs
    options : further settings of the method: the other fields of its class

    Returns
    -------
    Result
        Coefficients, support, objective, lower bound, gap, status and certificate.
    """
    solver = make_solver(
        method, options, time_limit=time_limit, gap_tol=gap_tol, engine=engine, n_jobs=n_jobs, node_limit=node_limit,
        max_memory=max_memory,
    )  # fmt: skip
    listener, live = _check_callback(callback, "callback"), flag(verbose, "verbose")
    screening = _check_screen(screen, "screen"), word(screen_by, "screen_by", words=RANKINGS)
    clock = Clock(solver.time_limit)
    task = make_task(
        X, y, gamma, feature_names, include, exclude, k=k, l0_penalty=l0_penalty, max_coef=max_coef,
        loss=make_loss(loss, epsilon=epsilon, delta=delta, quantile=quantile, theta=theta),
        fit_intercept=fit_intercept, standardize=standardize, sample_weight=sample_weight, offset=offset,
        exposure=exposure,
    )  # fmt: skip
    with watching(live, listener) as clock.callback:
        result = _wrapped(solver, gamma, *screening).solve(task.problem, task.first(start), clock)
    warn_if_short([result], method)
    return task.complete(result)


def best_subset_path(
    X: Any,
    y: Any,
    ks: Sequence[int],
    *,
    gamma: float | str = "auto",
    gammas: Sequence[float] | str | None = None,
    max_coef: float | None = None,
    loss: str | Loss = "squared",
    epsilon: float | None = None,
    delta: float | None = None,
    quantile: float | None = None,
    theta: float | None = None,
    method: str = "tree",
    fit_intercept: bool = True,
    standardize: bool = True,
    sample_weight: Any = None,
    offset: Any = None,
    exposure: Any = None,
    include: Columns = (),
    exclude: Columns = (),
    feature_names: Sequence[str] | None = None,
    start: Any = None,
    screen: int | None = None,
    screen_by: str = "relaxation",
    time_limit: float = 60.0,
    gap_tol: float = 1e-4,
    engine: str | None = None,
    n_jobs: int | None = None,
    node_limit: int | None = None,
    max_memory: float | None = None,
    callback: Callback | None = None,
    verbose: bool = False,
    options: dict[str, Any] | None = None,
) -> list[Result]:
    """Solve for several numbers of features, and several ridges, each starting from what one before has found.

    The data are checked and centred once; each solution is the start of the next k, and of the next larger γ with the
    same k, and so are relaxations and dual points; with ``method="cuts"`` one pool of cuts serves all.  After Ctrl-C
    the rest gets its first models.

    Parameters
    ----------
    ks : numbers of features, in any order
    gammas : several γs in place of ``gamma``: a list, or "auto" for a small one that is doubled up to twenty times,
        until that changes neither a support nor, by more than one per cent, the coefficients
    start : what the smallest k starts from
    time_limit : seconds for each
    X, y, gamma, max_coef, loss, epsilon, delta, quantile, theta, method, fit_intercept, standardize, sample_weight, \
offset, exposure, include, exclude, feature_names, screen, screen_by, gap_tol, engine, n_jobs, node_limit, max_memory, \
callback, verbose, options : see :func:`best_subset`

    Returns
    -------
    list of Result
        One for each entry of ``ks``, in the same order; with several γs those of the first γ, then those of the next:
        in the order given, or rising.  ``result.statement`` tells k and gamma of each.
    """
    numbers = check_ks(ks)
    if gammas is not None and gamma != "auto":
        raise ValueError("give gamma or gammas, not both")
    solver = make_solver(
        method, options, time_limit=time_limit, gap_tol=gap_tol, engine=engine, n_jobs=n_jobs, node_limit=node_limit,
        max_memory=max_memory,
    )  # fmt: skip
    if method == "cuts" and solver.pool is None:
        solver = replace(solver, pool=CutPool())
    listener, live = _check_callback(callback, "callback"), flag(verbose, "verbose")
    screening = _check_screen(screen, "screen"), word(screen_by, "screen_by", words=RANKINGS)
    clock = Clock(np.inf)
    task = make_task(
        X, y, gamma, feature_names, include, exclude, k=max(numbers), max_coef=max_coef,
        loss=make_loss(loss, epsilon=epsilon, delta=delta, quantile=quantile, theta=theta),
        fit_intercept=fit_intercept, standardize=standardize, sample_weight=sample_weight, offset=offset,
        exposure=exposure,
    )  # fmt: skip
    problem, doubled = task.problem, isinstance(gammas, str)
    ridges = [problem.gamma] if gammas is None else check_gammas(gammas, problem.data, max(numbers))
    with watching(live, listener) as clock.callback:
        wrapped = _wrapped(solver, gamma, *screening)
        found = solve_grid(
            wrapped, problem, sorted(set(numbers)), sorted(set(ridges)), task.first(start), clock, doubled
        )
    warn_if_short(list(found.values()), method)
    return [task.complete(found[value, k]) for value in ridges for k in numbers if (value, k) in found]


def _wrapped(solver: Any, gamma: Any, screen: int | None, screen_by: str) -> Any:
    """The solver within those that screen features and choose the ridge, as far as that is asked for."""
    inner = solver if screen is None else Screened(solver, screen, solver.time_limit, solver.gap_tol, screen_by)
    return LeaveOneOut(inner) if _is_word(gamma, "loo") else inner


def _is_word(value: Any, word: str) -> bool:
    return isinstance(value, str) and value == word


def near_optimal(
    result: Result,
    X: Any,
    y: Any,
    within: float = 0.01,
    limit: int = 100,
    *,
    sample_weight: Any = None,
    offset: Any = None,
    exposure: Any = None,
    time_limit: float = 60.0,
    n_jobs: int | None = None,
) -> NearOptimal:
    """Find every support whose objective is within a relative distance of a result's.

    Parameters
    ----------
    result : what :func:`best_subset` returned
    X, y, sample_weight, offset, exposure : the data of the result, which does not keep them
    within : relative distance; 0.01 is one per cent
    limit : the largest number of supports to return
    time_limit : seconds
    n_jobs : number of threads; all cores by default, one in a worker of joblib or Dask

    Returns
    -------
    NearOptimal
        Supports in order of their objectives; ``complete`` is true when there are provably no others.
    """
    instance(result, "result", kind=Result)
    distance, most = number(within, "within", least=0), whole_number(limit, "limit", least=1)
    limits = {"time_limit": check_time_limit(time_limit, "time_limit"), "n_jobs": check_n_jobs(n_jobs, "n_jobs")}
    tree = make_solver("tree", None, gap_tol=1e-4, **limits)
    clock = Clock(tree.time_limit)
    data = {"sample_weight": sample_weight, "offset": offset, "exposure": exposure}
    return NearOptimalSearch(distance, most, tree).solve(problem_of(result, X, y, **data), result, clock)


def problem_of(result: Result, X: Any, y: Any, sample_weight: Any = None, **added: Any) -> Problem:
    """Build the problem of a result from its data, or say that these are others."""
    about, design = result.statement, as_design(X)
    if design.shape[1] != about.p:
        raise ValueError(f"the result is for data with {about.p} columns, this X has {design.shape[1]}")
    problem = make_problem(
        design, y, about.k, l0_penalty=about.l0_penalty, gamma=about.gamma, max_coef=about.max_coef, loss=about.loss,
        **about.parameters, fit_intercept=about.fit_intercept, standardize=about.standardize, include=about.include,
        exclude=about.exclude, sample_weight=sample_weight, **added,
    )  # fmt: skip
    if problem.data.evidence.fingerprint() != about.fingerprint:
        raise ValueError(
            "X, y, sample_weight, offset or exposure are not those of the result: give the data of the fit again, in "
            "the same order (the class_weight of a classifier is a part of sample_weight)"
        )
    return problem


@dataclass(frozen=True, eq=False)
class Task:
    """A problem, and what its results have to know of the data beyond it."""

    problem: Problem
    names: tuple[str, ...] | None
    classes: NDArray[Any] | None

    def first(self, start: Any) -> Any:
        """What to start from, with numbers for the names of columns."""
        return start if isinstance(start, Result) else by_number(start, "start", self.names)

    def complete(self, result: Result) -> Result:
        """Add names and labels to a result."""
        return replace(result, feature_names=self.names, classes=self.classes)


def make_task(X: Any, y: Any, gamma: Any, feature_names: Any, include: Any, exclude: Any, **settings: Any) -> Task:
    """Check the data and build the problem; the default γ, with which leave-one-out begins, follows from them."""
    design = as_design(X)
    names = column_names(X) if feature_names is None else check_names(feature_names, "feature_names", design.shape[1])
    settings["include"] = by_number(include, "include", names)
    settings["exclude"] = by_number(exclude, "exclude", names)
    if _is_word(gamma, "auto") or _is_word(gamma, "loo"):
        problem = make_problem(design, y, gamma=np.inf, **settings)
        problem = problem.with_gamma(default_gamma(problem.data))
    else:
        given = number(gamma, "gamma", above=0, finite=False, or_else="'auto' or 'loo'")
        problem = make_problem(design, y, gamma=given, **settings)
    problem.data.evidence.prepare()
    return Task(problem, names, encode_labels(y)[1] if problem.loss.classification else None)
