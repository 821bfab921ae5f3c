"""The functions most users call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sparsest.losses import LOSSES, Loss
from sparsest.problem import Problem, make_problem
from sparsest.result import Event, Result
from sparsest.solvers.base import Solver
from sparsest.solvers.local import Local
from sparsest.solvers.relaxation import Relaxation
from sparsest.solvers.subgradient import Subgradient
from sparsest.solvers.tree import Tree

METHODS = ("tree", "relaxation", "subgradient", "local")


def best_subset(
    X: Any,
    y: Any,
    k: int | None = None,
    *,
    l0_penalty: float | None = None,
    gamma: float | None = None,
    loss: str | Loss = "squared",
    epsilon: float = 0.1,
    method: str = "local",
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
    time_limit : seconds
    gap_tol : relative gap at which the status is OPTIMAL
    callback : called with every event of the search; returning True stops it
    **options : further settings of the method

    Returns
    -------
    Result
        Coefficients, support, objective, lower bound, gap, status and certificate.
    """
    solver = make_solver(method, time_limit=time_limit, gap_tol=gap_tol, **options)
    problem = make_problem(
        X,
        y,
        k,
        l0_penalty=l0_penalty,
        gamma=np.inf if gamma is None else gamma,
        loss=loss,
        epsilon=epsilon,
        fit_intercept=fit_intercept,
        standardize=standardize,
        sample_weight=sample_weight,
        include=include,
        exclude=exclude,
    )
    if gamma is None:
        problem = problem.with_gamma(default_gamma(problem))
    return solver.solve(problem, start, callback)


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
    """Run every method once on a tiny problem per loss, so that all kernels are compiled and cached."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 6))
    y = X[:, 0] + 0.1 * rng.standard_normal(20)
    for name, loss in LOSSES.items():
        for method in METHODS:
            best_subset(X, np.sign(y) if loss.classification else y, 2, loss=name, method=method)
