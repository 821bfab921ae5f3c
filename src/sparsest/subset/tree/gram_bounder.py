"""Bounds of nodes for the squared loss, in Gram space.

Over the features that survived the root the objective is ``constant + ½w'Hw - c'w + ½ Σ_j δ_j w_j²/s_j``.  With the
ridge alone H is the Gram matrix and ``δ = λ``.  Where the Gram matrix is well conditioned, part of it strengthens the
ridge: ``G + λI = H + diag(δ)`` with ``H ⪰ 0`` and ``δ_j = c/(M^{-1})_jj``, ``M = G + λI``, c the largest factor that
keeps H positive semidefinite.  That is what certifies problems without any ridge.  With more features than observations
the ridge is shifted to the features that need it most, see :mod:`sparsest.subset.tree.diagonals`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock, local
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsest.core.arrays import Array, Indices
from sparsest.core.problem import Problem
from sparsest.proofs.splits import acceptable_diagonal
from sparsest.proofs.steps import Point, PrimalPoint, Split, SplitPoint
from sparsest.runtime.faults import reach
from sparsest.runtime.threads import all_threads
from sparsest.subset.dual import ROUNDING
from sparsest.subset.relaxation.solution import Start
from sparsest.subset.tree.bounder import NodeOutcome, Request, State, Tightened, Warm, pack
from sparsest.subset.tree.diagonals import Division, LoweredRidge, spare_diagonal
from sparsest.subset.tree.kernels.node import (
    CLOSED,
    NOT_STORED,
    PRECISE,
    RUNNING,
    Criteria,
    Quadratic,
    Regions,
    solve_nodes,
)
from sparsest.subset.tree.kernels.regions import tighten, unpack
from sparsest.subset.tree.tuning import USUAL, Tuning

# Gram columns computed before the first node: so many times the coefficients there are, and so many bytes.
_COLUMNS_AHEAD, _BYTES_AHEAD = 6, 2e8
# Operations between looks at the clock, some tenths of a second.
_OPERATIONS_AT_ONCE = 1e10
# Coefficients that relaxed nodes typically have.
_TYPICAL_COEFFICIENTS = 100
# Ridges are shifted where that takes at most so many operations to prepare, and where there are at most so many times
# more features than observations: with their number grows their power to imitate others together.
_MOST_OPERATIONS_OF_SHIFTING, _MOST_FEATURES_PER_ROW = 1e11, 8


class GramPoint(NamedTuple):
    """Nonzero coefficients from which a bound follows, and over all survivors ``u = c - Hw`` and √δ; ``w'Hw``."""

    used: Indices
    w: Array
    u: Array
    quadratic: float
    division: Division
    roots: Array


class GramColumns:
    """The Gram matrix of some columns, or those of its columns that were asked for; shared by several threads."""

    def __init__(self, columns: Array, full_gram: int) -> None:
        self.columns = columns
        m = columns.shape[1]
        self.complete = m <= full_gram
        # What is stored, and where each feature's column is, if anywhere.
        if self.complete:
            self.stored = np.asfortranarray(columns.T @ columns), np.arange(m)
        else:
            self.stored = np.empty((m, 512), order="F"), np.full(m, NOT_STORED)
        self.count = m if self.complete else 0
        # How often working sets had features whose columns are not stored.
        self.uses = np.zeros(m, dtype=np.intp)
        self._lock = Lock()

    def add(self, features: Indices) -> None:
        """Compute further columns; other threads go on with the old slots meanwhile."""
        with self._lock, all_threads():
            store, slot = self.stored
            features = features[slot[features] == NOT_STORED]
            end = self.count + features.size
            m = slot.size
            if end > store.shape[1]:
                larger = np.empty((m, min(2 * end, m)), order="F")
                larger[:, : self.count] = store[:, : self.count]
                store = larger
            np.matmul(self.columns[:, features].T, self.columns, out=store.T[self.count : end])
            slot = slot.copy()
            slot[features] = np.arange(self.count, end)
            self.stored, self.count = (store, slot), end

    def add_all(self) -> None:
        """Compute all columns: a product with itself takes half the work of one with another matrix."""
        m = self.uses.size
        if self.count == m:
            return
        with self._lock, all_threads():
            # It is symmetric, and so is its own transpose in Fortran order.
            self.stored, self.count = ((self.columns.T @ self.columns).T, np.arange(m)), m


class GramBounder:
    """Bounds of regions over the surviving features; read by several threads at once."""

    together = 8

    def __init__(
        self,
        problem: Problem,
        survivors: Indices,
        rounding: float,
        expired: Callable[[], bool] = lambda: False,
        tuning: Tuning = USUAL,
    ) -> None:
        self.problem, self.survivors, self.rounding, self.expired = problem, survivors, rounding, expired
        self.tuning = tuning
        self.mean = problem.data.null.b
        root = np.sqrt(problem.weights)
        target = root * (problem.y - self.mean)
        self.columns = pack(problem, survivors, expired, tuning.packed_bytes)
        self.columns *= root[:, None]
        self.gram = GramColumns(self.columns, tuning.full_gram)
        self.c = self.columns.T @ target
        m = survivors.size
        # Bounds keep the margin by which a proof lowers them: its terms are of these sizes, of which more than the
        # sum cancels.
        size = 0.5 * float(target @ target)
        uncentred = 0.0 if self.gram.complete else 2.0 * np.sqrt(size * float(problem.weights @ problem.y**2))
        self.constant = size - ROUNDING * (3.0 * size + uncentred)
        self.strong = False
        # Kernels look at this: they cannot ask for the time.
        self._stop = np.zeros(1, dtype=np.int64)
        self.division = Division(np.arange(m), np.full(m, problem.ridge))
        self._lowered: LoweredRidge | None = None
        self._local = local()
        self.budget, self.price = problem.sparsity.most(problem.p), problem.sparsity.price
        self.grid = self._grid()

    def strengthen(self) -> None:
        """Move what the Gram matrix can spare into the ridge, where that makes it larger."""
        m, ridge = self.survivors.size, self.problem.ridge
        if not self.gram.complete or not 0 < m < self.problem.n:
            return
        M = self.gram.stored[0].copy()
        M.flat[:: m + 1] += ridge
        delta = spare_diagonal(M)
        if delta is None or delta.min() < ridge:
            return
        # Only what the check of a proof will accept is used.
        delta = acceptable_diagonal(self.problem.data.evidence.data, self.problem.gamma, self.survivors, delta)
        if delta is None or delta.min() < ridge:
            return
        self.division = Division(self.division.features, delta)
        self.grid = self._grid()
        self.strong = True

    def _grid(self) -> Array:
        """The steps of rounded coefficients, powers of two that cost a bound about ``rounding``; 0 for no rounding.

        Errors dw of a point cost ``½dw'Hdw``, and those of the gains of k features ``½(Hdw)_j²/δ_j``.  For steps h and
        r coefficients of columns of norm 1 that is about ``r h²/24`` and ``k h²/24δ``, a few times that if columns are
        correlated, and more where gains tie: regions for which that is too much are rounded more finely.
        """
        norms = self.problem.column_norms[self.survivors]
        delta = self.division.whole()
        used = (norms > 0.0) & (delta > 0.0)
        if not self.rounding > 0.0 or not used.any():
            return np.zeros(norms.size)
        ratio = float(np.median(norms[used] ** 2 / delta[used]))
        k = _TYPICAL_COEFFICIENTS if self.price > 0.0 else self.budget
        step = np.sqrt(24.0 * self.rounding / (max(_TYPICAL_COEFFICIENTS, 2 * k) + 3.0 * k * ratio))
        return np.ldexp(1.0, np.frexp(step / np.where(used, norms, 1.0))[1] - 1)

    def halt(self) -> None:
        """Let regions that are being relaxed, and all that follow, be left as they are."""
        self._stop[0] = 1

    def adapt(self, regions: Sequence[tuple[NodeOutcome, State]], room: float) -> None:
        """Lower the ridge by what these relaxed regions do not need, so that others can raise it where they do."""
        n, m = self.columns.shape
        needed, all_columns = 8.0 * n * m, 8.0 * m * m
        if needed > room:
            return
        if (
            not self.strong
            and self.problem.ridge > 0.0
            and regions
            and n * n * m <= _MOST_OPERATIONS_OF_SHIFTING
            and m <= _MOST_FEATURES_PER_ROW * n
        ):
            with all_threads():
                lowered = LoweredRidge(self.columns, self.problem.ridge, regions)
            if not lowered.reliable:
                return
            self._lowered = lowered
            if all_columns <= min(_BYTES_AHEAD, room - needed):
                self.gram.add_all()

    def stored(self) -> float:
        """Bytes of the packed columns, of the Gram matrix as far as it is computed, and of what shifts ridges."""
        gram = 8.0 * self.survivors.size * self.gram.count
        return self.columns.nbytes + gram + (0 if self._lowered is None else self._lowered.half.nbytes)

    def start(self, start: Start) -> Warm:
        """Coefficients of an earlier relaxation, as far as their features survived."""
        features, w, b, _ = start
        kept = np.isin(features, self.survivors) & (w != 0)
        positions, w = np.searchsorted(self.survivors, features[kept]), w[kept]
        if not self.gram.complete:
            # Features with the largest gains here get most of the coefficients of the whole tree.
            gains = np.abs(self.c - self.columns.T @ (self.columns[:, positions] @ w))
            count = min(_COLUMNS_AHEAD * positions.size, int(_BYTES_AHEAD / (8 * gains.size)))
            likely = np.argsort(-gains, kind="stable")[:count]
            ahead = np.concatenate([positions, likely[~np.isin(likely, positions)]])
            width = max(32, int(_OPERATIONS_AT_ONCE / (2 * self.columns.size)))
            for begin in range(0, ahead.size, width):
                if not self.expired():
                    self.gram.add(ahead[begin : begin + width])
        return Warm(positions, w, b, division=self.division)

    def compress(self, point: GramPoint, keep_products: bool = False) -> Warm:
        """What an open node keeps of a point."""
        return Warm(point.used, point.w, 0.0, division=point.division, u=point.u if keep_products else None)

    def tighten(self, point: GramPoint, state: State, cutoff: float) -> Tightened:
        """Return the bound of a point for a region; ``state`` is narrowed by what it fixes against ``cutoff``."""
        reach("tighten")
        bound, inside, outside, needed, closed = tighten(
            point.u,
            point.quadratic,
            point.roots,
            state,
            self.budget,
            self.price,
            self.problem.box,
            cutoff - self.constant,
        )
        return Tightened(self.constant + bound, inside, outside, needed, self.constant + closed)

    def solve(self, requests: Sequence[Request], cutoff: float) -> list[NodeOutcome]:
        """Relax regions together."""
        reach("nodes")
        outcomes = self._relax([(one.warm, one.warm.division, one.state) for one in requests], cutoff)
        lowered = self._lowered
        if lowered is None:
            return outcomes
        again = []
        for place, (request, outcome) in enumerate(zip(requests, outcomes, strict=True)):
            if request.divide and outcome.bound < cutoff and (division := lowered.raised(outcome)):
                again.append((place, (self.compress(outcome.point), division, request.state)))
        for (place, _), better in zip(again, self._relax([region for _, region in again], cutoff), strict=True):
            lift = better.bound - outcomes[place].bound
            outcomes[place] = (better if lift > 0.0 else outcomes[place])._replace(lift=lift)
        return outcomes

    def _relax(self, regions: Sequence[tuple[Warm, Division, State]], cutoff: float) -> list[NodeOutcome]:
        if not regions:
            return []
        count = len(regions)
        W, U, shifts, roots = (rows[:count] for rows in self._workspace(count))
        W.fill(0.0)
        states = np.array([state for _, _, state in regions])
        known = np.zeros(count, dtype=bool)
        for i, (warm, division, _) in enumerate(regions):
            W[i, warm.positions] = warm.w
            delta = division.whole()
            np.subtract(self.problem.ridge, delta, out=shifts[i])
            np.sqrt(delta, out=roots[i])
            if warm.u is not None and warm.division is division:
                U[i], known[i] = warm.u, True
        rows = Regions(
            states, shifts, roots, W, U, known,
            bounds=np.empty(count),
            primal=np.full(count, np.inf),
            sigma=np.zeros(count),
            precision=np.full(count, PRECISE),
            rounds=np.zeros(count, dtype=np.int64),
            iterations=np.zeros(count, dtype=np.int64),
            status=np.full(count, RUNNING),
        )  # fmt: skip
        box = self.problem.box
        criteria = Criteria(self.budget, self.price, cutoff - self.constant, self.constant, self.grid, self._stop, box)
        # Every call but the last stores a column more.
        for _ in range(self.survivors.size + 1):
            store, slot = self.gram.stored
            quadratic = Quadratic(self.columns.T, store.T, slot, self.gram.uses, self.c)
            missing = solve_nodes(quadratic, rows, criteria, self.tuning.gram_columns)
            if not missing.size:
                break
            self.gram.add(missing)
        return [self._outcome(rows, i, division) for i, (_, division, _) in enumerate(regions)]

    def _outcome(self, rows: Regions, i: int, division: Division) -> NodeOutcome:
        """What relaxing a region of several gave, in memory of its own."""
        roots, U = rows.roots[i], rows.U[i]
        used, w, indicator = unpack(rows.W[i], rows.states[i], roots, min(rows.sigma[i], 1e300), self.problem.box)
        square = float(w @ (self.c[used] - U[used]))
        point = GramPoint(used, w, U.copy(), square, division, roots.copy())
        primal = np.inf if rows.status[i] == CLOSED else rows.primal[i] + self.constant
        return NodeOutcome(point, rows.bounds[i] + self.constant, primal, indicator, int(rows.iterations[i]))

    def _workspace(self, count: int) -> Array:
        """Four matrices of a row for each region, which each thread uses again and again."""
        found: Array | None = getattr(self._local, "rows", None)
        if found is None or found.shape[1] < count:
            self._local.rows = found = np.empty((4, max(count, self.together), self.survivors.size))
        return found

    def proof_point(self, point: GramPoint, splits: list[Split]) -> Point:
        """The point in the form a certificate keeps; its diagonal is added to the splits when it is new there."""
        features = self.survivors[point.used]
        # A proof need not know of the plain ridge, unless the Gram matrix is at hand anyway; nor of none at all.
        plain = point.division is self.division
        if plain and (not self.gram.complete or (self.problem.ridge == 0.0 and not self.strong)):
            return PrimalPoint(features, self._stored(point.w), self.mean)
        return SplitPoint(features, self._stored(point.w), self._number(point.division, splits))

    def _stored(self, w: Array) -> NDArray[np.floating]:
        return w.astype(np.float32) if self.rounding > 0.0 else w

    def _number(self, division: Division, splits: list[Split]) -> int:
        """The place of a diagonal among the splits, at the end if it is new."""
        if division.number < 0:
            base = None if division.base is None else self._number(division.base, splits)
            division.number = len(splits)
            splits.append(Split(self.survivors[division.features], division.delta, base))
        return division.number
