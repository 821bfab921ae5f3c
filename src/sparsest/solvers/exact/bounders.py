"""Which bounds suit a problem."""

from __future__ import annotations

from collections.abc import Callable

from sparsest.arrays import Indices
from sparsest.losses import Squared
from sparsest.problem import Problem
from sparsest.solvers.exact.bounder import Bounder
from sparsest.solvers.exact.gram_bounder import GramBounder
from sparsest.solvers.exact.loss_bounder import LossBounder


def make_bounder(
    problem: Problem, survivors: Indices, single: bool = False, expired: Callable[[], bool] = lambda: False
) -> Bounder:
    """Return what bounds the nodes of this problem, less precisely once ``expired`` says so.

    ``single`` keeps points in single precision.
    """
    if isinstance(problem.loss, Squared):
        return GramBounder(problem, survivors, single, expired)
    return LossBounder(problem, survivors, single, expired)
