"""The sums of squares and products for least squares bounds, with bounds of their rounding errors.

Columns have unit length, ``H = X'ΩX + ridge``, ``h = X'Ωz``.  For any w, and any ``κ ≤ λ_min(H)``,

    f(A) = min_w c - h'w + ½w'Hw ≥ c - ½w'(h + g) - ‖g‖²/(2κ),     g = h - H_A w.

If the features explain nearly everything, this is a small difference of large numbers.  So sums are taken about given
coefficients w⁰, that is for ``z - Xw⁰`` in place of z.  For features of w⁰ that are out, their part is added back.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsest.proofs.data import Data
from sparsest.proofs.rounding import UNDERFLOW, UNIT, Array, Indices, growth, is_semidefinite, norms_above
from sparsest.proofs.splits import centred_columns, require_room
from sparsest.proofs.steps import RegressionTree, is_column_set

Mask = NDArray[np.bool_]


class Sums(NamedTuple):
    """``c`` and ``h`` of a region, and bounds of their errors; ``h_error`` holds for each entry."""

    c: float
    h: Array
    c_error: float
    h_error: float


class RegressionSums:
    """``H``, ``c`` and ``h`` of some features, which are numbered by their positions."""

    def __init__(self, data: Data, gamma: float, features: Indices, step: RegressionTree) -> None:
        self.features: Indices = np.sort(features)
        self.n, self.room = data.n, data.room
        self._gram(data, gamma)
        self._expand(data, step)

    def _gram(self, data: Data, gamma: float) -> None:
        columns = centred_columns(data, self.features, gamma)
        m = self.features.size
        require_room(m, data.room)
        if not columns.norms.all():
            raise ValueError("a column is constant")
        self._units = columns.units * columns.norms
        self._X = columns.values / columns.norms
        self._column_error = columns.error + 8.0 * UNIT
        ridge = columns.ridge / np.square(columns.norms) * (1.0 - 8.0 * UNIT)
        self._ridge = ridge
        self.H: Array = self._X.T @ self._X
        self.H.flat[:: m + 1] += ridge
        if not np.isfinite(self.H).all():
            raise ValueError("the columns' scales are out of range")
        self.largest = float(self.H.diagonal().max(initial=1.0))
        error = self._column_error
        self.H_error = 1.02 * (growth(data.n + 8) + 2.0 * error + error * error) + 4.0 * UNIT * self.largest
        self.least = self._smallest_eigenvalue()

    def _smallest_eigenvalue(self) -> float:
        """A lower bound of the smallest eigenvalue of H, and so of all its principal submatrices."""
        m = self.H.shape[0]
        if not m:
            return 1.0
        estimate = float(np.linalg.eigvalsh(self.H)[0])
        for part in (0.9, 0.5):
            lowered = self.H.copy()
            lowered.flat[:: m + 1] -= part * estimate
            if estimate > 0.0 and is_semidefinite(lowered, m * self.H_error + 4.0 * UNIT * self.largest):
                return part * estimate
        raise ValueError("the features of a region are linearly dependent, or nearly so")

    def _expand(self, data: Data, step: RegressionTree) -> None:
        """Compute the sums about the coefficients of a step."""
        if not is_column_set(step.features, data.p) or np.setdiff1d(step.features, self.features).size:
            raise ValueError("the coefficients to expand about do not fit the region")
        if step.values.shape != step.features.shape or not np.isfinite(step.values).all():
            raise ValueError("the coefficients to expand about are not finite")
        self.center: Indices = np.searchsorted(self.features, step.features)
        w0 = step.values.astype(np.float64) * self._units[self.center]
        y = data.y - (data.weights @ data.y / data.total if data.fit_intercept else 0.0)
        z = np.sqrt(data.weights) * y
        residual = z - self._X[:, self.center] @ w0
        if not float(norms_above(residual)) <= data.y_norm:
            # Coefficients that explain nothing only lose digits.
            self.center, w0, residual = self.center[:0], w0[:0], z
        size = float(norms_above(residual))
        explained = float(np.abs(w0).sum())
        error = growth(data.n + w0.size + 24) * 1.6 * (data.y_norm + explained) + self._column_error * explained
        ridge = self._ridge[self.center]
        h = self._X.T @ residual
        h[self.center] -= ridge * w0
        c = 0.5 * float(residual @ residual) + 0.5 * float(ridge @ (w0 * w0))
        c_error = 1.01 * (size * error + 0.5 * error * error) + growth(data.n + w0.size + 8) * c + UNDERFLOW
        h_error = 1.01 * (growth(data.n + 8) * size + self._column_error * size + error)
        h_error += 8.0 * UNIT * float((ridge * np.abs(w0)).max(initial=0.0))
        if not np.isfinite(c + c_error + h_error):
            raise ValueError("the coefficients to expand about are too large")
        self.w0, self.about_w0 = w0, Sums(c, h, c_error, h_error)

    def model(self) -> tuple[Array, Array, float]:
        """``H^{-1}``, the coefficients and the value of the regression on all features, for a search."""
        N = np.linalg.inv(self.H).astype(np.float64, copy=False)
        w = N @ self.about_w0.h
        value = self.about_w0.c - 0.5 * float(self.about_w0.h @ w)
        w[self.center] += self.w0
        return N, w, value

    def about_zero(self) -> tuple[float, Array]:
        """``½z'z`` and ``X'z``, for a search."""
        move = self.H[:, self.center] @ self.w0
        c, h = self.about_w0.c, self.about_w0.h
        return c + float(self.w0 @ (h[self.center] + 0.5 * move[self.center])), h + move

    def relative_error(self) -> float:
        """The approximate rounding error of a regression, relative to the sum of squares."""
        return 8.0 * (self.n + self.features.size) * UNIT / self.least

    def sums_of(self, alive: Mask) -> Sums:
        """The sums about w⁰ without the features that are out."""
        sums = self.about_w0
        gone = ~alive[self.center]
        out, u = self.center[gone], self.w0[gone]
        if not out.size:
            return sums
        size = float(np.abs(u).sum())
        move = self.H[:, out] @ u
        c = sums.c + float(u @ (sums.h[out] + 0.5 * move[out]))
        terms = float(np.abs(u) @ np.abs(sums.h[out])) + self.largest * size * size
        rounding = growth(2 * out.size + 16)
        c_error = sums.c_error + sums.h_error * size + 0.5 * self.H_error * size * size + rounding * (sums.c + terms)
        h_error = sums.h_error + self.H_error * size + rounding * self.largest * size
        h_error += rounding * float(np.abs(sums.h).max())
        return Sums(c, sums.h + move, 1.01 * c_error, 1.01 * h_error)

    def below(self, sums: Sums, h: Array, W: Array, g: Array, fixed: Mask | None = None) -> Array:
        """A lower bound of ``c - ½w'(h + g) - ‖g‖²/(2κ)`` for each column w of W, with the computed g.

        h is a vector, or has a column for each of W.  The last term omits the ``fixed`` entries of w, over which the
        minimum is not taken.
        """
        h = h.reshape(h.shape[0], -1)
        size = np.abs(W).sum(axis=0)
        linear = (np.abs(h) * np.abs(W)).sum(axis=0)
        rounding = growth(3 * h.shape[0] + 24)
        value = sums.c - 0.5 * (W * (h + g)).sum(axis=0)
        error = sums.c_error + sums.h_error * size + 0.5 * self.H_error * size * size
        error += rounding * (abs(sums.c) + linear + self.largest * size * size)
        slope = sums.h_error + self.H_error * size + rounding * (np.abs(h).max(initial=0.0) + self.largest * size)
        squares = np.square(g)
        if fixed is not None:
            squares[fixed] = 0.0
        norm = np.sqrt(squares.sum(axis=0)) * (1.0 + rounding) + np.sqrt(h.shape[0]) * slope
        return value - 1.01 * error - 0.51 * norm * norm / self.least
