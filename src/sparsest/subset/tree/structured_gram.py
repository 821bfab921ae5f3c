"""The quadratic of the squared loss over the survivors, in Gram space, for regions with a structure.

    constant + ½w'Gw - c'w + ½λ Σ_g Σ_{j∈g} w_j²/s_g,     c = X'y

A well conditioned G is split as in :mod:`sparsest.subset.tree.gram_bounder`, with a diagonal δ that is equal within
units: ``G + λI = H + diag(δ)``.  Columns are then multiplied by ``√(λ'/δ)``, so that a common ridge λ' takes the place
of δ.

Of a large G only the block of the features that were in a working set is kept, and products take passes over the data,
until complete columns would have taken less time than the entries computed so far.
"""

from __future__ import annotations

import numpy as np

from sparsest.core.arrays import Array, Indices
from sparsest.core.problem import Problem
from sparsest.subset.dual import ROUNDING
from sparsest.subset.tree.gram_store import GramBlock, GramColumns, GramStore
from sparsest.subset.tree.kernels.node import NOT_STORED
from sparsest.subset.tree.kernels.structured import combined_rows
from sparsest.subset.tree.tuning import Tuning

# Columns that replace a block of the Gram matrix may take this share of the memory.
_SHARE_OF_MEMORY = 0.25


class StructuredGram:
    """The quadratic; used by several threads at the same time.

    Attributes
    ----------
    b : the mean of the response
    c : products of the columns with the centred response
    constant, margin : half the square of the response, and the rounding errors of a check
    scale : the factor of each column; coefficients are for the columns that it multiplies
    """

    def __init__(self, problem: Problem, columns: Array, tuning: Tuning, max_bytes: float) -> None:
        self.b = problem.data.null.b
        root = np.sqrt(problem.weights)
        self._target = root * (problem.y - self.b)
        self._columns = columns if (problem.weights == 1.0).all() else root[:, None] * columns
        complete = columns.shape[1] <= tuning.full_gram
        self._store: GramStore = GramColumns(self._columns, tuning.full_gram) if complete else GramBlock(self._columns)
        self._max_bytes, self._n_products, self._per_column = max_bytes, 0, tuning.passes_per_column
        self.c = self._columns.T @ self._target
        self.scale, self._more = np.ones(self.c.size), np.zeros(self.c.size)
        self._tuning = tuning
        self.constant = 0.5 * float(self._target @ self._target)
        # The check loses digits where the mean of the response is large.
        uncentred = 2.0 * np.sqrt(self.constant * float(problem.weights @ problem.y**2))
        self.margin = ROUNDING * (3.0 * self.constant + uncentred)

    @property
    def complete(self) -> bool:
        """Whether the complete Gram matrix is stored."""
        return isinstance(self._store, GramColumns) and self._store.complete

    def ridged(self, ridge: float) -> Array:
        """``G + λI`` of a complete matrix."""
        matrix = self._store.stored.rows.copy()
        matrix.flat[:: self.c.size + 1] += ridge
        return matrix

    def split(self, delta: Array, ridge: float, common: float) -> None:
        """Let a common ridge stand for δ, and ``G + λI - diag(δ)`` for G; before anything is solved."""
        self.scale = np.sqrt(common / delta)
        self._more = common * (ridge / delta - 1.0)
        self._columns = self._columns * self.scale
        self._store = GramColumns(self._columns, self._tuning.full_gram)
        self.c = self._columns.T @ self._target

    def part(self, features: Indices) -> Array:
        """H for some features."""
        H = self._gram_of(features)
        H.flat[:: features.size + 1] += self._more[features]
        return H

    def product(self, features: Indices, w: Array) -> Array:
        """``Hw`` for all survivors, where ``w`` are the nonzero coefficients of ``features``."""
        product = self._gram_times(features, w)
        product[features] += self._more[features] * w
        return product

    def _gram_of(self, features: Indices) -> Array:
        store = self._store
        if store.block:
            store.add(features)
        rows, slot, place = store.stored
        at, where = slot[features], place[features]
        known, others = np.flatnonzero(at != NOT_STORED), np.flatnonzero(at == NOT_STORED)
        if not others.size:
            return rows[at].take(where, axis=1)
        H = np.empty((features.size, features.size))
        columns = self._columns[:, features[others]]
        H[known] = rows[np.ix_(at[known], where)]
        H[np.ix_(others, known)] = H[np.ix_(known, others)].T
        H[np.ix_(others, others)] = columns.T @ columns
        return H

    def _gram_times(self, features: Indices, w: Array) -> Array:
        store = self._store
        if isinstance(store, GramBlock):
            self._n_products += 1
            if self._n_products > self._per_column * store.count > 0 and self._has_room(store.count):
                columns = GramColumns(self._columns, 0)
                columns.add(store.features)
                self._store = columns
            products: Array = self._columns.T @ (self._columns[:, features] @ w)
            return products
        missing = features[store.stored.slot[features] == NOT_STORED]
        if missing.size:
            store.add(missing)
        rows, slot, _ = store.stored
        product = np.empty(self.c.size)
        combined_rows(rows, slot[features], w, product)
        return product

    def _has_room(self, count: int) -> bool:
        """Whether complete columns of this many features, and of as many again, fit into memory."""
        return 16.0 * self.c.size * count <= _SHARE_OF_MEMORY * self._max_bytes

    def nbytes(self) -> float:
        """Bytes of the stored columns."""
        return self._store.nbytes()
