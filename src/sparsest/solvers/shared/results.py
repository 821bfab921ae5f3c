"""How solvers begin from an earlier result, and how they put theirs together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from sparsest.checks import column_numbers
from sparsest.problem import Problem
from sparsest.proofs.certificate import relative_gap
from sparsest.proofs.steps import Proof
from sparsest.result import Done, Result, Status
from sparsest.solvers.shared.claims import certify, settle, single_leaf
from sparsest.solvers.shared.clock import Callback, Clock
from sparsest.solvers.shared.dual import null_value
from sparsest.solvers.shared.enumeration import Enumeration
from sparsest.solvers.shared.support import SupportFit


class Solver(Protocol):
    """A frozen dataclass of settings that turns a problem into a result."""

    def solve(self, problem: Problem, start: Any = None, callback: Callback | None = None) -> Result:
        """Solve the problem; ``start`` is an earlier result or a support to begin from."""


def make_result(
    problem: Problem,
    fit: SupportFit,
    proof: Proof | None,
    bound: float,
    *,
    clock: Clock,
    gap_tol: float,
    otherwise: Status,
    trace: dict[str, Any] | None = None,
    n_nodes: int = 0,
    fallback: Callable[[float], Enumeration | None] = lambda bound: None,
) -> Result:
    """Certify an incumbent and the bound of a proof; OPTIMAL exactly when the certified gap is within the tolerance.

    Without a proof the bound is the search's, and there is no certificate.  ``fallback`` is asked for another proof,
    given the bound that this one gives, when the gap is not within the tolerance.
    """
    null = null_value(problem)
    proof, bound = settle(problem, proof, bound, null)
    other = fallback(bound) if relative_gap(fit.primal, bound) > gap_tol else None
    if other is not None:
        fit = other.fit if other.fit.primal < fit.primal else fit
        other_proof, other_bound = settle(problem, other.proof, other.bound, null)
        if other_bound > bound:
            proof, bound = other_proof, other_bound
    certificate = certify(problem, fit, proof or single_leaf(np.zeros(problem.n)), bound)
    objective, bound = certificate.objective, certificate.lower_bound
    status = Status.OPTIMAL if relative_gap(objective, bound) <= gap_tol else otherwise
    model = certificate.incumbent
    coef = np.zeros(problem.p)
    coef[model.support] = model.coef
    clock.tell(Done(clock.seconds(), bound, objective, status))
    seconds = clock.seconds()
    kept = None if proof is None else certificate
    stated = certificate.statement
    return Result(
        coef, model.constant(), fit.support, objective, bound, status, stated, kept, trace or {}, seconds, n_nodes,
        null_loss=null, deviations=problem.data.deviations(fit.support),
    )  # fmt: skip


def start_support(start: Any, problem: Problem) -> np.ndarray | None:
    """The support that a warm start names, made admissible; None without one."""
    if start is None:
        return None
    columns = start.support if isinstance(start, Result) else start
    support = column_numbers(columns, "start", problem.p, or_else="an earlier Result")
    free = np.setdiff1d(support, np.concatenate([problem.include, problem.exclude]))
    return np.sort(np.concatenate([problem.include, free[: problem.sparsity.budget(problem.root)]]))
