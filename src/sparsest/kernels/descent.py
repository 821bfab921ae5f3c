"""Coordinate descent on a penalised quadratic, and the packed columns it works on.

The kernels know one problem, ``min_w g'(w - w0) + (w - w0)'G(w - w0)/2 + Σ_j φ(w_j; λ_j)``, for every penalty:
whatever the loss and the storage of X are, only the Gram matrix G of the working set enters.

A ``Pack`` holds the working set's columns: dense ones standardised and side by side, sparse ones as they are,
with shift and scale handled in the products.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sparsest.designs import Dense, Design, Sparse, Standardized
from sparsest.kernels.jit import derivative, dispatched, kernel, value

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_CHUNK = 64


@dispatched
def prox(self: Any, z: float, lam: float, step: float) -> float:
    """The minimiser of ``(w - z)²/2 + step φ(w; λ)``."""
    return self.prox(z, lam, step)


@dispatched
def threshold(self: Any, lam: float) -> float:
    """The slope of ``φ`` at zero."""
    return self.threshold(lam)


@kernel
def violation(grad, w, lam, m, penalty):
    """The largest distance of ``-grad_j`` from the subdifferential of ``φ`` at ``w_j``, over the first m."""
    worst = 0.0
    for j in range(m):
        if w[j] == 0.0:
            distance = abs(grad[j]) - threshold(penalty, lam[j])
        else:
            distance = abs(grad[j] + derivative(penalty, w[j], lam[j]))
        worst = max(worst, distance)
    return worst


@kernel
def descend(gram, grad, w, lam, m, penalty, tol, max_sweeps):
    """Sweep over the first m coordinates until the violation is at most ``tol``; keeps ``grad`` exact.

    Returns the number of sweeps and the violation.  A coordinate that does not move costs one prox, so no
    list of active ones is needed.
    """
    worst = violation(grad, w, lam, m, penalty)
    sweeps = 0
    while worst > tol and sweeps < max_sweeps:
        for j in range(m):
            h = gram[j, j]
            new = prox(penalty, w[j] - grad[j] / h, lam[j], 1.0 / h)
            change = new - w[j]
            if change != 0.0:
                w[j] = new
                for i in range(m):
                    grad[i] += change * gram[j, i]
        worst = violation(grad, w, lam, m, penalty)
        sweeps += 1
    return sweeps, worst


@kernel
def step_change(grad, product, step, w, lam, m, penalty):
    """The change of the objective from ``w`` to ``w + step``, where ``product = G step``."""
    total = 0.0
    for j in range(m):
        if step[j] != 0.0:
            total += step[j] * (grad[j] + 0.5 * product[j])
            total += value(penalty, w[j] + step[j], lam[j]) - value(penalty, w[j], lam[j])
    return total


class Pack(ABC):
    """Columns of a design that may be appended to; products are those of the view, in float64."""

    design: Design
    size: int

    @abstractmethod
    def append(self, index: Indices) -> Array:
        """Take in these columns of the design; returns them standardised and dense."""

    @abstractmethod
    def keep(self, positions: Indices) -> None:
        """Drop all columns but those at these positions."""

    @abstractmethod
    def dot(self, w: Array) -> Array:
        """``X_E w``."""

    @abstractmethod
    def tdot(self, r: Array) -> Array:
        """``X_E' r`` for one vector or a block."""

    @abstractmethod
    def gram(self, h: Array) -> Array:
        """``X_E' diag(h) X_E``."""


class DensePack(Pack):
    """Standardised columns side by side in one buffer that doubles when it is full."""

    def __init__(self, design: Design) -> None:
        self.design = design
        self.size = 0
        self._buffer = np.empty((design.shape[0], 32), order="F")

    def append(self, index: Indices) -> Array:
        """Take in these columns of the design; returns them standardised and dense."""
        block = self.design.columns(index)
        end = self.size + index.size
        if end > self._buffer.shape[1]:
            grown = np.empty((self._buffer.shape[0], max(end, 2 * self._buffer.shape[1])), order="F")
            grown[:, : self.size] = self._buffer[:, : self.size]
            self._buffer = grown
        self._buffer[:, self.size : end] = block
        self.size = end
        return block

    def keep(self, positions: Indices) -> None:
        """Drop all columns but those at these positions."""
        self.size = positions.size
        self._buffer[:, : self.size] = self._buffer[:, positions]

    @property
    def columns(self) -> Array:
        """The packed columns."""
        return self._buffer[:, : self.size]

    def dot(self, w: Array) -> Array:
        """``X_E w``."""
        return self.columns @ w

    def tdot(self, r: Array) -> Array:
        """``X_E' r`` for one vector or a block."""
        return self.columns.T @ r

    def gram(self, h: Array) -> Array:
        """``X_E' diag(h) X_E``."""
        root = np.sqrt(h)[:, None] * self.columns
        return root.T @ root


class SparsePack(Pack):
    """Stored entries of the columns; shift and scale enter the products, nothing is made dense for good."""

    def __init__(self, design: Design) -> None:
        self.design = design
        self.size = 0
        self._index = np.empty(0, dtype=np.intp)
        self._view: Design | None = None

    def append(self, index: Indices) -> Array:
        """Take in these columns of the design; returns them standardised and dense."""
        self._index = np.concatenate([self._index, index])
        self.size = self._index.size
        self._view = restricted(self.design, self._index)
        return self.design.columns(index)

    def keep(self, positions: Indices) -> None:
        """Drop all columns but those at these positions."""
        self._index = self._index[positions]
        self.size = positions.size
        self._view = restricted(self.design, self._index) if self.size else None

    def dot(self, w: Array) -> Array:
        """``X_E w``."""
        return np.zeros(self.design.shape[0]) if self._view is None else self._view.dot(w)

    def tdot(self, r: Array) -> Array:
        """``X_E' r`` for one vector or a block."""
        return np.zeros((0, *r.shape[1:])) if self._view is None else self._view.tdot(r)

    def gram(self, h: Array) -> Array:
        """``X_E' diag(h) X_E``."""
        out = np.empty((self.size, self.size))
        for start in range(0, self.size, _CHUNK):
            part = self._index[start : start + _CHUNK]
            out[:, start : start + part.size] = self.tdot(h[:, None] * self.design.columns(part))
        return out


def restricted(design: Design, index: Indices) -> Design:
    """Return the design of these columns alone, stored as the design is."""
    if isinstance(design, Standardized):
        return Standardized(restricted(design.base, index), design.shift[index], design.scale[index])
    if isinstance(design, Sparse):
        return Sparse(sp.csc_array(design.matrix[:, index]))
    return Dense(design.columns(index))


def make_pack(design: Design) -> Pack:
    """Return an empty pack that suits the design's storage."""
    base = design.base if isinstance(design, Standardized) else design
    return SparsePack(design) if isinstance(base, Sparse) else DensePack(design)
