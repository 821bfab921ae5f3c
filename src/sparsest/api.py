"""The functions most users call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
import scipy.sparse as sp

from sparsest.losses import Loss
from sparsest.penalties import PENALTIES
from sparsest.problem import Problem, check_sparsity, make_problem
from sparsest.result import Event, Result
from sparsest.solvers.base import Clock, Solver
from sparsest.solvers.cut_pool import CutPool
from sparsest.solvers.cuts import Cuts
from sparsest.solvers.local import Local
from sparsest.solvers.near_optimal import NearOptimal, NearOptimalSearch
from sparsest.solvers.path import penalty_path
from sparsest.solvers.relaxation import Relaxation
from sparsest.solvers.subgradient import Subgradient
from sparsest.solvers.tree import Tree

METHODS = ("tree", "cuts", "relaxation", "subgradient", "local")


def best_subset(
    X: Any,
    y: Any,
    k: int | None = None,
    *,
    l0_penalty: float | None = None,
    gamma: float | None = None,
    loss: str | Loss = "squared",
    epsilon: float = 0.1,
    method: str = "tree",
    fit_intercept: bool = True,
    standardize: bool = False,
    sample_weight: Any = None,
    include: Sequence[int] = (),
    exclude: Sequence[int] = (),
    start: Any = None,
    time_limit: float = 60.0,
    gap_tol: float = 1e-4,
    callback: Callable[[Event], Any] | None = None,
    **options: Any,
) -> Result:
    """Find the best model with few features, and prove how far any other could be better.

    Minimises ``Σ_i ω_i ℓ(y_i, x_i'w + b) + (1/2γ)‖w‖²`` subject to ``‖w‖_0 ≤ k``, or with ``l0_penalty · ‖w‖_0`` added.

    Parameters
    ----------
    X : matrix, sparse matrix or data frame of shape (n, p)
    y : n responses; for a classification loss any two labels (the larger one, in sorted order, is the positive class)
    k : the largest number of features
    l0_penalty : the price of a feature; give exactly one of ``k`` and ``l0_penalty``
    gamma : the ridge is ``‖w‖²/(2γ)``; ``inf`` means none.  By default 10 over the mean sum of squares of a centred
        column, which is 10/n for standardised columns
    loss : "squared", "logistic", "hinge", "squared_hinge", "epsilon_insensitive" or "squared_epsilon_insensitive"
    epsilon : half width of the insensitive zone of the last two
    method : how to solve it; see the table of methods in the README
    standardize : solve for columns of mean square 1; coefficients are returned for the data as given
    sample_weight : n weights, not negative
    include, exclude : columns that must, and must not, be in the model
    start : an earlier ``Result`` or a list of columns to start from
    time_limit : seconds, without those for compiling kernels
    gap_tol : relative gap at which the status is OPTIMAL
    callback : called with every event of the search; returning True stops it
    **options : further settings of the method

    Returns
    -------
    Result
        Coefficients, support, objective, lower bound, gap, status and certificate.
    """
    solver = make_solver(method, time_limit=time_limit, gap_tol=gap_tol, **options)
    clock = Clock(time_limit)
    problem = _with_ridge(
        X,
        y,
        gamma,
        k=k,
        l0_penalty=l0_penalty,
        loss=loss,
        epsilon=epsilon,
        fit_intercept=fit_intercept,
        standardize=standardize,
        sample_weight=sample_weight,
        include=include,
        exclude=exclude,
    )
    # Passing over the data takes a part of the time.
    return replace(cast(Any, solver), time_limit=clock.left()).solve(problem, start, callback)


def best_subset_path(
    X: Any,
    y: Any,
    ks: Sequence[int],
    *,
    gamma: float | None = None,
    method: str = "tree",
    time_limit: float = 60.0,
    gap_tol: float = 1e-4,
    callback: Callable[[Event], Any] | None = None,
    options: dict[str, Any] | None = None,
    **settings: Any,
) -> list[Result]:
    """Solve for several numbers of features, each starting from what the one before has found.

    The data are checked and centred once; each solution is the next one's start, its relaxation the next
    relaxation's; with ``method="cuts"`` one pool of cuts serves all.  After Ctrl-C the rest gets its first models.

    Parameters
    ----------
    ks : numbers of features, in any order
    time_limit : seconds for each
    options : further settings of the method
    **settings : ``loss``, ``epsilon``, ``fit_intercept``, ``standardize``, ``sample_weight``, ``include``,
        ``exclude`` as in :func:`best_subset`

    Returns
    -------
    list of Result
        One for each entry of ``ks``, in the same order.
    """
    if len(ks) == 0:
        raise ValueError("ks is empty: give at least one number of features")
    extra = dict(options or {})
    if method == "cuts":
        extra.setdefault("pool", CutPool())
    solver = make_solver(method, time_limit=time_limit, gap_tol=gap_tol, **extra)
    problem = _with_ridge(X, y, gamma, k=max(ks), **settings)
    found: dict[int, Result] = {}
    previous: Result | None = None
    clock = Clock(np.inf)
    with clock.listening():
        for k in sorted(set(ks)):
            sparsity = check_sparsity(k, None, problem.include.size, problem.p - problem.exclude.size)
            watch = _stop_at_once if clock.expired() else callback
            previous = found[k] = solver.solve(problem.with_sparsity(sparsity), previous, watch)
    return [found[k] for k in ks]


def _stop_at_once(event: Event) -> bool:
    return True


def near_optimal(
    result: Result, within: float = 0.01, limit: int = 100, *, time_limit: float = 60.0, n_jobs: int | None = None
) -> NearOptimal:
    """Find every support whose objective is within a relative distance of a result's.

    Parameters
    ----------
    result : what :func:`best_subset` returned
    within : relative distance; 0.01 is one per cent
    limit : the largest number of supports to return
    time_limit : seconds

    Returns
    -------
    NearOptimal
        Supports in order of their objectives; ``complete`` is true when there are provably no others.
    """
    if result.problem is None:
        raise ValueError("this result does not carry its problem: use the one that best_subset returned")
    if not (within >= 0 and np.isfinite(within)):
        raise ValueError(f"within must be a number >= 0, got {within!r}")
    if limit < 1:
        raise ValueError(f"limit must be at least 1, got {limit!r}")
    tree = Tree(time_limit=time_limit, n_jobs=n_jobs, proof=False)
    return NearOptimalSearch(within, limit, tree).solve(result.problem, result)


def _with_ridge(X: Any, y: Any, gamma: float | None, **settings: Any) -> Problem:
    """Build the problem; without a given γ it gets the default one."""
    problem = make_problem(X, y, gamma=np.inf if gamma is None else gamma, **settings)
    return problem if gamma is not None else problem.with_gamma(default_gamma(problem))


def default_gamma(problem: Problem) -> float:
    """``γ = 10 / mean_j Σ_i ω_i (x_ij - mean_j)²``: 10/n on standardised columns."""
    _, variance = problem.design.moments(problem.weights)
    typical = float(variance.mean()) * float(problem.weights.sum())
    return 10.0 / typical if typical > 0 else 1.0


def make_solver(method: str, *, time_limit: float, gap_tol: float, **options: Any) -> Solver:
    """Return the solver of that name, or say what can be chosen."""
    if not (time_limit > 0):
        raise ValueError(f"time_limit must be > 0 seconds, got {time_limit!r}")
    if not (0 <= gap_tol < 1):
        raise ValueError(f"gap_tol must be in [0, 1), got {gap_tol!r}")
    solvers: dict[str, Callable[..., Solver]] = {
        "tree": Tree,
        "cuts": Cuts,
        "relaxation": Relaxation,
        "subgradient": Subgradient,
        "local": Local,
    }
    if method not in solvers:
        raise ValueError(f"unknown method {method!r}; choose one of {', '.join(METHODS)}")
    try:
        return solvers[method](time_limit=time_limit, gap_tol=gap_tol, **options)
    except TypeError as error:
        raise ValueError(f"method {method!r} does not know these options: {error}") from error


def warmup() -> None:
    """Solve tiny problems that together call every kernel with all the types it is ever called with.

    Storage, dtype and method hardly matter: kernels get float64 in C order, whatever the data are.
    """
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 16))
    y = X[:, 0] + 2.0 * rng.standard_normal(12)
    labels = np.sign(y)
    # More features than observations: regions, not leaps and bounds, and more than a few of them.
    best_subset(X, y, 4, gamma=1.0, n_jobs=1)
    best_subset(X, labels, 4, gamma=1.0, loss="logistic", n_jobs=1)
    best_subset(X, labels, 4, gamma=1.0, loss="hinge", method="relaxation")
    best_subset(X, labels, l0_penalty=0.1, gamma=1.0, loss="hinge", method="relaxation")
    best_subset(X[:, :6], y, 3, gamma=np.inf, include=(0,))
    stored = np.asfortranarray(X)
    stored.flags.writeable = False
    for matrix in (X, stored, sp.csc_array(X)):
        for penalty in PENALTIES:
            penalty_path(matrix, y, penalty, alphas=5, l1_ratio=0.5 if penalty == "elastic_net" else 1.0)
