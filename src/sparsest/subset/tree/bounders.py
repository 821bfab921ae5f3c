"""Choice of the bounder for a problem."""

from __future__ import annotations

from sparsest.core.arrays import Indices
from sparsest.core.losses import Squared
from sparsest.core.problem import Problem
from sparsest.core.sparsity import Sparsity
from sparsest.subset.tree.bounder import DEFAULT_OPTIONS, Bounder, BounderOptions
from sparsest.subset.tree.gram_bounder import GramBounder
from sparsest.subset.tree.loss_bounder import LossBounder
from sparsest.subset.tree.structured_bounder import StructuredBounder


def make_bounder(problem: Problem, survivors: Indices, options: BounderOptions = DEFAULT_OPTIONS) -> Bounder:
    """Return the bounder for this problem's loss and structure."""
    if not isinstance(problem.sparsity, Sparsity):
        return StructuredBounder(problem, survivors, options)
    if isinstance(problem.loss, Squared):
        return GramBounder(problem, survivors, options)
    return LossBounder(problem, survivors, options)
