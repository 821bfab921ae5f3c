"""A cache of rows, one per feature, computed on first use and shared by all models of the same data."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sparsest.core.arrays import Array, Indices

# Largest size of the cache in bytes; a single larger request is still kept.
MOST_BYTES = 5e8


class CachedRows:
    """A cached row of numbers for each feature.

    Parameters
    ----------
    p : number of features
    width : length of a row
    compute : function that computes the rows of some features
    most_bytes : largest size of the cache in bytes
    """

    def __init__(self, p: int, width: int, compute: Callable[[Indices], Array], most_bytes: float = MOST_BYTES) -> None:
        self._compute, self._width = compute, width
        self._most = max(int(most_bytes / (8 * width)), 1)
        # ``place[j]`` is the index of feature j's row in the block, or -1 if it is not cached.
        self._place = np.full(p, -1, dtype=np.intp)
        self._block = np.empty((0, width))
        self._known = 0

    def __getitem__(self, features: Indices) -> Array:
        """The rows of some features."""
        self._compute_missing(features)
        return self._block[self._place[features]]

    def entries(self, features: Indices, positions: Indices) -> Array:
        """The entries at these positions of the rows of some features."""
        self._compute_missing(features)
        return self._block[self._place[features][:, None], positions]

    def _compute_missing(self, features: Indices) -> None:
        new = features[self._place[features] < 0]
        if new.size == 0:
            return
        if self._known + new.size > self._most and self._known:
            # Clear the whole cache.  Evicting the least recently used rows gains nothing, because working sets change
            # slowly and are requested as a whole.
            self._place[:], self._known, self._block = -1, 0, np.empty((0, self._width))
            new = np.unique(features)
        total = self._known + new.size
        if total > self._block.shape[0]:
            larger = np.empty((max(total, min(2 * total, self._most)), self._width))
            larger[: self._known] = self._block[: self._known]
            self._block = larger
        self._block[self._known : total] = self._compute(new)
        self._place[new] = np.arange(self._known, total)
        self._known = total
