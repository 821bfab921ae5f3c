"""Screening: a ranking keeps some features, a method solves for them, and dual points exclude the dropped ones.

The Boolean relaxation ranks features by their gains, a Lasso path by when they enter.

A dual point α of the whole problem bounds every support that has a given feature j: by ``D(α) + q_(k) - q_j`` for a q_j
outside of the k largest gains.  Where that is at least the objective for every feature that was dropped, screening was
*safe*: no better support has one of them, and these bounds, before the steps of the restricted problem's proof, prove
the whole.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sparsest.core.arrays import Array, Indices
from sparsest.core.losses import PiecewiseLinear
from sparsest.core.penalties import make_penalty
from sparsest.core.problem import Problem
from sparsest.core.ridge import default_gamma
from sparsest.core.settings import RANKINGS
from sparsest.core.sparsity import Sparsity
from sparsest.core.structure.structured import StructuredSparsity
from sparsest.proofs.steps import DualPoint, Fix, Proof
from sparsest.results.parts import Screening
from sparsest.results.result import Result
from sparsest.runtime.clock import Clock
from sparsest.runtime.events import Done, Status
from sparsest.subset.claims import closed_by
from sparsest.subset.dual import DualBound, best_bound
from sparsest.subset.fits.support import SupportFit, fit_support
from sparsest.subset.relaxation.relaxer import relax_problem
from sparsest.subset.relaxation.solution import warm_start
from sparsest.subset.results import make_result, start_support

# The relaxation that ranks features is solved to this gap, or to a part of ``gap_tol`` if that is smaller: its dual
# point has to exclude features.
_PRECISION, _PART, _LEAST_PRECISION = 1e-3, 0.1, 1e-9

# The path that ranks features: its number of alphas, its tolerance, and the multiple of the wanted number of features
# at which it ends (several may enter at once).
_N_ALPHAS, _PATH_TOL, _ENTERED = 100, 1e-3, 2
# With this penalty factor no feature enters a path.
_NEVER = 1e15


@dataclass(frozen=True)
class Screened:
    """Solves by ``inner`` on the ``size`` best features; ``by`` says whether the relaxation or a path ranks them."""

    inner: Any
    size: int
    by: str = RANKINGS[0]

    @property
    def time_limit(self) -> float:
        """Seconds for screening and search together."""
        return float(self.inner.time_limit)

    @property
    def gap_tol(self) -> float:
        """Relative gap at which the status is OPTIMAL."""
        return float(self.inner.gap_tol)

    def solve(self, problem: Problem, start: Any = None, clock: Clock | None = None) -> Result:
        """Screen, solve, and prove what the dual points allow; the result's ``screening`` says what was proved."""
        least = problem.include.size if problem.sparsity.k is None else problem.sparsity.k
        if isinstance(problem.sparsity, Sparsity) and self.size < least:
            raise ValueError(f"screen must keep at least the {least} features that a model may have, got {self.size}")
        clock = Clock(self.time_limit) if clock is None else clock
        with clock.listening():
            return self._solve(problem, start, clock)

    def _solve(self, problem: Problem, start: Any, clock: Clock) -> Result:
        score, alphas = (self._path if self.by == "path" else self._relaxation)(problem, start, clock)
        kept = self._keep(problem, score, start_support(start, problem))
        dropped = np.setdiff1d(problem.root.free, kept)
        restricted = replace(problem, exclude=np.sort(np.concatenate([problem.exclude, dropped])))
        with clock.silenced(Done):
            inner = self.inner.solve(restricted, start, clock)
        fit = fit_support(problem, inner.support)
        bounds = [best_bound(problem, alpha, problem.root) for alpha in (*alphas, *_points(inner, fit))]
        closed = _closing_bounds(problem, bounds, dropped)
        points = [DualPoint(bound.alpha) for bound in bounds]
        fixes = _closing_steps(closed, dropped)
        lowest = closed_by(problem, fixes, points) if fixes else np.inf
        cutoff = inner.objective - self.gap_tol * abs(inner.objective)
        screening = Screening(
            kept,
            safe=bool(lowest >= cutoff),
            bound_of_dropped=lowest,
            n_not_excluded=int((closed.max(axis=0) < cutoff).sum()),
            restricted_lower_bound=inner.lower_bound,
            restricted_certificate=inner.certificate,
        )
        return make_result(
            problem, fit, _joined(inner, fixes, points), min(lowest, inner.lower_bound), clock=clock,
            gap_tol=self.gap_tol, otherwise=Status.HEURISTIC if inner.status is Status.OPTIMAL else inner.status,
            trace={**inner.trace, "screening": screening._asdict()}, n_nodes=inner.n_nodes, screening=screening,
            restart=inner.restart,
        )  # fmt: skip

    def _relaxation(self, problem: Problem, start: Any, clock: Clock) -> tuple[Array, list[Array]]:
        """The gains of the relaxation, the rounded support first; and its dual point."""
        # Without a ridge and limits of coefficients, the default ridge ranks the features.
        curved = problem if problem.has_dual_bounds else problem.with_gamma(default_gamma(problem.data))
        tolerance = min(_PRECISION, _PART * self.gap_tol + _LEAST_PRECISION)
        relaxed, _ = relax_problem(curved, tolerance, warm_start(start, problem), expired=clock.expired)
        score = relaxed.q.copy()
        score[relaxed.rounded(curved)] = np.inf
        return score, [relaxed.alpha]

    def _path(self, problem: Problem, start: Any, clock: Clock) -> tuple[Array, list[Array]]:
        """Scores by how early features enter a Lasso path that does not penalise forced features; no dual points."""
        if isinstance(problem.loss, PiecewiseLinear):
            raise ValueError(f"screen_by='path' needs a smooth loss, not {problem.loss.name!r}: use 'relaxation'")
        factor = np.ones(problem.p)
        factor[problem.include], factor[problem.exclude] = 0.0, _NEVER
        most = min(_ENTERED * self.size, problem.p)
        # Only this way of screening needs paths; importing them takes 20 ms.
        from sparsest.paths.features import FeatureRules
        from sparsest.paths.path import PathSolver

        solver = PathSolver(make_penalty("l1"), _N_ALPHAS, max_features=most, tol=_PATH_TOL)
        entries = solver.solve(problem.data, FeatureRules(factor), clock).coefs.tocoo()
        first = np.full(problem.p, _N_ALPHAS)
        np.minimum.at(first, entries.row, entries.col)
        # Features that enter at the same alpha, or never, are ranked by their products with the response.
        products = np.abs(problem.data.null.products) / np.maximum(problem.column_norms, 1e-300)
        return (_N_ALPHAS - first) + 0.5 * products / max(float(products.max(initial=0.0)), 1e-300), []

    def _keep(self, problem: Problem, score: Array, first: Indices | None) -> Indices:
        """The features forced in, those of the start, then the largest scores."""
        if first is not None:
            score[first] = np.inf
        if not isinstance(problem.sparsity, Sparsity):
            return self._keep_units(problem, problem.sparsity, score)
        free = problem.root.free
        n_free = max(min(self.size, problem.p) - problem.include.size, 0)
        order = free[np.argsort(-score[free], kind="stable")]
        return np.sort(np.concatenate([problem.include, order[:n_free]]))

    def _keep_units(self, problem: Problem, rule: StructuredSparsity, score: Array) -> Indices:
        """The units forced in, those of a known admissible support, then the units with the largest scores."""
        kept = rule.units_of(problem.root.forced_in) | rule.units_of(problem.first_support)
        scores = np.full(rule.n_units, -np.inf)
        free = problem.root.free
        np.maximum.at(scores, rule.units[free], score[free])
        for unit in np.argsort(-scores, kind="stable").tolist():
            if scores[unit] == -np.inf or int(rule.sizes[kept].sum()) >= self.size:
                break
            kept[unit] = True
        return rule.columns_of(kept)


def _points(inner: Result, fit: SupportFit) -> list[Array]:
    """Dual points that may exclude features: that of the model, and that of the method's relaxation."""
    relaxed = inner.restart.relaxed
    return [fit.alpha] if relaxed is None else [fit.alpha, relaxed.alpha]


def _closing_bounds(problem: Problem, bounds: list[DualBound], dropped: Indices) -> Array:
    """For every dual point, a bound of the supports that have each of the dropped features."""
    position = np.searchsorted(problem.root.free, dropped)
    return np.array(
        [bound.value + problem.sparsity.forcing_costs(bound.q, problem.root).inside[position] for bound in bounds]
    )


def _closing_steps(closed: Array, dropped: Indices) -> list[Fix]:
    """Steps that close each dropped feature by the dual point with the best bound."""
    best, nothing = closed.argmax(axis=0), np.empty(0, dtype=np.intp)
    return [Fix(i, nothing, dropped[best == i]) for i in range(len(closed)) if (best == i).any()]


def _joined(inner: Result, fixes: list[Fix], points: list[DualPoint]) -> Proof | None:
    """The proof of the whole problem: dropped features are closed, and what is left is the restricted problem."""
    if inner.certificate is None:
        return None
    proof = inner.certificate.proof
    moved = [fix._replace(point=len(proof.points) + fix.point) for fix in fixes]
    return Proof((*moved, *proof.steps), (*proof.points, *points), proof.splits, proof.row_prices)
