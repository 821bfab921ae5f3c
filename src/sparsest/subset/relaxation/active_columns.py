"""The columns of the problem that a relaxation still has to read."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sparsest.core.arrays import Array, Indices
from sparsest.core.designs import Design, stopping, unstandardized
from sparsest.core.losses import dual_from_margin
from sparsest.core.problem import Problem
from sparsest.core.sparsity import Region
from sparsest.runtime.memory import memory_limit
from sparsest.runtime.threads import single_threaded
from sparsest.subset.dual import DualBound, scaled_bound
from sparsest.subset.relaxation.engine import Round, View
from sparsest.subset.relaxation.solution import Start
from sparsest.subset.relaxation.working_set import solve_working_set
from sparsest.subset.relaxation.working_solution import WorkingSet, WorkingSolution

# Active columns are copied when their share of all columns is at most the first number, and copied again when their
# share of the last copy is at most the second.
_COPIED_SHARE, _COPIED_AGAIN_SHARE = 0.2, 0.5
# A copy takes at most this share of the memory that the search may use.
_SHARE_OF_MEMORY = 0.5


class ActiveColumns:
    """The columns that are not fixed out: the design itself or, once they are few, a copy in the same storage format.

    Attributes
    ----------
    passes : number of passes over all columns so far; a pass over a copy counts as its share of the columns
    bound : the newest dual point with its bound and gains
    """

    bound: DualBound

    def __init__(self, problem: Problem, expired: Callable[[], bool] = lambda: False) -> None:
        self.problem, self.expired = problem, expired
        self.design: Design = problem.design
        self.index = np.arange(problem.p)
        # The position of each active column in the design.  Entries of other columns are stale; do not read them.
        self.position = np.arange(problem.p)
        self.passes = 0.0
        self._copied = False

    def products(self, alpha: Array) -> Array:
        """``X_j'α`` for the active columns, and zero for the others.

        Raises ``PassStopped`` if the time limit is reached during a pass over data on disk.
        """
        self.passes += self.index.size / self.problem.p if self._copied else 1.0
        if not self._copied:
            with stopping(unstandardized(self.design), self.expired):
                return self.design.tdot(alpha)
        out = np.zeros(self.problem.p)
        out[self.index] = self.design.tdot(alpha)
        return out

    def columns(self, features: Indices) -> Array:
        """Packed columns."""
        return self.design.columns(self.position[features])

    def drop(self, features: Indices) -> None:
        """Drop columns from further passes; copy the remaining columns if they are few enough."""
        active = np.ones(self.problem.p, dtype=bool)
        active[features] = False
        keep = np.flatnonzero(active)
        if keep.size > _COPIED_SHARE * self.problem.p:
            return
        if self._copied and keep.size > _COPIED_AGAIN_SHARE * self.index.size:
            return
        # What is read on demand is copied only if it is small.
        in_memory = unstandardized(self.design).resident_bytes > 0
        if in_memory and self.design.nbytes_of(self.position[keep]) > _SHARE_OF_MEMORY * memory_limit():
            return
        self.design = self.design.take(self.position[keep])
        self.index, self._copied = keep, True
        self.position = np.zeros(self.problem.p, dtype=np.intp)
        self.position[keep] = np.arange(keep.size)

    def first(self, start: Start, region: Region) -> tuple[float, View]:
        """The intercept and the view of a start; for zero coefficients both are stored with the data."""
        problem = self.problem
        if start.features.size == 0:
            b, alpha, products = problem.data.null
            return b, self._view(alpha, products, region)
        margin = self.columns(start.features) @ start.w
        b = problem.data.intercept_for(margin, start.b)
        alpha = problem.feasible(dual_from_margin(problem.loss, problem.y, margin + b, problem.weights, 1.0))
        return b, self._view(alpha, self.products(alpha), region)

    def solve(self, task: Round) -> WorkingSolution:
        """Solve the relaxation on the columns of a working set."""
        part = WorkingSet(self.problem, self.columns(task.features), task.omega)
        with single_threaded():
            return solve_working_set(part, task.w, task.b, task.stop(self.expired), task.memory)

    def view(self, features: Indices, point: WorkingSolution, region: Region) -> View:
        """The view of a solution's dual point; it takes one pass over the active columns."""
        alpha = self.problem.feasible(point.alpha)
        return self._view(alpha, self.products(alpha), region)

    def _view(self, alpha: Array, products: Array, region: Region) -> View:
        self.bound = scaled_bound(self.problem, alpha, products, region)
        return View(self.bound.alpha, products, self.bound.value)
