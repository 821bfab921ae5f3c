"""Nodes of the search, the frontier of open nodes, and the choice of the branching feature."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

import numpy as np

from sparsest.core.arrays import Array, Indices
from sparsest.subset.tree.bounder import State, Tightened, WarmStart
from sparsest.subset.tree.kernels.regions import NO_FEATURE, nearest

# Memory of a node's Python objects, in addition to its arrays.
NODE_BYTES = 400
_NO_STATE: State = np.empty(0, dtype=np.int8)
_NONE: Indices = np.empty(0, dtype=np.intp)
_NO_WARM = WarmStart(_NONE, np.empty(0), 0.0)
# The share of a feature that is best to branch on, and the distance from 0 and 1, relative to this share, up to which a
# share counts as integral.
_BEST_SHARE, _INTEGRAL = 0.7, 1e-7


@dataclass(slots=True)
class Node:
    """A region: its state over the survivors, its bound, the number of the point that proves it, and its children."""

    state: State
    bound: float
    point: int
    warm: WarmStart = _NO_WARM
    depth: int = 0
    # The depth at which the diagonal was last adapted.
    adapted_at: int = 0
    # Fixings with the numbers of their points, in order, and the forced-out features that the bound needs (None: all).
    fixes: list[tuple[int, Tightened]] = field(default_factory=list)
    needed: Indices | None = field(default_factory=lambda: _NONE)
    # The bound proved by trying all choices of its last features; None if they were not tried.
    tried: float | None = None
    repeats: int = 0
    # The feature that the node was split on, and the children with and without it.
    feature: int | None = None
    children: tuple[Node, Node] | None = None

    def size(self) -> int:
        """Memory in bytes while the node is open."""
        return self.state.nbytes + self.warm.nbytes() + NODE_BYTES

    def release(self) -> None:
        """Free everything that the proof does not need."""
        self.state, self.warm = _NO_STATE, _NO_WARM


class Frontier:
    """The open nodes, ordered by lowest bound, or by greatest depth if memory is short."""

    def __init__(self) -> None:
        self._heap: list[tuple[tuple[float, float], int, Node]] = []
        self._count = 0
        # Whether the deepest nodes come first.
        self.deep = False
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._heap)

    def _key(self, node: Node) -> tuple[float, float]:
        return (-node.depth, node.bound) if self.deep else (node.bound, node.depth)

    def push(self, node: Node) -> None:
        """Add a node."""
        self._count += 1
        self.bytes += node.size()
        heapq.heappush(self._heap, (self._key(node), self._count, node))

    def pop(self) -> Node:
        """Remove and return the next node."""
        node = heapq.heappop(self._heap)[2]
        self.bytes -= node.size()
        return node

    def next(self) -> Node:
        """The next node, without removing it."""
        return self._heap[0][2]

    def lowest(self) -> float:
        """The smallest bound of all open nodes."""
        if not self._heap:
            return np.inf
        return min(entry[2].bound for entry in self._heap) if self.deep else self._heap[0][2].bound

    def depth_first(self, deep: bool) -> None:
        """Order nodes by depth if ``deep``, otherwise by bound."""
        if deep != self.deep:
            self.deep = deep
            self._heap = [(self._key(node), count, node) for _, count, node in self._heap]
            heapq.heapify(self._heap)


def branching_feature(indicator: Array, state: State, multipliers: Array | None = None) -> int | None:
    """The free feature whose indicator is nearest to 0.7; None if all indicators are integral.

    Forcing a feature in lifts the bound by about ``μ(1 - s)²``, forcing it out by about ``hs²``, where μ is the
    multiplier of the budget and h several times μ.  With such lifts the tree grows most slowly for s near 0.7.  This
    value also gave the smallest trees on the instances of ``benchmarks/exact.py``; pseudo-costs gave no smaller ones.

    With a structure, μ differs between features.  Then the distance is weighted by it: one of each of 20 groups of
    three took 1156 nodes for ten instances without the weights, 344 with them.
    """
    feature = int(nearest(indicator, state, _BEST_SHARE))
    if feature == NO_FEATURE:
        return None
    if multipliers is None:
        return feature
    closeness = np.minimum(indicator / _BEST_SHARE, (1.0 - indicator) / (1.0 - _BEST_SHARE))
    lifts = np.where((state == 0) & (closeness > _INTEGRAL), closeness * multipliers, 0.0)
    return int(np.argmax(lifts)) if (lifts > 0.0).any() else feature
