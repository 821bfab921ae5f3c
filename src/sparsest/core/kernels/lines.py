"""Columns for compiled steps along a path: the interface of their forms, and the dense form.

Forms are NamedTuples.  Kernels call the functions below, which compile the method of the same name.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sparsest.core.arrays import Array, Indices
from sparsest.core.kernels.descent import column_products, gram_image, gram_step, gram_sweep
from sparsest.runtime.jit import dispatched

# Columns whose inner products with all previous ones are computed together, including those among themselves.
_BLOCK = 32


class Lines(NamedTuple):
    """Columns ``(x_j - shift_j)/scale_j`` of a dense matrix, those in use times √ω, and their Gram matrix.

    ``lines`` holds all columns, one in each row.  ``copies``, ``gram`` and ``names`` are buffers for those in use.
    """

    lines: Array
    shift_of: Array
    scale_of: Array
    root: Array
    names: Indices
    copies: Array
    gram: Array
    curvature: Array
    step: Array

    def sweep(self, w, grad, lam, penalty, chosen, count, bar):
        """Minimise over the chosen coordinates one by one."""
        return gram_sweep(self.gram, self.curvature, self.step, w, grad, lam, penalty, chosen, count, bar)

    def refresh(self, grad):
        """The gradient is never stale."""

    def fits(self, place, j):
        """Whether there is room for a column in this place."""
        return place < self.names.size

    def take_in(self, first, count):
        """Copy the columns named in these places, and compute their inner products with all previous ones."""
        end, n = first + count, self.root.size
        for q in range(first, end):
            line, copy, j = self.lines[self.names[q]], self.copies[q], self.names[q]
            for i in range(n):
                copy[i] = (line[i] - self.shift_of[j]) / self.scale_of[j] * self.root[i]
        for begin in range(first, end, _BLOCK):
            stop = min(begin + _BLOCK, end)
            product = np.dot(self.copies[begin:stop], self.copies[:stop].T)
            for a in range(begin, stop):
                for q in range(stop):
                    self.gram[a, q] = self.gram[q, a] = product[a - begin, q]
                self.curvature[a] = product[a - begin, a]
                self.step[a] = 1.0 / self.curvature[a]

    def residual(self, w, target, tau):
        """``τ = √ω (Xw - y)``."""
        for i in range(tau.size):
            tau[i] = -target[i]
        for j in range(w.size):
            if w[j] != 0.0:
                copy, factor = self.copies[j], w[j]
                for i in range(tau.size):
                    tau[i] += factor * copy[i]

    def products(self, index, count, theta, total, out):
        """``X_j'θ`` for some features, where total is the sum of θ."""
        column_products(self.lines, index[:count], theta, out)
        for q in range(count):
            out[q] = (out[q] - self.shift_of[index[q]] * total) / self.scale_of[index[q]]

    def slopes(self, w, first, origin, grad):
        """The gradient ``c + Gw`` from this place on, recomputed."""
        for q in range(first, w.size):
            row, total = self.gram[q], 0.0
            for k in range(w.size):
                total += row[k] * w[k]
            grad[q] = origin[self.names[q]] + total

    def entries_in_use(self, count):
        """The number of entries that a sweep over this many columns reads."""
        return count * count

    def has_stale_slopes(self):
        """Every move updates the slopes."""
        return False

    def restart(self, w, step, target, grad):
        """Update the gradient after a step to w."""
        for j in range(w.size):
            if step[j] != 0.0:
                gram_step(self.gram, j, step[j], grad)

    def image(self, d):
        """``Gd``."""
        return gram_image(self.gram, d)

    def follow(self, d):
        """``G`` does not depend on w."""


@dispatched
def fits(self: Any, place: int, j: int) -> bool:
    """Whether there is room for this feature in this place."""
    return self.fits(place, j)


@dispatched
def entries_in_use(self: Any, count: int) -> int:
    """The number of entries that a sweep over this many columns reads."""
    return self.entries_in_use(count)


@dispatched
def take_in(self: Any, first: int, count: int) -> None:
    """Prepare the columns named in these places."""
    self.take_in(first, count)


@dispatched
def residual(self: Any, w: Array, target: Array, tau: Array) -> None:
    """``τ = √ω (Xw - y)``, where ``target = √ω y``."""
    self.residual(w, target, tau)


@dispatched
def products(self: Any, index: Indices, count: int, theta: Array, total: float, out: Array) -> None:
    """``X_j'θ`` for some features."""
    self.products(index, count, theta, total, out)


@dispatched
def slopes(self: Any, w: Array, first: int, origin: Array, grad: Array) -> None:
    """The gradient at w from this place on, recomputed."""
    self.slopes(w, first, origin, grad)


@dispatched
def restart(self: Any, w: Array, step: Array, target: Array, grad: Array) -> None:
    """Update the quadratic after a step to w."""
    self.restart(w, step, target, grad)


@dispatched
def has_stale_slopes(self: Any) -> bool:
    """Whether slopes belong to an earlier w until the next sweep."""
    return self.has_stale_slopes()
