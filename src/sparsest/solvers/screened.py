"""Screening: the relaxation keeps some features, a method solves for them, and dual points exclude the dropped ones.

A dual point α of the whole problem bounds every support that has a given feature j: by ``D(α) + q_(k) - q_j`` for a q_j
outside of the k largest gains.  Where that is at least the objective for every feature that was dropped, screening was
*safe*: no better support has one of them, and these bounds, before the steps of the restricted problem's proof, prove
the whole.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sparsest.arrays import Array, Indices
from sparsest.problem import Problem
from sparsest.proofs.steps import DualPoint, Fix, Proof
from sparsest.result import Done, Event, Result, Status
from sparsest.ridge import default_gamma
from sparsest.solvers.relaxation.living import Living
from sparsest.solvers.relaxation.relaxer import Relaxer
from sparsest.solvers.relaxation.solution import Relaxed, warm_start
from sparsest.solvers.shared.clock import Callback, Clock
from sparsest.solvers.shared.dual import DualBound, best_bound
from sparsest.solvers.shared.results import make_result, start_support
from sparsest.solvers.shared.support import SupportFit, fit_support

# The relaxation that ranks features is solved to this gap, or a part of that which is wanted: its point has to exclude.
_PRECISION, _PART, _LEAST_PRECISION = 1e-3, 0.1, 1e-9


@dataclass(frozen=True)
class Screened:
    """Solves by ``inner`` on the ``size`` features that the relaxation ranks first."""

    inner: Any
    size: int
    time_limit: float = 60.0
    gap_tol: float = 1e-4

    def solve(self, problem: Problem, start: Any = None, callback: Callback | None = None) -> Result:
        """Screen, solve, and prove what the dual points allow; ``trace["screening"]`` tells of it."""
        least = problem.include.size if problem.sparsity.k is None else problem.sparsity.k
        if self.size < least:
            raise ValueError(f"screen must keep at least the {least} features that a model may have, got {self.size}")
        clock = Clock(self.time_limit, callback)
        with clock.listening():
            return self._solve(problem, start, clock)

    def _solve(self, problem: Problem, start: Any, clock: Clock) -> Result:
        # Features are ranked with a ridge also where there is neither ridge nor box.
        curved = problem if problem.has_dual_bounds else problem.with_gamma(default_gamma(problem.data))
        relaxer = Relaxer(min(_PRECISION, _PART * self.gap_tol + _LEAST_PRECISION))
        relaxed = relaxer.relax(curved, curved.root, Living(curved), warm_start(start, problem), expired=clock.expired)
        kept = self._keep(curved, relaxed, start_support(start, problem))
        dropped = np.setdiff1d(problem.root.free, kept)
        restricted = replace(problem, exclude=np.sort(np.concatenate([problem.exclude, dropped])))

        def told(event: Event) -> bool:
            return clock.interrupted if isinstance(event, Done) else clock.relay(event)

        inner = replace(self.inner, time_limit=max(clock.left(), 1e-3)).solve(restricted, start, told)
        fit = fit_support(problem, inner.support)
        bounds = [best_bound(problem, alpha, problem.root) for alpha in self._points(relaxed, inner, fit)]
        closed = _closing_bounds(problem, bounds, dropped)
        lowest = float(closed.max(axis=0).min(initial=np.inf))
        cutoff = inner.objective - self.gap_tol * abs(inner.objective)
        screening = {
            "kept": kept,
            "safe": bool(lowest >= cutoff),
            "bound_of_dropped": lowest,
            "n_not_excluded": int((closed.max(axis=0) < cutoff).sum()),
            "restricted_lower_bound": inner.lower_bound,
            "restricted_certificate": inner.certificate,
        }
        return make_result(
            problem, fit, _joined(inner, bounds, closed, dropped), min(lowest, inner.lower_bound), clock=clock,
            gap_tol=self.gap_tol, otherwise=Status.HEURISTIC if inner.status is Status.OPTIMAL else inner.status,
            trace={**inner.trace, "screening": screening}, n_nodes=inner.n_nodes,
        )  # fmt: skip

    def _keep(self, problem: Problem, relaxed: Relaxed, first: Indices | None) -> Indices:
        """The features forced in, those of the start and of the rounded relaxation, then the largest gains."""
        score = relaxed.q.copy()
        score[relaxed.rounded(problem)] = np.inf
        if first is not None:
            score[first] = np.inf
        free = problem.root.free
        n_free = max(min(self.size, problem.p) - problem.include.size, 0)
        order = free[np.argsort(-score[free], kind="stable")]
        return np.sort(np.concatenate([problem.include, order[:n_free]]))

    def _points(self, relaxed: Relaxed, inner: Result, fit: SupportFit) -> list[Array]:
        """Dual points that may exclude features: those of both relaxations, and that of the model."""
        known = inner.trace.get("relaxation")
        return [relaxed.alpha, fit.alpha, *([] if known is None else [known["alpha"]])]


def _closing_bounds(problem: Problem, bounds: list[DualBound], dropped: Indices) -> Array:
    """For every dual point, a bound of the supports that have each of the dropped features."""
    position = np.searchsorted(problem.root.free, dropped)
    return np.array(
        [bound.value + problem.sparsity.forcing_costs(bound.q, problem.root).inside[position] for bound in bounds]
    )


def _joined(inner: Result, bounds: list[DualBound], closed: Array, dropped: Indices) -> Proof | None:
    """The proof of the whole problem: each dropped feature is closed by the point that does it best."""
    if inner.certificate is None:
        return None
    proof, nothing = inner.certificate.proof, np.empty(0, dtype=np.intp)
    best, first = closed.argmax(axis=0), len(proof.points)
    fixes = [
        Fix(first + i, nothing, dropped[best == i]) for i in range(len(bounds)) if dropped.size and (best == i).any()
    ]
    points = [DualPoint(bound.alpha) for bound in bounds]
    return Proof((*fixes, *proof.steps), (*proof.points, *points), proof.splits)
