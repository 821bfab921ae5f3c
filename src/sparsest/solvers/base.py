"""What all solvers share: the clock, the events, and how a result is put together."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import current_thread, main_thread
from typing import Any, Protocol

import numpy as np

from sparsest.certificate import Certificate, certify
from sparsest.checks import column_numbers
from sparsest.problem import Problem
from sparsest.proof import DualPoint, Leaf, Point, Step
from sparsest.result import Done, Event, Incumbent, Result, Status, relative_gap
from sparsest.solvers.support import SupportFit

Callback = Callable[[Event], Any]


class Solver(Protocol):
    """A frozen dataclass of settings that turns a problem into a result."""

    def solve(self, problem: Problem, start: Any = None, callback: Callback | None = None) -> Result:
        """Solve the problem; ``start`` is an earlier result or a support to begin from."""


class Clock:
    """Time since the start, the limit, and the callback's wish to stop."""

    def __init__(self, time_limit: float, callback: Callback | None = None) -> None:
        self.began = time.perf_counter()
        self.limit = time_limit
        self.callback = callback
        self.interrupted = False

    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.began

    def expired(self) -> bool:
        """Whether the search has to stop now."""
        return self.interrupted or self.seconds() >= self.limit

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Take the first Ctrl-C as the wish to stop, so that what was found is not lost; a second one is raised."""
        usual = signal.default_int_handler
        if current_thread() is not main_thread() or signal.getsignal(signal.SIGINT) is not usual:
            yield
            return

        def stop(*_: Any) -> None:
            self.interrupted = True
            signal.signal(signal.SIGINT, usual)

        signal.signal(signal.SIGINT, stop)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, usual)

    def tell(self, event: Event) -> None:
        """Send an event; a callback that returns True stops the search, and so does Ctrl-C inside it."""
        try:
            if self.callback is not None and self.callback(event) is True:
                self.interrupted = True
        except KeyboardInterrupt:
            self.interrupted = True

    def found(self, fit: SupportFit) -> None:
        """Send the event of a new incumbent."""
        self.tell(Incumbent(self.seconds(), fit.primal, tuple(fit.support.tolist())))

    def early(self) -> Status:
        """Why the search stopped before its end."""
        return Status.INTERRUPTED if self.interrupted else Status.TIME_LIMIT


def insist(build: Callable[[], Result]) -> Result:
    """Put a result together even if Ctrl-C comes meanwhile: what was found is not lost; a second one gives up."""
    try:
        return build()
    except KeyboardInterrupt:
        return build()


def make_result(
    problem: Problem,
    fit: SupportFit,
    points: Sequence[Point],
    steps: Sequence[Step],
    *,
    clock: Clock,
    gap_tol: float,
    otherwise: Status,
    trace: dict[str, Any] | None = None,
    n_nodes: int = 0,
) -> Result:
    """Certify an incumbent and a proof; OPTIMAL exactly when the certified gap is within the tolerance."""
    certificate = certify(problem, fit.support, fit.w, fit.b, points, steps)
    closed = relative_gap(certificate.objective, certificate.lower_bound) <= gap_tol
    status = Status.OPTIMAL if closed else otherwise
    return finish(problem, fit, certificate, status, clock, trace, n_nodes, certificate.lower_bound)


def finish(
    problem: Problem,
    fit: SupportFit,
    certificate: Certificate | None,
    status: Status,
    clock: Clock,
    trace: dict[str, Any] | None,
    n_nodes: int,
    lower_bound: float,
) -> Result:
    """Express an incumbent for the data as given."""
    w = np.zeros(problem.p)
    w[fit.support] = fit.w
    coef, intercept = problem.original(w, fit.b)
    bound = min(lower_bound, fit.primal)
    clock.tell(Done(clock.seconds(), bound, fit.primal, status))
    return Result(
        coef,
        intercept,
        fit.support,
        fit.primal,
        bound,
        status,
        certificate,
        trace or {},
        clock.seconds(),
        n_nodes,
        problem,
    )


def single_leaf(alpha: np.ndarray) -> tuple[list[Point], list[Step]]:
    """The proof that consists of one dual point."""
    return [DualPoint(alpha)], [Leaf(0)]


def start_support(start: Any, problem: Problem) -> np.ndarray | None:
    """The support that a warm start names, made admissible; None without one."""
    if start is None:
        return None
    columns = start.support if isinstance(start, Result) else start
    support = column_numbers(columns, "start", problem.p, or_else="an earlier Result")
    free = np.setdiff1d(support, np.concatenate([problem.include, problem.exclude]))
    budget = problem.sparsity.budget(problem.include.size, problem.p)
    return np.sort(np.concatenate([problem.include, free[:budget]]))
