"""The log of what a search has proved, and its assembly into the steps of a certificate."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Generic, TypeVar

import numpy as np

from sparsest.core.arrays import Indices, Mask
from sparsest.core.problem import Problem
from sparsest.proofs.steps import (
    Branch,
    Fix,
    LastFeatures,
    Leaf,
    Point,
    Proof,
    RegressionTree,
    RowPrices,
    Split,
    SplitPoint,
    Step,
)
from sparsest.runtime.clock import Clock
from sparsest.subset.claims import single_leaf
from sparsest.subset.tree.bounder import Bounder, Tightened
from sparsest.subset.tree.frontier import NODE_BYTES, Node

T = TypeVar("T")

# Shares of the time limit after which the proof is assembled and checked as a trial; a trial takes a few hundredths of
# the search time.
_TRIALS = (0.2, 0.5)
# Time reserved for the proof, as a multiple of its expected time.
_RESERVE_FACTOR = 1.1
# Nodes whose check takes as long as that of a second of trials, about: 0.05 ms for a node and 1.3 s for a second of
# trials on riboflavin (71 × 4088), k = 5.
_NODES_OF_SECOND = 20_000
# Nodes are expected to take at least this share of the time of a trial, whatever the difference of two trials says.
_LEAST_NODE_SHARE = 0.5


class ProofLog:
    """Points and splits of a search, referred to by their indices; points are stored only if ``kept``."""

    def __init__(self, problem: Problem, kept: bool) -> None:
        self.problem, self.kept = problem, kept
        self.points: list[Point] = []
        self.splits: list[Split] = []
        # Fixings before the root node, and the proof by leaps and bounds.
        self.fixes: list[Fix] = []
        self.leaps: list[Step] = []
        # The prices of rows that the bounds of a point use, by its index.
        self.rows: dict[int, RowPrices] = {}
        self._counted, self._bytes = 0, 0.0

    def add_points(self, *points: Point) -> int:
        """Store points; return the index of the last one."""
        if self.kept:
            self.points += points
        return len(self.points) - 1

    def add_outcome(self, bounder: Bounder, point: object) -> int:
        """Store the point of a relaxed region and the splits that it depends on; return its index."""
        known = len(self.splits)
        number = self.add_points(bounder.proof_point(point, self.splits))
        rows = bounder.row_prices(point)
        if rows is not None and self.kept:
            self.rows[number] = rows
            self._bytes += rows.rows.nbytes + rows.values.nbytes
        for split in self.splits[known:]:
            self._bytes += split.delta.nbytes + split.features.nbytes
        return number

    @staticmethod
    def _steps_of(fixes: Sequence[tuple[int, Tightened]], survivors: Indices) -> list[Fix]:
        """Convert fixings, given as positions among the survivors, to steps of a proof."""
        return [Fix(point, survivors[fixed.inside], survivors[fixed.outside]) for point, fixed in fixes]

    def add_fixes(self, fixes: Sequence[tuple[int, Tightened]], survivors: Indices) -> None:
        """Record features that were fixed before the root node."""
        self.fixes += self._steps_of(fixes, survivors)

    def add_leaps(self, root: Node, survivors: Indices, tree: RegressionTree) -> None:
        """Store the proof by leaps and bounds, which follows the root's fixings."""
        if self.kept:
            self.leaps = [*self._steps_of(root.fixes, survivors), tree]

    def add_branch(self, node: Node, feature: int, children: tuple[Node, Node]) -> None:
        """Record how a node was split."""
        if self.kept:
            node.feature, node.children = feature, children
            self._bytes += 2 * NODE_BYTES

    def nbytes(self) -> float:
        """Memory in bytes."""
        self._bytes += sum(point.nbytes() for point in self.points[self._counted :])
        self._counted = len(self.points)
        return self._bytes + sum(step.entries.nbytes for step in self.leaps if isinstance(step, RegressionTree))

    def assemble(self, root: Node | None, survivors: Indices, by_leaps: bool) -> Proof:
        """Return the proof below a root, with only the points and splits that it needs."""
        # Assembly creates many objects and frees none; garbage collection took most of the time.
        with _no_garbage_collection():
            return self._assemble(root, survivors, by_leaps)

    def _assemble(self, root: Node | None, survivors: Indices, by_leaps: bool) -> Proof:
        if root is None:
            return single_leaf(np.zeros(self.problem.n))
        if by_leaps:
            return self._needed([*self.fixes, *self.leaps])
        return self._needed([*self.fixes, *_steps_below(root, survivors)])

    def _needed(self, steps: list[Step]) -> Proof:
        points = _Renumbered(self.points)
        splits = _Renumbered(self.splits)
        rows = _Renumbered(self.rows)

        def row_number(point: int) -> int | None:
            return rows.number(point) if point in self.rows else None

        # New objects, because ``_replace`` takes several times as long.
        for at, step in enumerate(steps):
            if isinstance(step, Leaf):
                steps[at] = Leaf(points.number(step.point), row_number(step.point))
            elif isinstance(step, Fix):
                number = points.number(step.point)
                steps[at] = Fix(number, step.inside, step.outside, row_number(step.point))
        for at, point in enumerate(points.taken):
            if isinstance(point, SplitPoint):
                base = self.splits[point.split].base
                if base is not None:
                    base = splits.number(base)
                number = splits.number(point.split)
                if splits.taken[number].base != base:
                    splits.taken[number] = splits.taken[number]._replace(base=base)
                points.taken[at] = SplitPoint(point.features, point.values, number)
        return Proof(steps, points.taken, splits.taken, rows.taken)


class ProofTime:
    """Estimates from trials how long assembling and checking the proof will take.

    A check takes some time for the data and some for each node.  One trial does not tell them apart, so the time is
    then assumed to grow with the nodes.  If the search would have to stop for that reason after twice as many nodes as
    at the last trial, another trial is made.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock, self._trials, self._least = clock, list(_TRIALS), clock.reserved
        # Nodes and seconds of the last two trials.
        self._measured: list[tuple[float, float]] = []

    def reserve(self, n_nodes: float, prove: Callable[[], object], trial_seconds: float = 0.0) -> None:
        """Reserve enough of the time limit for the proof of a search with this many nodes, and trials of others."""
        n_nodes += _NODES_OF_SECOND * trial_seconds
        if n_nodes and self._is_trial_due(n_nodes, trial_seconds):
            began = self._clock.seconds()
            prove()
            self._measured = [*self._measured[-1:], (n_nodes, self._clock.seconds() - began)]
        self._clock.reserved = max(self._least, _RESERVE_FACTOR * self._expected(n_nodes))

    def _is_trial_due(self, n_nodes: float, trial_seconds: float) -> bool:
        now, limit = self._clock.seconds(), self._clock.limit
        if self._trials and now >= self._trials[0] * limit:
            self._trials.pop(0)
            # The proof has to be checked once more after the trial.
            return now + 2.0 * _RESERVE_FACTOR * self._expected(n_nodes) < limit
        if not self._measured:
            return False
        last_nodes, last_seconds = self._measured[-1]
        ends = now + _RESERVE_FACTOR * self._expected(n_nodes) >= limit
        # Trials are checked about as fast as they are made.
        return ends and n_nodes >= 2 * last_nodes and now + 3.0 * max(last_seconds, trial_seconds) < limit

    def _expected(self, n_nodes: float) -> float:
        """Seconds that the proof of this many nodes is expected to take."""
        if not self._measured:
            return 0.0
        (first_nodes, first), (last_nodes, last) = self._measured[0], self._measured[-1]
        if last_nodes == first_nodes:
            return last * n_nodes / last_nodes
        for_node = max((last - first) / (last_nodes - first_nodes), _LEAST_NODE_SHARE * last / last_nodes)
        return last + for_node * (n_nodes - last_nodes)


def _steps_below(root: Node, survivors: Indices) -> Iterator[Step]:
    """The steps of the proof for a tree of nodes.

    Below the root, a step lists only those fixed-out features that a later step or leaf needs; the others would take up
    most of the proof.  The root's fixings are listed completely because they make the check faster.
    """
    steps: list[Step] = []
    # Nodes are visited from last to first; this stack has the needed features of subtrees whose parent is not visited.
    needed: list[Mask] = []
    for node in reversed(_preorder(root)):
        if node.children is None:
            steps.append(Leaf(node.point) if node.tried is None else LastFeatures(node.tried))
            below = _mark(np.zeros(survivors.size, dtype=bool), node.needed)
        else:
            assert node.feature is not None
            steps.append(Branch(int(survivors[node.feature])))
            below = needed.pop()
            below |= needed.pop()
        for point, fixed in reversed(node.fixes):
            outside = fixed.outside if node is root else fixed.outside[below[fixed.outside]]
            if fixed.inside.size or outside.size:
                steps.append(Fix(point, survivors[fixed.inside], survivors[outside]))
                _mark(below, fixed.needed)
        needed.append(below)
    return reversed(steps)


def _preorder(root: Node) -> list[Node]:
    nodes, stack = [], [root]
    while stack:
        node = stack.pop()
        nodes.append(node)
        if node.children is not None:
            stack += [node.children[1], node.children[0]]
    return nodes


def _mark(marked: Mask, features: Indices | None) -> Mask:
    """Mark these features as well; None means all."""
    marked[slice(None) if features is None else features] = True
    return marked


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class _Renumbered(Generic[T]):
    """Renumbers items in the order in which they are first requested."""

    def __init__(self, items: Sequence[T] | Mapping[int, T]) -> None:
        self.items = items
        self.taken: list[T] = []
        self._numbers: dict[int, int] = {}

    def number(self, old: int) -> int:
        """The new index of an item."""
        if old not in self._numbers:
            self._numbers[old] = len(self.taken)
            self.taken.append(self.items[old])
        return self._numbers[old]
