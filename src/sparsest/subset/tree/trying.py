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

# Choices whose models are fitted, the best first; all of them for a goal that wants every one.
_FITTED = 8
# The same where coefficients have limits, so that values are only bounds.
_FITTED_WITH_LIMITS = 1000
# Scans that find more choices than are kept are repeated with the better model that these have led to.
_MOST_SCANS = 20
# The largest share of the remaining time that trying everything may take.
TRIED_AT_MOST = 0.8
# The columns may take this part of the memory that a search has.
_SHARE_OF_MEMORY = 0.25
# A node is tried if the trial takes no longer than this many nodes, which are assumed to need at most this many seconds
# each (the first nodes also wait for initialisation); a trial takes at least this many seconds.  Riboflavin with k = 4
# and gamma = 10/n is then solved in 12 s of CPU time, where the gap was 5 %; nodes tried when they are made left 13 %.
_NODES_OF_TRIAL, _SECONDS_OF_NODE, _SECONDS_OF_TRIAL = 4.0, 2e-3, 5e-4
# The relaxation of the first node ends early if trying all choices takes at most so many seconds of a core: with weak
# ridges it would take longer.
_SECONDS_OF_FIRST = 2.0
# Nodes are tried where a model has at most this many features.  With k = 10 and 20 (1000 × 5000), searches that tried
# nodes had 9 to 24 % fewer of them and took 17 to 35 % longer, most of it in the check.
_MOST_CHOSEN = 6
# By how much a swap has to improve a model, relatively.
_IMPROVEMENT = 1e-9


def close_by_trying(
    last: LastFeatures, goal: Goal, S: Indices, F: Indices, allowed: float, clock: Clock
) -> float | None:
    """Hand all choices of features F beside S, by position, that the goal may want to it.

    Return the bound that then holds for all others, the goal's cutoff; None if not all could be tried.  ``allowed`` are
    the seconds that this and the check of it may take; TooLong is raised if they are not enough.
    """
    most = most_last_features(last.problem, S.size, F.size, goal.cutoff)
    if most > MOST_LAST_FEATURES:
        return None
    # Without a price a choice explains no more than any larger one, which must be admissible.
    plain = isinstance(last.problem.sparsity, Sparsity)
    alone = plain and not last.problem.sparsity.priced and not goal.exhaustive
    for q in (most,) if alone else range(most + 1):
        if not _try_size(last, goal, S, F, q, allowed, clock):
            return None
    return goal.cutoff


def _try_size(last: LastFeatures, goal: Goal, S: Indices, F: Indices, q: int, allowed: float, clock: Clock) -> bool:
    """Hand the choices of q features to the goal; whether all of them have been tried."""
    for _ in range(_MOST_SCANS):
        cutoff = goal.cutoff
        found = last.below(S, F, q, cutoff, allowed, clock.expired)
        done = _hand_over(last, goal, S, found, clock)
        if found.complete and done and not clock.expired():
            return True
        if goal.exhaustive or clock.expired() or not goal.cutoff < cutoff:
            return False
    return False


def _hand_over(last: LastFeatures, goal: Goal, S: Indices, found: Choices, clock: Clock) -> bool:
    """Hand the choices found to the goal, the best first; whether no other of them can be wanted.

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
    """What a search tries: all choices of the features of its first node, and swaps where nothing can be proved."""

    def __init__(self, problem: Problem, goal: Goal, clock: Clock, limits: Limits, trace: dict[str, Any]) -> None:
        self.problem, self.goal, self.clock, self.limits, self.trace = problem, goal, clock, limits, trace
        self._last: LastFeatures | None = None
        self._possible, self._doubtful = can_try(problem), False
        # Seconds that nodes were tried for.
        self._trial_seconds = 0.0

    def is_cheap(self) -> bool:
        """Whether at most two features are to be chosen, and all choices will be tried very soon."""
        problem, root = self.problem, self.problem.root
        if not self._possible or not self._fits(root.alive):
            return False
        most = most_last_features(problem, root.forced_in.size, root.free.size, self.goal.cutoff)
        little = seconds_of(problem.n, root.free.size, 2, 1) <= _SECONDS_OF_FIRST
        return most <= min(2, self.limits.tuning.last_features) and little

    def close_first(self, survivors: Indices, forced: Indices, free: Indices, allowed: float) -> float | None:
        """The bound of the first node by trying all choices of its features, by position; None if that is not done.

        ``allowed`` are the seconds that it may take.
        """
        if not self._possible:
            return None
        most = most_last_features(self.problem, forced.size, free.size, self.goal.cutoff)
        tried = min(MOST_LAST_FEATURES, self.limits.tuning.last_features)
        threads = self.limits.n_jobs or os.cpu_count() or 1
        if most > tried or not self._fits(survivors):
            if tried == MOST_LAST_FEATURES and not self.problem.has_dual_bounds:
                # Nothing else would prove anything.
                self._say(TooLong(seconds_of(self.problem.n, free.size, most, threads), 0.0))
            return None
        seconds = seconds_of(self.problem.n, free.size, min(most, 2), threads)
        if seconds > allowed:
            self._say(TooLong(seconds_of(self.problem.n, free.size, most, threads), 0.0))
            return None
        began = self.clock.seconds()
        try:
            last = self._columns(survivors)
            bound = close_by_trying(last, self.goal, forced, free, allowed, self.clock)
        except TooLong as error:
            self._say(error)
            return None
        finally:
            self.trace["seconds"]["last features"] = self.clock.seconds() - began
        if bound is not None:
            # What was too much before bounds excluded features may have been possible now.
            self.trace.pop("last features", None)
        if bound is not None and last.doubtful and self.limits.proof:
            return self._checked(survivors, forced, bound)
        return bound

    def close_node(self, survivors: Indices, state: State, n_nodes: int, seconds: float) -> float | None:
        """The bound of a node with one or two features to choose, by trying all of them; None if that is not done.

        It is where it takes not much longer than the nodes so far have, ``n_nodes`` in these seconds.
        """
        most = min(2, self.limits.tuning.last_features)
        many = self.problem.sparsity.budget(self.problem.root) > _MOST_CHOSEN
        plain = isinstance(self.problem.sparsity, Sparsity)
        if most < 1 or many or not plain or not self._possible or self._doubtful:
            return None
        forced, free = np.flatnonzero(state == 1), np.flatnonzero(state == 0)
        q = most_last_features(self.problem, forced.size, free.size, self.goal.cutoff)
        if not 0 < q <= most:
            return None
        # One feature takes hardly less than two: both need what is left of the columns.
        expected = _SECONDS_OF_TRIAL + seconds_of(self.problem.n, free.size, 2, 1)
        usual = np.clip((seconds - self._trial_seconds) / max(n_nodes, 1), _SECONDS_OF_TRIAL, _SECONDS_OF_NODE)
        if expected > _NODES_OF_TRIAL * usual or self.clock.expired() or not self._fits(survivors):
            return None
        began = self.clock.seconds()
        last = self._columns(survivors)
        last.doubtful = False
        bound = close_by_trying(last, self.goal, forced, free, np.inf, self.clock)
        self._trial_seconds += self.clock.seconds() - began
        # Where columns are nearly dependent, the check might not prove what was found here.
        self._doubtful |= last.doubtful
        return None if last.doubtful else bound

    def _checked(self, survivors: Indices, forced: Indices, bound: float) -> float | None:
        """The bound if the checker proves it: columns are so nearly dependent that it might not."""
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
        """Swap pairs of features of the incumbent for any others while there is time."""
        if self._possible and self._fits(survivors) and np.isin(self.goal.fit.support, survivors).all():
            swap_pairs(self._columns(survivors), self.goal, self.clock)

    def _fits(self, survivors: Indices) -> bool:
        """Whether the columns take no more than a part of the memory."""
        return 8.0 * self.problem.n * survivors.size <= _SHARE_OF_MEMORY * self.limits.max_memory

    def _columns(self, survivors: Indices) -> LastFeatures:
        if self._last is None or not np.array_equal(self._last.features, survivors):
            self._last = LastFeatures(self.problem, survivors, self.limits.n_jobs, self.limits.max_memory)
        return self._last

    def _say(self, error: TooLong) -> None:
        """Say that trying everything would take too long, before the search goes on without it."""
        left = self.clock.left()
        if error.seconds > TRIED_AT_MOST * left or error.memory > 0.5 * self.limits.max_memory:
            if "last features" not in self.trace:
                self.clock.tell(NotTried(self.clock.seconds(), error.seconds, error.memory))
            self.trace["last features"] = {"estimated_seconds": error.seconds, "bytes": error.memory}


def swap_pairs(last: LastFeatures, goal: Goal, clock: Clock) -> None:
    """Exchange two features of the incumbent for any other two as long as that improves it and there is time."""
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
    """Try all q features beside some of a support."""
    S = np.searchsorted(last.features, kept)
    F = np.setdiff1d(np.arange(last.features.size), S)
    target = goal.fit.primal * (1.0 - _IMPROVEMENT)
    try:
        found = last.below(S, F, q, target, np.inf, clock.expired)
    except TooLong:
        return
    _hand_over(last, goal, S, found, clock)
