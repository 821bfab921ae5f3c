"""Leaves of a regression tree in batches: which of them provably have no support below a target.

A leaf that fails here may still be closed by another bound.  There are two tests:

- ``Completions``, if two features remain to be chosen.  Leaves ``S + {j}`` that differ in the last feature only
  share C and r, the Schur complements of H and h with respect to S.  Let t be twice the distance of ``f(S)`` from the
  target.  No three features bring the regression on S below the target if ``C - rr'/t`` is positive semidefinite on
  them.
- ``Exclusions``, for all others.  Leaving out the features O changes the coefficients u + w⁰ of the regression on all
  features to ``u - Nx + w⁰`` with ``N = H^{-1}`` and ``x = N_OO^{-1}(u + w⁰)_O``: a system of the size of O.  The bound
  is computed for the resulting coefficients, whatever their rounding errors.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsest.proofs.data import Room
from sparsest.proofs.regression_sums import RegressionSums
from sparsest.proofs.rounding import UNIT, Array, Indices, growth

Mask = NDArray[np.bool_]
States = NDArray[np.uint8]

# The states of features in a region.
OUT, FREE, IN = 0, 1, 2
# Smaller targets, and smaller distances from them, could underflow.
LEAST_TARGET = 2.0**-800
# The share of rr' that is added for the error of r.
_SPARED = 2.0**-30
_UNIT_SINGLE = 2.0**-24


class Completions:
    """The test of regions with two features to choose: no choice brings the regression below a target."""

    def __init__(self, sums: RegressionSums, target: float) -> None:
        self.sums, self.target = sums, target
        self.zero = sums.sums_of(np.zeros(sums.features.size, dtype=bool))

    def hold(self, states: States, last: Indices) -> Mask:
        """Whether each region passes; ``last`` is the feature inside each region in which neighbours may differ."""
        rows = np.arange(last.size)
        inside, free = states == IN, states == FREE
        inside[rows, last], free[rows, last] = False, True
        first = np.append(True, (inside[1:] != inside[:-1]).any(axis=1))
        starts, group = np.flatnonzero(first), np.cumsum(first) - 1
        inside, shared = inside[starts], np.logical_or.reduceat(free, starts, axis=0)
        held = np.zeros(last.size, dtype=bool)
        for chosen in _alike(shared.sum(axis=1), states.shape[1], self.sums.room):
            place = np.full(starts.size, -1)
            place[chosen] = np.arange(chosen.size)
            leaves = np.flatnonzero(place[group] >= 0)
            at = place[group[leaves]]
            S, F = _positions(inside[chosen]), _positions(shared[chosen])
            R, positive = self._correlations(S, F)
            kept = np.take_along_axis(free[leaves], F[at], axis=1)
            j = (F[at] == last[leaves, None]).argmax(axis=1)
            held[leaves] = _triples_hold(R, at, j, kept, self.sums.room) & (positive[at] | ~kept).all(axis=1)
        return held

    def _correlations(self, S: Indices, F: Indices) -> tuple[Array, Mask]:
        """``C - rr'/t`` minus all errors, scaled to a unit diagonal, and where the diagonal was positive.

        For any K, ``C = H_FF - H_FS K - (K + H_SS^{-1}Γ)'Γ``, ``Γ = H_SF - H_SS K``, and for any w
        ``r = h_F - H_FS w - (K + H_SS^{-1}Γ)'g``, ``g = h_S - H_SS w``.  All errors are at most a factor times the
        sizes ``1 + ‖K_a‖₁`` of both features.  On three features, such an error is at most three times its diagonal.
        """
        H, least, h = self.sums.H, self.sums.least, self.zero.h
        s = S.shape[1]
        H_SS, H_SF, h_S = H[S[:, :, None], S[:, None, :]], H[S[:, :, None], F[:, None, :]], h[S]
        N = np.linalg.inv(H_SS)
        K, w = N @ H_SF, (N @ h_S[:, :, None])[:, :, 0]
        gamma, g = H_SF - H_SS @ K, h_S - (H_SS @ w[:, :, None])[:, :, 0]
        t = 2.0 * (self._values(h_S, w, g) - self.target) * (1.0 - 8.0 * UNIT)
        t = np.where((t > LEAST_TARGET) & np.isfinite(t), t, np.nan)
        sizes = 1.0 + np.abs(K).sum(axis=1)
        rounding = growth(3 * s + 48) * self.sums.largest + self.sums.H_error
        slack = (np.sqrt(np.square(gamma).sum(axis=1)) * 1.01 / sizes).max(axis=1) + np.sqrt(s) * rounding * 1.01
        w_size = np.abs(w).sum(axis=1)
        step = self.zero.h_error + rounding * w_size + growth(s + 8) * float(np.abs(h).max(initial=0.0))
        g_size = np.sqrt(np.square(g).sum(axis=1)) * 1.01 + np.sqrt(s) * (step + rounding * w_size)
        r_error = step + (1.0 + slack / least) * g_size * 1.01
        error = rounding + slack + slack * slack / least + (1.0 + 1.0 / _SPARED) * r_error * r_error / t
        r = (h[F] - (w[:, None, :] @ H_SF)[:, 0]) * np.sqrt((1.0 + _SPARED) / t)[:, None]
        D = H.take(F[:, :, None] * H.shape[0] + F[:, None, :])
        D -= np.swapaxes(H_SF, 1, 2) @ K
        D -= r[:, :, None] * r[:, None, :]
        diagonal = np.einsum("gaa->ga", D) - 3.1 * error[:, None] * sizes * sizes
        positive = diagonal > 0.0
        scale = positive / np.sqrt(np.where(positive, diagonal, 1.0))
        D *= scale[:, :, None]
        D *= scale[:, None, :]
        return D, positive

    def _values(self, h: Array, w: Array, g: Array) -> Array:
        """Lower bounds of the regressions on the features inside."""
        if not h.shape[1]:
            return np.full(h.shape[0], self.zero.c - self.zero.c_error)
        return self.sums.below(self.zero, h.T, w.T, g.T)


def _triples_hold(R: Array, at: Indices, j: Indices, kept: Mask, room: Room) -> Mask:
    """Whether ``R[at]``, with unit diagonal, is positive semidefinite on j and any two of the kept features."""
    held = np.zeros(at.size, dtype=bool)
    single = R.astype(np.float32)
    most = max(1, room.matrices // (4 * R.shape[1] ** 2))
    for begin in range(0, at.size, most):
        rows = np.arange(begin, min(begin + most, at.size))
        held[rows] = minors_hold(single, at[rows], j[rows], kept[rows], _UNIT_SINGLE)
        rows = rows[~held[rows]]
        if rows.size:
            held[rows] = minors_hold(R, at[rows], j[rows], kept[rows], UNIT)
    return held


def minors_hold(R: NDArray[Any], at: Indices, j: Indices, kept: Mask, unit: float) -> Mask:
    """The same test with this unit roundoff: ``|R_ab - e_a e_b| ≤ f_a f_b``, ``e = R_j``, ``f² = 1 - e²``.

    All rounding errors together are less than 128 units.
    """
    rows, size = np.arange(at.size), R.shape[1]
    others = kept.copy()
    others[rows, j] = False
    e = np.where(others, R[at, j], 0.0).astype(R.dtype)
    squares = R.dtype.type(1.0 - 128.0 * unit) - e * e
    f = np.sqrt(np.maximum(squares, 0.0))
    # Features that are out never fail; diagonal entries are not pairs.
    f[~others] = 1e10
    E = R[at]
    E -= e[:, :, None] * e[:, None, :]
    np.abs(E, out=E)
    pairs = f[:, :, None] * f[:, None, :] >= E
    pairs.reshape(at.size, -1)[:, :: size + 1] = True
    return pairs.reshape(at.size, -1).all(axis=1) & (squares > 0.0).all(axis=1)


class Exclusions:
    """The test of regions by the regression without excluded features, computed from the regression on all features."""

    def __init__(self, sums: RegressionSums, k: int, target: float) -> None:
        self.sums, self.k, self.target = sums, k, target
        self.h: Array = sums.about_w0.h
        self.w0: Array = np.zeros(self.h.size)
        self.w0[sums.center] = sums.w0
        self.N: Array = np.linalg.inv(sums.H).astype(np.float64, copy=False)
        self.u: Array = self.N @ self.h
        self.w: Array = self.u + self.w0

    def hold(self, states: States) -> Mask:
        """Whether each region passes; at least one feature remains to be chosen."""
        out, free, left = states == OUT, states == FREE, self.k - (states == IN).sum(axis=1)
        held = np.zeros(left.size, dtype=bool)
        for rows in _alike(out.sum(axis=1) * (self.k + 1) + left, states.shape[1], self.sums.room):
            held[rows] = self._hold(out[rows], free[rows], int(left[rows[0]]))
        return held

    def _hold(self, out: Mask, free: Mask, left: int) -> Mask:
        """The test of regions that have the same number of features out, and to choose."""
        O = _positions(out)
        N_O, w_O = self.N[O], self.w[O]
        N_OO = np.take_along_axis(N_O, O[:, None, :], axis=2)
        X = np.zeros(out.shape)
        X[out] = np.linalg.solve(N_OO, w_O[:, :, None]).ravel()
        held = self._bounds(X, out) >= self.target
        missed = np.flatnonzero(~held)
        if missed.size and free[0].sum() > left:
            T: Array = np.linalg.solve(N_OO[missed], N_O[missed]).astype(np.float64, copy=False)
            pivots = self.N.diagonal() - (T * N_O[missed]).sum(axis=1)
            held[missed] = self._without_one(X[missed], T, pivots, out[missed], free[missed], left)
        return held

    def _without_one(self, X: Array, T: Array, pivots: Array, out: Mask, free: Mask, left: int) -> Mask:
        """The same with one more feature out: if more are free than may be chosen, one of any ``left + 1`` is left out.

        The test uses the ``left + 1`` features that cost most.
        """
        w = self.w - X @ self.N
        costs = np.where(free, w * w / np.maximum(pivots, 1e-300), -np.inf)
        J = np.argpartition(-costs, left, axis=1)[:, : left + 1]
        rows, columns = np.arange(J.shape[0])[:, None], np.arange(left + 1)
        x_J = w[rows, J] / pivots[rows, J]
        fixed, X = np.repeat(out[:, None, :], left + 1, axis=1), np.repeat(X[:, None, :], left + 1, axis=1)
        X[fixed] -= (x_J[:, :, None] * T[rows, :, J]).ravel()
        X[rows, columns, J] = x_J
        fixed[rows, columns, J] = True
        m = out.shape[1]
        bounds = self._bounds(X.reshape(-1, m), fixed.reshape(-1, m)).reshape(J.shape)
        return np.asarray((bounds >= self.target).all(axis=1) & free[rows, J].all(axis=1))

    def _bounds(self, X: Array, fixed: Mask) -> Array:
        """Lower bounds of regressions without the ``fixed`` features, at coefficients near ``u - Nx``, by rows of X."""
        W = np.where(fixed, -self.w0, self.u - X @ self.N)
        return self.sums.below(self.sums.about_w0, self.h, W.T, (self.h - W @ self.sums.H).T, fixed.T)


def _alike(keys: Indices, size: int, room: Room) -> Iterator[Indices]:
    """Batches of rows with equal keys, such that a square matrix of the given size for each row fits in memory."""
    most = max(1, room.matrices // (8 * size * size))
    order = np.argsort(keys, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(keys[order])) + 1):
        for begin in range(0, rows.size, most):
            yield rows[begin : begin + most]


def _positions(mask: Mask) -> Indices:
    """The positions at which a mask is true, row by row; all rows have the same number."""
    return np.nonzero(mask)[1].reshape(mask.shape[0], -1)
