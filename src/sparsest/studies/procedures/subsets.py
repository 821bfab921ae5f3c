"""Best subsets: the relaxation, the exact search started from it, the sub-gradient method, and forward selection."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

from sparsest.core.data import Data, make_data
from sparsest.core.problem import Problem, pose
from sparsest.results.result import Result
from sparsest.runtime.clock import counting_processor_time
from sparsest.runtime.events import Status
from sparsest.studies.procedures.base import (
    Plan,
    Procedure,
    Row,
    base_gamma,
    error_of,
    row_of,
    timed,
    timed_row,
)
from sparsest.studies.samples import Sample
from sparsest.subset.solvers import make_solver

# γ is doubled until this many values were worse than the best: in none of 24 regressions was a later value better.  The
# AUC hardly changes over the first values, so with classes a value counts as worse only if it is worse by more than a
# fraction of the standard error, which is about 0.02 on 300 rows.
_PATIENCE, _PLATEAU = 3, 0.005
_GAP_TOL = 1e-4
# As in the paper, the relaxation is rounded without a local search.
_AS_PUBLISHED = {"polish": False}


def best_subset_data(sample: Sample) -> Data:
    """The paper's problem: columns are not standardised; classification uses the hinge loss."""
    loss = "squared" if sample.task == "regression" else "hinge"
    return make_data(*sample.train, loss=loss, fit_intercept=sample.fit_intercept, standardize=False)


class _Tuned(NamedTuple):
    """The fit with the γ that has the smallest error on validation rows."""

    problem: Problem
    result: Result
    doubling: int

    @property
    def tuning(self) -> Row:
        return {"gamma": self.problem.gamma, "doubling": self.doubling}


def _tuned(sample: Sample, data: Data, k: int, solver: Any, plan: Plan) -> _Tuned:
    """Double γ until several values were worse on validation rows; each fit starts from the previous one."""
    best, least, n_worse = None, float("inf"), 0
    slack = 0.0 if sample.task == "regression" else _PLATEAU
    result: Result | None = None
    first = base_gamma(sample, k)
    for doubling in range(plan.n_gammas):
        problem = pose(data, k, gamma=first * 2.0**doubling)
        result = solver.solve(problem, result)
        prediction = sample.validation.X[:, result.support] @ result.coef[result.support] + result.intercept
        error = error_of(sample.task, sample.validation, prediction)
        if best is None or error < least:
            best, least, n_worse = _Tuned(problem, result, doubling), error, 0
            continue
        n_worse += error >= least + slack
        if n_worse >= _PATIENCE:
            break
    assert best is not None
    return best


def search(problem: Problem, seconds: float, start: Result | None = None) -> Result:
    """The exact search with its proof; the time limit is in CPU seconds, so that other load does not matter."""
    with counting_processor_time():
        return make_solver("tree", None, time_limit=seconds, gap_tol=_GAP_TOL, n_jobs=1).solve(problem, start)


def proved(found: Result, sample: Sample) -> Row:
    """Gap and status, and whether the checker, which shares no code with the solver, accepts the proof."""
    certified = False
    if found.status is Status.OPTIMAL and found.certificate is not None:
        certified = found.certificate.verify(*sample.train).valid
    return {
        "gap": found.gap, "status": found.status.name, "objective": found.objective, "certified": certified,
    }  # fmt: skip


def cardinality(sample: Sample, plan: Plan) -> Iterator[Row]:
    """The tuned relaxation, and the exact search started from its result with the same γ."""
    data = best_subset_data(sample)
    relaxation = make_solver("relaxation", _AS_PUBLISHED, time_limit=plan.relaxed_seconds, gap_tol=_GAP_TOL)
    for k in plan.ks:
        tuned = _tuned(sample, data, k, relaxation, plan)
        problem, relaxed = tuned.problem, tuned.result
        more = {"tight": bool(relaxed.trace["relaxation"]["tight"]), **tuned.tuning}
        yield row_of(
            "relaxation", k, sample, relaxed.coef, relaxed.intercept, **more, **proved(relaxed, sample)
        )  # fmt: skip
        began = time.process_time()
        found = search(problem, plan.exact_seconds, relaxed)
        seconds = time.process_time() - began
        yield row_of(
            "exact", k, sample, found.coef, found.intercept, n_nodes=found.n_nodes, search_seconds=seconds, **more,
            **proved(found, sample),
        )  # fmt: skip
        if k == plan.timed_k:
            cold = timed(partial(relaxation.solve, problem)).seconds
            yield timed_row("relaxation", k, cold)
            yield timed_row("exact", k, cold + seconds)


def _compared(method: str, solver_name: str, options: Any) -> Any:
    """Another method for comparison, tuned like the relaxation."""

    def run(sample: Sample, plan: Plan) -> Iterator[Row]:
        data = best_subset_data(sample)
        solver = make_solver(solver_name, options(plan), time_limit=plan.relaxed_seconds, gap_tol=_GAP_TOL)
        for k in plan.ks:
            tuned = _tuned(sample, data, k, solver, plan)
            found = tuned.result
            yield row_of(
                method, k, sample, found.coef, found.intercept, **tuned.tuning, **proved(found, sample)
            )  # fmt: skip
            if k == plan.timed_k:
                yield timed_row(method, k, timed(partial(solver.solve, tuned.problem)).seconds)

    return run


def _estimate_cardinality(n: int, p: int, plan: Plan) -> float:
    return len(plan.ks) * (plan.n_gammas * (0.02 + 3e-8 * n * p) + 0.8 * plan.exact_seconds)


def _estimate_subgradient(n: int, p: int, plan: Plan) -> float:
    return len(plan.ks) * plan.n_gammas * plan.iterations * (1e-4 + 2e-9 * n * p)


def estimate_local(n: int, p: int, plan: Plan) -> float:
    """Estimated seconds of forward selection."""
    return len(plan.ks) * plan.n_gammas * (0.02 + 2e-8 * n * p)


PROCEDURES = (
    ("cardinality", Procedure(cardinality, _estimate_cardinality)),
    # The published dual sub-gradient method.
    (
        "subgradient",
        Procedure(
            _compared("subgradient", "subgradient", lambda plan: {"max_iterations": plan.iterations}),
            _estimate_subgradient,
        ),
    ),
    # Forward selection in blocks and swaps; its lower bound comes from one dual point.
    ("forward", Procedure(_compared("forward", "local", lambda plan: None), estimate_local)),
)
