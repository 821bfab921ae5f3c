"""Models of smooth losses on few features, and the swaps that improve them; no proof is kept of anything.

Newton's method fits a support, from the model of a neighbour.  Swaps are ranked by the quadratic model of the loss at
the present fit, whose Gram matrix is needed between the support and a pool of features alone:

    w_j²/(2N_jj) - (g_i + A_ij w_j/N_jj)² / (2(d_i + A_ij²/N_jj)),     N = (X_S'DX_S + λI)^{-1},  A = X'DX_S N ,

and the first ones of positive promise are fitted, as far as they look better than what is there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import scipy.linalg as la

from sparsest.core.arrays import Array, Indices, Mask
from sparsest.core.data import Data
from sparsest.subset.grid.kept import KeptRows
from sparsest.subset.grid.swaps import Ridge

# Newton's method ends with a step whose decrement is at most this part of the objective; it converges quadratically.
_DECREMENT, _MOST_STEPS, _SHORTEST_STEP, _ENOUGH = 1e-6, 50, 1e-6, 1e-4
# Observations have at least this part of a typical curvature, so that models stay bounded.
_LEAST_CURVATURE = 1e-4
# A fit is given up when its value less so many decrements, of which half a one is to be won, is no better than another.
_HOPE = 1.0
# Features outside a support that a swap may bring in: those with the largest gradients.  Swaps that are fitted at most
# before a support counts as the best of its neighbours, and swaps of one polish.
_POOL, _TRIALS, _MOST_MOVES = 400, 3, 200
# Moves that improve less than this part of the objective are rounding.
_IMPROVEMENT = 1e-7
# What a support leaves of a column's square is at least this part of it, or rounding.
_DEPENDENT = 1e-9


class Newton(NamedTuple):
    """The quadratic model of a loss: slopes, curvatures and their sum."""

    alpha: Array
    curvature: Array
    total: float


class Smooth:
    """The data of a smooth loss, with columns that all models share.

    Attributes
    ----------
    columns : the columns of the design, each as a row.
    null : the sum of losses of the model without features.
    """

    def __init__(self, data: Data) -> None:
        self.data = data
        self.columns = KeptRows(data.p, data.n, lambda features: data.design.columns(features).T)
        self._floor = _LEAST_CURVATURE * data.curvature
        self.null = self.value(np.full(data.n, data.null.b))

    def value(self, margin: Array) -> float:
        """The sum of losses; infinite where it is no number."""
        with np.errstate(over="ignore", invalid="ignore"):
            value = float(self.data.weights @ self.data.loss.value(self.data.y, margin))
        return value if np.isfinite(value) else np.inf

    def slopes(self, margin: Array) -> Array:
        """``ωℓ'``."""
        return self.data.weights * self.data.loss.derivative(self.data.y, margin)

    def model(self, margin: Array) -> Newton:
        """The quadratic model of the loss at these predictions."""
        second = self.data.loss.second_derivative(self.data.y, margin)
        curvature = self.data.weights * np.maximum(second, self._floor)
        return Newton(self.slopes(margin), curvature, float(curvature.sum()))

    def fit(
        self, support: Indices, ridge: float, w: Array, b: float, unless: float = np.inf
    ) -> tuple[Ridge, Array] | None:
        """The model of a support and its predictions, from coefficients and an intercept.

        None as soon as it does not look as if its objective could be below ``unless``.
        """
        X = self.columns[support]
        margin = w @ X + b
        value = self.value(margin) + 0.5 * ridge * float(w @ w)
        for _ in range(_MOST_STEPS):
            step_w, step_b, decrement = self._step(X, margin, w, ridge)
            if value - _HOPE * decrement > unless:
                return None
            move, t = step_w @ X + step_b, 1.0
            while t > _SHORTEST_STEP:
                trial_w, trial = w + t * step_w, margin + t * move
                reached = self.value(trial) + 0.5 * ridge * float(trial_w @ trial_w)
                if reached <= value - _ENOUGH * t * decrement:
                    break
                t *= 0.5
            else:
                break
            small = decrement <= _DECREMENT * value
            w, b, margin, value = trial_w, b + t * step_b, trial, reached
            if small:
                break
        return Ridge(support, w, b, value), margin

    def _step(self, X: Array, margin: Array, w: Array, ridge: float) -> tuple[Array, float, float]:
        """Newton's step, and its decrement squared."""
        at, m = self.model(margin), w.size
        weighted = X * at.curvature
        size = m + int(self.data.fit_intercept)
        H, g = np.empty((size, size)), np.empty(size)
        H[:m, :m], g[:m] = weighted @ X.T, X @ at.alpha + ridge * w
        H.flat[: m * (size + 1) : size + 1] += ridge
        if self.data.fit_intercept:
            H[m, :m] = H[:m, m] = weighted.sum(axis=1)
            H[m, m], g[m] = at.total, at.alpha.sum()
        if size == 0:
            return g, 0.0, 0.0
        # Columns that are all but dependent leave a matrix that is positive by its ridge alone.
        H.flat[:: size + 1] *= 1.0 + 1e-12
        step = np.negative(np.linalg.solve(H, g))
        decrement = max(-float(g @ step), 0.0)
        return step[:m], float(step[m]) if self.data.fit_intercept else 0.0, decrement


def polish(smooth: Smooth, start: Ridge, ridge: float, most: int, movable: Mask) -> Ridge:
    """Add features as long as there are fewer than ``most``, and swap, as long as that improves the model.

    Parameters
    ----------
    start : the support to begin from, with coefficients that are near its own
    movable : the features that may come and go
    """
    found = smooth.fit(start.support, ridge, start.w, start.b)
    assert found is not None
    for _ in range(_MOST_MOVES):
        better = _better(smooth, *found, ridge, most, movable)
        if better is None:
            break
        found = better
    return found[0]


def _better(
    smooth: Smooth, model: Ridge, margin: Array, ridge: float, most: int, movable: Mask
) -> tuple[Ridge, Array] | None:
    """The model after the first of the most promising moves that improves it; None where none does."""
    unless = model.value * (1.0 - _IMPROVEMENT)
    grows = model.support.size < most
    for out, into in _moves(smooth, model, margin, ridge, grows, movable):
        support, w = model.support, model.w
        if out is not None:
            support, w = np.delete(support, out), np.delete(w, out)
        at = int(np.searchsorted(support, into))
        support, w = np.insert(support, at, into), np.insert(w, at, 0.0)
        found = smooth.fit(support, ridge, w, model.b, unless)
        if found is not None and found[0].value < unless:
            return found
    return None


def _moves(
    smooth: Smooth, model: Ridge, margin: Array, ridge: float, grows: bool, movable: Mask
) -> Iterator[tuple[int | None, int]]:
    """Additions or, if a support is full, swaps that promise most: what goes out, by position, and what comes in."""
    at = smooth.model(margin)
    support, w = model.support, model.w
    g = smooth.data.design.tdot(at.alpha)
    into = _pool(smooth.data, g, support, movable)
    out = np.flatnonzero(movable[support])
    if into.size == 0 or not (grows or out.size):
        return
    inverse, cross, own = _products(smooth, at, support, into, ridge)
    g, A = g[into], cross @ inverse
    d = np.maximum(own - np.einsum("ij,ij->i", A, cross), _DEPENDENT * own)
    if grows:
        gains = g**2 / (2.0 * d)
    else:
        variance, B = np.diagonal(inverse)[out], A[:, out]
        slope = g[:, None] - B * (w[out] / variance)
        gains = (slope**2 / (2.0 * (d[:, None] + B**2 / variance)) - w[out] ** 2 / (2.0 * variance)).ravel()
    count = min(_TRIALS, gains.size)
    best = np.argpartition(-gains, count - 1)[:count]
    for cell in best[np.argsort(-gains[best], kind="stable")].tolist():
        if gains[cell] <= _IMPROVEMENT * model.value:
            return
        yield (None, int(into[cell])) if grows else (int(out[cell % out.size]), int(into[cell // out.size]))


def _pool(data: Data, g: Array, support: Indices, movable: Mask) -> Indices:
    """The features outside a support with the largest gradients, in units of their norms."""
    outside = movable.copy()
    outside[support] = False
    into = np.flatnonzero(outside)
    size = max(_POOL, 4 * support.size)
    if into.size <= size:
        return into
    promise = np.abs(g[into]) / data.column_norms[into]
    return np.sort(into[np.argpartition(-promise, size)[:size]])


def _products(smooth: Smooth, at: Newton, support: Indices, into: Indices, ridge: float) -> tuple[Array, Array, Array]:
    """``(X_S'DX_S + λI)^{-1}``, ``X_i'DX_S`` and ``X_i'DX_i + λ``, centred under an intercept."""
    inside, outside = smooth.columns[support], smooth.columns[into]
    weighted = inside * at.curvature
    H, cross, own = weighted @ inside.T, outside @ weighted.T, outside**2 @ at.curvature
    if smooth.data.fit_intercept:
        sums, theirs = weighted.sum(axis=1), outside @ at.curvature
        H -= np.outer(sums, sums) / at.total
        cross -= np.outer(theirs, sums) / at.total
        own -= theirs**2 / at.total
    H.flat[:: support.size + 1] += ridge
    return la.inv(H) if support.size else H, cross, np.maximum(own, 0.0) + ridge
