"""The sparsity rule over the survivors: what it decides in the nodes of a tree."""

from __future__ import annotations

import numpy as np

from sparsest.core.arrays import Array, Indices
from sparsest.core.problem import Problem
from sparsest.core.sparsity import Region, Sparsity
from sparsest.subset.tree.bounder import State


class NodeRules:
    """The rule over the survivors; ``structured`` tells whether there is a structure besides the number of features."""

    def __init__(self, problem: Problem, survivors: Indices) -> None:
        self._rule = problem.sparsity.among(survivors)
        self.structured = not isinstance(self._rule, Sparsity)

    def propagate(self, state: State) -> bool:
        """Force features in and out that the structure decides; False if it leaves no support."""
        return isinstance(self._rule, Sparsity) or self._rule.close(state)

    def broken(self, indicator: Array, state: State) -> int | None:
        """A free feature of a rule that the integral indicator violates; None if it violates no rule."""
        rule = self._rule
        if isinstance(rule, Sparsity):
            return None
        broken = rule.rules.broken(rule.units_of(np.flatnonzero(indicator > 0.5)))
        free = np.flatnonzero((state == 0) & broken[rule.units])
        return int(free[np.argmax(indicator[free])]) if free.size else None

    def rounded(self, indicator: Array, state: State) -> Indices:
        """An admissible support of a node, in positions among the survivors."""
        region = Region(np.flatnonzero(state == 1), np.flatnonzero(state == -1), state.size)
        return self._rule.rounded(indicator, region)
