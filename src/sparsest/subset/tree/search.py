"""Branch and bound over features: relax the root, then take, relax, and close or split nodes.

    while there are open nodes and time is left:
        take the nodes with the lowest bounds
        relax each; offer the rounded support to the goal
        fix features by the bound; close the node, or split it on a feature

Nodes are taken in batches of a fixed size, relaxed by any number of threads, and processed in order, so the search and
its certificate do not depend on the number of threads.  The lower bound is the smallest bound of open and closed nodes.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from sparsest.core.arrays import Indices
from sparsest.core.problem import Problem
from sparsest.proofs.steps import Proof
from sparsest.results.parts import Restart
from sparsest.runtime.clock import Clock
from sparsest.runtime.events import Bound, Root, Status
from sparsest.runtime.faults import reach
from sparsest.runtime.threads import single_threaded
from sparsest.subset.claims import check_proof
from sparsest.subset.dual import bound_of_zero
from sparsest.subset.relaxation.solution import Start, summary
from sparsest.subset.tree.adaptation import Adaptation
from sparsest.subset.tree.bounder import Bounder, NodeOutcome, OutOfTime, Request, State, Tightened, covered
from sparsest.subset.tree.bounders import make_bounder
from sparsest.subset.tree.frontier import Frontier, Node, branching_feature
from sparsest.subset.tree.goal import Goal, Limits
from sparsest.subset.tree.leaps import ALL_LIMITS, BEFORE_REGIONS, Leaps
from sparsest.subset.tree.node_rules import NodeRules
from sparsest.subset.tree.proof_log import ProofLog, ProofTime
from sparsest.subset.tree.root import relax_root
from sparsest.subset.tree.roundings import Roundings
from sparsest.subset.tree.threads import Job, collect, submit
from sparsest.subset.tree.trying import TRIED_AT_MOST, Trying

# Number of nodes per batch: enough work for several threads, few enough for a good choice by bounds.
_BATCH_SIZE = 16
# Largest number of times that a node with an integral relaxation is relaxed again, more precisely.
_MOST_REPEATS = 20
# The same number for problems with a structure, whose nodes are then split.
_REPEATS_OF_STRUCTURES = 2
# Points of proofs are stored rounded from this tolerance and this number of survivors on, and may lower bounds by this
# share of the tolerance.  With a share of 1e-2 files were a quarter smaller, but a quarter of the nodes had to be
# relaxed again.
_ROUNDED_TOLERANCE, _ROUNDED_SURVIVORS, _ROUNDING_SHARE = 1e-6, 100, 1e-4
# Open nodes keep products that could be recomputed as long as the frontier takes less than this share of the memory.
_KEPT_PRODUCTS_SHARE = 0.1
# Number of survivors up to which branching takes less time than a local search for a better support.
_MOST_SURVIVORS_WITHOUT_LOCAL_SEARCH = 32
# Seconds that trying all choices of the last features may take before bounds are set up, which may exclude features.
_SOON_TRIED = 1.0
# Bounds are set up again over the remaining features if at most this share of the features remains.
_REPEAT_SHARE = 0.9


class Search:
    """One search: its frontier, its bounds and its proof; ``goal`` decides which supports it looks for."""

    def __init__(self, problem: Problem, goal: Goal, clock: Clock, limits: Limits) -> None:
        self.problem, self.goal, self.clock, self.limits = problem, goal, clock, limits
        # The features that are not excluded yet, and the bounder for them; None if the root is closed before.
        self.survivors: Indices = np.arange(problem.p)
        self.rules = NodeRules(problem, self.survivors)
        self.bounder: Bounder | None = None
        self.log = ProofLog(problem, limits.proof)
        self.root: Node | None = None
        self.frontier = Frontier()
        # Nodes that are being processed; they are neither in the frontier nor closed if an interrupt comes.
        self.in_progress: deque[Node] = deque()
        # The smallest bound of all closed regions.
        self.closed = np.inf
        self.n_nodes = 0
        self.trace: dict[str, Any] = {"seconds": {}}
        self.restart = Restart()
        self.leaps_bound = -np.inf
        self.adaptation = Adaptation(limits.tuning)
        self.trying = Trying(problem, goal, clock, limits, self.trace)
        self.proof_time = ProofTime(clock)
        self.roundings, self._last_report, self._tree_began = Roundings(), 0.0, 0.0

    def run(self, start: Start | None = None) -> Status:
        """Search until no node is open or a limit is reached; ``start`` is the warm start of the root relaxation."""
        began = self.clock.seconds()
        coefficients = self._relax_root(start)
        if not self._is_root_open():
            return self._report_root(began)
        with self.clock.watching(self._stop_relaxations):
            if not self._try_root(_SOON_TRIED):
                self._set_up(coefficients)
                self._try_root(TRIED_AT_MOST * self.clock.left())
            status = self._report_root(began)
            return self._explore() if self._is_root_open() else status

    def _try_root(self, allowed: float) -> bool:
        """Close the root by trying all choices of features, if this and its check take at most ``allowed`` seconds."""
        root = self.root
        assert root is not None
        if not self._is_root_open() or self._suits_leaps:
            return False
        forced, free = np.flatnonzero(root.state == 1), np.flatnonzero(root.state == 0)
        bound = self.trying.close_first(self.survivors, forced, free, allowed)
        if bound is None or not bound > root.bound:
            return False
        root.bound = root.tried = bound
        root.needed = None
        return True

    def _report_root(self, began: float) -> Status:
        """Send the Root event; return the status that applies if the search ends here."""
        root = self.root
        assert root is not None
        self.trace["seconds"] |= {"root": self.clock.seconds() - began, "tree": 0.0}
        self.clock.tell(Root(self.clock.seconds(), root.bound, int((root.state == 0).sum())))
        return Status.OPTIMAL if root.bound >= self.goal.cutoff else self.clock.early()

    def _is_root_open(self) -> bool:
        """Whether the root is not closed yet and time is left."""
        assert self.root is not None
        return self.root.bound < self.goal.cutoff and not self.clock.expired()

    def _stop_relaxations(self, stopped: bool) -> None:
        """Stop running relaxations while ``stopped``."""
        if self.bounder is not None:
            self.bounder.stop(stopped)

    def _relax_root(self, start: Start | None) -> Start:
        """Relax the root and fix features; return the relaxed coefficients."""
        roughly = not self._suits_leaps and self.trying.is_cheap()
        relaxed = relax_root(self.problem, self.goal, self.clock, self.limits.gap_tol, start, roughly)
        point = self.log.add_points(*relaxed.points)
        self.log.fixes, self.closed = relaxed.fixes, relaxed.closed
        if relaxed.relaxed is not None:
            self.trace["relaxation"] = summary(self.problem, relaxed.relaxed)
            self.restart = relaxed.relaxed.restart()
        state = np.zeros(self.problem.p, dtype=np.int8)
        state[relaxed.region.forced_in], state[relaxed.region.forced_out] = 1, -1
        self.survivors = covered(self.problem, np.flatnonzero(state >= 0), self.limits.tuning.largest_copy)
        self.rules = NodeRules(self.problem, self.survivors)
        self.root = Node(state[self.survivors], relaxed.bound, point)
        self.in_progress = deque([self.root])
        return relaxed.coefficients

    def _set_up(self, start: Start) -> None:
        """Set up bounds over the survivors; if they do not close the root, search for a better support."""
        self._create_bounder(start)
        if self.bounder is not None and self.bounder.strong:
            self._narrow_root()
        before = self.goal.cutoff
        if self._is_root_open() and self.survivors.size > _MOST_SURVIVORS_WITHOUT_LOCAL_SEARCH:
            self.goal.search_locally()
        if self.bounder is not None and self.goal.cutoff < before:
            self._narrow_root()

    def _narrow_root(self) -> None:
        """Relax the root with the bounds over the survivors, and repeat this as long as it fixes many features."""
        while self._is_root_open():
            root = self.root
            assert root is not None
            before = int((root.state >= 0).sum())
            [outcome] = self._bounder.solve([Request(root.warm, root.state)], self.goal.cutoff)
            self._update(root, outcome)
            self._try_rounding(outcome, root.state)
            left = np.flatnonzero(root.state >= 0)
            if left.size > _REPEAT_SHARE * before:
                break
            survivors = covered(self.problem, self.survivors[left], self.limits.tuning.largest_copy)
            if survivors.size == self.survivors.size:
                continue
            self.log.add_fixes(root.fixes, self.survivors)
            start = Start(self.survivors[root.warm.positions], root.warm.w, root.warm.b)
            self.root = Node(root.state[left], root.bound, root.point)
            self.in_progress = deque([self.root])
            self.survivors, self.rules = survivors, NodeRules(self.problem, survivors)
            self._create_bounder(start)

    def _create_bounder(self, start: Start) -> None:
        """Create the bounder over the survivors, with these coefficients as the root's warm start."""
        assert self.root is not None
        rounded = self.limits.gap_tol >= _ROUNDED_TOLERANCE and self.survivors.size >= _ROUNDED_SURVIVORS
        rounding = _ROUNDING_SHARE * self.limits.gap_tol * abs(self.goal.fit.primal) if rounded else 0.0
        reach("set up")
        try:
            self.bounder = make_bounder(
                self.problem, self.survivors, rounding, self.clock.expired, self.limits.tuning, self.limits.max_memory
            )
        except OutOfTime:
            return
        if not self.clock.expired():
            self.bounder.strengthen()
        self.root.warm = self.bounder.start(start)

    @property
    def _bounder(self) -> Bounder:
        """The bounder, after it has been set up."""
        assert self.bounder is not None
        return self.bounder

    def _update(self, node: Node, outcome: NodeOutcome) -> int:
        """Store the bound, the fixings and the warm start of a relaxed node; return the index of its point."""
        reach("node bounded")
        point = self.log.add_outcome(self._bounder, outcome.point)
        tightened = self._narrow(node.state, outcome.point, point, node.fixes)
        if tightened.bound > node.bound:
            node.bound, node.point, node.needed = tightened.bound, point, tightened.needed
        node.warm = self._bounder.compress(
            outcome.point, self.frontier.bytes < _KEPT_PRODUCTS_SHARE * self.limits.max_memory
        )
        return point

    def _narrow(self, state: State, dense: Any, point: int, fixes: list[tuple[int, Tightened]]) -> Tightened:
        """Return a point's bound for a region, and record the features that it fixes."""
        tightened = self._bounder.tighten(dense, state, self.goal.cutoff)
        if tightened.inside.size or tightened.outside.size:
            fixes.append((point, tightened))
            self.closed = min(self.closed, tightened.closed)
        return tightened

    def _explore(self) -> Status:
        """Search the root by leaps and bounds if that applies, otherwise by branch and bound over regions."""
        root = self.root
        assert root is not None
        self._tree_began = began = self.clock.seconds()
        if self.bounder is None:
            return self.clock.early()
        by_leaps = None if self.goal.exhaustive else self._leaps(began)
        if by_leaps is None and self._only_leaps:
            self.trying.improve(self.survivors)
        if by_leaps is not None or self._only_leaps:
            self._close(root)
            return by_leaps or Status.HEURISTIC
        self._push(root)
        self.in_progress.clear()
        self.adaptation.begin(self.bounder, root)
        with single_threaded(), ThreadPoolExecutor(self.limits.n_jobs or os.cpu_count() or 1) as pool:
            status = self._take_batches(pool)
        self.trace["seconds"]["tree"] = self.clock.seconds() - began
        return status

    def _take_batches(self, pool: ThreadPoolExecutor) -> Status:
        """Take, relax, and split or close nodes until none is open."""
        status = Status.OPTIMAL
        jobs: list[Job] = []
        while self.frontier or jobs:
            self.proof_time.reserve(self.n_nodes, self._try_proof)
            if self.clock.expired():
                status = self.clock.early()
                break
            if self.n_nodes >= self.limits.node_limit or self._memory() > self.limits.max_memory:
                status = Status.NODE_LIMIT
                break
            room = self.limits.max_memory - (self._memory() - self.frontier.bytes)
            self.frontier.depth_first(self.frontier.bytes > 0.5 * room)
            # The next nodes are submitted before the last ones are processed, so that threads never wait.
            adapt = self.adaptation.is_due(self.n_nodes)
            following = [] if adapt else self._submit(pool)
            done, jobs = self._collect(jobs), following
            if not done:
                status = Status.INTERRUPTED
                break
            if adapt:
                self._adapt()
            self._report(self.lower_bound(), self.n_nodes)
        for job in jobs:
            job.cancel()
        while self.in_progress:
            self.frontier.push(self.in_progress.popleft())
        return status

    def _submit(self, pool: ThreadPoolExecutor) -> list[Job]:
        """Submit the next nodes to the threads."""
        cutoff = self.goal.cutoff
        requests = [
            Request(node.warm, node.state, self.adaptation.should_adapt(node, cutoff)) for node in self._batch()
        ]
        return submit(pool, self._bounder, requests, cutoff)

    def _collect(self, jobs: list[Job]) -> bool:
        """Process relaxed nodes; return False if a job has failed, whose nodes then stay open."""
        for outcome in collect(jobs):
            if outcome is None:
                return False
            self._process(self.in_progress[0], outcome)
            self.in_progress.popleft()
        return True

    @property
    def _suits_leaps(self) -> bool:
        """Whether leaps and bounds applies: it takes no more time and is more precise if there are few columns."""
        few = self.survivors.size <= self.limits.tuning.leaps_features
        determined = self.survivors.size + self.problem.fit_intercept < self.problem.n
        plain = not self.rules.structured and not self.problem.sparsity.priced
        return few and determined and plain and not self.goal.exhaustive

    @property
    def _only_leaps(self) -> bool:
        """Whether regions have no bounds: neither ridge nor limits of coefficients nor the Gram matrix provide any."""
        return not self.problem.has_dual_bounds and not self._bounder.strong

    def _leaps(self, began: float) -> Status | None:
        """Try leaps and bounds within a share of the limits; None if branch and bound over regions has to continue."""
        root, settings, clock = self.root, self.limits, self.clock
        assert root is not None
        left = root.state >= 0
        survivors, forced = self.survivors[left], root.state[left] == 1
        given = settings.gap_tol, settings.proof, settings.tuning
        search = Leaps.start(self.problem, survivors, forced, self.goal.fit, *given)
        if search is None:
            return None
        part = ALL_LIMITS if self._only_leaps else BEFORE_REGIONS
        search.run_within(clock, settings, part, lambda n_nodes: self._report(root.bound, n_nodes))
        self.n_nodes += search.n_nodes
        if search.best.any():
            self.goal.rounded(np.sort(search.support()))
        bound = min(self.closed, search.bound(self.goal.cutoff, self.goal.fit.primal))
        if bound > root.bound:
            self.leaps_bound = bound
            self.log.add_leaps(root, self.survivors, search.step())
        self.trace["seconds"]["tree"] = clock.seconds() - began
        if search.finished:
            return Status.OPTIMAL if bound >= self.goal.cutoff else None
        if not self._only_leaps:
            return None
        return clock.early() if clock.expired() else Status.NODE_LIMIT

    def _adapt(self) -> None:
        began = self.clock.seconds()
        self.adaptation.prepare(self._bounder, 0.5 * (self.limits.max_memory - self._memory()))
        seconds = self.trace["seconds"]
        seconds["adapting"] = seconds.get("adapting", 0.0) + self.clock.seconds() - began

    def _batch(self) -> Iterator[Node]:
        """The next nodes below the cutoff; nodes at or above it are closed."""
        taken = 0
        while self.frontier and taken < _BATCH_SIZE:
            self.in_progress.append(self.frontier.next())
            node = self.frontier.pop()
            if node.bound < self.goal.cutoff:
                self._try_node(node)
            if node.bound >= self.goal.cutoff:
                self._close(node)
                self.in_progress.pop()
            else:
                taken += 1
                yield node

    def _process(self, node: Node, outcome: NodeOutcome) -> None:
        """Close or split a node that has been relaxed."""
        self.n_nodes += 1
        if outcome.lift is not None:
            self.adaptation.record_lift(node, outcome.lift)
        point = self._update(node, outcome)
        self._try_rounding(outcome, node.state)
        if node.bound >= self.goal.cutoff:
            self._close(node)
            return
        feature = branching_feature(outcome.indicator, node.state, outcome.multipliers)
        if feature is None and not self.goal.exhaustive:
            feature = self.rules.broken(outcome.indicator, node.state)
        if feature is None:
            self._process_integral(node, outcome, point)
        else:
            self._split(node, outcome, point, feature)

    def _process_integral(self, node: Node, outcome: NodeOutcome, point: int) -> None:
        """Process a node whose relaxation is integral although its bound is below the cutoff.

        An exhaustive search splits it until one support is left.  Any other search relaxes it more precisely, which
        closes it unless rounding errors prevent that.
        """
        free = np.flatnonzero(node.state == 0)
        if self.goal.exhaustive and free.size:
            self._split(node, outcome, point, int(free[np.argmax(outcome.indicator[free])]))
            return
        node.repeats += 1
        if not self.goal.exhaustive and self.rules.structured and free.size and node.repeats > _REPEATS_OF_STRUCTURES:
            # Prices of rows that its solution does not use up may keep the bound below the cutoff.
            self._split(node, outcome, point, int(free[np.argmax(outcome.indicator[free])]))
            return
        if self.goal.exhaustive and node.repeats == 1 and self.rules.structured:
            # Propagation may have decided the last features after the relaxation: relax the only support itself.
            self._push(node)
            return
        if self.goal.exhaustive:
            # The proof must show that the node contains no other support.
            node.needed = None
            self.goal.reached(self.survivors[node.state == 1])
        if self.goal.exhaustive or node.repeats > _MOST_REPEATS:
            self._close(node)
        else:
            self._push(node)

    def _split(self, node: Node, outcome: NodeOutcome, point: int, feature: int) -> None:
        reach("node split")
        children = self._child(node, outcome, point, feature, 1), self._child(node, outcome, point, feature, -1)
        self.log.add_branch(node, feature, children)
        for child in children:
            self._push(child)
        self.adaptation.recent_splits.append((outcome, node.state))
        node.release()

    def _child(self, node: Node, outcome: NodeOutcome, point: int, feature: int, side: int) -> Node:
        state = node.state.copy()
        state[feature] = side
        fixes: list[tuple[int, Tightened]] = []
        if not self.rules.propagate(state):
            return Node(state, np.inf, point, node.warm, node.depth + 1, node.adapted_at, fixes, None)
        tightened = self._narrow(state, outcome.point, point, fixes)
        bound, needed = tightened.bound, tightened.needed
        if not bound > node.bound:
            bound, point, needed = node.bound, node.point, node.needed
        return Node(state, bound, point, node.warm, node.depth + 1, node.adapted_at, fixes, needed)

    def _push(self, node: Node) -> None:
        if node.bound >= self.goal.cutoff:
            self._close(node)
        else:
            self.frontier.push(node)

    def _try_node(self, node: Node) -> None:
        """Close a node with one or two features to choose by trying all of them, where that is cheap."""
        seconds = self.clock.seconds() - self._tree_began
        bound = self.trying.close_node(self.survivors, node.state, self.n_nodes, seconds)
        if bound is not None and bound > node.bound:
            node.bound = node.tried = bound
            # The check tries all features that are not out in the proof.
            node.needed = None

    def _close(self, node: Node) -> None:
        self.closed = min(self.closed, node.bound)
        node.release()

    def _try_rounding(self, outcome: NodeOutcome, state: State) -> None:
        """Offer the rounded indicator to the goal if a rounding is due."""
        due, polish = self.roundings.due(self.n_nodes, outcome.indicator)
        if self.goal.exhaustive or not due:
            return
        self.goal.rounded(self.survivors[self.rules.rounded(outcome.indicator, state)], polish)

    def _memory(self) -> float:
        return self.frontier.bytes + self.log.nbytes() + self._bounder.nbytes()

    def _bound_of_nodes(self) -> float:
        """The smallest bound over all nodes."""
        return min(self.closed, self.frontier.lowest(), *(node.bound for node in self.in_progress))

    def lower_bound(self) -> float:
        """The larger of the bounds proved by nodes and by leaps and bounds."""
        if self.root is None:
            return bound_of_zero(self.problem, self.problem.root)
        return max(self.leaps_bound, self._bound_of_nodes())

    def _try_proof(self) -> None:
        """Assemble and check the proof of the current lower bound."""
        proof = self.assemble()
        if proof is not None:
            check_proof(self.problem, proof, self.lower_bound(), self.limits.gap_tol, self.limits.n_jobs)

    def assemble(self) -> Proof | None:
        """The proof of the lower bound; None if no proof is kept."""
        if not self.limits.proof:
            return None
        by_leaps = self.leaps_bound > self._bound_of_nodes()
        return self.log.assemble(self.root, self.survivors, by_leaps)

    def _report(self, bound: float, n_nodes: int) -> None:
        now = self.clock.seconds()
        if now - self._last_report > self.limits.tuning.report_seconds:
            self._last_report = now
            self.clock.tell(Bound(now, bound, self.goal.fit.primal, n_nodes))
