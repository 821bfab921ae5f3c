"""When bounds are adapted to regions, and to which."""

from __future__ import annotations

from collections import deque

import numpy as np

from sparsest.subset.tree.bounder import Bounder, NodeOutcome, State
from sparsest.subset.tree.frontier import Node
from sparsest.subset.tree.tuning import USUAL, Tuning

# Bounds are adapted to the last regions that were split, as many as this.
_SAMPLE_SIZE = 64
# They are adapted again after so many times as many nodes as the last time.
_AGAIN_FACTOR = 8


class Adapting:
    """Prepares bounds that suit regions like those split lately, and says which regions should use them.

    All of it depends on the nodes in the order in which they are dealt with, never on time.
    """

    def __init__(self, tuning: Tuning = USUAL) -> None:
        self._tuning = tuning
        self.lately_split: deque[tuple[NodeOutcome, State]] = deque(maxlen=_SAMPLE_SIZE)
        self._at, self._root_bound = np.inf, 0.0
        self._on, self._tries, self._successes = False, 0, 0

    def begin(self, bounder: Bounder, root: Node) -> None:
        """Begin with the first region."""
        first = max(self._tuning.adapt_first, self._tuning.adapt_first_per_survivor * bounder.survivors.size)
        self._at, self._root_bound = first, root.bound

    def is_due(self, n_nodes: int) -> bool:
        """Whether to prepare now."""
        return n_nodes >= self._at

    def prepare(self, bounder: Bounder, room: float) -> None:
        """Prepare better bounds for regions like the last ones split, in so many bytes."""
        bounder.adapt(self.lately_split, room)
        self._at *= _AGAIN_FACTOR
        self._on, self._tries, self._successes = True, 0, 0

    def suits(self, node: Node, cutoff: float) -> bool:
        """Whether to adapt the bound of this region; it is then noted there."""
        suits = (
            self._on
            and node.depth - node.divided >= self._tuning.adapt_levels
            and cutoff - node.bound > self._per_level(node)
        )
        if suits:
            node.divided = node.depth
        return suits

    def weigh(self, node: Node, lift: float) -> None:
        """Take note of how much it helped; stop where that is less than branching once more would."""
        self._tries += 1
        self._successes += lift > self._per_level(node)
        self._on = self._tries < self._tuning.adapt_trial or 2 * self._successes >= self._tries

    def _per_level(self, node: Node) -> float:
        """By how much branching has lifted a region's bound, for each level."""
        return (node.bound - self._root_bound) / max(node.depth, 1)
