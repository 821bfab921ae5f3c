"""A solution of the relaxation on a working set."""

from __future__ import annotations

from typing import NamedTuple

from sparsest.core.arrays import Array
from sparsest.core.problem import Problem
from sparsest.subset.relaxation.regularisers import AnyRegulariser, value_of


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


def primal_value(problem: Problem, columns: Array, omega: AnyRegulariser, w: Array, b: float) -> float:
    """``Σ ω ℓ(y, Xw + b) + Ω(w)``."""
    return float(problem.weights @ problem.loss.value(problem.y, columns @ w + b)) + value_of(w, omega)


def better(best: WorkingSolution | None, point: WorkingSolution) -> WorkingSolution:
    """Combine the primal point with the smaller value and the dual point with the larger value."""
    if best is None:
        return point
    if point.primal < best.primal:
        best = best._replace(w=point.w, b=point.b, primal=point.primal)
    if point.dual > best.dual:
        best = best._replace(alpha=point.alpha, dual=point.dual, source=point.source)
    return best
