"""Bounds of nodes over the surviving features, and what a relaxed node tells: its bound, its fixings and a support."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparsest.core.arrays import Indices
from sparsest.core.problem import Problem
from sparsest.runtime.clock import Clock
from sparsest.runtime.faults import reach
from sparsest.subset.relaxation.solution import Start
from sparsest.subset.tree.bounder import Bounder, BounderOptions, NodeOutcome, OutOfTime, State, Tightened
from sparsest.subset.tree.bounders import make_bounder
from sparsest.subset.tree.frontier import Node
from sparsest.subset.tree.goal import Goal, Limits
from sparsest.subset.tree.node_rules import NodeRules
from sparsest.subset.tree.progress import Progress
from sparsest.subset.tree.roundings import Roundings

# Points of proofs are stored rounded from this tolerance and this number of survivors on, and may lower bounds by this
# share of the tolerance.  With a share of 1e-2 files were a quarter smaller, but a quarter of the nodes had to be
# relaxed again.
_ROUNDED_TOLERANCE, _ROUNDED_SURVIVORS, _ROUNDING_SHARE = 1e-6, 100, 1e-4
# Open nodes keep products that could be recomputed as long as the frontier takes less than this share of the memory.
_KEPT_PRODUCTS_SHARE = 0.1


class NodeBounds:
    """The bounder over the survivors; it updates nodes, logs what they prove, and offers rounded supports to the goal.

    ``found`` is None before the bounder is set up, and if there was no time for it.
    """

    def __init__(self, problem: Problem, goal: Goal, clock: Clock, limits: Limits, progress: Progress) -> None:
        self.problem, self.goal, self.clock, self.limits, self.progress = problem, goal, clock, limits, progress
        self.rules = NodeRules(problem, progress.survivors)
        self.found: Bounder | None = None
        self._roundings = Roundings()

    @property
    def bounder(self) -> Bounder:
        """The bounder, after it has been set up."""
        assert self.found is not None
        return self.found

    @property
    def strong(self) -> bool:
        """Whether there is a bounder whose bounds are tighter than those of the ridge for every feature."""
        return self.found is not None and self.found.strong

    def begin(self, root: Node, survivors: Indices) -> None:
        """Start from this root over these survivors; the bounder is set up again afterwards."""
        self.progress.begin(root, survivors)
        self.rules = NodeRules(self.problem, survivors)

    def set_up(self, start: Start) -> None:
        """Set up the bounder over the survivors, with these coefficients as the root's warm start."""
        survivors, limits, expired = self.progress.survivors, self.limits, self.clock.expired
        rounded = limits.gap_tol >= _ROUNDED_TOLERANCE and survivors.size >= _ROUNDED_SURVIVORS
        rounding = _ROUNDING_SHARE * limits.gap_tol * abs(self.goal.fit.primal) if rounded else 0.0
        reach("set up")
        options = BounderOptions(rounding, expired, limits.tuning, limits.max_memory)
        try:
            self.found = make_bounder(self.problem, survivors, options)
        except OutOfTime:
            return
        if not expired():
            self.found.strengthen()
        self.progress.root.warm = self.found.start(start)

    def stop(self, stopped: bool) -> None:
        """Stop running relaxations while ``stopped``."""
        if self.found is not None:
            self.found.stop(stopped)

    def update(self, node: Node, outcome: NodeOutcome) -> int:
        """Store the bound, the fixings and the warm start of a relaxed node; return the index of its point."""
        reach("node bounded")
        progress = self.progress
        point = progress.log.add_outcome(self.bounder, outcome.point)
        tightened = self.narrow(node.state, outcome.point, point, node.fixes)
        if tightened.bound > node.bound:
            node.bound, node.point, node.needed = tightened.bound, point, tightened.needed
        keep_products = progress.frontier.bytes < _KEPT_PRODUCTS_SHARE * self.limits.max_memory
        node.warm = self.bounder.compress(outcome.point, keep_products)
        return point

    def narrow(self, state: State, dense: Any, point: int, fixes: list[tuple[int, Tightened]]) -> Tightened:
        """Return a point's bound for a region, and record the features that it fixes."""
        tightened = self.bounder.tighten(dense, state, self.goal.cutoff)
        if tightened.inside.size or tightened.outside.size:
            fixes.append((point, tightened))
            self.progress.closed = min(self.progress.closed, tightened.closed)
        return tightened

    def child(self, node: Node, outcome: NodeOutcome, point: int, feature: int, side: int) -> Node:
        """The part of a relaxed node with the feature forced in (side 1) or out (-1), bounded by the node's point."""
        state = node.state.copy()
        state[feature] = side
        fixes: list[tuple[int, Tightened]] = []
        if not self.rules.propagate(state):
            return Node(state, np.inf, point, node.warm, node.depth + 1, node.adapted_at, fixes, None)
        tightened = self.narrow(state, outcome.point, point, fixes)
        bound, needed = tightened.bound, tightened.needed
        if not bound > node.bound:
            bound, point, needed = node.bound, node.point, node.needed
        return Node(state, bound, point, node.warm, node.depth + 1, node.adapted_at, fixes, needed)

    def offer_rounded(self, outcome: NodeOutcome, state: State) -> None:
        """Offer the rounded indicator to the goal if a rounding is due."""
        due, polish = self._roundings.due(self.progress.n_nodes, outcome.indicator)
        if self.goal.exhaustive or not due:
            return
        self.goal.rounded(self.progress.survivors[self.rules.rounded(outcome.indicator, state)], polish)

    def nbytes(self) -> float:
        """Bytes of open nodes, of the proof, and of the bounder."""
        return self.progress.frontier.bytes + self.progress.log.nbytes() + self.bounder.nbytes()
