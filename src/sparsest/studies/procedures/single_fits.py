"""Single fits without tuning, for studies of computation times."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from sparsest.core.problem import Problem, pose
from sparsest.results.result import Result
from sparsest.studies.procedures.base import Plan, Procedure, Row, base_gamma, row_of, timed
from sparsest.studies.procedures.penalised import path_of
from sparsest.studies.procedures.subsets import best_subset_data, proved, search
from sparsest.studies.samples import Sample
from sparsest.subset.solvers import make_solver

Solve = Callable[[Problem, Plan], Result]


def _subset(method: str, solve: Solve, estimate: Callable[[int, int, Plan], float]) -> tuple[str, Procedure]:
    """One fit of the timed size; γ is a multiple of the base value for the true size."""

    def run(sample: Sample, plan: Plan) -> Iterator[Row]:
        size = plan.timed_k if sample.support is None else sample.support.size
        problem = pose(
            best_subset_data(sample), plan.timed_k, gamma=plan.gamma_factor * base_gamma(sample, size)
        )  # fmt: skip
        found, seconds, elapsed = timed(lambda: solve(problem, plan))
        more = {
            "elapsed": elapsed,
            "gamma": problem.gamma,
            "n_gamma": problem.gamma * problem.n,
            **proved(found, sample),
        }
        yield row_of(method, plan.timed_k, sample, found.coef, found.intercept, seconds=seconds, **more)

    return f"{method}_once", Procedure(run, estimate)


def _named(name: str, options: Callable[[Plan], Any]) -> Solve:
    def solve(problem: Problem, plan: Plan) -> Result:
        return make_solver(name, options(plan), time_limit=plan.relaxed_seconds, gap_tol=1e-4).solve(problem)

    return solve


def _path(penalty: str) -> tuple[str, Procedure]:
    """A path with default mixing or concavity that ends at the timed size."""

    def run(sample: Sample, plan: Plan) -> Iterator[Row]:
        shape = {"l1_ratio": 0.5} if penalty == "elastic_net" else {}
        _, seconds, elapsed = timed(lambda: path_of(sample, penalty, plan.timed_k, **shape))
        yield {"method": penalty, "k": plan.timed_k, "seconds": seconds, "elapsed": elapsed}

    return f"{penalty}_once", Procedure(run, lambda n, p, plan: 0.2 + 2e-7 * n * p)


PROCEDURES = (
    _subset(
        "exact", lambda problem, plan: search(problem, plan.exact_seconds), lambda n, p, plan: 0.5 * plan.exact_seconds
    ),
    _subset("relaxation", _named("relaxation", lambda plan: {"polish": False}), lambda n, p, plan: 0.5 + 8e-8 * n * p),
    _subset(
        "subgradient",
        _named("subgradient", lambda plan: {"max_iterations": plan.iterations}),
        lambda n, p, plan: 0.5 + 4e-9 * n * p * plan.iterations,
    ),
    *(_path(penalty) for penalty in ("elastic_net", "mcp", "scad")),
)
