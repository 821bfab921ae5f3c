"""The functions most users call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import fields, replace
from functools import partial
from typing import Any, cast

import numpy as np
import scipy.sparse as sp

from sparsest.checks import flag, function, instance, number, optional, shown, whole_number, word
from sparsest.designs import compile_kernels
from sparsest.losses import Loss
from sparsest.penalties import PENALTIES
from sparsest.penalty_paths import penalty_path
from sparsest.problem import Problem, make_problem
from sparsest.result import Event, Result
from sparsest.ridge import default_gamma
from sparsest.solvers.cuts.method import ENGINES, Cuts
from sparsest.solvers.cuts.pool import CutPool
from sparsest.solvers.exact.near_optimal import NearOptimal, NearOptimalSearch
from sparsest.solvers.exact.tree import Tree
from sparsest.solvers.local import Local
from sparsest.solvers.relaxation.method import Relaxation
from sparsest.solvers.relaxation.subgradient import STEP_RULES, Subgradient
from sparsest.solvers.shared.claims import evidence
from sparsest.solvers.shared.clock import Clock
from sparsest.solvers.shared.local_search import LocalSearch
from sparsest.solvers.shared.results import Solver
from sparsest.sparsity import check_sparsity

_SOLVERS: dict[str, type] = {
    "tree": Tree,
    "cuts": Cuts,
    "relaxation": Relaxation,
    "subgradient": Subgradient,
    "local": Local,
}
METHODS = tuple(_SOLVERS)

# What :func:`best_subset_path` takes for the data besides k and γ.
_DATA_SETTINGS = frozenset(("loss", "epsilon", "fit_intercept", "standardize", "sample_weight", "include", "exclude"))

_check_callback = optional(function)
_check_time_limit = partial(number, above=0, finite=False)
_check_n_jobs = optional(whole_number, least=1)
# What every setting of a method must be.
_OPTION_CHECKS: dict[str, Callable[[Any, str], Any]] = {
    "time_limit": _check_time_limit,
    "gap_tol": partial(number, least=0, below=1),
    "node_limit": partial(whole_number, least=1),
    "max_memory": partial(number, above=0, finite=False),
    "n_jobs": _check_n_jobs,
    "proof": flag,
    "moves": partial(instance, kind=LocalSearch),
    "engine": partial(word, words=ENGINES),
    "pool": optional(instance, kind=CutPool),
    "max_rounds": partial(whole_number, least=1),
    "relaxation_tol": partial(number, above=0, below=1),
    "fixing": flag,
    "polish": flag,
    "max_iterations": partial(whole_number, least=1),
    "step": partial(word, words=STEP_RULES),
    "step_size": optional(number, above=0),
    "step_offset": partial(number, least=0),
    "patience": optional(whole_number, least=1),
    "restart_after": optional(whole_number, least=1),
}


def best_subset(
    X: Any,
    y: Any,
    k: int | None = None,
    *,
    l0_penalty: float | None = None,
    gamma: float | str | None = None,
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

    Minimises ``Σ_i ω_i ℓ(y_i, x_i'w + b) + (1/2γ)‖w‖²`` subject to ``‖w‖_0 ≤ k``, with ``l0_penalty · ‖w‖_0`` added,
    or both.

    Parameters
    ----------
    X : matrix, sparse matrix or data frame of shape (n, p)
    y : n responses; for a classification loss any two labels (the larger one, in sorted order, is the positive class)
    k : the largest number of features
    l0_penalty : the price of a feature; give ``k``, ``l0_penalty`` or both
    gamma : the ridge is ``‖w‖²/(2γ)``; ``inf`` means none.  "auto" (also None) is 10 over the mean sum of squares of a
        centred column, which is 10/n for standardised columns
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
    solver = make_solver(method, time_limit, gap_tol, options)
    listener = _check_callback(callback, "callback")
    clock = Clock(cast(Any, solver).time_limit)
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
    return replace(cast(Any, solver), time_limit=clock.left()).solve(problem, start, listener)


def best_subset_path(
    X: Any,
    y: Any,
    ks: Sequence[int],
    *,
    gamma: float | str | None = None,
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
    numbers = _check_ks(ks)
    _check_names(settings, _DATA_SETTINGS, "best_subset_path")
    extra = dict(instance({} if options is None else options, "options", kind=dict))
    if isinstance(method, str) and method == "cuts":
        extra.setdefault("pool", CutPool())
    solver = make_solver(method, time_limit, gap_tol, extra)
    listener = _check_callback(callback, "callback")
    problem = _with_ridge(X, y, gamma, k=max(numbers), **settings)
    sparsities = {
        k: check_sparsity(k, None, problem.include.size, problem.p - problem.exclude.size) for k in sorted(set(numbers))
    }
    found: dict[int, Result] = {}
    previous: Result | None = None
    clock = Clock(np.inf)
    with clock.listening():
        for k, sparsity in sparsities.items():
            watch = _stop_at_once if clock.expired() else listener
            previous = found[k] = solver.solve(problem.with_sparsity(sparsity), previous, watch)
    return [found[k] for k in numbers]


def _check_ks(ks: Any) -> list[int]:
    try:
        entries = list(ks)
    except TypeError as error:
        raise ValueError(f"ks must be a list of numbers of features, got {shown(ks)}") from error
    if not entries:
        raise ValueError("ks is empty: give at least one number of features")
    return [whole_number(k, "every entry of ks", least=0) for k in entries]


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
    n_jobs : number of threads; all cores by default

    Returns
    -------
    NearOptimal
        Supports in order of their objectives; ``complete`` is true when there are provably no others.
    """
    problem = instance(result, "result", kind=Result).problem
    if problem is None:
        raise ValueError("this result does not carry its problem: use the one that best_subset returned")
    tree = Tree(
        time_limit=_check_time_limit(time_limit, "time_limit"), n_jobs=_check_n_jobs(n_jobs, "n_jobs"), proof=False
    )
    search = NearOptimalSearch(number(within, "within", least=0), whole_number(limit, "limit", least=1), tree)
    return search.solve(problem, result)


def _with_ridge(X: Any, y: Any, gamma: Any, **settings: Any) -> Problem:
    """Build the problem; the default γ follows from its data."""
    if gamma is None or (isinstance(gamma, str) and gamma == "auto"):
        problem = make_problem(X, y, gamma=np.inf, **settings)
        problem = problem.with_gamma(default_gamma(problem.data))
    else:
        given = number(gamma, "gamma", above=0, finite=False, or_else="'auto'")
        problem = make_problem(X, y, gamma=given, **settings)
    # The fingerprint of the data is computed in the background from here on.
    evidence(problem)
    return problem


def make_solver(method: str, time_limit: float, gap_tol: float, options: dict[str, Any]) -> Solver:
    """Return the solver of that name, or say what can be chosen."""
    solver = _SOLVERS[word(method, "method", words=METHODS)]
    limits = {"time_limit": time_limit, "gap_tol": gap_tol}
    _check_names(options, {field.name for field in fields(solver)} - set(limits), f"method {method!r}")
    return solver(**{name: _OPTION_CHECKS[name](value, name) for name, value in {**limits, **options}.items()})


def _check_names(given: Iterable[str], known: Set[str], whose: str) -> None:
    unknown = [shown(name) for name in given if name not in known]
    if unknown:
        raise ValueError(f"{whose} does not know {', '.join(unknown)}; it knows {', '.join(sorted(known))}")


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
    compile_kernels()
