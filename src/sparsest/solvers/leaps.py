"""Leaps and bounds over few features: squared loss, at most k features, a weak ridge or none."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray

from sparsest.kernels.leaps import LEAF, leap, sweep_in
from sparsest.problem import Cardinality, Problem
from sparsest.proof import Branch, Leaf, Step

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

MOST_FEATURES = 128
_SLICE = 20_000
_LOG = 1 << 16


class Leaps:
    """A depth-first search that can be interrupted between slices of nodes."""

    def __init__(self, problem: Problem, survivors: Indices, forced: NDArray[np.bool_], upper: float, tolerance: float):
        assert isinstance(problem.sparsity, Cardinality)
        self.survivors, self.tolerance = survivors, tolerance
        self.k = problem.sparsity.k
        m = survivors.size
        root = np.sqrt(problem.weights)
        target = root * (problem.y - problem.intercept_for(np.zeros(problem.n)))
        block = root[:, None] * problem.design.columns(survivors)
        M = block.T @ block
        M.flat[:: m + 1] += problem.ridge
        # Columns of unit length keep the sweeps accurate.
        scale = 1.0 / np.sqrt(np.maximum(np.diagonal(M), 1e-300))
        M, b = M * np.outer(scale, scale), scale * (block.T @ target)
        inverse = la.inv(la.cholesky(M, lower=True, check_finite=False), check_finite=False)
        depth = m + 2
        self.N, self.w, self.f = np.zeros((depth, m, m)), np.zeros((depth, m)), np.zeros(depth)
        self.G, self.r, self.g = np.zeros((depth, m, m)), np.zeros((depth, m)), np.zeros(depth)
        self.alive, self.inside = np.zeros((depth, m), dtype=bool), np.zeros((depth, m), dtype=bool)
        self.side, self.feature = np.zeros(depth, dtype=np.int64), np.zeros(depth, dtype=np.int64)
        constant = 0.5 * float(target @ target)
        self.N[0] = inverse.T @ inverse
        self.w[0] = self.N[0] @ b
        self.f[0] = constant - 0.5 * float(b @ self.w[0])
        self.G[0], self.r[0], self.g[0] = M, b, constant
        self.alive[0] = True
        for j in np.flatnonzero(forced):
            G, r = self.G[0].copy(), self.r[0].copy()
            self.g[0] -= sweep_in(self.G[0], self.r[0], self.alive[0], self.inside[0], j, G, r)
            self.G[0], self.r[0] = G, r
            self.inside[0, j] = True
        self.depth, self.upper = 0, upper
        self.best = np.zeros(m, dtype=bool)
        self.n_nodes = 0
        self._log: list[NDArray[np.int32]] = []

    @staticmethod
    def applies(problem: Problem, survivors: Indices) -> bool:
        """Whether the full model is determined well enough for the sweeps."""
        m = survivors.size
        few = 2 < m <= MOST_FEATURES and isinstance(problem.sparsity, Cardinality)
        if not few or m + problem.fit_intercept >= problem.n:
            return False
        block = np.sqrt(problem.weights)[:, None] * problem.design.columns(survivors)
        M = block.T @ block
        M.flat[:: m + 1] += problem.ridge
        scale = np.sqrt(np.maximum(np.diagonal(M), 1e-300))
        return bool(la.eigvalsh(M / np.outer(scale, scale))[0] > 1e-9)

    def run(self, proceed: Callable[[], bool]) -> bool:
        """Search until the end, or until ``proceed`` says no; return whether the end was reached."""
        log = np.empty(_LOG, dtype=np.int32)
        while self.depth >= 0 and proceed():
            self.depth, self.upper, nodes, logged = leap(
                self.N, self.w, self.f, self.G, self.r, self.g, self.alive, self.inside, self.side, self.feature,
                self.depth, self.k, self.upper, self.tolerance, self.best, log, _SLICE,
            )  # fmt: skip
            self.n_nodes += nodes
            self._log.append(log[:logged].copy())
        return self.depth < 0

    def support(self) -> Indices:
        """The best support found; empty when none beat the first upper bound."""
        return self.survivors[self.best]

    def steps(self, point: int) -> list[Step]:
        """The proof in preorder; every closed region refers to the same point."""
        entries = np.concatenate(self._log) if self._log else np.empty(0, dtype=np.int32)
        return [Leaf(point) if entry == LEAF else Branch(int(self.survivors[entry])) for entry in entries]
