"""Which numbers of features to try."""

from __future__ import annotations

import numpy as np

# All numbers up to this, and beyond it about as many again, to this number or a third of the observations.
_EVERY_UP_TO, _LARGEST, _OBSERVATIONS_PER_FEATURE = 10, 50, 3


def k_grid(n: int, p: int, least: int = 0) -> list[int]:
    """Numbers of features from 1, or the number that is forced in, to at most 50: all at first, then ever fewer.

    Parameters
    ----------
    n, p : observations and features that may be chosen
    least : how many are forced in
    """
    largest = min(p, max(1, least, min(_LARGEST, n // _OBSERVATIONS_PER_FEATURE)))
    every = np.arange(1, min(_EVERY_UP_TO, largest) + 1)
    further = np.geomspace(_EVERY_UP_TO, max(largest, _EVERY_UP_TO), _EVERY_UP_TO + 1).round().astype(int)
    grid = np.union1d(every, further[further <= largest])
    return sorted({max(k, least) for k in grid.tolist()})
