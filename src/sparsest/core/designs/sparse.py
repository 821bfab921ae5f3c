"""A matrix in compressed sparse columns; products take time in proportion to the stored entries."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sparsest.core.arrays import frozen
from sparsest.core.designs.base import Array, Design, Indices, Moments, Subset, Survey, refuse_entries, settled
from sparsest.core.designs.compressed import stored_columns
from sparsest.core.designs.packs import SparsePack
from sparsest.core.kernels.sparse import stored_moments, stored_products


@dataclass(frozen=True, eq=False)
class Sparse(Design):
    """A matrix in compressed sparse column form, without duplicate entries."""

    matrix: sp.csc_array

    accurate = True

    @property
    def shape(self) -> tuple[int, int]:
        return self.matrix.shape

    @cached_property
    def _stored(self) -> tuple[NDArray[Any], ...]:
        return stored_columns(self.matrix)

    def dot(self, w: Array, subset: Subset | None = None) -> Array:
        index = np.arange(self.shape[1]) if subset is None else np.asarray(subset, dtype=np.intp)
        used = np.flatnonzero(w if w.ndim == 1 else w.any(axis=1))
        if subset is None and 3 * used.size >= self.shape[1]:
            return np.asarray(self.matrix @ w, dtype=np.float64)
        return np.asarray(self.matrix[:, index[used]] @ w[used], dtype=np.float64)

    def tdot(self, r: Array, subset: Subset | None = None) -> Array:
        if subset is None:
            return np.asarray(self.matrix.T @ r, dtype=np.float64)
        index = np.asarray(subset, dtype=np.intp)
        if r.ndim == 2:
            return np.asarray(self.matrix[:, index].T @ r, dtype=np.float64)
        out = np.empty(index.size)
        stored_products(*self._stored, frozen(index), frozen(np.asarray(r, dtype=np.float64)), out)
        return out

    def columns(self, subset: Subset) -> Array:
        part = self.matrix[:, np.asarray(subset, dtype=np.intp)]
        return np.asarray(part.toarray(order="F"), dtype=np.float64)

    def rows(self, keep: Indices) -> Sparse:
        return Sparse(self.matrix.tocsr()[keep].tocsc())

    def take(self, subset: Subset) -> Sparse:
        return Sparse(self.matrix[:, np.asarray(subset, dtype=np.intp)])

    def gram(self, subset: Subset, other: Subset | None = None, weights: Array | None = None) -> Array:
        left = self.matrix[:, np.asarray(subset, dtype=np.intp)].astype(np.float64)
        right = left if other is None else self.matrix[:, np.asarray(other, dtype=np.intp)].astype(np.float64)
        return (left.T @ (right if weights is None else sp.diags_array(weights) @ right)).toarray()

    def nbytes_of(self, subset: Subset) -> int:
        count = int(np.diff(self.matrix.indptr)[np.asarray(subset, dtype=np.intp)].sum())
        each = self.matrix.data.itemsize + self.matrix.indices.itemsize
        return count * each + len(subset) * self.matrix.indptr.itemsize

    def pack(self, centred: bool) -> SparsePack:
        p = self.shape[1]
        return SparsePack(self.matrix, np.zeros(p), np.ones(p), centred)

    def survey(self, weights: Array, targets: Array | None = None) -> Survey:
        if not np.isfinite(self.matrix.data).all():
            refuse_entries()
        products = np.empty((self.shape[1], 0)) if targets is None else self.tdot(targets)
        with np.errstate(over="ignore", invalid="ignore"):
            return Survey(self._moments(weights), products)

    def _moments(self, weights: Array) -> Moments:
        """Moments from deviations of the stored entries and of the zeros, without cancellation of large squares."""
        p, matrix = self.shape[1], self.matrix
        about, rest, variance = np.empty((3, p))
        constant, first = np.empty(p, dtype=bool), np.zeros(p)
        share = weights / weights.sum()
        stored_moments(*self._stored, share, float(share.sum()), about, rest, variance, constant)
        filled = np.diff(matrix.indptr) > 0
        first[filled] = matrix.data[matrix.indptr[:-1][filled]]
        return settled(about, rest, variance, constant, first)

    def replaced(self, index: Indices, columns: Array) -> Sparse:
        """The matrix with some columns replaced."""
        kept = np.setdiff1d(np.arange(self.shape[1]), index)
        order = np.argsort(np.concatenate([kept, index]))
        return Sparse(sp.hstack([self.matrix[:, kept], sp.csc_array(columns)], format="csc")[:, order])
