"""Functions that a design in blocks computes for one block, on the worker that holds it, and sums of their results.

Every function that is sent to blocks has the arguments of :data:`sparsest.proofs.grid.Work`: the block, an argument
shared by the blocks of the same rows, and an argument of the call.  Some functions have an additional first argument:
the number of bytes below which work is not divided among threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsest.core.arrays import Array, Indices
from sparsest.core.designs.base import Moments, settled
from sparsest.core.designs.dense import Dense
from sparsest.proofs.fingerprint import word_products

# Bytes of the rows of a block that are converted at a time.
_PART_BYTES = 1 << 22


class BlockSurvey(NamedTuple):
    """The survey of a block: the sum of its weights, moments, products and the first entries of its columns."""

    total: float
    moments: Moments
    products: Array
    first: Array


def unless_all(inside: Indices, width: int) -> Indices | None:
    """None for all columns of a block in order, which is faster."""
    return None if inside.size == width and np.array_equal(inside, np.arange(width)) else inside


def block_tdot(
    thread_bytes: int, block: NDArray[Any], shared: tuple[Array, Indices | None], inside: Indices | None
) -> Array:
    """``X'r`` for some columns of a block; ``shared`` has the vectors and the chosen rows."""
    r, kept = shared
    out = Dense(block, thread_bytes=thread_bytes).tdot(r, inside)
    if kept is not None and not np.isfinite(out).all():
        # Rows that are not chosen have weight zero, and zero times NaN or infinity is NaN.
        return Dense(block[kept], thread_bytes=thread_bytes).tdot(r[kept], inside)
    return out


def block_dot(thread_bytes: int, block: NDArray[Any], shared: None, own: tuple[Indices | None, Array]) -> Array:
    """``Xw`` for some columns of a block."""
    inside, w = own
    return Dense(block, thread_bytes=thread_bytes).dot(w, inside)


def block_survey(
    thread_bytes: int, block: NDArray[Any], shared: tuple[Array, Array, Indices | None], inside: Indices | None
) -> BlockSurvey:
    """The survey of some columns and the chosen rows of a block."""
    weights, Y, kept = shared
    if inside is not None:
        block = block[:, inside]
    if kept is not None and kept.size < block.shape[0]:
        block, weights, Y = block[kept], weights[kept], Y[kept]
    total = float(weights.sum())
    moments, products = Dense(block, thread_bytes=thread_bytes).survey(weights if total > 0.0 else weights + 1.0, Y)
    return BlockSurvey(total, moments, products, block[0].astype(np.float64))


def _converted(block: NDArray[Any], weights: Array) -> Iterator[tuple[Array, Array]]:
    """Rows of a block in parts, with their weights; rows of weight zero are left out."""
    height = max(1, _PART_BYTES // (8 * max(block.shape[1], 1)))
    for begin in range(0, block.shape[0], height):
        part, omega = block[begin : begin + height], weights[begin : begin + height]
        if not omega.all():
            part, omega = part[omega != 0.0], omega[omega != 0.0]
        yield part.astype(np.float64), omega


def block_gram(block: NDArray[Any], weights: Array, own: tuple[Indices, Indices, Array, Array]) -> tuple[Array, Array]:
    """``(X_S - c_S)' diag(ω) (X_T - c_T)`` and ``(X_S - c_S)'ω`` for the rows of a block."""
    left, right, of_left, of_right = own
    gram, mass = np.zeros((left.size, right.size)), np.zeros(left.size)
    for rows, omega in _converted(block, weights):
        weighted = omega[:, None] * (rows[:, left] - of_left)
        gram += weighted.T @ (rows[:, right] - of_right)
        mass += weighted.sum(axis=0)
    return gram, mass


def block_squares(block: NDArray[Any], weights: Array, own: tuple[Indices, Array]) -> tuple[Array]:
    """``Σ_i ω_i (x_ij - c_j)²`` over the rows of a block."""
    index, shift = own
    parts = (omega @ (rows[:, index] - shift) ** 2 for rows, omega in _converted(block, weights))
    return (np.sum(list(parts), axis=0),)


def block_third_moments(block: NDArray[Any], weights: Array, own: tuple[Indices, Array, Array]) -> tuple[Array]:
    """``Σ_i ω_i z_ij² z_ik`` over the rows of a block, with ``z = (x - c) / scale``."""
    index, shift, scale = own
    out = np.zeros((index.size, index.size))
    for rows, omega in _converted(block, weights):
        z = (rows[:, index] - shift) / scale
        out += (omega[:, None] * z**2).T @ z
    return (out,)


def block_digests(block: NDArray[Any], keys: NDArray[np.uint64], inside: Indices) -> NDArray[np.uint64]:
    """Products of the bits of some columns of a block with the keys of the fingerprint."""
    out = np.empty((2, inside.size), dtype=np.uint64)
    width = max(1, _PART_BYTES // (8 * max(block.shape[0], 1)))
    for begin in range(0, inside.size, width):
        some = block[:, inside[begin : begin + width]].T
        lines = np.add(some, 0.0, out=np.empty(some.shape), dtype=np.float64)
        out[:, begin : begin + width] = word_products(lines, keys)
    return out


def side_by_side(row: list[BlockSurvey], places: list[Indices], p: int, m: int) -> BlockSurvey:
    """The survey of a row of blocks."""
    moments = Moments(np.empty(p), np.empty(p), np.empty(p))
    products, first = np.empty((p, m)), np.empty(p)
    for part, at in zip(row, places, strict=True):
        for whole, values in zip(moments, part.moments, strict=True):
            whole[at] = values
        products[at], first[at] = part.products, part.first
    return BlockSurvey(row[0].total, moments, products, first)


def combined_moments(parts: list[BlockSurvey]) -> Moments:
    """The moments of all rows, from differences between the means of blocks, which lose no digits."""
    about, first = parts[0].moments.mean, parts[0].first
    total = sum(part.total for part in parts)
    constant = np.all([(part.moments.variance == 0.0) & (part.first == first) for part in parts], axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        apart = [(part.moments.mean - about) + part.moments.rest for part in parts]
        rest = np.sum([part.total / total * d for part, d in zip(parts, apart, strict=True)], axis=0)
        spread = [
            part.total / total * (part.moments.variance + (d - rest) ** 2) for part, d in zip(parts, apart, strict=True)
        ]
    return settled(about, rest, np.sum(spread, axis=0), constant, first)
