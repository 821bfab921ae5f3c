"""Bounds of nodes for losses other than the squared one, on the packed columns of the survivors.

A dual point α bounds every region by ``-Σωℓ*(α/ω) - gain(q)``, where q are the gains of ``X'α``.  The kernels for Gram
space therefore apply with ``u = X'α``, ``δ = λ`` and twice the sum of conjugates in place of ``w'Hw``; since there
``u = -X'α``, they get the bounds of the coefficients with the opposite sign.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sparsest.core.arrays import Array, Indices
from sparsest.core.kernels.descent import column_products
from sparsest.core.losses import dual_from_margin
from sparsest.core.problem import Problem
from sparsest.core.sparsity import Region, Sparsity
from sparsest.proofs.steps import DualPoint, Point, PrimalPoint, RowPrices, Split
from sparsest.runtime.faults import reach
from sparsest.subset.dual import ROUNDING
from sparsest.subset.relaxation.engine import Policy, Round, View, relax
from sparsest.subset.relaxation.entering import Entering
from sparsest.subset.relaxation.nested import multipliers_of
from sparsest.subset.relaxation.solution import Relaxed, Start
from sparsest.subset.relaxation.working_set import solve_working_set
from sparsest.subset.relaxation.working_solution import WorkingSet, WorkingSolution
from sparsest.subset.tree.bounder import (
    DEFAULT_OPTIONS,
    BounderOptions,
    NodeOutcome,
    Request,
    State,
    Tightened,
    WarmStart,
    copied_bytes,
    pack,
)
from sparsest.subset.tree.kernels.regions import tighten
from sparsest.subset.tree.reference_gram import ReferenceGram, reference_at
from sparsest.subset.tree.row_prices import PricedRows

# A region is decided if its duality gap is at most this share of the distance between its bound and the cutoff.
_DECISIVE = 0.1
# Tolerance of a working set as a share of that distance, number of rounds with this tolerance, and factor of the
# tolerance in each later round.
_PRECISION, _COARSE_ROUNDS, _MORE_PRECISE = 0.1, 3, 0.3


class LossPoint(NamedTuple):
    """A dual point α, ``u = X'α``, the sum of conjugates, and the relaxed coefficients that were found with it.

    ``source`` is the primal point (w, b) whose loss gradient is α, if there is one.  ``rows`` are the prices of rows of
    a structure that the point's bounds use.
    """

    alpha: Array
    u: Array
    conjugate: float
    features: Indices
    w: Array
    b: float
    source: tuple[Array, float] | None
    rows: PricedRows | None = None


class LossBounder:
    """Bounds of regions over the surviving features; used by several threads at the same time."""

    strong, batch_size = False, 1

    def __init__(self, problem: Problem, survivors: Indices, options: BounderOptions = DEFAULT_OPTIONS) -> None:
        self.survivors, self.single = survivors, options.rounding > 0.0
        self.expired, self.tuning = options.expired, options.tuning
        # Features are positions among the survivors, also those of the bounds.
        self.problem = replace(problem, bounds=problem.bounds.of(survivors))
        self.mirrored = self.problem.bounds.mirrored()
        self.columns = pack(problem, survivors, self.expired, self.tuning.packed_bytes)
        self.roots = np.full(survivors.size, np.sqrt(problem.ridge))
        self.reference: ReferenceGram | None = None

    def strengthen(self) -> None:
        """Do nothing: these losses have no Gram matrix that could tighten the bounds."""

    def stop(self, stopped: bool) -> None:
        """Do nothing: the relaxation checks the clock itself."""

    def adapt(self, regions: Sequence[tuple[NodeOutcome, State]], max_bytes: float) -> None:
        """Do nothing: the diagonal can be adapted for the squared loss only."""

    def nbytes(self) -> float:
        """Bytes of the packed columns and of the Gram matrix."""
        gram = 0 if self.reference is None else self.reference.matrix.nbytes
        return copied_bytes(self.problem, self.columns) + gram

    def start(self, start: Start) -> WarmStart:
        """The warm start from an earlier relaxation, restricted to the survivors."""
        features, w, b, _ = start
        kept = np.isin(features, self.survivors) & (w != 0)
        positions, w = np.searchsorted(self.survivors, features[kept]), w[kept]
        if not self.expired():
            margin = self.columns[:, positions] @ w
            margin = margin + self.problem.data.intercept_for(margin, b)
            self.reference = reference_at(self.problem, self.columns, margin, positions, self.tuning)
        return WarmStart(positions, w, b)

    def compress(self, point: LossPoint, keep_products: bool = False) -> WarmStart:
        """The part of a point that an open node keeps."""
        used = point.w != 0
        return WarmStart(point.features[used], point.w[used], point.b, point.alpha if point.source is None else None)

    def tighten(self, point: LossPoint, state: State, cutoff: float) -> Tightened:
        """Return the bound of a point for a region; ``state`` is updated with the features fixed against ``cutoff``."""
        reach("tighten")
        rule = self.problem.plain_sparsity
        bound, inside, outside, _, closed = tighten(
            point.u, 2.0 * point.conjugate, self.roots, state, rule.most(self.problem.p), rule.price, self.mirrored.low,
            self.mirrored.high, cutoff,
        )  # fmt: skip
        # Gains of features that are forced out were not computed, so all of them count as needed.
        return Tightened(bound, inside, outside, None, closed)

    def solve(self, requests: Sequence[Request], cutoff: float) -> list[NodeOutcome]:
        """Relax regions, one after the other."""
        return [self._relax(request.warm, request.state, cutoff) for request in requests]

    def source(self, alpha: Array | None) -> RegionSource:
        """The data source of one region's relaxation; ``alpha`` is the parent's dual point, if it is kept."""
        return RegionSource(self, alpha)

    def _relax(self, warm: WarmStart, state: State, cutoff: float) -> NodeOutcome:
        """Relax a region until its bound reaches ``cutoff`` or is precise enough to choose a branching feature."""
        return self._relax_from(self.problem, self.source(warm.alpha), warm, state, cutoff)

    def _relax_from(
        self, problem: Problem, source: RegionSource, warm: WarmStart, state: State, cutoff: float
    ) -> NodeOutcome:
        region = Region(np.flatnonzero(state == 1), np.flatnonzero(state < 0), state.size)
        allowed = state[warm.positions] >= 0
        start = Start(warm.positions[allowed], warm.w[allowed], warm.b)
        relaxed = relax(source, problem, region, _ToCutoff(cutoff, self.expired), start)
        indicator = np.minimum(relaxed.indicator(problem), 1.0)
        outcome = NodeOutcome(source.point, relaxed.dual, relaxed.primal, indicator, relaxed.iterations)
        rule = problem.sparsity
        if isinstance(rule, Sparsity) or relaxed.levels is None:
            return outcome
        return outcome._replace(multipliers=multipliers_of(rule, relaxed.levels)[rule.units])

    def point(
        self, alpha: Array, alive: Indices, features: Indices, w: Array, b: float, source: tuple[Array, float] | None
    ) -> LossPoint:
        """The dual point as a proof stores it, with its products for the features ``alive``, i.e. not forced out."""
        problem = self.problem
        if self.single and source is not None:
            alpha, source = self._rounded(features, *source)
        elif self.single:
            alpha = problem.feasible(alpha.astype(np.float32).astype(np.float64))
        u, products = np.zeros(self.survivors.size), np.empty(alive.size)
        column_products(self.columns.T, alive, alpha, products)
        u[alive] = products
        terms = problem.weights * problem.loss.conjugate(problem.y, alpha / problem.weights)
        # Includes the margin by which the checker lowers bounds.
        conjugate = float(terms.sum() + 2.0 * ROUNDING * np.abs(terms).sum())
        return LossPoint(alpha, u, conjugate, features, w, b, source)

    def _rounded(self, features: Indices, w: Array, b: float) -> tuple[Array, tuple[Array, float]]:
        """The dual point of the coefficients in single precision, so that the bound is that of the stored point."""
        problem = self.problem
        w = w.astype(np.float32).astype(np.float64)
        used = w != 0
        margin = self.columns[:, features[used]] @ w[used]
        b = problem.data.intercept_for(margin, b)
        alpha = dual_from_margin(problem.loss, problem.y, margin + b, problem.weights)
        return problem.feasible(alpha), (w, b)

    def proof_point(self, point: LossPoint, splits: list[Split]) -> Point:
        """The point in the form that a certificate stores."""
        precision = np.float32 if self.single else np.float64
        if point.source is None:
            return DualPoint(point.alpha.astype(precision))
        w, b = point.source
        used = w != 0
        intercept = b + self.problem.data.y_offset
        return PrimalPoint(self.survivors[point.features[used]], w[used].astype(precision), intercept)

    def row_prices(self, point: LossPoint) -> RowPrices | None:
        """The prices of rows that the bounds of a point use."""
        return None if point.rows is None else point.rows.stored


class RegionSource:
    """The packed columns as the data source of one region's relaxation; ``point`` is the point with the best bound.

    With prices ``rows`` of rows the relaxation leaves out the constant ``ν'β``, and so do its bounds.
    """

    point: LossPoint

    def __init__(self, bounder: LossBounder, alpha: Array | None, rows: PricedRows | None = None) -> None:
        self.bounder, self.alpha, self.rows = bounder, alpha, rows
        self._bound = -np.inf

    def first(self, start: Start, region: Region) -> tuple[float, View]:
        """The view of the parent's dual point or, if it is not kept, of the dual point of the coefficients."""
        problem, alpha = self.bounder.problem, self.alpha
        if alpha is None:
            margin = self.bounder.columns[:, start.features] @ start.w
            b = problem.data.intercept_for(margin, start.b)
            alpha = problem.feasible(dual_from_margin(problem.loss, problem.y, margin + b, problem.weights, 1.0))
        return start.b, self._view(self.bounder.point(alpha, region.alive, *start[:3], None), region)

    def solve(self, task: Round) -> WorkingSolution:
        """Solve the relaxation on the columns of a working set."""
        bounder = self.bounder
        columns = bounder.columns[:, task.features]
        reference = None if bounder.reference is None else bounder.reference.of(task.features, columns)
        part, stop = WorkingSet(bounder.problem, columns, task.omega), task.stop(bounder.expired)
        return solve_working_set(part, task.w, task.b, stop, task.memory, reference)

    def view(self, features: Indices, point: WorkingSolution, region: Region) -> View:
        """The view of a solution's dual point, rounded as a proof stores it."""
        stored = self.bounder.point(point.alpha, region.alive, features, point.w, point.b, point.source)
        return self._view(stored, region)

    def _view(self, point: LossPoint, region: Region) -> View:
        point = point._replace(rows=self.rows)
        bound = self.bounder.tighten(point, region.state.copy(), -np.inf).bound
        if self.rows is not None:
            bound += self.rows.total
        if bound >= self._bound:
            self.point, self._bound = point, bound
        return View(point.alpha, point.u, bound)


class _ToCutoff(Policy):
    """Stop when the bound reaches the cutoff, or when the duality gap is a small share of the distance to it."""

    entering = Entering(share=0.999, kept_share=np.inf, least=30, growth=0.0)
    most_rounds = 50

    def __init__(self, cutoff: float, expired: Callable[[], bool]) -> None:
        self.cutoff, self.expired = cutoff, expired
        self._precision = _PRECISION

    def is_done(self, best: Relaxed) -> bool:
        """Whether the region is closed, or the duality gap is too small for a further round to close it."""
        left = self.cutoff - best.dual
        return left <= 0.0 or best.primal - best.dual <= _DECISIVE * left or self.expired()

    def tolerance(self, best: Relaxed) -> float:
        """A share of the distance between bound and cutoff."""
        if best.rounds > _COARSE_ROUNDS:
            self._precision *= _MORE_PRECISE
        return max(self._precision * (self.cutoff - best.dual), 1e-10 * abs(self.cutoff))
