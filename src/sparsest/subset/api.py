"""The functions :func:`best_subset`, :func:`best_subset_path` and :func:`near_optimal`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sparsest.core.checks import instance, number, whole_number
from sparsest.core.losses import Loss
from sparsest.core.settings import METHODS, documented
from sparsest.core.structure.user_rules import Groups, Structure
from sparsest.results.advice import warn_if_short
from sparsest.results.result import Result
from sparsest.runtime.clock import Callback, Clock
from sparsest.runtime.progress import watching
from sparsest.subset.cuts.pool import CutPool
from sparsest.subset.solvers import make_solver
from sparsest.subset.subset_grid import check_gammas, check_ks, solve_grid
from sparsest.subset.task import make_search, make_task, problem_of, solve
from sparsest.subset.tree.near_optimal import NearOptimal, NearOptimalSearch

__all__ = ["METHODS", "best_subset", "best_subset_path", "near_optimal"]

Columns = Sequence[int] | Sequence[str]
Limits = float | Sequence[float] | Mapping[Any, float] | None


@documented
def best_subset(
    X: Any,
    y: Any,
    k: int | None = None,
    *,
    l0_penalty: float | Sequence[float] | Mapping[Any, float] | None = None,
    gamma: float | str = "auto",
    max_coef: float | None = None,
    lower: Limits = None,
    upper: Limits = None,
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
    feature_groups: Groups | None = None,
    structure: Structure | None = None,
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

    Minimises ``Σ_i ω_i ℓ(y_i, x_i'w + b) + (1/2γ)‖w‖²`` subject to ``‖w‖_0 ≤ k``, or with ``l0_penalty · ‖w‖_0`` added,
    or both.  With ``max_coef``, also ``|w_j| ≤ max_coef``; ``lower`` and ``upper`` limit single coefficients for the
    data as given, and ``lower=0`` requires coefficients that are not negative.  ``feature_groups`` and ``structure``
    restrict which features may be chosen together.  A search for a proof (methods "tree" and "cuts") that ends without
    it warns with a ``ConvergenceWarning``.

    Parameters
    ----------
    time_limit : seconds from the call to the result, without those for compiling kernels

    Returns
    -------
    Result
        Coefficients, support, objective, lower bound, gap, status and certificate.

    Examples
    --------
    >>> import sparsest
    >>> data = sparsest.datasets.load_diabetes_quadratic()
    >>> result = sparsest.best_subset(data.X, data.y, k=3, feature_names=data.feature_names)
    >>> result.names, result.status.name
    (['bmi', 'bp', 's5'], 'OPTIMAL')
    >>> round(result.objective), result.gap <= 1e-4
    (715623, True)
    """
    result, _ = solve(
        X, y, k=k, l0_penalty=l0_penalty, gamma=gamma, max_coef=max_coef, lower=lower, upper=upper, loss=loss,
        epsilon=epsilon, delta=delta, quantile=quantile, theta=theta, method=method, fit_intercept=fit_intercept,
        standardize=standardize, sample_weight=sample_weight, offset=offset, exposure=exposure, include=include,
        exclude=exclude, feature_groups=feature_groups, structure=structure, feature_names=feature_names, start=start,
        screen=screen, screen_by=screen_by, time_limit=time_limit, gap_tol=gap_tol, engine=engine, n_jobs=n_jobs,
        node_limit=node_limit, max_memory=max_memory, callback=callback, verbose=verbose, options=options,
    )  # fmt: skip
    return result


@documented
def best_subset_path(
    X: Any,
    y: Any,
    ks: Sequence[int],
    *,
    gamma: float | str = "auto",
    gammas: Sequence[float] | str | None = None,
    max_coef: float | None = None,
    lower: Limits = None,
    upper: Limits = None,
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
    feature_groups: Groups | None = None,
    structure: Structure | None = None,
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
    """Solve for several numbers of features, and several ridges, each starting from an earlier solution.

    The data are checked and centred once.  Each solution is the start of the next k, and of the next larger γ with the
    same k; so are relaxations and dual points.  With ``method="cuts"`` all share one pool of cuts.  After Ctrl-C the
    remaining problems get the first model that is found.

    Parameters
    ----------
    ks : numbers of features, in any order
    gammas : several γs in place of ``gamma``: a list, or "auto" for a small one that is doubled up to twenty times,
        until that changes neither a support nor, by more than one per cent, the coefficients
    start : an earlier ``Result`` or a list of columns that the smallest k starts from
    callback : called with every event of the searches; returning True stops the current one
    time_limit : seconds for each result, without those for compiling kernels; the first includes the preparation of
        the data

    Returns
    -------
    list of Result
        One for each entry of ``ks``, in the same order.  With several γs, those of the first γ come first, then those
        of the next; "auto" is in increasing order.  ``result.statement`` has k and gamma of each.

    Examples
    --------
    >>> import sparsest
    >>> data = sparsest.datasets.load_diabetes_quadratic()
    >>> models = sparsest.best_subset_path(data.X, data.y, [1, 2, 3])
    >>> [model.support.tolist() for model in models]
    [[2], [2, 8], [2, 3, 8]]
    """
    numbers = check_ks(ks)
    if gammas is not None and gamma != "auto":
        raise ValueError("give gamma or gammas, not both")
    search = make_search(
        gamma, method=method, screen=screen, screen_by=screen_by, time_limit=time_limit, gap_tol=gap_tol, engine=engine,
        n_jobs=n_jobs, node_limit=node_limit, max_memory=max_memory, callback=callback, verbose=verbose,
        options=_with_pool(method, options),
    )  # fmt: skip
    clock = Clock(np.inf)
    task = make_task(
        X, y, k=max(numbers), gamma=gamma, max_coef=max_coef, lower=lower, upper=upper, loss=loss, epsilon=epsilon,
        delta=delta, quantile=quantile, theta=theta, fit_intercept=fit_intercept, standardize=standardize,
        sample_weight=sample_weight, offset=offset, exposure=exposure, include=include, exclude=exclude,
        feature_groups=feature_groups, structure=structure, feature_names=feature_names,
    )  # fmt: skip
    problem, doubled = task.problem, isinstance(gammas, str)
    ridges = [problem.gamma] if gammas is None else check_gammas(gammas, problem.data, max(numbers))
    grid = sorted(set(numbers)), sorted(set(ridges))
    with watching(search.verbose, search.callback) as clock.callback:
        found = solve_grid(search.solver, problem, *grid, task.first(start), clock, doubled)
    warn_if_short(list(found.values()), method)
    return [task.complete(found[value, k]) for value in ridges for k in numbers if (value, k) in found]


def _with_pool(method: Any, options: Any) -> Any:
    """Add one pool of cuts for all problems to the options of the method "cuts", unless these have one."""
    given = {} if options is None else options
    lacks = isinstance(method, str) and method == "cuts" and isinstance(given, dict) and given.get("pool") is None
    return {**given, "pool": CutPool()} if lacks else options


@documented
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
    time_limit : seconds from the call to the result, without those for compiling kernels
    n_jobs : number of threads; all cores by default.  In a worker of joblib or Dask the default is one

    Returns
    -------
    NearOptimal
        Supports in order of their objectives; ``complete`` is true when there are provably no others.

    Examples
    --------
    >>> import sparsest
    >>> data = sparsest.datasets.load_diabetes_quadratic()
    >>> result = sparsest.best_subset(data.X, data.y, k=3)
    >>> near = sparsest.near_optimal(result, data.X, data.y, within=0.02)
    >>> [support.tolist() for support in near.supports], near.complete
    ([[2, 3, 8], [2, 8, 36], [2, 6, 8]], True)
    """
    instance(result, "result", kind=Result)
    distance, most = number(within, "within", least=0), whole_number(limit, "limit", least=1)
    tree = make_solver("tree", time_limit=time_limit, n_jobs=n_jobs)
    clock = Clock(tree.time_limit)
    problem = problem_of(result, X, y, sample_weight=sample_weight, offset=offset, exposure=exposure)
    return NearOptimalSearch(distance, most, tree).solve(problem, result, clock)
