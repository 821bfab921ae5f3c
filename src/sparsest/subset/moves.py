"""Scores of moves: by how much adding, removing or exchanging a feature lowers the quadratic model of the objective.

With the curvatures ``D = ωℓ''`` at a fit with support S and coefficients w, ``N = (X_S'DX_S + Λ)^{-1}``, the gradient g
of the loss, ``A = X'DX_S N`` and ``d_i = X_i'DX_i + λ - (A N^{-1} A')_ii``, the model falls by

    g_i² / (2d_i)                                                              when feature i is added,
    -w_j² / (2N_jj)                                                            when feature j is removed,
    (g_i - A_ij w_j/N_jj)² / (2(d_i + A_ij²/N_jj)) - w_j²/(2N_jj)              when i takes the place of j.

For the squared loss the model is the objective, so the scores are exact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsest.core.arrays import Array, Indices

# What a support leaves of a column's square is at least this part of it, or rounding.
DEPENDENT = 1e-9


class LocalModel(NamedTuple):
    """The quadratic model about a fit, for some candidates outside of its support.

    Attributes
    ----------
    inverse : N, of shape (m, m) for a support of m features.
    cross : ``X_i'DX_S`` for each candidate i, of shape (c, m).
    own : ``X_i'DX_i + λ`` for each candidate.
    gradient : the gradient of the loss at each candidate.
    w : the coefficients of the support.
    """

    inverse: Array
    cross: Array
    own: Array
    gradient: Array
    w: Array


class Remainder(NamedTuple):
    """What a support leaves of the candidates: A, their squares d, and the gradient."""

    A: Array
    d: Array
    gradient: Array


def remainder(model: LocalModel) -> Remainder:
    """What the support leaves of the candidates, as computed; d may be rounding error where they are dependent."""
    A = model.cross @ model.inverse
    return Remainder(A, model.own - np.einsum("ij,ij->i", A, model.cross), model.gradient)


def variances(inverse: Array) -> Array:
    """The diagonal of N, at least the smallest number that can be divided by."""
    return np.maximum(np.diagonal(inverse), 1e-300)


def addition_gains(rest: Remainder) -> Array:
    """By how much the model falls when each candidate is added."""
    return rest.gradient**2 / (2.0 * rest.d)


def removal_losses(w: Array, variance: Array) -> Array:
    """By how much the model rises when each feature of the support is removed."""
    return w**2 / (2.0 * variance)


def swap_gains(rest: Remainder, w: Array, variance: Array, out: Indices | slice = slice(None)) -> Array:
    """By how much the model falls when a candidate (row) takes the place of a feature ``out`` (column)."""
    A, w, variance = rest.A[:, out], w[out], variance[out]
    # At a minimum the gradient at i changes by -A_ij w_j / N_jj when j leaves.
    slope = rest.gradient[:, None] - A * (w / variance)
    return slope**2 / (2.0 * (rest.d[:, None] + A**2 / variance)) - removal_losses(w, variance)


def most_promising(features: Indices, promise: Array, n_support: int, size: int) -> Indices:
    """The features with the largest promises, in rising order: ``size`` of them, or four times the support if more."""
    size = max(size, 4 * n_support)
    if features.size <= size:
        return features
    return np.sort(features[np.argpartition(-promise[features], size)[:size]])
