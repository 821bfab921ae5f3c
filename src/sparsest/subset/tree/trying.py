"""Regions that are closed by trying their last features, and swaps of two features at once."""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from sparsest.core.arrays import Indices
from sparsest.core.problem import Problem
from sparsest.core.sparsity import Sparsity
from sparsest.proofs.steps import LastFeatures as LastFeaturesStep
from sparsest.proofs.steps import Proof
from sparsest.runtime.clock import Clock
from sparsest.runtime.events import NotTried
from sparsest.subset.claims import check_proof
from sparsest.subset.tree.bounder import State
from sparsest.subset.tree.goal import Goal, Limits
from sparsest.subset.tree.last_features import (
    MOST_LAST_FEATURES,
    Choices,
    LastFeatures,
    TooLong,
    can_try,
    most_last_features,
    seconds_of,
)

# Number of choices whose models are fitted, the best first; an exhaustive goal fits all.
_FITTED = 8
# The same where coefficients have limits, so that values are only bounds.
_FITTED_WITH_LIMITS = 1000
# Largest number of scans: a scan that finds too many choices is repeated with the better incumbent found by it.
_MOST_SCANS = 20
# With more choices below the cutoff than this, none of which is admissible, the checker might not prove the bound.
_MOST_LEFT = 900
# The largest share of the remaining time that trying all choices may take.
TRIED_AT_MOST = 0.8
# The largest share of the memory of the search that the copied columns may take.
_SHARE_OF_MEMORY = 0.25
# A node is tried if the trial takes no longer than this many nodes, which are assumed to need at most this many seconds
# each (the first nodes also wait for initialisation); a trial takes at least this many seconds.  Riboflavin with k = 4
# and gamma = 10/n is then proved in 12 s of CPU time.  After 15 s without trials the gap was 5 %, and if nodes were
# tried when they were created, it was 13 %.  Three features are tried at the first node only: with k = 5, 104 later
# trials closed 103 nodes in 0.9 s, but all checks together took 15 s instead of 6 s.
_NODES_OF_TRIAL, _SECONDS_OF_NODE, _SECONDS_OF_TRIAL = 4.0, 2e-3, 5e-4
# A bound of the first node is worth little if it is at most this share of the incumbent's objective.
_WORTH_LITTLE = 0.01
# The relaxation of the first node ends early if trying all choices takes at most this many CPU seconds: with weak
# ridges the relaxation would take longer.
_SECONDS_OF_FIRST = 2.0
# Nodes are tried only if k is at most this number.  With k = 10 and 20 (1000 × 5000), searches that tried nodes needed
# 9 to 24 % fewer nodes but took 17 to 35 % longer, mostly because of the check.
_MOST_CHOSEN = 6
# Smallest relative improvement by a swap.
_IMPROVEMENT = 1e-9


def close_by_trying(
    last: LastFeatures, goal: Goal, S: Indices, F: Indices, allowed: float, clock: Clock
) -> float | None:
    """Offer the goal all supports of S and some of the features F, by position, that may be below its cutoff.

    Return the cutoff, which then bounds all other supports, or None if not all supports could be tried.  This and its
    check may take ``allowed`` seconds; TooLong is raised if they are expected to take longer.
    """
    most = most_last_features(last.problem, S.size, F.size, goal.cutoff)
    if most > MOST_LAST_FEATURES:
        return None
    # Without a price a larger choice is at least as good; it is admissible if there is no structure.
    plain = isinstance(last.problem.sparsity, Sparsity)
    alone = plain and not last.problem.sparsity.priced and not goal.exhaustive
    for q in (most,) if alone else range(most + 1):
        if not _try_size(last, goal, S, F, q, allowed, clock):
            return None
    return goal.cutoff


def _try_size(last: LastFeatures, goal: Goal, S: Indices, F: Indices, q: int, allowed: float, clock: Clock) -> bool:
    """Offer the choices of q features to the goal; return whether all of them have been tried."""
    for _ in range(_MOST_SCANS):
        cutoff = goal.cutoff
        found = last.below(S, F, q, cutoff, allowed, clock.expired)
        done = _offer_choices(last, goal, S, found, clock)
        if found.complete and done and not clock.expired():
            # Where the checker tries too many choices one by one, it proves nothing.
            n_left = 0 if goal.exhaustive else int((found.values < goal.cutoff).sum())
            last.doubtful |= n_left > _MOST_LEFT
            return True
        if goal.exhaustive or clock.expired() or not goal.cutoff < cutoff:
            return False
    return False


def _offer_choices(last: LastFeatures, goal: Goal, S: Indices, found: Choices, clock: Clock) -> bool:
    """Offer the choices found to the goal, the best first; return whether no other of them can be below the cutoff.

    Without limits of coefficients the first admissible choice is the best one.
    """
    problem, limited, count = last.problem, last.bounds.exist, 0
    for choice, value in zip(found.features, found.values, strict=True):
        if clock.expired():
            break
        if not goal.exhaustive and value >= goal.cutoff:
            return True
        if not goal.exhaustive and count >= (_FITTED_WITH_LIMITS if limited else _FITTED):
            return not limited
        support = np.sort(last.features[np.append(S, choice).astype(np.intp)])
        if problem.sparsity.admissible(support, problem.root):
            goal.reached(support)
            count += 1
    return True


class Trying:
    """Trials in a search: all choices of the last features of a node, and swaps of pairs if nothing can be proved."""

    def __init__(self, problem: Problem, goal: Goal, clock: Clock, limits: Limits, trace: dict[str, Any]) -> None:
        self.problem, self.goal, self.clock, self.limits, self.trace = problem, goal, clock, limits, trace
        self._last: LastFeatures | None = None
        self._applies, self._doubtful = can_try(problem), False
        # Seconds spent on trials of nodes.
        self.trial_seconds = 0.0

    def is_cheap(self) -> bool:
        """Whether at most two features are to be chosen, and trying all choices takes little time."""
        problem, root = self.problem, self.problem.root
        if not self._applies or not self._has_room(root.alive):
            return False
        most = most_last_features(problem, root.forced_in.size, root.free.size, self.goal.cutoff)
        little = seconds_of(problem.n, root.free.size, 2, 1) <= _SECONDS_OF_FIRST
        return most <= min(2, self.limits.tuning.last_features) and little

    def close_first(
        self, survivors: Indices, forced: Indices, free: Indices, bound: float, allowed: float
    ) -> float | None:
        """The bound of the first node by trying all choices of its features; None if they cannot all be tried.

        ``forced`` and ``free`` are positions among the survivors, ``bound`` is the bound so far.  The trial may take
        ``allowed`` seconds; if it would take longer and the bound is worth little, that is reported.
        """
        if not self._applies:
            return None
        most = most_last_features(self.problem, forced.size, free.size, self.goal.cutoff)
        tried = min(MOST_LAST_FEATURES, self.limits.tuning.last_features)
        threads = self.limits.n_jobs or os.cpu_count() or 1
        if most > tried or not self._has_room(survivors):
            if tried == MOST_LAST_FEATURES and bound <= _WORTH_LITTLE * abs(self.goal.fit.primal):
                # There is hardly another way to prove a bound.
                self._report_not_tried(TooLong(seconds_of(self.problem.n, free.size, most, threads), 0.0))
            return None
        seconds = seconds_of(self.problem.n, free.size, min(most, 2), threads)
        if seconds > allowed:
            self._report_not_tried(TooLong(seconds_of(self.problem.n, free.size, most, threads), 0.0))
            return None
        began = self.clock.seconds()
        try:
            last = self._columns(survivors)
            proved = close_by_trying(last, self.goal, forced, free, allowed, self.clock)
        except TooLong as error:
            self._report_not_tried(error)
            return None
        finally:
            self.trace["seconds"]["last features"] = self.clock.seconds() - began
        if proved is not None:
            # An earlier trial, with more features, may have been too long.
            self.trace.pop("last features", None)
        if proved is not None and last.doubtful and self.limits.proof:
            return self._checked(survivors, forced, proved)
        return proved

    def close_node(self, survivors: Indices, state: State, n_nodes: int, seconds: float) -> float | None:
        """The bound of a node with one or two features to choose, by trying all choices; None if they are not tried.

        They are tried only if that takes little longer than a node: so far ``n_nodes`` nodes have taken ``seconds``.
        """
        most = min(2, self.limits.tuning.last_features)
        many = self.problem.sparsity.budget(self.problem.root) > _MOST_CHOSEN
        plain = isinstance(self.problem.sparsity, Sparsity)
        if most < 1 or many or not plain or not self._applies or self._doubtful:
            return None
        forced, free = np.flatnonzero(state == 1), np.flatnonzero(state == 0)
        q = most_last_features(self.problem, forced.size, free.size, self.goal.cutoff)
        if not 0 < q <= most:
            return None
        # One feature takes nearly as long as two, because both need the residuals of the columns.
        expected = _SECONDS_OF_TRIAL + seconds_of(self.problem.n, free.size, 2, 1)
        usual = np.clip((seconds - self.trial_seconds) / max(n_nodes, 1), _SECONDS_OF_TRIAL, _SECONDS_OF_NODE)
        if expected > _NODES_OF_TRIAL * usual or self.clock.expired() or not self._has_room(survivors):
            return None
        began = self.clock.seconds()
        last = self._columns(survivors)
        last.doubtful = False
        bound = close_by_trying(last, self.goal, forced, free, np.inf, self.clock)
        self.trial_seconds += self.clock.seconds() - began
        # If columns are nearly dependent, the checker might not prove the bound.
        self._doubtful |= last.doubtful
        return None if last.doubtful else bound

    def _checked(self, survivors: Indices, forced: Indices, bound: float) -> float | None:
        """The bound if the checker proves it, which it may not if columns are nearly dependent."""
        problem = self.problem
        out = np.setdiff1d(np.arange(problem.p), np.concatenate([survivors, problem.exclude]))
        fixed = np.setdiff1d(survivors[forced], problem.include)
        region = replace(
            problem,
            include=np.sort(np.append(problem.include, fixed)),
            exclude=np.sort(np.append(problem.exclude, out)),
        )
        checked = check_proof(region, Proof((LastFeaturesStep(bound),)), bound, self.limits.gap_tol, self.limits.n_jobs)
        return bound if checked.bound >= bound else None

    def improve(self, survivors: Indices) -> None:
        """Swap pairs of features of the incumbent for any other features as long as time is left."""
        if self._applies and self._has_room(survivors) and np.isin(self.goal.fit.support, survivors).all():
            swap_pairs(self._columns(survivors), self.goal, self.clock)

    @property
    def _most_checked(self) -> int:
        """Bytes of the largest matrix that the checker admits."""
        return self.problem.data.evidence.data.room.most

    def _has_room(self, survivors: Indices) -> bool:
        """Whether copies of the columns take at most their share of the memory, and fit into the checker's."""
        most = min(_SHARE_OF_MEMORY * self.limits.max_memory, self._most_checked)
        return 8.0 * self.problem.n * survivors.size <= most

    def _columns(self, survivors: Indices) -> LastFeatures:
        if self._last is None or not np.array_equal(self._last.features, survivors):
            # A matrix may take half of the memory.
            most = min(self.limits.max_memory, 2.0 * self._most_checked)
            self._last = LastFeatures(self.problem, survivors, self.limits.n_jobs, most)
        return self._last

    def _report_not_tried(self, error: TooLong) -> None:
        """Report that trying all choices would take too long; the search continues without it."""
        left = self.clock.left()
        if error.seconds > TRIED_AT_MOST * left or error.memory > min(0.5 * self.limits.max_memory, self._most_checked):
            if "last features" not in self.trace:
                self.clock.tell(NotTried(self.clock.seconds(), error.seconds, error.memory))
            self.trace["last features"] = {"estimated_seconds": error.seconds, "bytes": error.memory}


def swap_pairs(last: LastFeatures, goal: Goal, clock: Clock) -> None:
    """Swap two features of the incumbent for any other two as long as that improves it and time is left."""
    fixed = set(last.problem.include.tolist())
    improved = True
    while improved and not clock.expired():
        support = goal.fit.support
        movable = [j for j in support.tolist() if j not in fixed]
        before, improved = goal.fit.primal, False
        for removed in combinations(movable, min(2, len(movable))):
            if clock.expired() or improved:
                break
            _swap(last, goal, np.setdiff1d(support, removed), len(removed), clock)
            improved = goal.fit.primal < before - _IMPROVEMENT * abs(before)


def _swap(last: LastFeatures, goal: Goal, kept: Indices, q: int, clock: Clock) -> None:
    """Add the best q features to the ``kept`` features of the incumbent."""
    S = np.searchsorted(last.features, kept)
    F = np.setdiff1d(np.arange(last.features.size), S)
    target = goal.fit.primal * (1.0 - _IMPROVEMENT)
    try:
        found = last.below(S, F, q, target, np.inf, clock.expired)
    except TooLong:
        return
    _offer_choices(last, goal, S, found, clock)
