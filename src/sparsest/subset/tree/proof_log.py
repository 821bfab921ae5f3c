"""What a search has proved so far, and the certificate's steps that follow from it."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
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
    Split,
    SplitPoint,
    Step,
)
from sparsest.runtime.clock import Clock
from sparsest.subset.claims import single_leaf
from sparsest.subset.tree.bounder import Bounder, Tightened
from sparsest.subset.tree.frontier import NODE_BYTES, Node

T = TypeVar("T")

# Assembling and checking the proof is tried after these parts of the time, which takes some hundredths of a search.
_TRIALS = (0.2, 0.5)
# A search reserves this many times what the proof of its nodes is expected to take.
_RESERVE_FACTOR = 1.1


class ProofLog:
    """Points and splits of a search, which name each other by their numbers; points only if they are ``kept``."""

    def __init__(self, problem: Problem, kept: bool) -> None:
        self.problem, self.kept = problem, kept
        self.points: list[Point] = []
        self.splits: list[Split] = []
        # What is fixed before the first region, and what leaps and bounds have proved.
        self.fixes: list[Fix] = []
        self.leaps: list[Step] = []
        self._counted, self._bytes = 0, 0.0

    def note(self, *points: Point) -> int:
        """Keep points; return the number of the last one."""
        if self.kept:
            self.points += points
        return len(self.points) - 1

    def note_outcome(self, bounder: Bounder, point: object) -> int:
        """Keep the point of a relaxed region and the splits that it depends on; return its number."""
        known = len(self.splits)
        number = self.note(bounder.proof_point(point, self.splits))
        for split in self.splits[known:]:
            self._bytes += split.delta.nbytes + split.features.nbytes
        return number

    @staticmethod
    def _steps_of(fixes: Sequence[tuple[int, Tightened]], survivors: Indices) -> list[Fix]:
        """Fixings by positions among the survivors as steps."""
        return [Fix(point, survivors[fixed.inside], survivors[fixed.outside]) for point, fixed in fixes]

    def note_fixes(self, fixes: Sequence[tuple[int, Tightened]], survivors: Indices) -> None:
        """Take over what was fixed before the first region."""
        self.fixes += self._steps_of(fixes, survivors)

    def note_leaps(self, root: Node, survivors: Indices, tree: RegressionTree) -> None:
        """Keep what leaps and bounds have proved, below what the root has fixed so far."""
        if self.kept:
            self.leaps = [*self._steps_of(root.fixes, survivors), tree]

    def note_branch(self, node: Node, feature: int, children: tuple[Node, Node]) -> None:
        """Keep how a region was split."""
        if self.kept:
            node.feature, node.children = feature, children
            self._bytes += 2 * NODE_BYTES

    def nbytes(self) -> float:
        """Memory it takes."""
        self._bytes += sum(point.nbytes() for point in self.points[self._counted :])
        self._counted = len(self.points)
        return self._bytes + sum(step.entries.nbytes for step in self.leaps if isinstance(step, RegressionTree))

    def assemble(self, root: Node | None, survivors: Indices, by_leaps: bool) -> Proof:
        """Return the proof below a root, without points and splits that it does not need."""
        # Nothing is released meanwhile, and looking for it among so many new objects took most of the time.
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
        # Built anew: replacing fields takes several times as long.
        for at, step in enumerate(steps):
            if isinstance(step, Leaf):
                steps[at] = Leaf(points.number(step.point))
            elif isinstance(step, Fix):
                steps[at] = Fix(points.number(step.point), step.inside, step.outside)
        for at, point in enumerate(points.taken):
            if isinstance(point, SplitPoint):
                base = self.splits[point.split].base
                if base is not None:
                    base = splits.number(base)
                number = splits.number(point.split)
                if splits.taken[number].base != base:
                    splits.taken[number] = splits.taken[number]._replace(base=base)
                points.taken[at] = SplitPoint(point.features, point.values, number)
        return Proof(steps, points.taken, splits.taken)


class ProofTime:
    """How long it will take to assemble and check a proof, from two trials."""

    def __init__(self, clock: Clock) -> None:
        self._clock, self._trials, self._for_node = clock, list(_TRIALS), 0.0
        self._least = clock.reserved

    def reserve(self, n_nodes: int, prove: Callable[[], object]) -> None:
        """Let the clock stop a search of this many nodes early enough."""
        began = self._clock.seconds()
        if self._trials and n_nodes and began >= self._trials[0] * self._clock.limit:
            self._trials.pop(0)
            prove()
            self._for_node = (self._clock.seconds() - began) / n_nodes
        self._clock.reserved = max(self._least, _RESERVE_FACTOR * self._for_node * n_nodes)


def _steps_below(root: Node, survivors: Indices) -> Iterator[Step]:
    """The steps of a tree of regions.

    Of the features that are fixed out below its root, only those are listed that something further below needs to be
    out: the others would fill most of a proof.  What the root fixes stays whole, for it makes the check faster.
    """
    steps: list[Step] = []
    # From the last region to the first: what the trees need whose parents are still to come.
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
    """Mark these features too: all if None."""
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
    """Items of a list, taken in the order in which they are asked for."""

    def __init__(self, items: Sequence[T]) -> None:
        self.items = items
        self.taken: list[T] = []
        self._numbers: dict[int, int] = {}

    def number(self, old: int) -> int:
        """The new number of an item."""
        if old not in self._numbers:
            self._numbers[old] = len(self.taken)
            self.taken.append(self.items[old])
        return self._numbers[old]
