"""Parts of the survivors' Gram matrix that are kept between nodes; shared by several threads.

Either complete columns, so that products ``Gw`` take no pass over the data, or only the block of the features that were
in a working set, if the data are so large that computing columns takes longer than the passes that they replace.
"""

from __future__ import annotations

from threading import Lock
from typing import NamedTuple, Protocol

import numpy as np

from sparsest.core.arrays import Array, Indices
from sparsest.runtime.threads import all_threads
from sparsest.subset.tree.kernels.node import NOT_STORED

# Number of columns that are gathered at a time.
_GATHERED = 256


class Stored(NamedTuple):
    """Stored columns of G as rows, the row of each feature or NOT_STORED, and the place of a feature in a row."""

    rows: Array
    slot: Indices
    place: Indices


class GramStore(Protocol):
    """A part of the Gram matrix.

    Attributes
    ----------
    complete : whether every column is stored from the beginning.
    block : whether stored columns have only the entries of stored features.
    stored : what is stored; replaced when features are added, so that threads can continue with the old one.
    count : number of stored features.
    uses : number of working sets that contained each feature while its column was not stored.
    """

    complete: bool
    block: bool
    stored: Stored
    count: int
    uses: Indices

    def add(self, features: Indices) -> None:
        """Store further features."""

    def nbytes(self) -> float:
        """Bytes in use."""


class GramColumns:
    """The Gram matrix, complete or only the columns that were requested; shared by several threads."""

    block = False

    def __init__(self, columns: Array, full_gram: int) -> None:
        self.columns = columns
        m = columns.shape[1]
        self.complete = m <= full_gram
        self._places = np.arange(m)
        # The stored columns, and the index of each feature's column among them or NOT_STORED.
        if self.complete:
            self.stored = Stored(np.ascontiguousarray(columns.T @ columns), self._places, self._places)
        else:
            self.stored = Stored(np.empty((512, m)), np.full(m, NOT_STORED), self._places)
        self.count = m if self.complete else 0
        self.uses = np.zeros(m, dtype=np.intp)
        self._lock = Lock()

    def add(self, features: Indices) -> None:
        """Compute further columns; other threads continue with the old arrays meanwhile."""
        with self._lock, all_threads():
            store, slot, places = self.stored
            features = features[slot[features] == NOT_STORED]
            end = self.count + features.size
            m = slot.size
            if end > store.shape[0]:
                larger = np.empty((min(2 * end, m), m))
                larger[: self.count] = store[: self.count]
                store = larger
            np.matmul(self.columns[:, features].T, self.columns, out=store[self.count : end])
            slot = slot.copy()
            slot[features] = np.arange(self.count, end)
            self.stored, self.count = Stored(store, slot, places), end

    def add_all(self) -> None:
        """Compute the complete matrix: a symmetric product X'X takes half the operations of a general product."""
        m = self.uses.size
        if self.count == m:
            return
        with self._lock, all_threads():
            self.stored, self.count = Stored(self.columns.T @ self.columns, self._places, self._places), m

    def nbytes(self) -> float:
        """Bytes of the stored columns."""
        return 8.0 * self.uses.size * self.count


class GramBlock:
    """The Gram matrix of the features that were in a working set; products with all features read the data."""

    complete, block = False, True

    def __init__(self, columns: Array) -> None:
        self.columns = columns
        m = columns.shape[1]
        slot = np.full(m, NOT_STORED)
        self.stored = Stored(np.empty((0, 0)), slot, slot)
        self.features, self.count = np.empty(0, dtype=np.intp), 0
        self.uses = np.zeros(m, dtype=np.intp)
        # Number of regions for which products with all features were computed.
        self.n_products = 0
        self._lock = Lock()

    def add(self, features: Indices) -> None:
        """Extend the block; other threads continue with the old arrays meanwhile."""
        with self._lock:
            store, slot, _ = self.stored
            features = features[slot[features] == NOT_STORED]
            begin, end = self.count, self.count + features.size
            if end > store.shape[0]:
                size = min(end + end // 2 + _GATHERED, slot.size)
                larger = np.empty((size, size))
                larger[:begin, :begin] = store[:begin, :begin]
                store = larger
            new = self.columns[:, features]
            store[begin:end, begin:end] = new.T @ new
            for first in range(0, begin, _GATHERED):
                last = min(first + _GATHERED, begin)
                part = self.columns[:, self.features[first:last]].T @ new
                store[first:last, begin:end], store[begin:end, first:last] = part, part.T
            slot = slot.copy()
            slot[features] = np.arange(begin, end)
            self.features = np.concatenate([self.features, features])
            self.stored, self.count = Stored(store, slot, slot), end

    def products(self, target: Array, W: Array) -> Array:
        """``X'(target - Xw)`` for each row w of W."""
        used = np.flatnonzero(W.any(axis=0))
        residuals = np.tile(target, (W.shape[0], 1))
        for first in range(0, used.size, _GATHERED):
            some = used[first : first + _GATHERED]
            residuals -= W[:, some] @ self.columns[:, some].T
        with self._lock:
            self.n_products += W.shape[0]
        return residuals @ self.columns

    def nbytes(self) -> float:
        """Bytes of the block."""
        return 8.0 * self.stored.rows.size
