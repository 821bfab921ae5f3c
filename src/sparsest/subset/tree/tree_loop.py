"""The loop of branch and bound: take the nodes with the lowest bounds, relax them, and close or split them.

Nodes are taken in batches of a fixed size, relaxed by any number of threads, and processed in order, so the search and
its certificate do not depend on the number of threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from sparsest.runtime.events import Status
from sparsest.runtime.faults import reach
from sparsest.runtime.threads import single_threaded
from sparsest.subset.tree.adaptation import Adaptation
from sparsest.subset.tree.bounder import NodeOutcome, Request
from sparsest.subset.tree.frontier import Node, branching_feature
from sparsest.subset.tree.node_bounds import NodeBounds
from sparsest.subset.tree.proof_log import ProofTime
from sparsest.subset.tree.threads import Job, collect, submit
from sparsest.subset.tree.trying import Trying

# Number of nodes per batch: enough work for several threads, few enough for a good choice by bounds.
BATCH_SIZE = 16
# Largest number of times that a node with an integral relaxation is relaxed again, more precisely.
_MOST_REPEATS = 20
# The same number for problems with a structure, whose nodes are then split.
_REPEATS_OF_STRUCTURES = 2


class TreeLoop:
    """Branch and bound below the root; ``report`` tells a bound and a number of nodes, ``prove`` tries the proof."""

    def __init__(
        self,
        bounds: NodeBounds,
        trying: Trying,
        seconds: dict[str, Any],
        report: Callable[[float, int], None],
        prove: Callable[[], object],
    ) -> None:
        self.bounds, self.progress, self.trying, self.seconds = bounds, bounds.progress, trying, seconds
        self.goal, self.clock, self.limits = bounds.goal, bounds.clock, bounds.limits
        self.report, self.prove = report, prove
        self.adaptation, self.proof_time = Adaptation(bounds.limits.tuning), ProofTime(bounds.clock)
        self._began = 0.0

    def run(self, began: float) -> Status:
        """Search the root until no node is open or a limit is reached; the tree ``began`` at this time of the clock."""
        self._began = began
        root = self.progress.root
        self.progress.push(root, self.goal.cutoff)
        self.progress.in_progress.clear()
        self.adaptation.begin(self.bounds.bounder, root)
        with single_threaded(), ThreadPoolExecutor(self.limits.n_jobs or os.cpu_count() or 1) as pool:
            status = self._take_batches(pool)
        self.seconds["tree"] = self.clock.seconds() - began
        return status

    def _take_batches(self, pool: ThreadPoolExecutor) -> Status:
        """Take, relax, and split or close nodes until none is open."""
        progress, status = self.progress, Status.OPTIMAL
        jobs: list[Job] = []
        while progress.frontier or jobs:
            reached = self._reached_limit()
            if reached is not None:
                status = reached
                break
            room = self.limits.max_memory - (self.bounds.nbytes() - progress.frontier.bytes)
            progress.frontier.depth_first(progress.frontier.bytes > 0.5 * room)
            # The next nodes are submitted before the last ones are processed, so that threads never wait.
            adapt = self.adaptation.is_due(progress.n_nodes)
            following = [] if adapt else self._submit(pool)
            done, jobs = self._collect(jobs), following
            if not done:
                status = Status.INTERRUPTED
                break
            if adapt:
                self._adapt()
            self.report(progress.lower_bound(), progress.n_nodes)
        for job in jobs:
            job.cancel()
        while progress.in_progress:
            progress.frontier.push(progress.in_progress.popleft())
        return status

    def _reached_limit(self) -> Status | None:
        """The status of a search that has to end now; None if it continues."""
        n_nodes = self.progress.n_nodes
        self.proof_time.reserve(n_nodes, self.prove, self.trying.trial_seconds)
        if self.clock.expired():
            return self.clock.early()
        full = n_nodes >= self.limits.node_limit or self.bounds.nbytes() > self.limits.max_memory
        return Status.NODE_LIMIT if full else None

    def _submit(self, pool: ThreadPoolExecutor) -> list[Job]:
        """Submit the next nodes to the threads."""
        cutoff = self.goal.cutoff
        requests = [
            Request(node.warm, node.state, self.adaptation.should_adapt(node, cutoff)) for node in self._batch()
        ]
        return submit(pool, self.bounds.bounder, requests, cutoff)

    def _batch(self) -> Iterator[Node]:
        """The next nodes below the cutoff; nodes at or above it are closed."""
        progress, taken = self.progress, 0
        while progress.frontier and taken < BATCH_SIZE:
            progress.in_progress.append(progress.frontier.next())
            node = progress.frontier.pop()
            if node.bound < self.goal.cutoff:
                self._try_all(node)
            if node.bound >= self.goal.cutoff:
                progress.close(node)
                progress.in_progress.pop()
            else:
                taken += 1
                yield node

    def _try_all(self, node: Node) -> None:
        """Close a node with one or two features to choose by trying all of them, where that is cheap."""
        seconds = self.clock.seconds() - self._began
        bound = self.trying.close_node(self.progress.survivors, node.state, self.progress.n_nodes, seconds)
        if bound is not None and bound > node.bound:
            node.bound = node.tried = bound
            # The check tries all features that are not out in the proof.
            node.needed = None

    def _collect(self, jobs: list[Job]) -> bool:
        """Process relaxed nodes; return False if a job has failed, whose nodes then stay open."""
        for outcome in collect(jobs):
            if outcome is None:
                return False
            self._process(self.progress.in_progress[0], outcome)
            self.progress.in_progress.popleft()
        return True

    def _process(self, node: Node, outcome: NodeOutcome) -> None:
        """Close or split a node that has been relaxed."""
        self.progress.n_nodes += 1
        if outcome.lift is not None:
            self.adaptation.record_lift(node, outcome.lift)
        point = self.bounds.update(node, outcome)
        self.bounds.offer_rounded(outcome, node.state)
        if node.bound >= self.goal.cutoff:
            self.progress.close(node)
            return
        feature = branching_feature(outcome.indicator, node.state, outcome.multipliers)
        if feature is None and not self.goal.exhaustive:
            feature = self.bounds.rules.broken(outcome.indicator, node.state)
        if feature is None:
            self._process_integral(node, outcome, point)
        else:
            self._split(node, outcome, point, feature)

    def _process_integral(self, node: Node, outcome: NodeOutcome, point: int) -> None:
        """Process a node whose relaxation is integral although its bound is below the cutoff.

        An exhaustive search splits it until one support is left.  Any other search relaxes it more precisely, which
        closes it unless rounding errors prevent that.
        """
        exhaustive, free = self.goal.exhaustive, np.flatnonzero(node.state == 0)
        structured = self.bounds.rules.structured
        if not (exhaustive and free.size):
            node.repeats += 1
        # Prices of rows that its solution does not use up may keep the bound of a structure below the cutoff.
        if free.size and (exhaustive or (structured and node.repeats > _REPEATS_OF_STRUCTURES)):
            self._split(node, outcome, point, int(free[np.argmax(outcome.indicator[free])]))
            return
        if exhaustive and node.repeats == 1 and structured:
            # Propagation may have decided the last features after the relaxation: relax the only support itself.
            self.progress.push(node, self.goal.cutoff)
            return
        if exhaustive:
            # The proof must show that the node contains no other support.
            node.needed = None
            self.goal.reached(self.progress.survivors[node.state == 1])
        if exhaustive or node.repeats > _MOST_REPEATS:
            self.progress.close(node)
        else:
            self.progress.push(node, self.goal.cutoff)

    def _split(self, node: Node, outcome: NodeOutcome, point: int, feature: int) -> None:
        """Replace a node by its parts with and without the feature."""
        reach("node split")
        inside, outside = (self.bounds.child(node, outcome, point, feature, side) for side in (1, -1))
        self.progress.log.add_branch(node, feature, (inside, outside))
        for child in (inside, outside):
            self.progress.push(child, self.goal.cutoff)
        self.adaptation.recent_splits.append((outcome, node.state))
        node.release()

    def _adapt(self) -> None:
        began = self.clock.seconds()
        self.adaptation.prepare(self.bounds.bounder, 0.5 * (self.limits.max_memory - self.bounds.nbytes()))
        self.seconds["adapting"] = self.seconds.get("adapting", 0.0) + self.clock.seconds() - began
