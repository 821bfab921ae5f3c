"""The lazily standardised view of a design, its construction, and conversions to units of the data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsest.core.arrays import Mask
from sparsest.core.designs.base import FAR, Array, Design, Indices, Moments, Subset, Survey
from sparsest.core.designs.dense import Dense
from sparsest.core.designs.packs import Pack, SparsePack
from sparsest.core.designs.sparse import Sparse
from sparsest.runtime.memory import memory_limit


@dataclass(frozen=True, eq=False)
class Standardized(Design):
    """The view ``(X - 1 shift') / scale`` of another design, which stays sparse if it is.

    Only the columns ``far`` are copied, whose means are too large for accurate products: ``packed`` holds them centred
    and scaled.
    """

    base: Design
    shift: Array
    scale: Array
    far: Indices
    packed: Array

    @property
    def shape(self) -> tuple[int, int]:
        return self.base.shape

    def dot(self, w: Array, subset: Subset | None = None) -> Array:
        index = np.arange(self.shape[1]) if subset is None else np.asarray(subset, dtype=np.intp)
        apart, place = self._apart(index)
        v = w / _each(self.scale[index], w)
        v[apart] = 0.0
        product = self.base.dot(v, subset) - self.shift[index] @ v
        return product + self.packed[:, place] @ w[apart] if place.size else product

    def tdot(self, r: Array, subset: Subset | None = None) -> Array:
        index = np.arange(self.shape[1]) if subset is None else np.asarray(subset, dtype=np.intp)
        return self.own(self.base.tdot(r, subset), r, index)

    def at_hand(self, subset: Indices) -> Mask:
        return self.base.at_hand(subset)

    def tdot_some(
        self, r: Array, wanted: Indices, others: Mask, likely: Callable[[], Indices]
    ) -> tuple[Indices, Array]:
        index, products = self.base.tdot_some(r, wanted, others, likely)
        return index, self.own(products, r, index)

    def own(self, products: Array, r: Array, index: Indices) -> Array:
        """Convert products of r with the stored columns to products with the view, in place."""
        products -= np.multiply.outer(self.shift[index], r.sum(axis=0))
        products /= _each(self.scale[index], products)
        apart, place = self._apart(index)
        if place.size:
            products[apart] = self.packed[:, place].T @ r
        return products

    def columns(self, subset: Subset) -> Array:
        index = np.asarray(subset, dtype=np.intp)
        block = self.base.columns(index)
        block -= self.shift[index]
        block /= self.scale[index]
        apart, place = self._apart(index)
        block[:, apart] = self.packed[:, place]
        return block

    def _apart(self, index: Indices) -> tuple[NDArray[np.bool_], Indices]:
        """Which columns of a subset are ``far``, and their positions in ``packed``."""
        if self.far.size == 0:
            return np.zeros(index.size, dtype=bool), np.empty(0, dtype=np.intp)
        place = np.minimum(np.searchsorted(self.far, index), self.far.size - 1)
        apart = self.far[place] == index
        return apart, place[apart]

    def rows(self, keep: Indices) -> Standardized:
        packed = np.asfortranarray(self.packed[keep])
        return Standardized(self.base.rows(keep), self.shift, self.scale, self.far, packed)

    def take(self, subset: Subset) -> Standardized:
        index = np.asarray(subset, dtype=np.intp)
        apart, place = self._apart(index)
        packed = np.asfortranarray(self.packed[:, place])
        return Standardized(self.base.take(index), self.shift[index], self.scale[index], np.flatnonzero(apart), packed)

    def gram(self, subset: Subset, other: Subset | None = None, weights: Array | None = None) -> Array:
        if not isinstance(self.base, Sparse) or self.far.size:
            return super().gram(subset, other, weights)
        left = np.asarray(subset, dtype=np.intp)
        right = left if other is None else np.asarray(other, dtype=np.intp)
        ones = np.ones(self.shape[0]) if weights is None else weights
        gram = self.base.gram(left, right, weights)
        gram -= np.outer(self.base.tdot(ones, left), self.shift[right])
        gram -= np.outer(self.shift[left], self.base.tdot(ones, right) - ones.sum() * self.shift[right])
        gram /= np.outer(self.scale[left], self.scale[right])
        return gram

    def nbytes_of(self, subset: Subset) -> int:
        index = np.asarray(subset, dtype=np.intp)
        apart, place = self._apart(index)
        return self.base.nbytes_of(index[~apart]) + 8 * self.shape[0] * place.size

    @property
    def resident_bytes(self) -> int:
        return self.base.resident_bytes + self.packed.nbytes

    def pack(self, centred: bool) -> Pack:
        stored, shift, scale = take_apart(self)
        if isinstance(stored, Sparse):
            return SparsePack(stored.matrix, shift, scale, centred)
        return stored.pack_of_view(self, shift, scale, centred)

    def survey(self, weights: Array, targets: Array | None = None) -> Survey:
        (mean, rest, variance), products = self.base.survey(weights, targets)
        mean, rest, variance = (mean - self.shift) / self.scale, rest / self.scale, variance / self.scale**2
        if targets is not None:
            products = products - np.multiply.outer(self.shift, targets.sum(axis=0))
        products = products / _each(self.scale, products)
        if self.far.size:
            of_far = Dense(self.packed).survey(weights, targets)
            mean[self.far], rest[self.far], variance[self.far] = of_far.moments
            products[self.far] = of_far.products
        return Survey(Moments(mean, rest, variance), products)


def _each(scale: Array, vectors: Array) -> Array:
    """The scale, in a shape that divides a vector or the rows of a block of vectors."""
    return scale if vectors.ndim == 1 else scale[:, None]


def take_apart(view: Design) -> tuple[Design, Array, Array]:
    """Return the stored matrix of a view, and the shift and the scale that the view applies to it.

    In a sparse matrix, the ``far`` columns of the view replace the stored ones.  A dense matrix would have to be
    copied, so the view itself is returned.
    """
    if isinstance(view, Standardized):
        if view.far.size == 0:
            return view.base, view.shift, view.scale
        if isinstance(view.base, Sparse):
            shift, scale = view.shift.copy(), view.scale.copy()
            shift[view.far], scale[view.far] = 0.0, 1.0
            return view.base.replaced(view.far, view.packed), shift, scale
    return view, np.zeros(view.shape[1]), np.ones(view.shape[1])


def unstandardized(design: Design) -> Design:
    """The design under a view; any other design unchanged."""
    return design.base if isinstance(design, Standardized) else design


def stores_matrix(design: Design) -> bool:
    """Whether the matrix of a design is in memory or mapped from a file."""
    return isinstance(design, (Dense, Sparse))


def stored_matrix(design: Design) -> Any:
    """The stored matrix of a design."""
    if isinstance(design, Sparse):
        return design.matrix
    if isinstance(design, Dense):
        return design.array
    raise ValueError("this design does not store a matrix")


def shift_and_scale(view: Design, index: Indices) -> tuple[Array, Array]:
    """The shifts and scales that a view applies to some columns."""
    if isinstance(view, Standardized):
        return view.shift[index], view.scale[index]
    return np.zeros(index.size), np.ones(index.size)


def in_units_of_data(view: Design, index: Indices | slice, w: Array) -> tuple[Array, float]:
    """Convert coefficients ``w`` of columns of a view to units of the data; return them and their constant term."""
    if not isinstance(view, Standardized):
        return w, 0.0
    coef = w / view.scale[index]
    return coef, -float(view.shift[index] @ coef)


def products_with_view(view: Design, products: Array, r: Array) -> Array:
    """Convert ``X'r`` of the design under a view to that of the view, in place."""
    return view.own(products, r, np.arange(view.shape[1])) if isinstance(view, Standardized) else products


def _refuse_copies(n_bytes: int, count: int) -> None:
    """Raise a ValueError if the columns to copy do not fit into memory."""
    if count and n_bytes > memory_limit():
        raise ValueError(
            f"{count} columns have means of more than {FAR:g} standard deviations, and copies of them that are centred "
            f"would take {n_bytes / 1e9:.3g} GB of memory: subtract a constant near the mean from these columns first"
        )


def view_with(design: Design, moments: Moments, *, center: bool, scale: bool) -> Design:
    """Return the view with weighted mean 0 (``center``) and mean square 1 (``scale``), from moments of the columns.

    Constant columns keep scale 1.
    """
    # A view is wrapped in another view, so that it is not mistaken for the design it shows.
    if not (center or scale or isinstance(design, Standardized)):
        return design
    mean, rest, variance = moments
    factor = np.ones(mean.size)
    if scale:
        factor = np.sqrt(variance if center else variance + mean**2)
        factor[factor == 0.0] = 1.0
    shift = mean if center else np.zeros(mean.size)
    far = moments.far() if center else np.empty(0, dtype=np.intp)
    _refuse_copies(8 * design.shape[0] * far.size, far.size)
    packed = design.columns(far)
    packed -= shift[far]
    packed -= rest[far]
    packed /= factor[far]
    return Standardized(design, shift, factor, far, packed)
