"""Bounds of nodes for problems with a structure, for every loss; for the squared loss in Gram space.

Regions are sets of supports of columns, as elsewhere in the tree; all columns of a unit have the same state.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sparsest.core.arrays import Array, Indices
from sparsest.core.losses import Squared
from sparsest.core.problem import Problem
from sparsest.core.sparsity import Region
from sparsest.core.structure.structured import StructuredSparsity
from sparsest.proofs.splits import acceptable_diagonal
from sparsest.proofs.steps import Point, PrimalPoint, Split, SplitPoint
from sparsest.runtime.faults import reach
from sparsest.subset.dual import ROUNDING
from sparsest.subset.relaxation.engine import Round, View
from sparsest.subset.relaxation.quadratic import solve_in_gram_space
from sparsest.subset.relaxation.solution import Start
from sparsest.subset.relaxation.working_solution import WorkingSolution
from sparsest.subset.tree.bounder import DEFAULT_OPTIONS, BounderOptions, NodeOutcome, State, Tightened, WarmStart
from sparsest.subset.tree.diagonals import spare_diagonal
from sparsest.subset.tree.loss_bounder import LossBounder, LossPoint, RegionSource
from sparsest.subset.tree.row_prices import PricedRows, SideRows
from sparsest.subset.tree.structured_gram import StructuredGram

# Prices of rows are used if this many steps reduce the distance between the first bound and the cutoff by this share.
# On ten instances of each kind in ``benchmarks/structure.py`` they then reduce nodes and CPU time to less than 6 and
# 20 % (budgets, least numbers), 14 and 42 % (strong heredity), 43 and 75 % (exclusive pairs).  With weak heredity
# bounds hardly rise, and nodes and time stay as they are.
_TRIAL_STEPS, _LEAST_SHARE = 8, 0.05
# The search for prices in a node ends after this many steps in a row that lower the bound.
_MOST_FAILURES = 5
# The first, the shortest and the longest step of prices as shares of the one that would reach the cutoff if the bound
# were linear; factors of the step after a better and after a worse bound.
_FIRST_STEP, _SHORTEST_STEP, _LONGEST_STEP, _LONGER, _SHORTER = 0.25, 0.01, 1.0, 1.6, 0.4


class StructuredBounder(LossBounder):
    """Bounds of regions over the surviving features; used by several threads at the same time."""

    def __init__(self, problem: Problem, survivors: Indices, options: BounderOptions = DEFAULT_OPTIONS) -> None:
        assert isinstance(problem.sparsity, StructuredSparsity)
        self.rule = problem.sparsity.among(survivors)
        self.rows = SideRows(self.rule)
        super().__init__(problem.with_sparsity(self.rule), survivors, options)
        self.gram: StructuredGram | None = None
        # The diagonal of a split of the Gram matrix, and its index in the proof; -1 until the proof uses it.
        self.delta: Array | None = None
        self._split_number = -1
        if isinstance(problem.loss, Squared):
            self.gram = StructuredGram(problem, self.columns, options.tuning, options.max_bytes)

    def strengthen(self) -> None:
        """Move part of the Gram matrix into the ridge of each unit, if every ridge then is at least as large."""
        m, problem, gram = self.survivors.size, self.problem, self.gram
        if gram is None or not gram.complete or not 0 < m < problem.n:
            return
        delta = spare_diagonal(gram.ridged(problem.ridge), None if self.rule.sizes.max() <= 1 else self.rule.units)
        if delta is None or delta.min() < problem.ridge:
            return
        # Use only a diagonal that the checker will accept.
        delta = acceptable_diagonal(problem.data.evidence.data, problem.gamma, self.survivors, delta)
        if delta is None or delta.min() < problem.ridge:
            return
        common = problem.ridge or float(np.median(delta))
        gram.split(delta, problem.ridge, common)
        self.delta, self.strong = delta, True
        self.problem = replace(problem, gamma=1.0 / common, bounds=problem.bounds.times(1.0 / gram.scale))

    def start(self, start: Start) -> WarmStart:
        """The warm start from an earlier relaxation, restricted to the survivors."""
        warm = super().start(start)
        return warm if self.gram is None else warm._replace(w=warm.w / self.gram.scale[warm.positions])

    def tighten(self, point: LossPoint, state: State, cutoff: float) -> Tightened:
        """Return the bound of a point for a region; ``state`` is updated with fixed features and propagated.

        The bound is infinite if no support of the region is left.
        """
        reach("tighten")
        nothing = np.empty(0, dtype=np.intp)
        region = Region(np.flatnonzero(state == 1), np.flatnonzero(state == -1), state.size)
        q = self.problem.gains_from(point.u)
        rows = self.rows.none if point.rows is None else point.rows
        gain = rows.rule.gain(q, region)
        margin = ROUNDING * (abs(gain) + rows.size)
        bound = -point.conjugate - rows.total - gain - margin
        slack = cutoff - bound
        if not slack > 0.0:
            return Tightened(bound, nothing, nothing, None, np.inf)
        costs = rows.rule.forcing_costs(q, region)
        # The checker adds up gains in another order.
        least = slack + margin
        goes_in, goes_out = costs.outside > least, costs.inside > least
        inside, outside = region.free[goes_in], region.free[goes_out]
        if not inside.size and not outside.size:
            return Tightened(bound, nothing, nothing, None, np.inf)
        closed = bound + min(costs.outside[goes_in].min(initial=np.inf), costs.inside[goes_out].min(initial=np.inf))
        state[inside], state[outside] = 1, -1
        if not self.rule.close(state):
            bound = np.inf
        return Tightened(bound, inside, outside, None, closed)

    def _relax(self, warm: WarmStart, state: State, cutoff: float) -> NodeOutcome:
        """Relax a region at the prices of its parent's rows, and at better ones as long as that pays."""
        rows = warm.rows
        # Where all features are decided, the bound without prices is the value of the only support.
        if not self.rows.numbers.size or not np.isfinite(cutoff) or not (state == 0).any():
            return self._relax_at(self.rows.none, warm, state, cutoff)
        if rows is None:
            return self._first_prices(warm, state, cutoff)
        outcome = self._relax_at(rows, warm, state, cutoff)
        return self._raised(outcome, state, cutoff, self.tuning.price_steps) if rows.step > 0.0 else outcome

    def _relax_at(self, rows: PricedRows, warm: WarmStart, state: State, cutoff: float) -> NodeOutcome:
        """Relax a region at some prices of rows."""
        alpha = warm.alpha
        source = RegionSource(self, alpha, rows) if self.gram is None else _GramSource(self, self.gram, rows)
        problem = self.problem if rows.stored is None else self.problem.with_sparsity(rows.rule)
        found = self._relax_from(problem, source, warm, state, cutoff + rows.total)
        return found._replace(bound=found.bound - rows.total, primal=found.primal - rows.total)

    def _first_prices(self, warm: WarmStart, state: State, cutoff: float) -> NodeOutcome:
        """Relax the first region, and decide whether prices of rows are worth their time."""
        plain = self._relax_at(self.rows.none, warm, state, cutoff)
        if plain.bound >= cutoff:
            return plain
        most = self.tuning.first_price_steps
        tried = self._raised(plain, state, cutoff, min(most, _TRIAL_STEPS))
        if not tried.bound - plain.bound > _LEAST_SHARE * (cutoff - plain.bound):
            return plain
        return self._raised(tried, state, cutoff, most - _TRIAL_STEPS)

    def _raised(self, outcome: NodeOutcome, state: State, cutoff: float, most: int) -> NodeOutcome:
        """Improve the bound of a relaxed region by at most some steps of the prices of rows."""
        best, iterations = outcome, outcome.iterations
        step, failures = best.point.rows.step, 0
        for _ in range(most):
            left = cutoff - best.bound
            direction = self.rows.excess(best.indicator, best.point.rows)
            square = float(direction @ direction)
            if left <= 0.0 or square == 0.0 or failures == _MOST_FAILURES or self.expired():
                break
            whole = left / square
            step = min(max(step, _SHORTEST_STEP * whole), _LONGEST_STEP * whole) if step else _FIRST_STEP * whole
            rows = self.rows.moved(best.point.rows, direction, step)
            trial = self._relax_at(rows, self.compress(best.point), state, cutoff)
            iterations += trial.iterations
            better = trial.bound > best.bound
            step *= _LONGER if better else _SHORTER
            failures = 0 if better else failures + 1
            if better:
                best = trial
        point = best.point._replace(rows=replace(best.point.rows, step=step))
        return best._replace(point=point, iterations=iterations)

    def compress(self, point: LossPoint, keep_products: bool = False) -> WarmStart:
        """The part of a point that an open node keeps."""
        warm = super().compress(point, keep_products)._replace(rows=point.rows)
        return warm if self.gram is None else warm._replace(alpha=None)

    def proof_point(self, point: LossPoint, splits: list[Split]) -> Point:
        """The point in the form that a certificate stores."""
        if self.gram is None:
            return super().proof_point(point, splits)
        used = point.features[point.w != 0]
        precision = np.float32 if self.single else np.float64
        features, w = self.survivors[used], (point.w[point.w != 0] * self.gram.scale[used]).astype(precision)
        if self.delta is None:
            return PrimalPoint(features, w, self.problem.data.null.b)
        if self._split_number < 0:
            self._split_number = len(splits)
            splits.append(Split(self.survivors, self.delta))
        return SplitPoint(features, w, self._split_number)

    def nbytes(self) -> float:
        """Bytes of the packed columns and of the Gram matrix."""
        return super().nbytes() + (0.0 if self.gram is None else self.gram.nbytes())


class _GramSource(RegionSource):
    """The Gram matrix as the data source of one region's relaxation."""

    def __init__(self, bounder: StructuredBounder, gram: StructuredGram, rows: PricedRows) -> None:
        super().__init__(bounder, None, rows)
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
            # The proof stores coefficients of the columns as they are.
            w = (w * gram.scale[features]).astype(np.float32).astype(np.float64) / gram.scale[features]
        used = np.flatnonzero(w)
        product = gram.product(features[used], w[used])
        conjugate = 0.5 * float(w[used] @ product[features[used]]) - gram.constant + gram.margin
        return LossPoint(np.empty(0), product - gram.c, conjugate, features, w, gram.b, (w, gram.b))
