"""Which bounds suit a problem."""

from __future__ import annotations

from collections.abc import Callable

from sparsest.core.arrays import Indices
from sparsest.core.losses import Squared
from sparsest.core.problem import Problem
from sparsest.subset.tree.bounder import Bounder
from sparsest.subset.tree.gram_bounder import GramBounder
from sparsest.subset.tree.loss_bounder import LossBounder
from sparsest.subset.tree.tuning import USUAL, Tuning


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
