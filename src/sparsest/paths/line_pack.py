"""Packs whose columns are rows of one array: gradients come from products with them, and no Gram matrix is kept."""

from __future__ import annotations

import numpy as np

from sparsest.core.arrays import Array, Indices, Mask
from sparsest.core.designs.base import Design
from sparsest.core.designs.packs import Pack
from sparsest.paths.kernels.blocks import LineBlocks


class LineModel:
    """The quadratic of the columns, with θ where it is now.

    Attributes
    ----------
    blocks : the data of the model in the form that kernels take.
    """

    def __init__(self, blocks: LineBlocks) -> None:
        self.blocks = blocks

    def part(self, positions: Indices) -> Array:
        """``G`` over the columns at these positions."""
        centred = self.blocks.lines[positions] - self.blocks.centre[positions, None]
        return (centred * self.blocks.h) @ centred.T

    def _change(self, d: Array) -> Array:
        """How much θ changes with a step d of the coefficients."""
        used = np.flatnonzero(d)
        along = d[used] @ self.blocks.lines[used] - d[used] @ self.blocks.centre[used]
        return self.blocks.h * along

    def image(self, d: Array) -> Array:
        """``Gd``."""
        change = self._change(d)
        return self.blocks.lines[: d.size] @ change - self.blocks.centre[: d.size] * change.sum()

    def follow(self, d: Array) -> None:
        """Update θ after a step of the coefficients."""
        self.blocks.theta[:] += self._change(d)


class LinePack(Pack):
    """Standardised columns in float64, one below the other, in a buffer that doubles when it is full.

    Parameters
    ----------
    design : the design, usually a standardised view.
    centred : whether G is that of centred columns.
    """

    has_gram = False

    def __init__(self, design: Design, centred: bool) -> None:
        self._design, self._centred, self._size = design, centred, 0
        self._h = np.ones(design.shape[0])
        self._lines, self._centre = np.empty((0, self._h.size)), np.empty(0)

    def append(self, index: Indices) -> None:
        """Add these columns of the design."""
        first, self._size = self._size, self._size + index.size
        if self._size > self._lines.shape[0]:
            lines = np.empty((max(self._size, 2 * first, 64), self._h.size))
            lines[:first] = self._lines[:first]
            self._lines = lines
        self._lines[first : self._size] = self._design.columns(index).T
        self._centre = np.concatenate([self._centre, self._centres(first)])

    def _centres(self, first: int) -> Array:
        part = self._lines[first : self._size]
        return part @ (self._h / self._h.sum()) if self._centred else np.zeros(part.shape[0])

    def keep(self, positions: Indices) -> None:
        """Drop all columns but those at these positions."""
        self._size = positions.size
        self._lines[: self._size], self._centre = self._lines[positions], self._centre[positions]

    def weigh(self, h: Array) -> None:
        """Take these weights of the observations."""
        self._h = h
        self._centre = self._centres(0)

    def dot(self, w: Array) -> Array:
        """``X_E w``."""
        return w @ self._lines[: w.size]

    def tdot(self, r: Array, first: int = 0) -> Array:
        """``X_E' r`` from this column on."""
        return self._lines[first : self._size] @ r

    def squares(self, h: Array) -> Array:
        """``Σ_i h_i x_ij²`` of every column, for any weights h."""
        return self._lines[: self._size] ** 2 @ h

    def third_moments(self, positions: Indices, chosen: Mask, h: Array) -> Array:
        """``Σ_i h_i x_ij² x_ik`` for the columns k at these positions, and the j that are chosen among them."""
        part = self._lines[positions]
        return (h * part[chosen] ** 2) @ part.T

    def gram(self, positions: Indices, h: Array | None = None) -> Array:
        """``G`` over the columns at these positions, or the same with other weights h."""
        h, lines = self._h if h is None else h, self._lines[positions]
        if self._centred:
            lines = lines - (lines @ (h / h.sum()))[:, None]
        return (lines * h) @ lines.T

    def model(self, theta: Array | None) -> LineModel:
        """The model for block coordinate descent, where ``X_E'θ`` is the gradient; it updates a copy of θ."""
        if theta is None:
            raise ValueError("without a Gram matrix the model needs θ")
        return LineModel(LineBlocks(self._lines[: self._size], self._centre, self._h, theta.copy()))
