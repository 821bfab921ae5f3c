"""Nodes of the search, the frontier of open ones, and the feature they are split on."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

import numpy as np

from sparsest.core.arrays import Array, Indices
from sparsest.subset.tree.bounder import State, Tightened, Warm
from sparsest.subset.tree.kernels.regions import NO_FEATURE, nearest

NODE_BYTES = 400
_NO_STATE: State = np.empty(0, dtype=np.int8)
_NONE: Indices = np.empty(0, dtype=np.intp)
_NO_WARM = Warm(_NONE, np.empty(0), 0.0)


@dataclass(slots=True)
class Node:
    """A region: its state over the survivors, its bound and the point that proves it, and what became of it."""

    state: State
    bound: float
    point: int
    warm: Warm = _NO_WARM
    depth: int = 0
    # The depth at which its bound was last adapted.
    divided: int = 0
    # What points fix, in order, and of the features forced out those that the bound needs to be out: all if None.
    fixes: list[tuple[int, Tightened]] = field(default_factory=list)
    needed: Indices | None = field(default_factory=lambda: _NONE)
    # What was shown by trying all choices of its last features.
    tried: float | None = None
    repeats: int = 0
    # The feature it was split on, and the sides with it and without it.
    feature: int | None = None
    children: tuple[Node, Node] | None = None

    def size(self) -> int:
        """Bytes it takes while open."""
        return self.state.nbytes + self.warm.nbytes() + NODE_BYTES

    def release(self) -> None:
        """Keep only what a proof needs."""
        self.state, self.warm = _NO_STATE, _NO_WARM


class Frontier:
    """The open nodes: lowest bound first, or deepest first when memory is short."""

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
        """Add a region."""
        self._count += 1
        self.bytes += node.size()
        heapq.heappush(self._heap, (self._key(node), self._count, node))

    def pop(self) -> Node:
        """Take the next region."""
        node = heapq.heappop(self._heap)[2]
        self.bytes -= node.size()
        return node

    def next(self) -> Node:
        """The next region, which stays."""
        return self._heap[0][2]

    def lowest(self) -> float:
        """The smallest bound of all."""
        if not self._heap:
            return np.inf
        return min(entry[2].bound for entry in self._heap) if self.deep else self._heap[0][2].bound

    def depth_first(self, deep: bool) -> None:
        """Change the order."""
        if deep != self.deep:
            self.deep = deep
            self._heap = [(self._key(node), count, node) for _, count, node in self._heap]
            heapq.heapify(self._heap)


def branching_feature(indicator: Array, state: State) -> int | None:
    """The free feature whose indicator is nearest to 0.7; None when all are integral.

    Forcing a feature in lifts the bound by about ``μ(1 - s)²``, forcing it out by about ``hs²``, where h is several
    times μ, the price of the budget: trees grow slowest around 0.7, and they did over the instances of
    ``benchmarks/exact.py``, where pseudo-costs did no better.
    """
    feature = int(nearest(indicator, state, 0.7))
    return None if feature == NO_FEATURE else feature
