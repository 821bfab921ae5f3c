"""Columns of a Gram matrix, computed when they are first needed and kept for all models of the same data."""

from __future__ import annotations

import numpy as np

from sparsest.arrays import Array, Indices
from sparsest.data import Data

# Bytes that are kept at most, unless a single request takes more.
_MOST_BYTES = 5e8


class Gram:
    """``G = X'ΩX`` and ``c = X'Ω(y - b)`` of centred columns, with b the mean of y.

    Attributes
    ----------
    c : ``X'Ω(y - b)``.
    square : ``Σ ω (y - b)²``.
    diagonal : the diagonal of G.
    b : the intercept.
    """

    def __init__(self, data: Data, most_bytes: float = _MOST_BYTES) -> None:
        self.b = data.intercept_for(np.zeros(data.n))
        target = data.weights * (data.y - self.b)
        self.c: Array = data.design.tdot(target)
        self.square = float(target @ (data.y - self.b))
        self.diagonal = data.column_norms**2
        self._data = data
        self._most = max(int(most_bytes / (8 * data.p)), 1)
        # Row ``place[j]`` of the block is that of feature j; those that are not known are at -1.
        self._place = np.full(data.p, -1, dtype=np.intp)
        self._block = np.empty((0, data.p))
        self._known = 0

    def rows(self, features: Indices) -> Array:
        """``G_S``, a row for each feature."""
        self._learn(features)
        return self._block[self._place[features]]

    def between(self, features: Indices) -> Array:
        """``G_SS``."""
        self._learn(features)
        return self._block[self._place[features][:, None], features]

    def residual(self, features: Indices, w: Array) -> Array:
        """``c - G_S'w``, for all features."""
        used = w != 0.0
        return self.c - w[used] @ self.rows(features[used])

    def _learn(self, features: Indices) -> None:
        new = features[self._place[features] < 0]
        if new.size == 0:
            return
        if self._known + new.size > self._most and self._known:
            # Not worth remembering what was needed longest ago: working sets change slowly and come back entire.
            self._place[:], self._known, self._block = -1, 0, np.empty((0, self._data.p))
            new = np.unique(features)
        columns = self._data.design.columns(new)
        columns *= self._data.weights[:, None]
        total = self._known + new.size
        if total > self._block.shape[0]:
            larger = np.empty((max(total, min(2 * total, self._most)), self._data.p))
            larger[: self._known] = self._block[: self._known]
            self._block = larger
        self._block[self._known : total] = self._data.design.tdot(columns).T
        self._place[new] = np.arange(self._known, total)
        self._known = total
