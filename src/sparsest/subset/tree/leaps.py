"""Leaps and bounds for few candidate features: squared loss, at most k features, a weak ridge or none, no limits."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsest.core.arrays import Indices
from sparsest.core.losses import Squared
from sparsest.core.problem import Problem
from sparsest.core.sparsity import Sparsity
from sparsest.proofs.regression_tree import RegressionBounds
from sparsest.proofs.steps import LEAF, RegressionTree
from sparsest.runtime.clock import Clock
from sparsest.subset.claims import statement_of
from sparsest.subset.fits.support import SupportFit
from sparsest.subset.tree.goal import Limits
from sparsest.subset.tree.kernels.leaps import ENTERED, INSIDE, leap, make_levels, sweep_in
from sparsest.subset.tree.tuning import DEFAULT_TUNING, Tuning

# Largest number of nodes per slice, and number of log entries, which suffices for such a slice.
_MOST_SLICE_NODES, _LOG_ENTRIES = 20_000, 1 << 16
# Share of the tolerance at which nodes are pruned, and share reserved for rounding errors of the sweeps.
_CLOSING_SHARE, _ROUNDING_SHARE = 0.9, 0.05


class LimitShares(NamedTuple):
    """The shares of the limits on time, nodes and memory that leaps and bounds may use."""

    time: float
    nodes: float
    memory: float


ALL_LIMITS = LimitShares(1.0, 1.0, 1.0)
# If branch and bound over regions can continue afterwards.
BEFORE_REGIONS = LimitShares(0.3, 0.9, 0.5)


class Leaps:
    """A depth-first search that can be stopped between slices of nodes.

    ``precise`` is false if the rounding errors of the total sum of squares exceed the share of the tolerance reserved
    for them, as with a nearly perfect fit.  Then pairs of features are not chosen at once, the bound is checked at the
    end, and the search is limited to one slice of nodes.
    """

    def __init__(
        self,
        sums: RegressionBounds,
        forced: NDArray[np.bool_],
        fit: SupportFit,
        gap_tol: float,
        keep: bool,
        slice_nodes: int,
    ) -> None:
        self.sums, self.gap_tol = sums, gap_tol
        self.slice_nodes = max(1, min(slice_nodes, _MOST_SLICE_NODES))
        self.forced = sums.features[forced]
        m = forced.size
        null_value, r = sums.about_zero()
        self.zero_margin = sums.relative_error() * null_value
        self.precise = self.zero_margin <= _ROUNDING_SHARE * gap_tol * abs(fit.primal)
        levels = self.levels = make_levels(m + 2, m)
        levels.N[0], levels.w[0], levels.f[0] = sums.model()
        levels.G[0], levels.r[0], levels.g[0] = sums.H, r, null_value
        levels.alive[0] = True
        for j in np.flatnonzero(forced):
            G, r = levels.G[0].copy(), levels.r[0].copy()
            levels.g[0] -= sweep_in(levels.G[0], levels.r[0], levels.alive[0], levels.inside[0], j, G, r)
            levels.G[0], levels.r[0] = G, r
            levels.inside[0, j] = True
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
        tuning: Tuning = DEFAULT_TUNING,
    ) -> Leaps | None:
        """Return a search over the survivors; None if it does not apply or the full model is too ill-conditioned.

        With ``keep`` the tree is kept for a proof.  The clock is checked after every slice of nodes.
        """
        few = 2 < survivors.size <= tuning.leaps_features and survivors.size + problem.fit_intercept < problem.n
        if (
            not few
            or not isinstance(problem.sparsity, Sparsity)
            or problem.sparsity.k is None
            or problem.sparsity.priced
            or problem.bounds.exist
            or not isinstance(problem.loss, Squared)
        ):
            return None
        kept = np.isin(fit.support, survivors)
        about = RegressionTree(fit.support[kept], fit.w[kept], np.empty(0, dtype=np.int32))
        try:
            sums = RegressionBounds(problem.data.evidence.data, statement_of(problem), survivors, about)
        except ValueError:
            return None
        if sums.relative_error() > _ROUNDING_SHARE * gap_tol:
            return None
        return cls(sums, forced, fit, gap_tol, keep, tuning.leaps_slice)

    def run(self, proceed: Callable[[], bool], node_limit: float) -> None:
        """Search until no region is open, ``proceed`` returns False, or the node limit is reached."""
        log = np.empty(_LOG_ENTRIES, dtype=np.int32)
        most = int(node_limit) if self.precise else min(int(node_limit), self.slice_nodes)
        while self.depth >= 0 and self.n_nodes < most and proceed():
            self.depth, self.upper, nodes, logged = leap(
                self.levels, self.depth, self.sums.k, 2 if self.precise else 0, self.upper,
                _CLOSING_SHARE * self.gap_tol, self.best, log, min(self.slice_nodes, most - self.n_nodes),
            )  # fmt: skip
            self.n_nodes += nodes
            if self._keep:
                self._log.append(log[:logged].copy())
                self._logged += logged

    def run_within(self, clock: Clock, limits: Limits, part: LimitShares, report: Callable[[int], None]) -> None:
        """Search within these shares of the limits; ``report`` is called with the number of nodes after each slice."""
        until = clock.seconds() + part.time * (clock.limit - clock.seconds())

        def proceed() -> bool:
            report(self.n_nodes)
            room = self.nbytes() < part.memory * limits.max_memory
            return room and not clock.expired() and clock.seconds() < until

        self.run(proceed, part.nodes * limits.node_limit)

    @property
    def finished(self) -> bool:
        """Whether no region is open."""
        return self.depth < 0

    def nbytes(self) -> int:
        """Memory in bytes, including a copy of the log for its assembly."""
        return self.levels.N.nbytes + self.levels.G.nbytes + 8 * self._logged

    def support(self) -> Indices:
        """The best support found; empty if none is better than the first incumbent."""
        return self.sums.features[self.best]

    def bound(self, cutoff: float, primal: float) -> float:
        """The smallest bound of all regions, given the goal's cutoff and the incumbent's objective ``primal``.

        Regions were pruned against ``upper``, the objective computed by sweeps; a fit of the same support may have a
        slightly larger objective.
        """
        passed = min(cutoff, self.upper - _CLOSING_SHARE * self.gap_tol * abs(self.upper))
        if not self.precise or self.zero_margin > _ROUNDING_SHARE * self.gap_tol * abs(primal):
            known = self._keep and self._logged <= _LOG_ENTRIES
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
        """The masks ``inside`` and ``alive`` of every open region: the current node and the open branches above it."""
        levels, regions = self.levels, []
        for d in range(self.depth + 1):
            alive = levels.alive[d].copy()
            if levels.side[d] == INSIDE:
                alive[levels.feature[d]] = False
                regions.append((levels.inside[d], alive))
        if self.depth >= 0 and levels.side[self.depth] == ENTERED:
            regions.append((levels.inside[self.depth], levels.alive[self.depth]))
        return regions
