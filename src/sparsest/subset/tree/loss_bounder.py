"""Bounds of nodes for losses other than the squared one, on the packed columns of the survivors.

A dual point α bounds every region by ``-Σωℓ*(α/ω) - gain(q)``, q the gains of ``X'α``, so the kernels of the Gram space
serve with ``u = X'α``, ``δ = λ`` and twice the conjugate's sum in place of ``w'Hw``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from sparsest.core.arrays import Array, Indices
from sparsest.core.kernels.descent import column_products
from sparsest.core.losses import dual_from_margin
from sparsest.core.problem import Problem
from sparsest.proofs.steps import DualPoint, Point, PrimalPoint, Split
from sparsest.subset.dual import ROUNDING
from sparsest.subset.relaxation.kernels.fista import Regulariser, penalty_value
from sparsest.subset.relaxation.memory import Memory
from sparsest.subset.relaxation.working_set import solve_working_set
from sparsest.subset.tree.bounder import NodeOutcome, Request, State, Tightened, Warm, pack
from sparsest.subset.tree.kernels.regions import pick_working_set, sigma_of_gains, tighten
from sparsest.subset.tree.tuning import USUAL, Tuning

_MAX_ROUNDS = 50


class LossPoint(NamedTuple):
    """A dual point with its products and conjugate sum, and the relaxed coefficients it was found with."""

    alpha: Array
    u: Array
    conjugate: float
    features: Indices
    w: Array
    b: float
    source: tuple[Array, float] | None


class LossBounder:
    """Bounds of regions over the surviving features; read by several threads at once."""

    strong, together = False, 1

    def __init__(
        self,
        problem: Problem,
        survivors: Indices,
        rounding: float,
        expired: Callable[[], bool] = lambda: False,
        tuning: Tuning = USUAL,
    ) -> None:
        self.problem, self.survivors, self.single, self.expired = problem, survivors, rounding > 0.0, expired
        self.columns = pack(problem, survivors, expired, tuning.packed_bytes)
        self.roots = np.full(survivors.size, np.sqrt(problem.ridge))
        self.budget, self.price = problem.sparsity.most(problem.p), problem.sparsity.price

    def strengthen(self) -> None:
        """Nothing is known that would strengthen these bounds."""

    def halt(self) -> None:
        """Nothing is to be done: relaxing a region asks for the time itself."""

    def adapt(self, regions: Sequence[tuple[NodeOutcome, State]], room: float) -> None:
        """Nothing can be adapted."""

    def stored(self) -> float:
        """Bytes of the packed columns."""
        return float(self.columns.nbytes)

    def start(self, features: Indices, w: Array, b: float) -> Warm:
        """Coefficients of an earlier relaxation, as far as their features survived."""
        kept = np.isin(features, self.survivors) & (w != 0)
        return Warm(np.searchsorted(self.survivors, features[kept]), w[kept], b)

    def compress(self, point: LossPoint, keep_products: bool = False) -> Warm:
        """What an open node keeps of a point."""
        used = point.w != 0
        return Warm(point.features[used], point.w[used], point.b, point.alpha if point.source is None else None)

    def tighten(self, point: LossPoint, state: State, cutoff: float) -> Tightened:
        """Return the bound of a point for a region; ``state`` is narrowed by what it fixes against ``cutoff``."""
        bound, inside, outside, _, closed = tighten(
            point.u, 2.0 * point.conjugate, self.roots, state, self.budget, self.price, self.problem.box, cutoff
        )
        # The gains of features that are out were not computed.
        return Tightened(bound, inside, outside, None, closed)

    def solve(self, requests: Sequence[Request], cutoff: float) -> list[NodeOutcome]:
        """Relax regions, one after the other."""
        return [self._relax(request.warm, request.state, cutoff) for request in requests]

    def _relax(self, warm: Warm, state: State, cutoff: float) -> NodeOutcome:
        """Relax a region until its bound passes ``cutoff`` or is precise enough to decide what to do with it."""
        problem = self.problem
        alive = np.flatnonzero(state >= 0)
        w = np.zeros(state.size)
        w[warm.positions] = warm.w
        w[state < 0] = 0.0
        b, sigma, precision, iterations, primal = warm.b, 0.0, 0.1, 0, np.inf
        point = self._point(self._start_alpha(warm, w), alive, np.flatnonzero(w), w[w != 0], b, None)
        bound = self.tighten(point, state.copy(), -np.inf).bound
        memory = Memory()
        for round_number in range(_MAX_ROUNDS):
            if bound >= cutoff or primal - bound <= 0.1 * (cutoff - bound) or self.expired():
                break
            features = self._working_set(point, w, state, alive, sigma)
            omega = self._regulariser(features, state)
            tolerance = max(precision * (cutoff - bound), 1e-10 * abs(cutoff))
            columns = self.columns[:, features]
            memory.enter(features, max(primal - bound, 0.0))
            solved = solve_working_set(
                problem, columns, omega, w[features], b, tolerance, cutoff, self.expired, memory=memory
            )
            iterations += solved.iterations
            w[:] = 0.0
            w[features], b, primal = solved.w, solved.b, solved.primal
            sigma = penalty_value(solved.w, omega, 0.0)[1]
            point = self._point(solved.alpha, alive, features, solved.w, b, solved.source)
            bound = self.tighten(point, state.copy(), -np.inf).bound
            if round_number > 2:
                precision *= 0.3
        size = np.abs(w)
        share = np.maximum(min(sigma, 1e200) * (self.roots * size), size / problem.box)
        indicator = np.where(w != 0, np.minimum(1.0, share), 0.0)
        indicator[state == 1] = 1.0
        return NodeOutcome(point, bound, primal, indicator, iterations)

    def _start_alpha(self, warm: Warm, w: Array) -> Array:
        """The dual point of the parent, or that of the coefficients."""
        problem = self.problem
        if warm.alpha is not None:
            return warm.alpha
        margin = self.columns[:, np.flatnonzero(w)] @ w[w != 0]
        b = problem.data.intercept_for(margin, warm.b)
        return problem.feasible(dual_from_margin(problem.loss, problem.y, margin + b, problem.weights, 1.0))

    def _point(
        self, alpha: Array, alive: Indices, features: Indices, w: Array, b: float, source: tuple[Array, float] | None
    ) -> LossPoint:
        problem = self.problem
        if self.single and source is not None:
            alpha, source = self._rounded(features, *source)
        elif self.single:
            alpha = problem.feasible(alpha.astype(np.float32).astype(np.float64))
        u, products = np.zeros(self.survivors.size), np.empty(alive.size)
        column_products(self.columns.T, alive, alpha, products)
        u[alive] = products
        terms = problem.weights * problem.loss.conjugate(problem.y, alpha / problem.weights)
        # With the margin by which a proof lowers its bounds.
        conjugate = float(terms.sum() + 2.0 * ROUNDING * np.abs(terms).sum())
        return LossPoint(alpha, u, conjugate, features, w, b, source)

    def _rounded(self, features: Indices, w: Array, b: float) -> tuple[Array, tuple[Array, float]]:
        """The dual point of coefficients in single precision, as a proof stores them: bounds belong to that point."""
        problem = self.problem
        w = w.astype(np.float32).astype(np.float64)
        used = w != 0
        margin = self.columns[:, features[used]] @ w[used]
        b = problem.data.intercept_for(margin, b)
        alpha = dual_from_margin(problem.loss, problem.y, margin + b, problem.weights)
        return problem.feasible(alpha), (w, b)

    def _working_set(self, point: LossPoint, w: Array, state: State, alive: Indices, sigma: float) -> Indices:
        q = self.problem.gains_from(point.u)
        left = self.budget - int((state == 1).sum())
        extra = 0
        if left > 0:
            extra = 30 if self.price > 0.0 else max(30, 2 * left)
        chosen, work = np.empty(alive.size, dtype=np.int64), np.empty(alive.size)
        if self.problem.max_coef is not None and sigma > 0.0:
            sigma = sigma_of_gains(q, w, state, alive, left, self.price, work)
        return chosen[: pick_working_set(q, w, state, alive, sigma, extra, work, chosen)]

    def _regulariser(self, features: Indices, state: State) -> Regulariser:
        forced = state[features] == 1
        return Regulariser(self.roots[features], forced, self.budget - int(forced.sum()), self.price, self.problem.box)

    def proof_point(self, point: LossPoint, splits: list[Split]) -> Point:
        """The point in the form a certificate keeps."""
        precision = np.float32 if self.single else np.float64
        if point.source is None:
            return DualPoint(point.alpha.astype(precision))
        w, b = point.source
        used = w != 0
        intercept = b + self.problem.data.y_offset
        return PrimalPoint(self.survivors[point.features[used]], w[used].astype(precision), intercept)
