"""When the search adapts the diagonal of its bounds, and for which nodes."""

from __future__ import annotations

from collections import deque

import numpy as np

from sparsest.subset.tree.bounder import Bounder, NodeOutcome, State
from sparsest.subset.tree.frontier import Node
from sparsest.subset.tree.tuning import DEFAULT_TUNING, Tuning

# Number of recently split nodes from which a diagonal is prepared.
_SAMPLE_SIZE = 64
# The diagonal is prepared again when the number of nodes has grown by this factor.
_REPEAT_FACTOR = 8


class Adaptation:
    """Prepares a diagonal from recently split nodes and decides which nodes use it.

    Decisions depend on the sequence of nodes and never on time, so that a search can be reproduced.
    """

    def __init__(self, tuning: Tuning = DEFAULT_TUNING) -> None:
        self._tuning = tuning
        self.recent_splits: deque[tuple[NodeOutcome, State]] = deque(maxlen=_SAMPLE_SIZE)
        self._next_at, self._root_bound = np.inf, 0.0
        self._enabled, self._tries, self._successes = False, 0, 0

    def begin(self, bounder: Bounder, root: Node) -> None:
        """Start counting at the root node."""
        first = max(self._tuning.adapt_first, self._tuning.adapt_first_per_survivor * bounder.survivors.size)
        self._next_at, self._root_bound = first, root.bound

    def is_due(self, n_nodes: int) -> bool:
        """Whether the diagonal should be prepared now."""
        return n_nodes >= self._next_at

    def prepare(self, bounder: Bounder, max_bytes: float) -> None:
        """Prepare tighter bounds for nodes like the last ones split, in at most ``max_bytes`` bytes."""
        bounder.adapt(self.recent_splits, max_bytes)
        self._next_at *= _REPEAT_FACTOR
        self._enabled, self._tries, self._successes = True, 0, 0

    def should_adapt(self, node: Node, cutoff: float) -> bool:
        """Whether to adapt the bound of this node; if so, the node records its depth."""
        adapts = (
            self._enabled
            and node.depth - node.adapted_at >= self._tuning.adapt_levels
            and cutoff - node.bound > self._per_level(node)
        )
        if adapts:
            node.adapted_at = node.depth
        return adapts

    def record_lift(self, node: Node, lift: float) -> None:
        """Record by how much adapting lifted a bound; stop adapting if most lifts are smaller than one level's."""
        self._tries += 1
        self._successes += lift > self._per_level(node)
        self._enabled = self._tries < self._tuning.adapt_trial or 2 * self._successes >= self._tries

    def _per_level(self, node: Node) -> float:
        """The average increase of the node's bound per level of branching."""
        return (node.bound - self._root_bound) / max(node.depth, 1)
