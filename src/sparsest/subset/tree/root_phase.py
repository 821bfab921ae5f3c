"""The first phase of a search: bounds of the root, which fix features, and everything that may close it at once.

The root is relaxed, which fixes features.  If few features are to be chosen and that is quick, all choices are tried.
Otherwise bounds over the remaining features are set up, and the root is relaxed again as long as that fixes many
features.  A search for a better support follows and, if it finds one, another relaxation; finally all choices are tried
if that is possible in the time left.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sparsest.results.parts import Restart
from sparsest.runtime.events import Root, Status
from sparsest.subset.relaxation.solution import Start, summary
from sparsest.subset.tree.bounder import Request, covered
from sparsest.subset.tree.frontier import Node
from sparsest.subset.tree.node_bounds import NodeBounds
from sparsest.subset.tree.root import relax_root
from sparsest.subset.tree.trying import TRIED_AT_MOST, Trying

# Number of survivors up to which branching takes less time than a local search for a better support.
_MOST_SURVIVORS_WITHOUT_LOCAL_SEARCH = 32
# Seconds that trying all choices of the last features may take before bounds are set up, which may exclude features.
_SOON_TRIED = 1.0
# Bounds are set up again over the remaining features if at most this share of the features remains.
_REPEAT_SHARE = 0.9


class RootPhase:
    """Closes the root or narrows it to the features that the tree has to search; ``restart`` is for later calls."""

    def __init__(self, bounds: NodeBounds, trying: Trying, trace: dict[str, Any]) -> None:
        self.bounds, self.progress, self.trying, self.trace = bounds, bounds.progress, trying, trace
        self.problem, self.goal, self.clock, self.limits = bounds.problem, bounds.goal, bounds.clock, bounds.limits
        self.restart = Restart()

    def is_open(self) -> bool:
        """Whether the root is not closed yet and time is left."""
        return self.progress.root.bound < self.goal.cutoff and not self.clock.expired()

    def report(self, began: float) -> Status:
        """Send the Root event; return the status that applies if the search ends here."""
        root, clock = self.progress.root, self.clock
        self.trace["seconds"] |= {"root": clock.seconds() - began, "tree": 0.0}
        clock.tell(Root(clock.seconds(), root.bound, int((root.state == 0).sum())))
        return Status.OPTIMAL if root.bound >= self.goal.cutoff else clock.early()

    def relax(self, start: Start | None) -> Start:
        """Relax the root and fix features; return the relaxed coefficients."""
        problem, progress = self.problem, self.progress
        roughly = not self._suits_leaps() and self.trying.is_cheap()
        relaxed = relax_root(problem, self.goal, self.clock, self.limits.gap_tol, start, roughly)
        point = progress.log.add_points(*relaxed.points)
        progress.log.fixes, progress.closed = relaxed.fixes, relaxed.closed
        if relaxed.relaxed is not None:
            self.trace["relaxation"] = summary(problem, relaxed.relaxed)
            self.restart = relaxed.relaxed.restart()
        state = np.zeros(problem.p, dtype=np.int8)
        state[relaxed.region.forced_in], state[relaxed.region.forced_out] = 1, -1
        survivors = covered(problem, np.flatnonzero(state >= 0), self.limits.tuning.largest_copy)
        self.bounds.begin(Node(state[survivors], relaxed.bound, point), survivors)
        return relaxed.coefficients

    def narrow(self, start: Start) -> None:
        """Try all choices, or set up bounds with this warm start, until the root is closed or only branching is left.

        The caller watches the clock, for kernels.
        """
        if not self._try_all(_SOON_TRIED):
            self._set_up(start)
            self._try_all(TRIED_AT_MOST * self.clock.left())

    def _suits_leaps(self) -> bool:
        """Whether leaps and bounds applies: it takes no more time and is more precise if there are few columns."""
        problem, size = self.problem, self.progress.survivors.size
        few = size <= self.limits.tuning.leaps_features
        determined = size + problem.fit_intercept < problem.n
        plain = not self.bounds.rules.structured and not problem.sparsity.priced
        return few and determined and plain and not self.goal.exhaustive

    def _try_all(self, allowed: float) -> bool:
        """Close the root by trying all choices of features, if this and its check take at most ``allowed`` seconds."""
        root = self.progress.root
        if not self.is_open() or self._suits_leaps():
            return False
        forced, free = np.flatnonzero(root.state == 1), np.flatnonzero(root.state == 0)
        bound = self.trying.close_first(self.progress.survivors, forced, free, root.bound, allowed)
        if bound is None or not bound > root.bound:
            return False
        root.bound = root.tried = bound
        root.needed = None
        return True

    def _set_up(self, start: Start) -> None:
        """Set up bounds over the survivors; if they do not close the root, search for a better support."""
        self.bounds.set_up(start)
        if self.bounds.strong:
            self._relax_again()
        before = self.goal.cutoff
        if self.is_open() and self.progress.survivors.size > _MOST_SURVIVORS_WITHOUT_LOCAL_SEARCH:
            self.goal.search_locally()
        if self.bounds.found is not None and self.goal.cutoff < before:
            self._relax_again()

    def _relax_again(self) -> None:
        """Relax the root with the bounds over the survivors, and repeat this as long as it fixes many features."""
        bounds, progress = self.bounds, self.progress
        while self.is_open():
            root, survivors = progress.root, progress.survivors
            before = int((root.state >= 0).sum())
            [outcome] = bounds.bounder.solve([Request(root.warm, root.state)], self.goal.cutoff)
            bounds.update(root, outcome)
            bounds.offer_rounded(outcome, root.state)
            left = np.flatnonzero(root.state >= 0)
            if left.size > _REPEAT_SHARE * before:
                break
            remaining = covered(self.problem, survivors[left], self.limits.tuning.largest_copy)
            if remaining.size == survivors.size:
                continue
            progress.log.add_fixes(root.fixes, survivors)
            start = Start(survivors[root.warm.positions], root.warm.w, root.warm.b)
            bounds.begin(Node(root.state[left], root.bound, root.point), remaining)
            bounds.set_up(start)
