"""Columns of a design that coordinate descent works on, packed, and the quadratic over them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparsest.arrays import Array, Indices
from sparsest.designs import Design, Sparse, take_apart
from sparsest.kernels.descent import Gram, Stored, stored_image, stored_step


class Pack(ABC):
    """Columns of a design that may be appended to, with the quadratic ``G = X_E' diag(h) X_E`` over them.

    With ``centred`` they are centred under h.  Products are those of the view, in float64.
    """

    def __init__(self, design: Design, centred: bool) -> None:
        self.design, self.centred = design, centred
        self.h = np.ones(design.shape[0])

    @abstractmethod
    def append(self, index: Indices) -> None:
        """Take in these columns of the design."""

    @abstractmethod
    def keep(self, positions: Indices) -> None:
        """Drop all columns but those at these positions."""

    @abstractmethod
    def weigh(self, h: Array) -> None:
        """Take these weights of the observations."""

    @abstractmethod
    def dot(self, w: Array) -> Array:
        """``X_E w``."""

    @abstractmethod
    def tdot(self, r: Array, first: int = 0) -> Array:
        """``X_E' r`` from this column on."""

    @abstractmethod
    def gram(self, positions: Indices) -> Array:
        """``G`` over the columns at these positions."""

    @abstractmethod
    def model(self, theta: Array) -> Any:
        """What the kernels work on, where ``X_E'θ`` is the gradient."""

    @abstractmethod
    def image(self, model: Any, d: Array) -> Array:
        """``Gd``."""

    @abstractmethod
    def step(self, model: Any, d: Array) -> None:
        """Let the model follow a step of w; a gradient that is carried along is the caller's."""


class SparsePack(Pack):
    """Stored entries of the columns; shift and scale enter the products, nothing is made dense."""

    def __init__(self, design: Design, centred: bool) -> None:
        super().__init__(design, centred)
        base, self._shift, self._scale = take_apart(design)
        assert isinstance(base, Sparse)
        self._matrix, self._squares = base.matrix, base.matrix.power(2)
        self.keep(np.empty(0, dtype=np.intp))
        self.weigh(self.h)

    def append(self, index: Indices) -> None:
        """Take in these columns of the design."""
        self._take(np.concatenate([self._index, index]))

    def keep(self, positions: Indices) -> None:
        """Drop all columns but those at these positions."""
        self._take(self._index[positions] if positions.size else positions)

    def _take(self, index: Indices) -> None:
        self._index, self._packed = index, self._matrix[:, index].astype(np.float64)
        # Unsigned numbers spare the kernels a look at each sign.
        self._rows, self._starts = self._packed.indices.astype(np.uint32), self._packed.indptr.astype(np.intp)

    def weigh(self, h: Array) -> None:
        """Take these weights of the observations."""
        self.h = h
        self._mass = np.asarray(self._matrix.T @ h, dtype=np.float64)
        self._centre = self._mass / h.sum() if self.centred else np.zeros(self._mass.size)
        self._curvature = (self._squares.T @ h - self._mass * self._centre) / self._scale**2

    def dot(self, w: Array) -> Array:
        """``X_E w``."""
        v = w / self._scale[self._index]
        return self._packed @ v - self._shift[self._index] @ v

    def tdot(self, r: Array, first: int = 0) -> Array:
        """``X_E' r`` from this column on."""
        index = self._index[first:]
        return (self._packed[:, first:].T @ r - self._shift[index] * r.sum()) / self._scale[index]

    def gram(self, positions: Indices) -> Array:
        """``G`` over the columns at these positions."""
        index, part = self._index[positions], self._packed[:, positions]
        product = (part.T @ (sp.diags_array(self.h) @ part)).toarray()
        product -= np.outer(self._mass[index], self._centre[index])
        return product / np.outer(self._scale[index], self._scale[index])

    def model(self, theta: Array) -> Stored:
        """The stored columns with θ as residual."""
        E = self._index
        return Stored(
            self._packed.data, self._rows, self._starts, self._centre[E], self._scale[E], self._mass[E],
            self._curvature[E], self.h, theta.copy(), np.zeros(1),
        )  # fmt: skip

    def image(self, model: Stored, d: Array) -> Array:
        """``Gd``."""
        out = np.empty(d.size)
        stored_image(model, d, np.arange(d.size), np.empty(self.h.size), out)
        return out

    def step(self, model: Stored, d: Array) -> None:
        """Let the residual follow."""
        stored_step(model, d)


class DensePack(Pack):
    """Standardised columns side by side and their Gram matrix, in buffers that double when they are full."""

    def __init__(self, design: Design, centred: bool) -> None:
        super().__init__(design, centred)
        self._size = 0
        self._buffer, self._gram = np.empty((design.shape[0], 32), order="F"), np.empty((32, 32))
        self._mass = np.empty(0)

    def append(self, index: Indices) -> None:
        """Take in these columns of the design."""
        m, end = self._size, self._size + index.size
        if end > self._buffer.shape[1]:
            room = max(end, 2 * m)
            buffer, gram = np.empty((self.h.size, room), order="F"), np.empty((room, room))
            buffer[:, :m], gram[:m, :m] = self._columns, self._gram[:m, :m]
            self._buffer, self._gram = buffer, gram
        self._buffer[:, m:end] = self.design.columns(index)
        self._size = end
        self._fill(m)

    @property
    def _columns(self) -> Array:
        return self._buffer[:, : self._size]

    def _fill(self, first: int) -> None:
        """Compute the Gram matrix from this column on."""
        weighted = self.h[:, None] * self._columns[:, first:]
        cross = self._columns.T @ weighted
        self._mass = np.concatenate([self._mass[:first], weighted.sum(axis=0)])
        if self.centred:
            cross -= np.outer(self._mass, self._mass[first:] / self.h.sum())
        self._gram[: self._size, first : self._size] = cross
        self._gram[first : self._size, : self._size] = cross.T

    def keep(self, positions: Indices) -> None:
        """Drop all columns but those at these positions."""
        self._size = k = positions.size
        self._buffer[:, :k] = self._buffer[:, positions]
        self._gram[:k, :k] = self._gram[np.ix_(positions, positions)]
        self._mass = self._mass[positions]

    def weigh(self, h: Array) -> None:
        """Take these weights of the observations."""
        self.h = h
        self._fill(0)

    def dot(self, w: Array) -> Array:
        """``X_E w``."""
        return self._columns @ w

    def tdot(self, r: Array, first: int = 0) -> Array:
        """``X_E' r`` from this column on."""
        return self._columns[:, first:].T @ r

    def gram(self, positions: Indices) -> Array:
        """``G`` over the columns at these positions."""
        return self._gram[np.ix_(positions, positions)]

    def model(self, theta: Array) -> Gram:
        """``G`` itself, in memory that may be larger."""
        return Gram(self._gram)

    def image(self, model: Gram, d: Array) -> Array:
        """``Gd``."""
        used, square = np.flatnonzero(d), self._gram[: d.size, : d.size]
        return d[used] @ square[used] if 8 * used.size < d.size else square @ d

    def step(self, model: Gram, d: Array) -> None:
        """``G`` stays as it is."""
