"""Ridge regressions on few features in Gram space, and the swaps that improve them.

With ``N = (G_SS + λI)^{-1}``, residual gradients ``g = c - G_S'w`` and ``A = N G_S``, taking feature i in place of
feature j of the support changes the objective by exactly

    w_j²/(2N_jj) - (g_i + A_ji w_j/N_jj)² / (2(d_i + A_ji²/N_jj)),     d_i = G_ii + λ - Σ_j A_ji G_ji .
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg as la

from sparsest.core.arrays import Array, Indices, Mask
from sparsest.subset.grid.gram import Gram

# Features outside a support that a swap may bring in: those with the largest gradients.
_POOL = 400
_MOST_MOVES = 1000
# Moves that improve less than this part of the objective are rounding.
_IMPROVEMENT = 1e-9
# What a support leaves of a column's square is at least this part of it, or rounding.
_DEPENDENT = 1e-9


class Ridge(NamedTuple):
    """The model of a support and its objective."""

    support: Indices
    w: Array
    b: float
    value: float


def _factored(gram: Gram, support: Indices, ridge: float) -> tuple[Ridge, Array]:
    """The model, and the inverse of its matrix."""
    H = gram.between(support)
    H.flat[:: support.size + 1] += ridge
    inverse = la.inv(H) if support.size else H
    c = gram.c[support]
    w = inverse @ c
    # A step of refinement for what the inverse loses where columns are nearly dependent.
    w += inverse @ (c - H @ w)
    return Ridge(support, w, gram.b, 0.5 * (gram.square - float(c @ w))), inverse


def polish(gram: Gram, support: Indices, ridge: float, most: int, movable: Mask) -> Ridge:
    """Add features as long as there are fewer than ``most``, and swap, as long as that improves the model.

    Parameters
    ----------
    movable : the features that may come and go
    """
    model, inverse = _factored(gram, support, ridge)
    for _ in range(_MOST_MOVES):
        better = _best_move(gram, model, inverse, ridge, model.support.size < most, movable)
        if better is None:
            break
        candidate, its_inverse = _factored(gram, better, ridge)
        # A full support must improve; one that grows may stay as good, where a column adds nothing.
        if candidate.value >= model.value - _IMPROVEMENT * abs(model.value) and better.size <= model.support.size:
            break
        model, inverse = candidate, its_inverse
    return model


def _best_move(gram: Gram, model: Ridge, inverse: Array, ridge: float, grow: bool, movable: Mask) -> Indices | None:
    """The support after the best addition or, if it is full, the best swap; None where none improves."""
    support, w = model.support, model.w
    rows = gram.rows(support)
    g = gram.c - w @ rows
    outside = movable.copy()
    outside[support] = False
    into = np.flatnonzero(outside)
    size = max(_POOL, 4 * support.size)
    if into.size > size:
        promise = np.abs(g[into]) / np.sqrt(gram.diagonal[into])
        into = into[np.argpartition(-promise, size)[:size]]
    if into.size == 0:
        return None
    rows, g, own = rows[:, into], g[into], gram.diagonal[into] + ridge
    A = inverse @ rows
    d = np.maximum(own - np.einsum("ji,ji->i", A, rows), _DEPENDENT * own)
    least = _IMPROVEMENT * abs(model.value)
    if grow:
        gains = g**2 / (2.0 * d)
        best = int(np.argmax(gains))
        return np.sort(np.append(support, into[best])) if gains[best] > least else None
    out = np.flatnonzero(movable[support])
    if out.size == 0:
        return None
    variance, B = np.diagonal(inverse)[out], A[out]
    slope = g + B * (w[out] / variance)[:, None]
    gains = slope**2 / (2.0 * (d + B**2 / variance[:, None])) - (w[out] ** 2 / (2.0 * variance))[:, None]
    j, i = np.unravel_index(int(np.argmax(gains)), gains.shape)
    if gains[j, i] <= least:
        return None
    return np.sort(np.append(np.delete(support, out[j]), into[i]))
