"""Leaps and bounds over few features: squared loss, at most k features, a weak ridge or none."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sparsest.arrays import Indices
from sparsest.kernels.leaps import leap, sweep_in
from sparsest.losses import Squared
from sparsest.problem import Problem
from sparsest.proofs.regression_tree import RegressionBounds
from sparsest.proofs.steps import LEAF, RegressionTree
from sparsest.solvers.shared.claims import evidence, statement_of
from sparsest.solvers.shared.support import SupportFit

MOST_FEATURES = 128
_SLICE = 20_000
_LOG = 1 << 16
# Sweeps lose some digits: regions are closed by a little more than the proof has to show.
_CLOSED, _SPARE = 0.9, 0.05


class Leaps:
    """A depth-first search that can be stopped between slices of nodes.

    Where rounding errors of the whole sum of squares pass what may be spared, as with a nearly perfect fit, no two
    features are chosen at once, and the bound is checked at the end; that limits the nodes to one slice.
    """

    def __init__(
        self, sums: RegressionBounds, forced: NDArray[np.bool_], fit: SupportFit, gap_tol: float, keep: bool
    ) -> None:
        self.sums, self.gap_tol = sums, gap_tol
        self.forced = sums.features[forced]
        m = forced.size
        c, r = sums.about_zero()
        self.zero_margin = sums.relative_error() * c
        self.precise = self.zero_margin <= _SPARE * gap_tol * abs(fit.primal)
        depth = m + 2
        self.N, self.w, self.f = np.zeros((depth, m, m)), np.zeros((depth, m)), np.zeros(depth)
        self.G, self.r, self.g = np.zeros((depth, m, m)), np.zeros((depth, m)), np.zeros(depth)
        self.alive, self.inside = np.zeros((depth, m), dtype=bool), np.zeros((depth, m), dtype=bool)
        self.side, self.feature = np.zeros(depth, dtype=np.int64), np.zeros(depth, dtype=np.int64)
        self.N[0], self.w[0], self.f[0] = sums.model()
        self.G[0], self.r[0], self.g[0] = sums.M, r, c
        self.alive[0] = True
        for j in np.flatnonzero(forced):
            G, r = self.G[0].copy(), self.r[0].copy()
            self.g[0] -= sweep_in(self.G[0], self.r[0], self.alive[0], self.inside[0], j, G, r)
            self.G[0], self.r[0] = G, r
            self.inside[0, j] = True
        self.depth, self.upper = 0, fit.primal
        self.best = np.zeros(m, dtype=bool)
        self.n_nodes = 0
        self._keep = keep or not self.precise
        self._log: list[NDArray[np.int32]] = []
        self._logged = 0

    @classmethod
    def start(
        cls,
        problem: Problem,
        survivors: Indices,
        forced: NDArray[np.bool_],
        fit: SupportFit,
        gap_tol: float,
        keep: bool,
    ) -> Leaps | None:
        """Return a search over the survivors; None where the full model is not determined well enough.

        ``keep`` the tree for a proof.
        """
        few = 2 < survivors.size <= MOST_FEATURES and survivors.size + problem.fit_intercept < problem.n
        if (
            not few
            or problem.sparsity.k is None
            or problem.sparsity.price > 0.0
            or not isinstance(problem.loss, Squared)
        ):
            return None
        kept = np.isin(fit.support, survivors)
        about = RegressionTree(fit.support[kept], fit.w[kept], np.empty(0, dtype=np.int32))
        try:
            sums = RegressionBounds(evidence(problem).data, statement_of(problem), survivors, about)
        except ValueError:
            return None
        return cls(sums, forced, fit, gap_tol, keep) if sums.relative_error() <= _SPARE * gap_tol else None

    def run(self, proceed: Callable[[], bool], node_limit: float) -> None:
        """Search until the end, until ``proceed`` says no, or for a number of nodes."""
        log = np.empty(_LOG, dtype=np.int32)
        most = int(node_limit) if self.precise else min(int(node_limit), _SLICE)
        while self.depth >= 0 and self.n_nodes < most and proceed():
            self.depth, self.upper, nodes, logged = leap(
                self.N, self.w, self.f, self.G, self.r, self.g, self.alive, self.inside, self.side, self.feature,
                self.depth, self.sums.k, 2 if self.precise else 0, self.upper, _CLOSED * self.gap_tol, self.best, log,
                min(_SLICE, most - self.n_nodes),
            )  # fmt: skip
            self.n_nodes += nodes
            if self._keep:
                self._log.append(log[:logged].copy())
                self._logged += logged

    @property
    def finished(self) -> bool:
        """Whether no region is open."""
        return self.depth < 0

    def nbytes(self) -> int:
        """Memory it takes, while its log is put together too."""
        return self.N.nbytes + self.G.nbytes + 8 * self._logged

    def support(self) -> Indices:
        """The best support found; empty when none beat the first upper bound."""
        return self.sums.features[self.best]

    def bound(self, cutoff: float, primal: float) -> float:
        """The smallest bound of all regions for an incumbent's value; closed ones have passed ``cutoff``.

        They were closed against the search's own upper value, which a fit of its support need not reach.
        """
        passed = min(cutoff, self.upper - _CLOSED * self.gap_tol * abs(self.upper))
        if not self.precise or self.zero_margin > _SPARE * self.gap_tol * abs(primal):
            known = self._keep and self._logged <= _LOG
            return self.sums.prove(self.step().entries, self.forced, passed) if known else -np.inf
        bounds = [self.sums.bound(np.flatnonzero(inside).tolist(), alive) for inside, alive in self._open()]
        return min([passed, *bounds])

    def step(self) -> RegressionTree:
        """The proof: the tree so far, with a leaf for every open region."""
        log = np.concatenate([*self._log, np.empty(0, dtype=np.int32)])
        entries = np.where(log == LEAF, LEAF, self.sums.features[log]).astype(np.int32)
        leaves = np.full(len(self._open()), LEAF, dtype=np.int32)
        return self.sums.step._replace(entries=np.concatenate([entries, leaves]))

    def _open(self) -> list[tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
        """What is inside and alive in every open region: the present node's, and the other side of branches above."""
        regions = []
        for d in range(self.depth + 1):
            alive = self.alive[d].copy()
            if self.side[d] == 1:
                alive[self.feature[d]] = False
                regions.append((self.inside[d], alive))
        if self.depth >= 0 and self.side[self.depth] == 0:
            regions.append((self.inside[self.depth], self.alive[self.depth]))
        return regions
