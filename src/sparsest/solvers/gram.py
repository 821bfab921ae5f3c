"""Nodes of the tree for the squared loss, in Gram space.

Over the features that survived the root the objective is ``constant + ½w'Hw - c'w + ½ Σ_j δ_j w_j²/s_j``.  With the
ridge alone H is the Gram matrix and ``δ = λ``.  Where the Gram matrix is well conditioned, part of it strengthens the
ridge: ``G + λI = H + diag(δ)`` with ``H ⪰ 0`` and ``δ_j = c/(M^{-1})_jj``, ``M = G + λI``, c the largest factor that
keeps H positive semidefinite.  That is what certifies problems without any ridge.
"""

from __future__ import annotations

from threading import Lock
from typing import NamedTuple

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray

from sparsest.kernels.node import CLOSED, MISSING, PROGRESS, solve_node, tighten
from sparsest.problem import Cardinality, Problem
from sparsest.proof import ROUNDING, Point, PrimalPoint, Split, SplitPoint
from sparsest.solvers.nodes import NodeOutcome, State, Warm
from sparsest.solvers.threads import all_threads

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_FULL_GRAM = 1500
_BATCH = 16  # columns of the Gram matrix computed at a time, if so many are likely to be used
# Columns computed before the first region: so many times the coefficients there are, and so many bytes.
_AHEAD, _AHEAD_BYTES = 6, 2e8


class GramPoint(NamedTuple):
    """Nonzero coefficients from which a bound follows, and over all survivors ``u = c - Hw``; ``w'Hw``."""

    used: Indices
    w: Array
    u: Array
    quadratic: float


class GramNodes:
    """Bounds of regions over the surviving features; read by several threads at once."""

    def __init__(self, problem: Problem, survivors: Indices, split_id: int = 0) -> None:
        self.problem, self.survivors = problem, survivors
        self.mean = problem.intercept_for(np.zeros(problem.n))
        root = np.sqrt(problem.weights)
        target = root * (problem.y - self.mean)
        self.columns = problem.design.columns(survivors)
        self.columns *= root[:, None]
        self.columns = np.asfortranarray(self.columns)
        self.c = self.columns.T @ target
        m = survivors.size
        # Bounds keep the margin by which a proof lowers them: its terms are of these sizes, of which more than the
        # sum cancels.
        size = 0.5 * float(target @ target)
        uncentred = 0.0 if m <= _FULL_GRAM else 2.0 * np.sqrt(size * float(problem.weights @ problem.y**2))
        self.constant = size - ROUNDING * (3.0 * size + uncentred)
        self.roots = np.full(m, np.sqrt(problem.ridge))
        self.split_id, self.strong = split_id, False
        if m <= _FULL_GRAM:
            self.gram = np.asfortranarray(self.columns.T @ self.columns), np.arange(m)
        else:
            self.gram = np.empty((m, 512), order="F"), np.full(m, -1)
        self._used = m if m <= _FULL_GRAM else 0
        self._uses = np.zeros(m, dtype=np.intp)
        sparsity = problem.sparsity
        self.budget = sparsity.k if isinstance(sparsity, Cardinality) else -1
        self.price = sparsity.cost(1)
        self._lock = Lock()

    def strengthen(self) -> None:
        """Move what the Gram matrix can spare into the ridge, where that makes it larger."""
        m, ridge = self.survivors.size, self.problem.ridge
        if not self._complete or not 0 < m < self.problem.n:
            return
        M = self.gram[0].copy()
        M.flat[:: m + 1] += ridge
        delta = _spare_diagonal(M)
        if delta is None or delta.min() < ridge:
            return
        M.flat[:: m + 1] -= delta
        self.gram, self.roots, self.strong = (M, self.gram[1]), np.sqrt(delta), True

    def stored(self) -> float:
        """Bytes of the columns computed on the way."""
        return 0.0 if self._complete else 8.0 * self.survivors.size * self._used

    @property
    def _complete(self) -> bool:
        return self.survivors.size <= _FULL_GRAM

    @property
    def split(self) -> Split | None:
        """The diagonal that the bounds use; None when only parts of the Gram matrix are stored."""
        return Split(self.survivors, self.roots**2) if self._complete else None

    def start(self, features: Indices, w: Array, b: float) -> Warm:
        """Coefficients of an earlier relaxation, as far as their features survived."""
        kept = np.isin(features, self.survivors) & (w != 0)
        positions, w = np.searchsorted(self.survivors, features[kept]), w[kept]
        if not self._complete:
            # Features with the largest gains here get most of the coefficients of the whole tree.
            gains = np.abs(self.c - self.columns.T @ (self.columns[:, positions] @ w))
            count = min(_AHEAD * positions.size, int(_AHEAD_BYTES / (8 * gains.size)))
            likely = np.argsort(-gains, kind="stable")[:count]
            self._add_columns(np.union1d(positions, likely))
        return Warm(positions, w, b)

    def compress(self, point: GramPoint) -> Warm:
        """What an open node keeps of a point."""
        return Warm(point.used, point.w, 0.0)

    def tighten(self, point: GramPoint, state: State, cutoff: float) -> tuple[float, Indices, Indices]:
        """Return the bound of a point for a region; ``state`` is narrowed by what it fixes against ``cutoff``."""
        bound, inside, outside = tighten(
            point.u, point.quadratic, self.roots, state, self.budget, self.price, cutoff - self.constant
        )
        return self.constant + bound, inside, outside

    def solve(self, warm: Warm, state: State, cutoff: float) -> NodeOutcome:
        """Solve the relaxation of a region, starting from warm coefficients."""
        m = state.size
        w, u = np.zeros(m), np.zeros(m)
        w[warm.positions] = warm.w
        extra = max(50, 2 * (self.budget - int((state == 1).sum())))
        progress = PROGRESS.copy()
        while True:
            store, slot = self.gram
            outcome, bound, primal, sigma, iterations, missing = solve_node(
                self.columns, store, slot, self._uses, _BATCH, self.c, self.roots, state,
                self.budget, self.price, w, cutoff - self.constant, self.constant, extra, u, progress,
            )  # fmt: skip
            if outcome != MISSING:
                break
            self._add_columns(missing)
        used = np.flatnonzero(w)
        w = w[used]
        indicator = (state == 1).astype(np.float64)
        free = indicator[used] == 0.0
        indicator[used[free]] = np.minimum(1.0, min(sigma, 1e300) * (self.roots[used] * np.abs(w))[free])
        point = GramPoint(used, w, u, float(w @ (self.c[used] - u[used])))
        exact = np.inf if outcome == CLOSED else primal + self.constant
        return NodeOutcome(point, bound + self.constant, exact, indicator, iterations)

    def proof_point(self, point: GramPoint) -> Point:
        """The point in the form a certificate keeps."""
        features = self.survivors[point.used]
        if self._complete:
            return SplitPoint(features, point.w, self.split_id)
        return PrimalPoint(features, point.w, self.mean, 0.0, 1.0)

    def _add_columns(self, features: Indices) -> None:
        """Compute further columns of the Gram matrix; other threads go on with the old slots meanwhile."""
        with self._lock, all_threads():
            store, slot = self.gram
            features = features[slot[features] < 0]
            end = self._used + features.size
            m = slot.size
            if end > store.shape[1]:
                larger = np.empty((m, min(2 * end, m)), order="F")
                larger[:, : self._used] = store[:, : self._used]
                store = larger
            np.matmul(self.columns[:, features].T, self.columns, out=store.T[self._used : end])
            slot = slot.copy()
            slot[features] = np.arange(self._used, end)
            self.gram, self._used = (store, slot), end


def _spare_diagonal(M: Array) -> Array | None:
    """``δ_j = c/(M^{-1})_jj`` with ``M - diag(δ)`` positive semidefinite; None when M is singular."""
    try:
        factor = la.cholesky(M, lower=True, check_finite=False)
        inverse = la.solve_triangular(factor, np.eye(M.shape[0]), lower=True, check_finite=False)
    except la.LinAlgError:
        return None
    diagonal = 1.0 / np.einsum("ij,ij->j", inverse, inverse)
    scale = np.sqrt(diagonal)
    c = float(la.eigvalsh(M / np.outer(scale, scale), subset_by_index=[0, 0], check_finite=False)[0])
    # Below the exact factor, so that rounding cannot make the remainder indefinite.
    c -= 1e-10
    return c * diagonal if c > 1e-8 else None
