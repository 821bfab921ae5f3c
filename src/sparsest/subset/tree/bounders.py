"""Choice of the bounder for a problem."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sparsest.core.arrays import Indices
from sparsest.core.losses import Squared
from sparsest.core.problem import Problem
from sparsest.core.sparsity import Sparsity
from sparsest.subset.tree.bounder import Bounder
from sparsest.subset.tree.gram_bounder import GramBounder
from sparsest.subset.tree.loss_bounder import LossBounder
from sparsest.subset.tree.structured_bounder import StructuredBounder
from sparsest.subset.tree.tuning import DEFAULT_TUNING, Tuning


def make_bounder(
    problem: Problem,
    survivors: Indices,
    rounding: float = 0.0,
    expired: Callable[[], bool] = lambda: False,
    tuning: Tuning = DEFAULT_TUNING,
    max_bytes: float = np.inf,
) -> Bounder:
    """Return the bounder for this problem's loss and structure.

    Once ``expired()`` is true, it stops relaxations early: its bounds remain valid but are less tight.  Points of
    proofs are stored rounded if that lowers a bound by at most about ``rounding``.  Optional data that speed up the
    search are stored only if they take a small part of ``max_bytes``.
    """
    if not isinstance(problem.sparsity, Sparsity):
        return StructuredBounder(problem, survivors, rounding, expired, tuning, max_bytes)
    if isinstance(problem.loss, Squared):
        return GramBounder(problem, survivors, rounding, expired, tuning, max_bytes)
    return LossBounder(problem, survivors, rounding, expired, tuning)
