"""What is solved on a working set, when the solution is precise enough, and the solution."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sparsest.core.arrays import Array
from sparsest.core.problem import Problem
from sparsest.subset.relaxation.regularisers import AnyRegulariser, gain_at, value_of

# Multiplications between checks of the clock, about a tenth of a second.
STRETCH = 1e8


class WorkingSet(NamedTuple):
    """The relaxation of a problem on packed columns, with their regulariser Ω."""

    problem: Problem
    columns: Array
    omega: AnyRegulariser

    def primal(self, w: Array, b: float) -> float:
        """``Σ ω ℓ(y, Xw + b) + Ω(w)``."""
        problem = self.problem
        losses = problem.loss.value(problem.y, self.columns @ w + b)
        return float(problem.weights @ losses) + value_of(w, self.omega)

    def dual(self, alpha: Array) -> float:
        """``-Σ ω ℓ*(α/ω) - gain(X'α)`` for a feasible dual point."""
        return -self.problem.conjugate_sum(alpha) - gain_at(self.columns.T @ alpha, self.omega)


class Stop(NamedTuple):
    """What ends the solution on a working set: primal - dual ≤ ``tolerance``, dual ≥ ``cutoff``, or the clock.

    ``expired`` is called after every ``stretch`` multiplications.
    """

    tolerance: float
    cutoff: float = np.inf
    expired: Callable[[], bool] = lambda: False
    stretch: float = STRETCH

    def is_reached(self, primal: float, dual: float) -> bool:
        """Whether the solution with these values is good enough, or the time is over."""
        return primal - dual <= self.tolerance or dual >= self.cutoff or self.expired()


class WorkingSolution(NamedTuple):
    """A relaxed solution on a working set, its dual point, and the values of both.

    ``source`` is the primal point (w, b) whose loss gradient is α, if there is one.
    """

    w: Array
    b: float
    alpha: Array
    primal: float
    dual: float
    iterations: int
    source: tuple[Array, float] | None


def better(best: WorkingSolution | None, point: WorkingSolution) -> WorkingSolution:
    """Combine the primal point with the smaller value and the dual point with the larger value."""
    if best is None:
        return point
    if point.primal < best.primal:
        best = best._replace(w=point.w, b=point.b, primal=point.primal)
    if point.dual > best.dual:
        best = best._replace(alpha=point.alpha, dual=point.dual, source=point.source)
    return best
