"""Bounds of nodes for the squared loss, in Gram space.

Over the features that survived the root the objective is ``constant + ½w'Hw - c'w + ½ Σ_j δ_j w_j²/s_j``, c = X'y.
With the ridge alone, H is the Gram matrix G and ``δ = λ``.  If G is well conditioned, part of it is moved into δ:
``G + λI = H + diag(δ)`` with ``δ_j = θ/((G + λI)^{-1})_jj``, where θ is the largest factor that keeps H positive
semidefinite.  Problems without any ridge are certified in this way.  With more features than observations the ridge is
shifted to the features that need it most, see :mod:`sparsest.subset.tree.diagonals`.
"""

from __future__ import annotations

from collections.abc import Sequence
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
from sparsest.subset.tree.diagonals import Diagonal, LoweredRidge, spare_diagonal
from sparsest.subset.tree.gram_store import GramBlock, GramColumns, GramStore
from sparsest.subset.tree.kernels.node import (
    CLOSED,
    PRECISE,
    RUNNING,
    Criteria,
    Quadratic,
    Regions,
    solve_nodes,
)
from sparsest.subset.tree.kernels.regions import tighten, unpack

# Gram columns computed before the first node: number per nonzero coefficient of the root, and their total bytes.
_COLUMNS_AHEAD, _BYTES_AHEAD = 6, 2e8
# The complete matrix is computed if at least this share of it is expected to be used and it takes at most this many
# bytes, because a symmetric product takes half the operations of a general one.  With n = p = 4000 and a weak ridge,
# 83 % of the matrix are used.
_USED_SHARE, _MOST_BYTES_OF_ALL = 0.5, 5e8
# Floating-point operations between checks of the clock; they take some tenths of a second.
_OPERATIONS_AT_ONCE = 1e10
# Columns that replace a block of the Gram matrix may take this share of the memory.
_COLUMNS_SHARE = 0.5
# Typical number of nonzero coefficients of a relaxed node.
_TYPICAL_COEFFICIENTS = 100
# Largest number of operations for preparing a shifted ridge, and largest ratio of features to observations for which
# the ridge is shifted: with many features per observation, combinations of features approximate single ones so well
# that shifting hardly lifts bounds.
_MOST_OPERATIONS_OF_SHIFTING, _MOST_FEATURES_PER_ROW = 1e11, 8


class GramPoint(NamedTuple):
    """A point that proves a bound: its nonzero coefficients w at the positions ``used``, and ``quadratic = w'Hw``.

    ``u = c - Hw`` and ``roots = √δ`` have an entry for each survivor.
    """

    used: Indices
    w: Array
    u: Array
    quadratic: float
    diagonal: Diagonal
    roots: Array


class GramBounder:
    """Bounds of regions over the surviving features; used by several threads at the same time."""

    batch_size = 8

    def __init__(self, problem: Problem, survivors: Indices, options: BounderOptions = DEFAULT_OPTIONS) -> None:
        self.problem, self.survivors = problem, survivors
        self.rounding, self.expired, self.tuning, self.max_bytes = options
        self.mean = problem.data.null.b
        root = np.sqrt(problem.weights)
        self.target = target = root * (problem.y - self.mean)
        self.columns = pack(problem, survivors, self.expired, self.tuning.packed_bytes)
        if (problem.weights != 1.0).any():
            self.columns = self.columns * root[:, None]
        self.gram: GramStore = GramColumns(self.columns, self.tuning.full_gram)
        self.c = self.columns.T @ target
        m = survivors.size
        # The checker lowers a bound by a margin for rounding errors, proportional to the sizes of the terms (which
        # cancel in part).  Bounds of the search are lowered by the same margin.
        size = 0.5 * float(target @ target)
        uncentred = 0.0 if self.gram.complete else 2.0 * np.sqrt(size * float(problem.weights @ problem.y**2))
        self.constant = size - ROUNDING * (3.0 * size + uncentred)
        self.strong = False
        # Kernels read this flag because they cannot read the clock.
        self._stop = np.zeros(1, dtype=np.int64)
        self.diagonal = Diagonal(np.arange(m), np.full(m, problem.ridge))
        self._lowered: LoweredRidge | None = None
        self._local, self._changing = local(), Lock()
        self.budget, self.price = problem.sparsity.most(problem.p), problem.plain_sparsity.price
        self.bounds = problem.bounds.of(survivors)
        self.grid = self._grid()

    def strengthen(self) -> None:
        """Move part of the Gram matrix into the diagonal δ, if every entry of δ then exceeds the ridge."""
        m, ridge = self.survivors.size, self.problem.ridge
        if not self.gram.complete or not 0 < m < self.problem.n:
            return
        ridged_gram = self.gram.stored.rows.copy()
        ridged_gram.flat[:: m + 1] += ridge
        delta = spare_diagonal(ridged_gram)
        if delta is None or delta.min() < ridge:
            return
        # Use only a diagonal that the checker will accept.
        delta = acceptable_diagonal(self.problem.data.evidence.data, self.problem.gamma, self.survivors, delta)
        if delta is None or delta.min() < ridge:
            return
        self.diagonal = Diagonal(self.diagonal.features, delta)
        self.grid = self._grid()
        self.strong = True

    def _grid(self) -> Array:
        """The step sizes for rounding coefficients: powers of two that lower a bound by about ``rounding``.

        Zeros mean no rounding.  An error dw of a point lowers the bound by ``½dw'Hdw`` and, through the gains of k
        features, by ``½(Hdw)_j²/δ_j`` each.  With steps h and r coefficients of columns of norm 1 this is about
        ``r h²/24`` and ``k h²/24δ``.  Correlated columns multiply it by a small factor, and tied gains by more; regions
        that need it are therefore rounded to finer steps.
        """
        norms = self.problem.column_norms[self.survivors]
        delta = self.diagonal.full()
        used = (norms > 0.0) & (delta > 0.0)
        if not self.rounding > 0.0 or not used.any():
            return np.zeros(norms.size)
        ratio = float(np.median(norms[used] ** 2 / delta[used]))
        k = _TYPICAL_COEFFICIENTS if self.price > 0.0 else self.budget
        step = np.sqrt(24.0 * self.rounding / (max(_TYPICAL_COEFFICIENTS, 2 * k) + 3.0 * k * ratio))
        return np.ldexp(1.0, np.frexp(step / np.where(used, norms, 1.0))[1] - 1)

    def stop(self, stopped: bool) -> None:
        """Stop relaxations at their current points while ``stopped``."""
        self._stop[0] = int(stopped)

    def adapt(self, regions: Sequence[tuple[NodeOutcome, State]], max_bytes: float) -> None:
        """Lower the ridge where these relaxed regions do not need it, so that other regions can raise it elsewhere."""
        n, m = self.columns.shape
        needed, all_columns = 8.0 * n * m, 8.0 * m * m
        if needed > max_bytes:
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
            if isinstance(self.gram, GramColumns) and all_columns <= min(_BYTES_AHEAD, max_bytes - needed):
                self.gram.add_all()

    def nbytes(self) -> float:
        """Bytes of the packed columns, of the computed part of the Gram matrix, and of the lowered ridge."""
        lowered = 0 if self._lowered is None else self._lowered.half.nbytes
        return copied_bytes(self.problem, self.columns) + self.gram.nbytes() + lowered

    def start(self, start: Start) -> WarmStart:
        """The warm start from an earlier relaxation, restricted to the survivors."""
        features, w, b, _ = start
        kept = np.isin(features, self.survivors) & (w != 0)
        positions, w = np.searchsorted(self.survivors, features[kept]), w[kept]
        if not self.gram.complete:
            self._store_ahead(positions, w)
        return WarmStart(positions, w, b, diagonal=self.diagonal)

    def _store_ahead(self, positions: Indices, w: Array) -> None:
        """Store what the first nodes will need, given the coefficients of the root."""
        m = self.survivors.size
        count = min(_COLUMNS_AHEAD * positions.size, m)
        if 2.0 * self.columns.size * count > self.tuning.column_operations:
            self.gram = GramBlock(self.columns)
            with all_threads():
                self.gram.add(positions)
            return
        assert isinstance(self.gram, GramColumns)
        # Most nonzero coefficients of the whole tree belong to features with the largest gains at the root.
        gains = np.abs(self.c - self.columns.T @ (self.columns[:, positions] @ w))
        if count >= _USED_SHARE * m and 8 * m**2 <= _MOST_BYTES_OF_ALL:
            self.gram.add_all()
        likely = np.argsort(-gains, kind="stable")[: min(count, int(_BYTES_AHEAD / (8 * m)))]
        ahead = np.concatenate([positions, likely[~np.isin(likely, positions)]])
        width = max(32, int(_OPERATIONS_AT_ONCE / (2 * self.columns.size)))
        for begin in range(0, ahead.size, width):
            if not self.expired():
                self.gram.add(ahead[begin : begin + width])

    def compress(self, point: GramPoint, keep_products: bool = False) -> WarmStart:
        """The part of a point that an open node keeps."""
        return WarmStart(point.used, point.w, 0.0, diagonal=point.diagonal, u=point.u if keep_products else None)

    def tighten(self, point: GramPoint, state: State, cutoff: float) -> Tightened:
        """Return the bound of a point for a region; ``state`` is updated with the features fixed against ``cutoff``."""
        reach("tighten")
        bound, inside, outside, needed, closed = tighten(
            point.u,
            point.quadratic,
            point.roots,
            state,
            self.budget,
            self.price,
            self.bounds.low,
            self.bounds.high,
            cutoff - self.constant,
        )
        return Tightened(self.constant + bound, inside, outside, needed, self.constant + closed)

    def solve(self, requests: Sequence[Request], cutoff: float) -> list[NodeOutcome]:
        """Relax regions together; those with ``adapt`` are then relaxed again with an adapted diagonal."""
        reach("nodes")
        outcomes = self._relax([(one.warm, one.warm.diagonal, one.state) for one in requests], cutoff)
        lowered = self._lowered
        if lowered is None:
            return outcomes
        again = []
        for place, (request, outcome) in enumerate(zip(requests, outcomes, strict=True)):
            if request.adapt and outcome.bound < cutoff and (diagonal := lowered.raised(outcome)):
                again.append((place, (self.compress(outcome.point), diagonal, request.state)))
        for (place, _), better in zip(again, self._relax([region for _, region in again], cutoff), strict=True):
            lift = better.bound - outcomes[place].bound
            outcomes[place] = (better if lift > 0.0 else outcomes[place])._replace(lift=lift)
        return outcomes

    def _rows(self, regions: Sequence[tuple[WarmStart, Diagonal, State]]) -> Regions:
        """The regions at their warm starts, in the form of the kernel."""
        count = len(regions)
        W, U, shifts, roots = (rows[:count] for rows in self._workspace(count))
        W.fill(0.0)
        known = np.zeros(count, dtype=bool)
        for i, (warm, diagonal, _) in enumerate(regions):
            W[i, warm.positions] = warm.w
            delta = diagonal.full()
            np.subtract(self.problem.ridge, delta, out=shifts[i])
            np.sqrt(delta, out=roots[i])
            if warm.u is not None and warm.diagonal is diagonal:
                U[i], known[i] = warm.u, True
        return Regions(
            np.array([state for _, _, state in regions]), shifts, roots, W, U, known,
            bounds=np.empty(count),
            primal=np.full(count, np.inf),
            sigma=np.zeros(count),
            precision=np.full(count, PRECISE),
            rounds=np.zeros(count, dtype=np.int64),
            iterations=np.zeros(count, dtype=np.int64),
            status=np.full(count, RUNNING),
        )  # fmt: skip

    def _relax(self, regions: Sequence[tuple[WarmStart, Diagonal, State]], cutoff: float) -> list[NodeOutcome]:
        """Relax regions together, each with its diagonal, until every bound reaches the cutoff or is precise enough."""
        if not regions:
            return []
        rows = self._rows(regions)
        criteria = Criteria(
            self.budget, self.price, cutoff - self.constant, self.constant, self.grid, self._stop, self.bounds.low,
            self.bounds.high,
        )  # fmt: skip
        while True:
            gram = self.gram
            quadratic = Quadratic(
                self.columns.T, gram.stored.rows, gram.stored.slot, gram.uses, self.c, gram.stored.place, gram.block
            )
            missing = solve_nodes(quadratic, rows, criteria, self.tuning.gram_columns)
            if missing.size:
                gram.add(missing)
            elif (rows.status == RUNNING).any():
                assert isinstance(gram, GramBlock)
                self._compute_products(gram, rows)
            else:
                break
        return [self._outcome(rows, i, diagonal) for i, (_, diagonal, _) in enumerate(regions)]

    def _compute_products(self, gram: GramBlock, rows: Regions) -> None:
        """Compute ``U`` for the running regions; store columns of G instead once passes have taken as long."""
        stale = np.flatnonzero((rows.status == RUNNING) & ~rows.known)
        rows.U[stale] = gram.products(self.target, rows.W[stale]) - rows.shifts[stale] * rows.W[stale]
        rows.known[stale] = True
        in_columns = self.nbytes() + 8.0 * self.survivors.size * gram.count
        pays = gram.n_products > self.tuning.passes_per_column * gram.count
        if pays and in_columns <= _COLUMNS_SHARE * self.max_bytes:
            with self._changing:
                if self.gram is gram:
                    columns = GramColumns(self.columns, 0)
                    columns.add(gram.features)
                    self.gram = columns

    def _outcome(self, rows: Regions, i: int, diagonal: Diagonal) -> NodeOutcome:
        """The outcome for region i, copied because the workspace is reused."""
        roots, U = rows.roots[i], rows.U[i]
        low, high = self.bounds.low, self.bounds.high
        used, w, indicator = unpack(rows.W[i], rows.states[i], roots, min(rows.sigma[i], 1e300), low, high)
        square = float(w @ (self.c[used] - U[used]))
        point = GramPoint(used, w, U.copy(), square, diagonal, roots.copy())
        primal = np.inf if rows.status[i] == CLOSED else rows.primal[i] + self.constant
        return NodeOutcome(point, rows.bounds[i] + self.constant, primal, indicator, int(rows.iterations[i]))

    def _workspace(self, count: int) -> Array:
        """Four matrices with a row for each region; each thread reuses its own."""
        found: Array | None = getattr(self._local, "rows", None)
        if found is None or found.shape[1] < count:
            self._local.rows = found = np.empty((4, max(count, self.batch_size), self.survivors.size))
        return found

    def proof_point(self, point: GramPoint, splits: list[Split]) -> Point:
        """The point in the form that a certificate stores; a new diagonal is appended to ``splits``."""
        features = self.survivors[point.used]
        # The plain ridge needs no split unless the Gram matrix is complete; without any ridge there is none to store.
        plain = point.diagonal is self.diagonal
        if plain and (not self.gram.complete or (self.problem.ridge == 0.0 and not self.strong)):
            return PrimalPoint(features, self._stored(point.w), self.mean)
        return SplitPoint(features, self._stored(point.w), self._number(point.diagonal, splits))

    def row_prices(self, point: GramPoint) -> None:
        """There is no structure, so there are no rows."""

    def _stored(self, w: Array) -> NDArray[np.floating]:
        return w.astype(np.float32) if self.rounding > 0.0 else w

    def _number(self, diagonal: Diagonal, splits: list[Split]) -> int:
        """The index of a diagonal among the splits; a new one is appended."""
        if diagonal.number < 0:
            base = None if diagonal.base is None else self._number(diagonal.base, splits)
            diagonal.number = len(splits)
            splits.append(Split(self.survivors[diagonal.features], diagonal.delta, base))
        return diagonal.number
