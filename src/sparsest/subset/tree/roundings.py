"""The choice of nodes whose relaxations are rounded, and of rounded supports that are polished by a local search."""

from __future__ import annotations

from sparsest.core.arrays import Array
from sparsest.subset.tree.kernels.regions import distance_to_integral

# Number of nodes at which a rounded support is polished first, and the factor between this and the next such number:
# six supports are polished while the number of nodes grows eightfold.  With k = 50 and about 2,500 nodes, polishing
# twice as often took as long as all the nodes and found nothing better.
_FIRST_POLISH_AT, _POLISH_AGAIN_FACTOR = 64, 1.41
# Number of first nodes that are all rounded, interval between rounded nodes later, and distance of the indicator from
# an integral one below which a node is always rounded.
_ALL_UP_TO, _EVERY, _NEARLY_INTEGRAL = 32, 64, 0.5


class Roundings:
    """Decides by the number of nodes, never by time, so that a search can be reproduced."""

    def __init__(self) -> None:
        self._polish_at = float(_FIRST_POLISH_AT)

    def due(self, n_nodes: int, indicator: Array) -> tuple[bool, bool]:
        """Whether to round the node with number ``n_nodes``, and whether to polish its support."""
        polish = n_nodes >= self._polish_at
        if polish:
            self._polish_at *= _POLISH_AGAIN_FACTOR
        often = n_nodes <= _ALL_UP_TO or n_nodes % _EVERY == 0 or distance_to_integral(indicator) <= _NEARLY_INTEGRAL
        return polish or often, polish
