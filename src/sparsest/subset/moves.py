"""Scores of moves: the decrease of the quadratic model of the objective by adding, removing or swapping a feature.

Let ``D = ωℓ''`` be the curvatures at a fit with support S and coefficients w, g the gradient of the loss, λ_i the ridge
of feature i, ``N = (X_S'DX_S + diag(λ_S))^{-1}``, ``A = X'DX_S N`` and ``d_i = X_i'DX_i + λ_i - (A N^{-1} A')_ii``.
The model decreases by

    g_i² / (2d_i)                                                              if feature i is added,
    -w_j² / (2N_jj)                                                            if feature j is removed,
    (g_i - A_ij w_j/N_jj)² / (2(d_i + A_ij²/N_jj)) - w_j²/(2N_jj)              if feature i replaces feature j.

For the squared loss the model is the objective, so the scores are exact.  With bounds, the coefficient of a feature
that enters stays within them; those of the support do not, so all scores are estimates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsest.core.arrays import Array, Indices
from sparsest.core.bounds import UNBOUNDED, Bounds

# Share of a column's squared norm below which the part orthogonal to the support is rounding error.
DEPENDENT = 1e-9


class LocalModel(NamedTuple):
    """The quadratic model at a fit, for some candidates outside of its support.

    Attributes
    ----------
    inverse : N, of shape (m, m) for a support of m features.
    cross : ``X_i'DX_S`` for each candidate i, of shape (c, m).
    own : ``X_i'DX_i + λ_i`` for each candidate.
    gradient : the gradient of the loss at each candidate.
    w : the coefficients of the support.
    """

    inverse: Array
    cross: Array
    own: Array
    gradient: Array
    w: Array


class Remainder(NamedTuple):
    """A, d, gradient and bounds of the candidates; d_i is the curvature of i after projecting off the support."""

    A: Array
    d: Array
    gradient: Array
    bounds: Bounds = UNBOUNDED


def remainder(model: LocalModel) -> Remainder:
    """Project the candidates off the support; for dependent candidates d consists of rounding errors."""
    A = model.cross @ model.inverse
    return Remainder(A, model.own - np.einsum("ij,ij->i", A, model.cross), model.gradient)


def variances(inverse: Array) -> Array:
    """The diagonal of N, at least 1e-300 so that it can be a divisor."""
    return np.maximum(np.diagonal(inverse), 1e-300)


def decrease(slope: Array, curvature: Array, bounds: Bounds) -> Array:
    """``max {-slope w - ½ curvature w²}`` over the w within the bounds of each candidate; candidates are rows."""
    if not bounds.exist:
        return slope**2 / (2.0 * curvature)
    low, high = (side if slope.ndim == 1 else side[:, None] for side in (bounds.low, bounds.high))
    w = np.clip(-slope / curvature, low, high)
    return -w * (slope + 0.5 * curvature * w)


def held_at_zero(inverse: Array, w: Array, bounds: Bounds) -> Array:
    """N without the rows and columns of coefficients that a bound holds at 0; N is changed in place."""
    if bounds.exist:
        inverse[w == 0.0], inverse[:, w == 0.0] = 0.0, 0.0
    return inverse


def addition_gains(rest: Remainder) -> Array:
    """The decrease of the model by adding each candidate."""
    return decrease(rest.gradient, rest.d, rest.bounds)


def removal_losses(w: Array, variance: Array) -> Array:
    """The increase of the model by removing each feature of the support."""
    return w**2 / (2.0 * variance)


def swap_gains(rest: Remainder, w: Array, variance: Array, out: Indices | slice = slice(None)) -> Array:
    """The decrease of the model by replacing a feature ``out`` (column) by a candidate (row)."""
    A, w, variance = rest.A[:, out], w[out], variance[out]
    # Removing j changes the gradient of candidate i by -A_ij w_j / N_jj.
    slope = rest.gradient[:, None] - A * (w / variance)
    return decrease(slope, rest.d[:, None] + A**2 / variance, rest.bounds) - removal_losses(w, variance)


def most_promising(features: Indices, promise: Array, n_support: int, size: int) -> Indices:
    """The features with the largest promises, sorted by index: ``size`` or four times the support, if that is more."""
    size = max(size, 4 * n_support)
    if features.size <= size:
        return features
    return np.sort(features[np.argpartition(-promise[features], size)[:size]])
