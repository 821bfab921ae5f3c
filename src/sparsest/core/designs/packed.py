"""Variants packed at two bits as a design: ``X'r`` is computed from the bytes, other methods unpack the block."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sparsest.core.arrays import frozen
from sparsest.core.designs.base import Array, Design, Indices, Subset, Survey
from sparsest.core.designs.dense import FEW_VECTORS, Dense
from sparsest.core.designs.packs import DensePack
from sparsest.core.kernels.genotypes import packed_products, unpack_genotypes


@dataclass(frozen=True, eq=False)
class PackedBlock(Design):
    """A block of variants in memory; its rows are unpacked.

    Attributes
    ----------
    packed : p × ⌈n/4⌉ bytes in C order
    n : number of samples
    n_missing : number of missing genotypes of each variant
    fill : replacement of the missing genotypes of each variant
    """

    packed: NDArray[np.uint8]
    n: int
    n_missing: NDArray[np.int64]
    fill: NDArray[np.float32]

    accurate = True

    @property
    def shape(self) -> tuple[int, int]:
        return self.n, self.packed.shape[0]

    @cached_property
    def unpacked(self) -> Dense:
        """The numbers of copies, as bytes if no genotype is missing."""
        gaps = bool(self.n_missing.any())
        out = np.empty((self.packed.shape[0], self.n), dtype=np.float32 if gaps else np.int8)
        unpack_genotypes(frozen(self.packed), self.n, frozen(self.fill if gaps else self.fill[:0]), out)
        return Dense(out.T)

    def tdot(self, r: Array, subset: Subset | None = None) -> Array:
        if subset is not None:
            return self._chosen(np.asarray(subset, dtype=np.intp)).tdot(r)
        if r.ndim == 2 and r.shape[1] > FEW_VECTORS:
            return self.unpacked.tdot(r)
        vectors = np.zeros((1 if r.ndim == 1 else r.shape[1], self.packed.shape[1], 4))
        vectors.reshape(vectors.shape[0], 4 * self.packed.shape[1])[:, : self.n] = r.T
        out = np.empty((vectors.shape[0], self.packed.shape[0]))
        by_place = np.ascontiguousarray(vectors.transpose(0, 2, 1))
        packed_products(frozen(self.packed), frozen(self.n_missing), frozen(self.fill), frozen(by_place), out)
        return out[0] if r.ndim == 1 else out.T

    def _chosen(self, index: Indices) -> PackedBlock:
        return PackedBlock(np.take(self.packed, index, axis=0), self.n, self.n_missing[index], self.fill[index])

    def survey(self, weights: Array, targets: Array | None = None) -> Survey:
        return self.unpacked.survey(weights, targets)

    def dot(self, w: Array, subset: Subset | None = None) -> Array:
        return self.unpacked.dot(w, subset)

    def columns(self, subset: Subset) -> Array:
        return self._chosen(np.asarray(subset, dtype=np.intp)).unpacked.array.astype(np.float64, order="F")

    def rows(self, keep: Indices) -> Dense:
        return self.unpacked.rows(keep)

    def take(self, subset: Subset) -> PackedBlock:
        return self._chosen(np.asarray(subset, dtype=np.intp))

    def nbytes_of(self, subset: Subset) -> int:
        return self.packed.shape[1] * len(subset)

    def pack(self, centred: bool) -> DensePack:
        return DensePack(self, centred)
