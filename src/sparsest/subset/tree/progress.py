"""What a search has proved so far: its open and closed nodes, its lower bound, and its proof."""

from __future__ import annotations

from collections import deque

import numpy as np

from sparsest.core.arrays import Indices
from sparsest.core.problem import Problem
from sparsest.proofs.steps import Proof, RegressionTree
from sparsest.subset.dual import bound_of_zero
from sparsest.subset.tree.frontier import Frontier, Node
from sparsest.subset.tree.proof_log import ProofLog


class Progress:
    """Every support belongs to a node that is open, in progress or closed, so the smallest bound of all holds.

    Attributes
    ----------
    survivors : the features that are not excluded yet; nodes refer to them by position.
    in_progress : nodes that are being processed; they are neither in the frontier nor closed if an interrupt comes.
    closed : the smallest bound of all closed regions.
    leaps_bound : the bound proved by leaps and bounds, whose proof does not need the nodes.
    """

    def __init__(self, problem: Problem, proof: bool) -> None:
        self.problem, self.log = problem, ProofLog(problem, proof)
        self.survivors: Indices = np.arange(problem.p)
        self._root: Node | None = None
        self.frontier, self.in_progress = Frontier(), deque[Node]()
        self.closed, self.leaps_bound = np.inf, -np.inf
        self.n_nodes = 0

    @property
    def root(self) -> Node:
        """The root node, once it has been relaxed."""
        assert self._root is not None
        return self._root

    def begin(self, root: Node, survivors: Indices) -> None:
        """Start from this root, which contains all supports that are not excluded yet."""
        self._root, self.survivors = root, survivors
        self.in_progress = deque([root])

    def push(self, node: Node, cutoff: float) -> None:
        """Close a node whose bound reaches the cutoff; any other node is open."""
        if node.bound >= cutoff:
            self.close(node)
        else:
            self.frontier.push(node)

    def close(self, node: Node) -> None:
        """Close a node; the proof keeps its bound."""
        self.closed = min(self.closed, node.bound)
        node.release()

    def add_leaps(self, bound: float, tree: RegressionTree) -> None:
        """Store the bound that leaps and bounds has proved, and its proof."""
        self.leaps_bound = bound
        self.log.add_leaps(self.root, self.survivors, tree)

    def bound_of_nodes(self) -> float:
        """The smallest bound over all nodes."""
        return min(self.closed, self.frontier.lowest(), *(node.bound for node in self.in_progress))

    def lower_bound(self) -> float:
        """The larger of the bounds proved by nodes and by leaps and bounds."""
        if self._root is None:
            return bound_of_zero(self.problem, self.problem.root)
        return max(self.leaps_bound, self.bound_of_nodes())

    def assemble(self) -> Proof | None:
        """The proof of the lower bound; None if no proof is kept."""
        if not self.log.kept:
            return None
        by_leaps = self.leaps_bound > self.bound_of_nodes()
        return self.log.assemble(self._root, self.survivors, by_leaps)
