"""Columns of a Gram matrix, computed on first use and cached for all models of the same data."""

from __future__ import annotations

import numpy as np

from sparsest.core.arrays import Array, Indices
from sparsest.core.data import Data
from sparsest.subset.grid.cached_rows import MOST_BYTES, CachedRows


class Gram:
    """``G = X'ΩX`` and ``c = X'Ω(y - b)`` for centred columns, where b is the mean of y.

    Attributes
    ----------
    c : ``X'Ω(y - b)``.
    square : ``Σ ω (y - b)²``.
    diagonal : the diagonal of G.
    b : the intercept.
    """

    def __init__(self, data: Data, most_bytes: float = MOST_BYTES) -> None:
        self.b = data.intercept_for(np.zeros(data.n))
        target = data.weights * (data.y - self.b)
        self.c: Array = data.design.tdot(target)
        self.square = float(target @ (data.y - self.b))
        self.diagonal = data.column_norms**2
        self._data = data
        self._cached = CachedRows(data.p, data.p, self._products, most_bytes)

    def entries(self, features: Indices, others: Indices) -> Array:
        """``G_ST``, a row for each feature."""
        return self._cached.entries(features, others)

    def between(self, features: Indices) -> Array:
        """``G_SS``."""
        return self._cached.entries(features, features)

    def residual(self, features: Indices, w: Array) -> Array:
        """``c - G_S'w``, for all features."""
        used = w != 0.0
        return self.c - w[used] @ self._cached[features[used]]

    def _products(self, features: Indices) -> Array:
        columns = self._data.design.columns(features)
        columns *= self._data.weights[:, None]
        return self._data.design.tdot(columns).T
