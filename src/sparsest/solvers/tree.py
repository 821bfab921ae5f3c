"""The method "tree": branch and bound over features, with a proof of everything it closes.

    while there are open regions and there is time:
        take the regions with the lowest bounds
        relax each; try the rounded support
        fix what the bound decides; close the region, or split it on a feature

Regions are taken in batches of a fixed size, solved by any number of threads, and dealt with in order, so the search
and its certificate do not depend on the number of threads.  The bound is the smallest over open and closed regions;
optimal means that this figure is within the tolerance of the incumbent.
"""

from __future__ import annotations

import os
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsest.kernels.node import undecided
from sparsest.losses import Squared
from sparsest.problem import Cardinality, Problem, Region
from sparsest.proofs.steps import DualPoint
from sparsest.result import Bound as BoundEvent
from sparsest.result import Result, Root, Status
from sparsest.solvers.adapting import Adapting
from sparsest.solvers.base import Callback, Clock, insist, make_result, start_support
from sparsest.solvers.claims import allowance, evidence
from sparsest.solvers.dual import best_bound, bound_of_zero, null_value
from sparsest.solvers.enumeration import Enumeration, enumerate_supports, is_tiny
from sparsest.solvers.gram import GramNodes
from sparsest.solvers.leaps import Leaps
from sparsest.solvers.local_search import LocalSearch
from sparsest.solvers.margin import MarginNodes
from sparsest.solvers.nodes import NodeOutcome, Nodes, OutOfTime, Request, State, Tightened, Warm
from sparsest.solvers.proof_log import ProofLog
from sparsest.solvers.regions import Node, OpenRegions, branching_feature
from sparsest.solvers.relaxation import Fixings, Living, Relaxed, Relaxer, Start, summary, warm_start
from sparsest.solvers.support import SupportFit, fit_support
from sparsest.solvers.threads import single_threaded

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_BATCH = 16
# Seconds between looks at the clock while kernels run.
_LOOK_AT_CLOCK = 0.05
_MAX_REPEATS = 20
# Points of proofs are rounded where the tolerance is at least this and so many features survive; that may cost this
# part of the tolerance.  With 1e-2 files were a quarter smaller, but a quarter of the regions had to be relaxed again.
_ROUNDED_TOLERANCE, _ROUNDED_SURVIVORS, _ROUNDING = 1e-6, 100, 1e-4
# Open regions keep what can be computed anew up to this part of the memory.
_LAVISH = 0.1
# Rounded supports that are remembered, so that none is tried twice in a row.
_REMEMBERED = 100_000


@dataclass(frozen=True)
class Tree:
    """Settings of the branch and bound.

    ``max_memory`` bounds open regions, proof and stored columns of the Gram matrix together, in bytes: the search goes
    depth-first when open regions take half of it, and stops with NODE_LIMIT at the whole.  ``proof=False`` keeps no
    proof, so there is no certificate.  ``n_jobs`` threads (all cores by default) do not change the result.
    """

    time_limit: float = 60.0
    gap_tol: float = 1e-4
    node_limit: int = 10_000_000
    max_memory: float = 2e9
    n_jobs: int | None = None
    proof: bool = True
    moves: LocalSearch = field(default_factory=LocalSearch)

    def solve(self, problem: Problem, start: Any = None, callback: Callback | None = None) -> Result:
        """Search until the gap is closed or a limit is reached."""
        clock = Clock(self.time_limit, callback)
        with clock.listening():
            return _Search(self, problem, clock).run(start)


class _Search:
    """The mutable state of one search."""

    def __init__(self, settings: Tree, problem: Problem, clock: Clock) -> None:
        self.settings, self.problem, self.clock = settings, problem, clock
        self.fit: SupportFit
        # The features that are not excluded yet, and what bounds regions over them, unless the first is closed at once.
        self.survivors: Indices = np.arange(problem.p)
        self.nodes: Nodes
        self.log = ProofLog(problem, settings.proof)
        self.root: Node | None = None
        self.open = OpenRegions()
        # Regions being dealt with: neither open nor closed if an interrupt comes.
        self.in_hand: deque[Node] = deque()
        self.closed = np.inf
        self.n_nodes = 0
        self.trace: dict[str, Any] = {"seconds": {}}
        self.leaps_bound = -np.inf
        self.adapting = Adapting()
        self._tried: set[bytes] = set()
        self._told = 0.0
        self._null = null_value(problem)
        evidence(problem)

    @property
    def cutoff(self) -> float:
        """Regions with this bound cannot improve the incumbent by more than the tolerance.

        A part of the tolerance is kept for rounding errors of the check.
        """
        primal, allowed = self.fit.primal, self.settings.gap_tol * abs(self.fit.primal)
        return primal - max(0.5 * allowed, 0.95 * allowed - 2.0 * allowance(self._null, primal))

    def run(self, start: Any) -> Result:
        """Search, and put the result together whatever ends it."""
        self.fit = fit_support(self.problem, self.problem.include)
        status = Status.OPTIMAL
        try:
            self._incumbent(start_support(start, self.problem))
            with self._watched():
                self._root(warm_start(start, self.problem))
                status = self._explore()
        except KeyboardInterrupt as error:
            self.clock.interrupt(error)
            status = Status.INTERRUPTED
        return insist(lambda: self._result(status))

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """Let another thread end what kernels do when time has run out."""
        done = Event()

        def watch() -> None:
            while not done.wait(_LOOK_AT_CLOCK):
                nodes = getattr(self, "nodes", None)
                if nodes is not None and self.clock.expired():
                    nodes.halt()

        Thread(target=watch, daemon=True).start()
        try:
            yield
        finally:
            done.set()

    def _incumbent(self, support: Indices | None) -> None:
        began = self.clock.seconds()
        self._offer(self.settings.moves.search(self.problem, expired=self.clock.expired))
        if support is not None:
            self._offer(self.settings.moves.search(self.problem, start=support, expired=self.clock.expired))
        self.trace["seconds"]["incumbent"] = self.clock.seconds() - began

    def _offer(self, fit: SupportFit) -> None:
        if fit.primal < self.fit.primal:
            self.fit = fit
            self.clock.found(fit)

    def _root(self, start: Start | None) -> None:
        """Relax the root, fix features, and set up the nodes over the survivors."""
        began = self.clock.seconds()
        problem = self.problem
        region, features, w, b = problem.root, np.empty(0, dtype=np.intp), np.empty(0), 0.0
        bound = best_bound(problem, self.fit.alpha, problem.root)
        self.closed, root_point = np.inf, self.log.note(DualPoint(bound.alpha))
        value = bound.value
        if np.isfinite(problem.gamma):
            living, fixings = Living(problem), Fixings()
            start = start or Start(self.fit.support, self.fit.w, self.fit.b)
            relaxed = Relaxer(0.1 * self.settings.gap_tol + 1e-9).relax(
                problem, region, living, start, self._after_round, fixings, self.clock.expired
            )
            offset = len(self.log.points)
            self.log.note(*fixings.points)
            self.log.fixes = [fix._replace(point=fix.point + offset) for fix in fixings.fixes]
            if fixings.fixes:
                self.closed = self.cutoff
            region, features, w, b = relaxed.region, relaxed.features, relaxed.w, relaxed.b
            if relaxed.dual > value:
                value, root_point = relaxed.dual, self.log.note(DualPoint(relaxed.alpha))
            self.trace["relaxation"] = summary(problem, relaxed, living)
        self._set_up(region, features, w, b, value, root_point)
        self.trace["seconds"]["root"] = self.clock.seconds() - began
        assert self.root is not None
        self.clock.tell(Root(self.clock.seconds(), self.root.bound, int((self.root.state == 0).sum())))

    def _after_round(self, relaxed: Relaxed) -> float:
        """Try the rounded relaxation; features are fixed against the cutoff, so that all closed regions pass it."""
        self._try(relaxed.rounded(self.problem))
        return self.cutoff

    def _set_up(self, region: Region, features: Indices, w: Array, b: float, bound: float, point: int) -> None:
        """Build the nodes over the survivors; strengthen the ridge as long as that fixes many more."""
        self.survivors = np.setdiff1d(np.arange(self.problem.p), region.forced_out)
        state = np.zeros(self.survivors.size, dtype=np.int8)
        state[np.searchsorted(self.survivors, region.forced_in)] = 1
        self.root = Node(state, bound, point, Warm(features[:0], w[:0], b))
        self.in_hand = deque([self.root])
        if bound >= self.cutoff or self.clock.expired():
            return
        self._use(features, w, b)
        while not self.clock.expired() and self.root.bound < self.cutoff and self.nodes.strong:
            root = self.root
            before = int((root.state >= 0).sum())
            [outcome] = self.nodes.solve([Request(root.warm, root.state)], self.cutoff)
            self._absorb(root, outcome)
            self._try_rounding(outcome)
            left = np.flatnonzero(root.state >= 0)
            if left.size > 0.9 * before:
                break
            self.log.note_fixes(root.fixes, self.survivors)
            warm = self.survivors[root.warm.positions], root.warm.w, root.warm.b
            self.root = Node(root.state[left], root.bound, root.point, root.warm)
            self.in_hand = deque([self.root])
            self.survivors = self.survivors[left]
            self._use(*warm)

    def _use(self, features: Indices, w: Array, b: float) -> None:
        """Go on with nodes over the survivors, from these coefficients."""
        assert self.root is not None
        rounded = self.settings.gap_tol >= _ROUNDED_TOLERANCE and self.survivors.size >= _ROUNDED_SURVIVORS
        rounding = _ROUNDING * self.settings.gap_tol * abs(self.fit.primal) if rounded else 0.0
        try:
            self.nodes = make_nodes(self.problem, self.survivors, rounding, self.clock.expired)
        except OutOfTime:
            return
        if not self.clock.expired():
            self.nodes.strengthen()
        self.root.warm = self.nodes.start(features, w, b)

    def _absorb(self, node: Node, outcome: NodeOutcome) -> int:
        """Take over the bound, the fixings and the start of a relaxed region; return the number of its point."""
        point = self.log.note_outcome(self.nodes, outcome.point)
        tightened = self._narrow(node.state, outcome.point, point, node.fixes)
        if tightened.bound > node.bound:
            node.bound, node.point, node.needed = tightened.bound, point, tightened.needed
        node.warm = self.nodes.compress(outcome.point, self.open.bytes < _LAVISH * self.settings.max_memory)
        return point

    def _narrow(self, state: State, dense: Any, point: int, fixes: list[tuple[int, Tightened]]) -> Tightened:
        """Return a point's bound for a region, and note what it fixes."""
        tightened = self.nodes.tighten(dense, state, self.cutoff)
        if tightened.inside.size or tightened.outside.size:
            fixes.append((point, tightened))
            self.closed = min(self.closed, self.cutoff)
        return tightened

    def _explore(self) -> Status:
        """Take, relax, and split or close regions until none is open."""
        assert self.root is not None
        began = self.clock.seconds()
        if self.root.bound >= self.cutoff:
            self.trace["seconds"]["tree"] = 0.0
            self._close(self.root)
            return Status.OPTIMAL
        if self.clock.expired():
            self._close(self.root)
            return self.clock.early()
        by_leaps = self._leaps(began)
        if by_leaps is not None or self._only_leaps:
            self._close(self.root)
            return by_leaps or Status.HEURISTIC
        self._push(self.root)
        self.in_hand.clear()
        self.adapting.begin(self.nodes, self.root)
        status = Status.OPTIMAL
        with single_threaded(), ThreadPoolExecutor(self.settings.n_jobs or os.cpu_count() or 1) as pool:
            jobs: list[Future[list[NodeOutcome]]] = []
            while self.open or jobs:
                if self.clock.expired():
                    status = self.clock.early()
                    break
                if self.n_nodes >= self.settings.node_limit or self._memory() > self.settings.max_memory:
                    status = Status.NODE_LIMIT
                    break
                self.open.depth_first(self.open.bytes > 0.5 * self.settings.max_memory)
                # The next regions are taken before the last ones are dealt with: threads never wait for that.
                adapt = self.adapting.is_due(self.n_nodes)
                requests = [] if adapt else [self._request(node) for node in self._batch()]
                size = min(self.nodes.together, (len(requests) + 1) // 2) or 1
                following = [
                    pool.submit(self.nodes.solve, requests[begin : begin + size], self.cutoff)
                    for begin in range(0, len(requests), size)
                ]
                done, jobs = self._collect(jobs), following
                if not done:
                    status = Status.INTERRUPTED
                    break
                if adapt:
                    self._adapt()
                self._report(self.lower_bound(), self.n_nodes)
            for job in jobs:
                job.cancel()
            while self.in_hand:
                self.open.push(self.in_hand.popleft())
        self.trace["seconds"]["tree"] = self.clock.seconds() - began
        return status

    def _collect(self, jobs: list[Future[list[NodeOutcome]]]) -> bool:
        """Deal with relaxed regions; False when relaxing some has failed, and these stay open."""
        for job in jobs:
            error = job.exception()
            if error is not None:
                warnings.warn(
                    f"the search ended early by {error!r}; the result is the best model so far with the bound proved",
                    RuntimeWarning,
                    stacklevel=2,
                )
                return False
            for outcome in job.result():
                self._deal(self.in_hand[0], outcome)
                self.in_hand.popleft()
        return True

    @property
    def _only_leaps(self) -> bool:
        """Without a ridge only a well conditioned Gram matrix gives bounds to branch with."""
        return bool(np.isinf(self.problem.gamma)) and not self.nodes.strong

    def _leaps(self, began: float) -> Status | None:
        """Try leaps and bounds where it may be faster, for a part of all limits; None when regions have to go on."""
        root, settings, clock = self.root, self.settings, self.clock
        assert root is not None
        left = root.state >= 0
        survivors, forced = self.survivors[left], root.state[left] == 1
        search = Leaps.start(self.problem, survivors, forced, self.fit, settings.gap_tol, settings.proof)
        if search is None:
            return None
        time, nodes, memory = (1.0, 1.0, 1.0) if self._only_leaps else (0.3, 0.9, 0.5)
        until = clock.seconds() + time * (clock.limit - clock.seconds())

        def proceed() -> bool:
            self._report(root.bound, search.n_nodes)
            room = search.nbytes() < memory * settings.max_memory
            return room and not clock.expired() and clock.seconds() < until

        search.run(proceed, nodes * settings.node_limit)
        self.n_nodes += search.n_nodes
        if search.best.any():
            self._offer(fit_support(self.problem, search.support()))
        bound = min(self.closed, search.bound(self.cutoff, self.fit.primal))
        if bound > root.bound:
            self.leaps_bound = bound
            self.log.note_leaps(root, self.survivors, search.step())
        self.trace["seconds"]["tree"] = clock.seconds() - began
        if search.finished:
            return Status.OPTIMAL if bound >= self.cutoff else None
        if not self._only_leaps:
            return None
        return clock.early() if clock.expired() else Status.NODE_LIMIT

    def _adapt(self) -> None:
        began = self.clock.seconds()
        self.adapting.prepare(self.nodes, 0.5 * (self.settings.max_memory - self._memory()))
        seconds = self.trace["seconds"]
        seconds["adapting"] = seconds.get("adapting", 0.0) + self.clock.seconds() - began

    def _request(self, node: Node) -> Request:
        return Request(node.warm, node.state, self.adapting.suits(node, self.cutoff))

    def _batch(self) -> Iterator[Node]:
        """The next regions that still may hold something better; the others are closed."""
        taken = 0
        while self.open and taken < _BATCH:
            self.in_hand.append(self.open.next())
            node = self.open.pop()
            if node.bound >= self.cutoff:
                self._close(node)
                self.in_hand.pop()
            else:
                taken += 1
                yield node

    def _deal(self, node: Node, outcome: NodeOutcome) -> None:
        """Close or split a region that has been relaxed."""
        self.n_nodes += 1
        if outcome.lift is not None:
            self.adapting.weigh(node, outcome.lift)
        point = self._absorb(node, outcome)
        self._try_rounding(outcome)
        if node.bound >= self.cutoff:
            self._close(node)
            return
        feature = branching_feature(outcome.indicator, node.state)
        if feature < 0:
            # The relaxation is integral: relaxing more precisely closes the region, except for rounding errors.
            node.repeats += 1
            if node.repeats > _MAX_REPEATS:
                self._close(node)
            else:
                self._push(node)
            return
        self._split(node, outcome, point, feature)

    def _split(self, node: Node, outcome: NodeOutcome, point: int, feature: int) -> None:
        children = self._child(node, outcome, point, feature, 1), self._child(node, outcome, point, feature, -1)
        self.log.note_branch(node, feature, children)
        for child in children:
            self._push(child)
        self.adapting.lately_split.append((outcome, node.state))
        node.release()

    def _child(self, node: Node, outcome: NodeOutcome, point: int, feature: int, side: int) -> Node:
        state = node.state.copy()
        state[feature] = side
        fixes: list[tuple[int, Tightened]] = []
        tightened = self._narrow(state, outcome.point, point, fixes)
        bound, needed = tightened.bound, tightened.needed
        if not bound > node.bound:
            bound, point, needed = node.bound, node.point, node.needed
        return Node(state, bound, point, node.warm, node.depth + 1, node.divided, fixes, needed)

    def _push(self, node: Node) -> None:
        if node.bound >= self.cutoff:
            self._close(node)
        else:
            self.open.push(node)

    def _close(self, node: Node) -> None:
        self.closed = min(self.closed, node.bound)
        node.release()

    def _try_rounding(self, outcome: NodeOutcome) -> None:
        """Try the support of the largest indicators: early, where they are nearly integral, and now and then."""
        if self.n_nodes > 32 and self.n_nodes % 64 and undecided(outcome.indicator) > 0.5:
            return
        used = np.flatnonzero(outcome.indicator)
        indicator = outcome.indicator[used]
        sparsity = self.problem.sparsity
        if isinstance(sparsity, Cardinality):
            chosen = used[np.argsort(-indicator, kind="stable")[: sparsity.k]]
        else:
            chosen = used[indicator >= 0.5]
        self._try(np.sort(self.survivors[chosen]))

    def _try(self, support: Indices) -> None:
        """Fit a support not tried before; polish it when it is better."""
        key = support.tobytes()
        if key in self._tried or np.setdiff1d(self.problem.include, support).size:
            return
        if len(self._tried) >= _REMEMBERED:
            self._tried.clear()
        self._tried.add(key)
        fit = fit_support(self.problem, support, expired=self.clock.expired)
        if fit.primal < self.fit.primal:
            self._offer(self.settings.moves.search(self.problem, start=support, expired=self.clock.expired))

    def _try_all(self, bound: float) -> Enumeration | None:
        """Try all supports of a tiny problem that bounds of regions have not closed."""
        if not self.settings.proof or not is_tiny(self.problem) or self.clock.expired():
            return None
        return enumerate_supports(self.problem, self.clock.expired)

    def _memory(self) -> float:
        return self.open.bytes + self.log.nbytes() + self.nodes.stored()

    def _bound_of_regions(self) -> float:
        """The smallest bound over all regions."""
        return min(self.closed, self.open.lowest(), *(node.bound for node in self.in_hand))

    def lower_bound(self) -> float:
        """The better of what regions and what leaps and bounds have proved."""
        return max(self.leaps_bound, self._bound_of_regions())

    def _report(self, bound: float, n_nodes: int) -> None:
        now = self.clock.seconds()
        if now - self._told > 0.05:
            self._told = now
            self.clock.tell(BoundEvent(now, bound, self.fit.primal, n_nodes))

    def _result(self, status: Status) -> Result:
        bound = self.lower_bound() if self.root is not None else bound_of_zero(self.problem, self.problem.root)
        seconds = self.trace["seconds"].get("tree", 0.0)
        self.trace["nodes_per_second"] = self.n_nodes / seconds if seconds > 0 else 0.0
        self.trace["proof"] = "logged" if self.settings.proof else "switched off: no certificate"
        otherwise = Status.HEURISTIC if status is Status.OPTIMAL else status
        by_leaps = self.leaps_bound > self._bound_of_regions()
        began = self.clock.seconds()
        kept = self.settings.proof
        proof = self.log.assemble(self.root, self.survivors, by_leaps) if kept else None
        self.trace["seconds"]["assembling"] = self.clock.seconds() - began
        return make_result(
            self.problem, self.fit, proof, bound, clock=self.clock, gap_tol=self.settings.gap_tol,
            otherwise=otherwise, trace=self.trace, n_nodes=self.n_nodes, fallback=self._try_all,
        )  # fmt: skip


def make_nodes(
    problem: Problem, survivors: Indices, rounding: float = 0.0, expired: Callable[[], bool] = lambda: False
) -> Nodes:
    """Return what bounds the regions of this problem, less precisely once ``expired`` says so.

    Points of proofs are rounded where that costs at most about ``rounding``.
    """
    if isinstance(problem.loss, Squared):
        return GramNodes(problem, survivors, rounding, expired)
    return MarginNodes(problem, survivors, rounding, expired)
