"""What solvers share: their interface, the clock of a search, warm starts, and the result with its checked proof."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np

from sparsest.core.checks import column_numbers
from sparsest.core.designs import unstandardized
from sparsest.core.problem import Problem
from sparsest.core.sparsity import Sparsity
from sparsest.proofs.certificate import relative_gap
from sparsest.proofs.steps import Proof
from sparsest.results.parts import Restart, Screening
from sparsest.results.result import Result
from sparsest.runtime.clock import Clock
from sparsest.runtime.events import Done, Status
from sparsest.runtime.faults import reach
from sparsest.subset.claims import check_proof, claim, trivial_bound
from sparsest.subset.dual import null_value
from sparsest.subset.enumeration import Enumeration
from sparsest.subset.fits.support import SupportFit

# Seconds that a check takes for each entry of the data: a pass or two at 0.3 to 1 ns per entry on two cores.
_SECONDS_OF_CHECK = 1e-9
# At most this share of the time limit is reserved for the check.
_MOST_RESERVED = 0.3


class Solver(Protocol):
    """A frozen dataclass of settings that turns a problem into a result."""

    def solve(self, problem: Problem, start: Any = None, clock: Clock | None = None) -> Result:
        """Solve the problem.

        Parameters
        ----------
        start : an earlier result or a support to begin from
        clock : the clock of the call, with its time limit and callback; by default a new one with the solver's limit
        """


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
    n_jobs: int | None = None,
    fallback: Callable[[float], Enumeration | None] = lambda bound: None,
    restart: Restart | None = None,
    screening: Screening | None = None,
) -> Result:
    """Check the proof of a search; OPTIMAL exactly when the gap to the bound that it proves is within the tolerance.

    Without a proof the result has the trivial bound, no certificate, and never the status OPTIMAL.

    Parameters
    ----------
    bound : the bound that the search expects its proof to give
    otherwise : the status if the gap is larger than the tolerance
    fallback : called with the checked bound if the gap is larger than the tolerance; returns another proof or None
    restart, screening : parts of the result
    """
    reach("result")
    trace = {} if trace is None else trace
    began = clock.seconds()
    checked = None if proof is None else check_proof(problem, proof, bound, gap_tol, n_jobs)
    if checked is not None and relative_gap(fit.primal, checked.bound) > gap_tol:
        other = fallback(checked.bound)
        if other is not None:
            fit = other.fit if other.fit.primal < fit.primal else fit
            checked = max(
                checked, check_proof(problem, other.proof, other.bound, gap_tol), key=lambda found: found.bound
            )
    model = claim(problem, fit)
    bound = model.bound(trivial_bound(problem) if checked is None else checked.bound)
    trace.setdefault("seconds", {})["checking"] = clock.seconds() - began
    if (reading := unstandardized(problem.design).reading) is not None:
        trace["reading"] = reading.summary()
    proved = checked is not None and relative_gap(model.objective, bound) <= gap_tol
    status = Status.OPTIMAL if proved else otherwise
    coef = np.zeros(problem.p)
    coef[model.incumbent.support] = model.incumbent.coef
    clock.tell(Done(clock.seconds(), bound, model.objective, status))
    return Result(
        coef, model.incumbent.constant(), fit.support, model.objective, bound, status, model.statement,
        None if checked is None else model.certificate(checked), trace, clock.seconds(), n_nodes,
        null_loss=null_value(problem), deviations=problem.data.deviations(fit.support), screening=screening,
        restart=restart or Restart(),
    )  # fmt: skip


@contextmanager
def searching(problem: Problem, time_limit: float, clock: Clock | None) -> Iterator[Clock]:
    """Yield the clock of a search, given or new; it stops early enough for a check of the proof over all columns."""
    clock = Clock(time_limit) if clock is None else clock
    reserved = min(_SECONDS_OF_CHECK * problem.n * problem.p, _MOST_RESERVED * clock.limit)
    with clock.listening(), clock.reserving(reserved):
        yield clock


def require_dual_bounds(problem: Problem) -> None:
    """Raise an error if dual points prove nothing about the problem."""
    if not problem.has_dual_bounds:
        raise ValueError(
            "the relaxation needs a ridge, or limits on both sides of every coefficient: give a finite gamma or "
            "max_coef"
        )


def start_support(start: Any, problem: Problem) -> np.ndarray | None:
    """The support that a warm start names, made admissible; None without one."""
    if start is None:
        return None
    columns = start.support if isinstance(start, Result) else start
    support = column_numbers(columns, "start", problem.p, or_else="an earlier Result")
    if not isinstance(problem.sparsity, Sparsity):
        indicator = np.zeros(problem.p)
        indicator[support] = 1.0
        return problem.sparsity.rounded(indicator, problem.root)
    free = np.setdiff1d(support, np.concatenate([problem.include, problem.exclude]))
    return np.sort(np.concatenate([problem.include, free[: problem.sparsity.budget(problem.root)]]))
