"""Bounds of nodes for problems with a structure, for every loss; for the squared loss in Gram space.

Regions are sets of supports of columns, as elsewhere in the tree; all columns of a unit have the same state.
"""

from __future__ import annotations

import numpy as np

from sparsest.core.arrays import Array, Indices
from sparsest.core.losses import Squared
from sparsest.core.problem import Problem
from sparsest.core.sparsity import Region
from sparsest.core.structure.structured import StructuredSparsity
from sparsest.proofs.steps import Point, PrimalPoint, Split
from sparsest.runtime.faults import reach
from sparsest.subset.dual import ROUNDING
from sparsest.subset.relaxation.engine import Round, View
from sparsest.subset.relaxation.quadratic import solve_in_gram_space
from sparsest.subset.relaxation.solution import Start
from sparsest.subset.relaxation.working_solution import WorkingSolution
from sparsest.subset.tree.bounder import DEFAULT_OPTIONS, BounderOptions, State, Tightened, WarmStart
from sparsest.subset.tree.loss_bounder import LossBounder, LossPoint, RegionSource
from sparsest.subset.tree.structured_gram import StructuredGram


class StructuredBounder(LossBounder):
    """Bounds of regions over the surviving features; used by several threads at the same time."""

    def __init__(self, problem: Problem, survivors: Indices, options: BounderOptions = DEFAULT_OPTIONS) -> None:
        assert isinstance(problem.sparsity, StructuredSparsity)
        self.rule = problem.sparsity.among(survivors)
        super().__init__(problem.with_sparsity(self.rule), survivors, options)
        self.gram: StructuredGram | None = None
        if isinstance(problem.loss, Squared):
            self.gram = StructuredGram(problem, self.columns, options.tuning, options.max_bytes)

    def tighten(self, point: LossPoint, state: State, cutoff: float) -> Tightened:
        """Return the bound of a point for a region; ``state`` is updated with fixed features and propagated.

        The bound is infinite if no support of the region is left.
        """
        reach("tighten")
        nothing = np.empty(0, dtype=np.intp)
        region = Region(np.flatnonzero(state == 1), np.flatnonzero(state == -1), state.size)
        q = self.problem.gains_from(point.u)
        gain = self.rule.gain(q, region)
        bound = -point.conjugate - gain - ROUNDING * abs(gain)
        slack = cutoff - bound
        if not slack > 0.0:
            return Tightened(bound, nothing, nothing, None, np.inf)
        costs = self.rule.forcing_costs(q, region)
        # The checker adds up gains in another order.
        least = slack + ROUNDING * abs(gain)
        goes_in, goes_out = costs.outside > least, costs.inside > least
        inside, outside = region.free[goes_in], region.free[goes_out]
        if not inside.size and not outside.size:
            return Tightened(bound, nothing, nothing, None, np.inf)
        closed = bound + min(costs.outside[goes_in].min(initial=np.inf), costs.inside[goes_out].min(initial=np.inf))
        state[inside], state[outside] = 1, -1
        if not self.rule.close(state):
            bound = np.inf
        return Tightened(bound, inside, outside, None, closed)

    def source(self, alpha: Array | None) -> RegionSource:
        """The data source of one region's relaxation."""
        return RegionSource(self, alpha) if self.gram is None else _GramSource(self, self.gram)

    def compress(self, point: LossPoint, keep_products: bool = False) -> WarmStart:
        """The part of a point that an open node keeps."""
        warm = super().compress(point, keep_products)
        return warm if self.gram is None else warm._replace(alpha=None)

    def proof_point(self, point: LossPoint, splits: list[Split]) -> Point:
        """The point in the form that a certificate stores."""
        if self.gram is None:
            return super().proof_point(point, splits)
        used = point.w != 0
        precision = np.float32 if self.single else np.float64
        features, w = self.survivors[point.features[used]], point.w[used].astype(precision)
        return PrimalPoint(features, w, self.problem.data.null.b)

    def nbytes(self) -> float:
        """Bytes of the packed columns and of the Gram matrix."""
        return super().nbytes() + (0.0 if self.gram is None else self.gram.nbytes())


class _GramSource(RegionSource):
    """The Gram matrix as the data source of one region's relaxation."""

    def __init__(self, bounder: StructuredBounder, gram: StructuredGram) -> None:
        super().__init__(bounder, None)
        self.gram = gram

    def first(self, start: Start, region: Region) -> tuple[float, View]:
        """The view of the coefficients."""
        return self.gram.b, self._view(self._point(start.features, start.w), region)

    def solve(self, task: Round) -> WorkingSolution:
        """Solve the relaxation on a part of the Gram matrix."""
        gram, features, stop = self.gram, task.features, task.stop(self.bounder.expired)
        H, c = gram.part(features), gram.c[features]
        return solve_in_gram_space(H, c, gram.constant, gram.b, task.omega, task.w, stop)

    def view(self, features: Indices, point: WorkingSolution, region: Region) -> View:
        """The view of the coefficients, rounded as a proof stores them."""
        return self._view(self._point(features, point.w), region)

    def _point(self, features: Indices, w: Array) -> LossPoint:
        gram = self.gram
        if self.bounder.single:
            w = w.astype(np.float32).astype(np.float64)
        used = np.flatnonzero(w)
        product = gram.product(features[used], w[used])
        conjugate = 0.5 * float(w[used] @ product[features[used]]) - gram.constant + gram.margin
        return LossPoint(np.empty(0), product - gram.c, conjugate, features, w, gram.b, (w, gram.b))
