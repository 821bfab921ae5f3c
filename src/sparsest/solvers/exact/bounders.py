"""Which bounds suit a problem."""

from __future__ import annotations

from collections.abc import Callable

from sparsest.arrays import Indices
from sparsest.losses import Squared
from sparsest.problem import Problem
from sparsest.solvers.exact.bounder import Bounder
from sparsest.solvers.exact.gram_bounder import GramBounder
from sparsest.solvers.exact.loss_bounder import LossBounder
from sparsest.solvers.exact.tuning import USUAL, Tuning


def make_bounder(
    problem: Problem,
    survivors: Indices,
    rounding: float = 0.0,
    expired: Callable[[], bool] = lambda: False,
    tuning: Tuning = USUAL,
) -> Bounder:
    """Return what bounds the nodes of this problem, less precisely once ``expired`` says so.

    Points of proofs are rounded where that costs at most about ``rounding``.
    """
    if isinstance(problem.loss, Squared):
        return GramBounder(problem, survivors, rounding, expired, tuning)
    return LossBounder(problem, survivors, rounding, expired, tuning)
