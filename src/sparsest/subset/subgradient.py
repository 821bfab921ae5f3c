"""The method "subgradient": the dual sub-gradient method of Bertsimas, Pauphilet and Van Parys (2020), Algorithm 2.

    repeat   s ← argmin_s f(α, s);   α ← P(α + δ ∇_α f(α, s)),    ∇_α f = -ℓ*'(α) - γ X_s X_s'α

``f(α, s)`` with the best s is a lower bound and ``c(s)`` an upper bound; the best of each is kept.  P projects onto the
conjugate's domain and, with an intercept, onto its intersection with Σα = 0.  The result is the best support seen,
including that of the averaged α.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sparsest.core.arrays import Array, Indices
from sparsest.core.problem import Problem
from sparsest.core.sparsity import Sparsity
from sparsest.proofs.certificate import relative_gap
from sparsest.results.parts import Restart
from sparsest.results.result import Result
from sparsest.runtime.clock import Clock
from sparsest.runtime.events import Bound, Status
from sparsest.subset.claims import single_leaf
from sparsest.subset.dual import DualBound, bound_of_zero, scaled_bound
from sparsest.subset.fits.support import SupportFit
from sparsest.subset.incumbent import Incumbent
from sparsest.subset.results import make_result, require_dual_bounds, searching, start_support

# Largest entry of a dual point; a larger one means that the method diverges.
_DIVERGED = 1e100

STEP_RULES = ("adaptive", "constant", "constant_length", "diminishing", "square_root")


@dataclass(frozen=True)
class Subgradient:
    """Settings of the sub-gradient method.

    ``step`` is one of ``STEP_RULES``: adaptive ``(min c - max f)/‖∇f‖²``, constant ``a``, constant length ``a/‖∇f‖``,
    diminishing ``a/(b + t)``, square root ``a/√t``, with ``a = step_size`` (by default 1/n) and ``b = step_offset``.
    ``patience`` is the number of steps without a better support after which the method stops, ``restart_after`` the
    number of steps without a better bound after which it returns to the best dual point.
    """

    time_limit: float = 60.0
    gap_tol: float = 1e-4
    max_iterations: int = 200
    step: str = "adaptive"
    step_size: float | None = None
    step_offset: float = 1.0
    patience: int | None = None
    restart_after: int | None = None

    def solve(self, problem: Problem, start: Any = None, clock: Clock | None = None) -> Result:
        """Run the method; the status is OPTIMAL if the gap is at most ``gap_tol``."""
        require_dual_bounds(problem)
        with searching(problem, self.time_limit, clock) as running:
            return self._solve(problem, start, running)

    def _solve(self, problem: Problem, start: Any, clock: Clock) -> Result:
        run = _Run(problem, Incumbent(problem, clock, start_support(start, problem)))
        alpha = starting_point(problem, start)
        stale = 0
        for t in range(1, self.max_iterations + 1):
            point = run.evaluate(alpha)
            stale = 0 if point.improved_bound else stale + 1
            if self._stop(run, clock):
                break
            if self.restart_after is not None and stale >= self.restart_after:
                alpha, stale = run.best.alpha.copy(), 0
                continue
            gradient = run.gradient(alpha, point)
            alpha = project(problem, alpha + self._step_length(t, run, gradient) * gradient)
            # Steps that are too long diverge, and finally overflow: return to the best dual point.
            if not float(np.abs(alpha).max()) < _DIVERGED:
                alpha = run.best.alpha.copy()
        if not clock.expired():
            run.evaluate(project(problem, run.total / run.count))
        result = make_result(
            problem,
            run.fit,
            single_leaf(run.best.alpha),
            run.best.value,
            clock=clock,
            gap_tol=self.gap_tol,
            otherwise=clock.early() if clock.expired() else Status.HEURISTIC,
            trace={
                "subgradient": {
                    "iterations": run.count,
                    "lower": run.lower,
                    "upper": run.upper,
                    "alpha": run.best.alpha,
                }
            },
            restart=Restart(subgradient=run.best.alpha),
        )
        result.trace["subgradient"]["tight"] = result.status is Status.OPTIMAL
        result.trace["subgradient"]["separation"] = problem.sparsity.separation(run.best.q, problem.root)
        return result

    def _stop(self, run: _Run, clock: Clock) -> bool:
        closed = relative_gap(run.fit.primal, run.best.value) <= self.gap_tol
        stalled = self.patience is not None and run.since_support >= self.patience
        return closed or stalled or clock.expired()

    def _step_length(self, t: int, run: _Run, gradient: Array) -> float:
        size = self.step_size if self.step_size is not None else 1.0 / run.problem.n
        norm = float(np.linalg.norm(gradient))
        if norm == 0.0:
            return 0.0
        if self.step == "adaptive":
            return max(run.fit.primal - run.best.value, 0.0) / norm**2
        if self.step == "constant":
            return size
        if self.step == "constant_length":
            return size / norm
        return size / (self.step_offset + t) if self.step == "diminishing" else size / np.sqrt(t)


class _Evaluation(NamedTuple):
    """The products and the best support at a dual point."""

    products: Array
    support: Indices
    improved_bound: bool


class _Run:
    """The mutable state of one run: best bound, best model, average, and the history of both bounds."""

    def __init__(self, problem: Problem, incumbent: Incumbent) -> None:
        self.problem, self.incumbent = problem, incumbent
        zero = np.zeros(problem.n)
        self.best = DualBound(zero, bound_of_zero(problem, problem.root), np.zeros(problem.p))
        self.total, self.count = np.zeros(problem.n), 0
        self.since_support = 0
        self.lower: list[float] = []
        self.upper: list[float] = []

    @property
    def fit(self) -> SupportFit:
        """The best model so far."""
        return self.incumbent.fit

    def evaluate(self, alpha: Array) -> _Evaluation:
        """Compute the bound of α, fit its best support, and update the best of both."""
        problem = self.problem
        products = problem.design.tdot(alpha)
        q = problem.gains_from(products)
        bound = scaled_bound(problem, alpha, products, problem.root)
        improved = bound.value > self.best.value
        if improved:
            self.best = bound
        chosen = problem.sparsity.choose(q, problem.root)
        support = np.sort(np.concatenate([problem.root.forced_in, chosen]))
        # Models with more features than observations take long to fit and are never good ones.
        largest = chosen[np.argsort(-q[chosen], kind="stable")[: problem.n]]
        before = self.fit
        if isinstance(problem.sparsity, Sparsity):
            self.incumbent.try_support(np.sort(np.concatenate([problem.include, largest])))
        else:
            # The choice of the bound need not keep all rules.
            indicator = np.zeros(problem.p)
            indicator[support] = 1.0
            self.incumbent.try_support(problem.sparsity.rounded(indicator, problem.root))
        self.since_support = self.since_support + 1 if self.fit is before else 0
        self.total += alpha
        self.count += 1
        self.lower.append(self.best.value)
        self.upper.append(self.fit.primal)
        clock = self.incumbent.clock
        clock.tell(Bound(clock.seconds(), self.best.value, self.fit.primal, self.count))
        return _Evaluation(products, support, improved)

    def gradient(self, alpha: Array, point: _Evaluation) -> Array:
        """``-ℓ*'(α) + X_s w``, where w are the coefficients that attain the gains: ``-γX_s'α`` without bounds."""
        problem = self.problem
        chosen = np.zeros(problem.p)
        chosen[point.support] = problem.coefficients_from(point.products[point.support], point.support)
        inner = problem.design.dot(chosen)
        return -problem.loss.conjugate_derivative(problem.y, alpha / problem.weights) + inner


def starting_point(problem: Problem, start: Any = None) -> Array:
    """The best dual point of an earlier result, or else ``-y``, ``-y/2`` for classification; projected to be feasible.

    For a logarithmic link, ``-y`` is on the boundary of the domain; the derivative of the model without features, which
    is inside, is used instead.
    """
    known = start.restart.subgradient if isinstance(start, Result) else None
    if known is not None and known.size == problem.n and known.any():
        return project(problem, known)
    if problem.loss.log_link:
        margin = np.full(problem.n, problem.data.intercept_for(np.zeros(problem.n)))
        alpha = problem.loss.derivative(problem.y, margin)
    else:
        alpha = -0.5 * problem.y if problem.loss.classification else -problem.y
    return project(problem, problem.weights * alpha)


def project(problem: Problem, alpha: Array) -> Array:
    """Return the feasible dual point nearest to ``alpha``; bisection finds the shift that makes its sum zero."""

    def shifted(nu: float) -> Array:
        return problem.weights * problem.loss.project(problem.y, (alpha - nu) / problem.weights)

    if not problem.fit_intercept:
        return shifted(0.0)
    width = 1.0 + float(np.abs(alpha).max()) + float(problem.weights.max())
    low, high = -width, width
    for _ in range(100):
        middle = 0.5 * (low + high)
        if shifted(middle).sum() > 0:
            low = middle
        else:
            high = middle
        if high - low <= 1e-15 * width:
            break
    # The rest of the sum after bisection is removed without leaving the domain.
    return problem.feasible(shifted(0.5 * (low + high)))
