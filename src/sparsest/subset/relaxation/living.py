"""The columns that a relaxation still has to look at."""

from __future__ import annotations

import numpy as np

from sparsest.core.arrays import Array, Indices
from sparsest.core.designs import Design
from sparsest.core.problem import Problem


class Living:
    """The columns that are not fixed out: the design itself, or a copy stored alike once they are few."""

    def __init__(self, problem: Problem) -> None:
        self.design: Design = problem.design
        self.index = np.arange(problem.p)
        # Where a living column is in the design; what it says of the dead is never asked for.
        self.position = np.arange(problem.p)
        self.passes = 0.0
        self._p = problem.p
        self._packed = False

    def products(self, alpha: Array) -> Array:
        """``X_j'α`` for the living columns, and zero for the dead."""
        self.passes += self.index.size / self._p if self._packed else 1.0
        if not self._packed:
            return self.design.tdot(alpha)
        out = np.zeros(self._p)
        out[self.index] = self.design.tdot(alpha)
        return out

    def columns(self, features: Indices) -> Array:
        """Packed columns."""
        return self.design.columns(self.position[features])

    def bury(self, dead: Indices) -> None:
        """Drop columns; they are physically gone once at most a fifth of all is left."""
        alive = np.ones(self._p, dtype=bool)
        alive[dead] = False
        keep = np.flatnonzero(alive)
        if 5 * keep.size > self._p or (self._packed and 2 * keep.size > self.index.size):
            return
        self.design = self.design.take(self.position[keep])
        self.index, self._packed = keep, True
        self.position = np.zeros(self._p, dtype=np.intp)
        self.position[keep] = np.arange(keep.size)
