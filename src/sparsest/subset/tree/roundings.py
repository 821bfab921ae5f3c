"""Which relaxed nodes are rounded, and which of the supports found in this way are polished."""

from __future__ import annotations

from sparsest.core.arrays import Array
from sparsest.subset.tree.kernels.regions import undecided

# The neighbours of a node's rounded support are looked at first after so many nodes, and again after so many times as
# many: six times until the nodes have grown eightfold.  Twice as often takes as long as all the nodes where 50 features
# are chosen and a search ends after some 2,500 nodes, and finds nothing better there.
_FIRST_POLISH_AT, _POLISH_AGAIN_FACTOR = 64, 1.41
# All nodes are rounded up to the first number, later every so many; and those whose indicator is as near as this to an
# integral one.
_ALL_UP_TO, _EVERY, _NEARLY_INTEGRAL = 32, 64, 0.5


class Roundings:
    """Counts on the nodes that have been dealt with, never on time."""

    def __init__(self) -> None:
        self._polish_at = float(_FIRST_POLISH_AT)

    def due(self, n_nodes: int, indicator: Array) -> tuple[bool, bool]:
        """Whether to round this node, the last of so many, and whether to polish its support."""
        polish = n_nodes >= self._polish_at
        if polish:
            self._polish_at *= _POLISH_AGAIN_FACTOR
        often = n_nodes <= _ALL_UP_TO or n_nodes % _EVERY == 0 or undecided(indicator) <= _NEARLY_INTEGRAL
        return polish or often, polish
