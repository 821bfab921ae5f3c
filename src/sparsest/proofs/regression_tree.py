"""Bounds of many regions by least squares in Gram space: squared loss, at most k of few features, little or no ridge.

For a region with the features S forced in and A not forced out, the regression ``f(A)`` on all of A bounds every
support.  If d free features have to go, any d of them meet a set J of all but d - 1 free features, so the least of
``f(A - {j})`` over J is a bound too.  Where at most two features are still to choose, all choices are tried.

Columns have unit length, ``M = X'ΩX + ridge``, ``b = X'Ωz``.  For any w, and any ``ℓ ≤ λ_min(M)``,

    f(A) = min_w c - b'w + ½w'Mw ≥ c - ½w'(b + g) - ‖g‖²/(2ℓ),     g = b - M_A w.

Where nearly all is explained, this is a small difference of large numbers.  So sums are taken about given coefficients
w⁰: of ``z - Xw⁰`` in place of z, with what the features of w⁰ that are out had explained added again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsest.proofs.data import Data
from sparsest.proofs.rounding import UNIT, growth, is_semidefinite, norms_above
from sparsest.proofs.splits import centred_columns, insist_on_room
from sparsest.proofs.statement import Statement
from sparsest.proofs.steps import LEAF, RegressionTree, is_column_set

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]

# Where a leaf misses what is asked for, a little less is tried, relatively.
_LADDER = (0.0, 1e-10, 1e-8, 1e-6, 1e-4)


class _Sums(NamedTuple):
    """``c`` and ``b`` of a region, and bounds of their errors, of b entry by entry."""

    c: float
    b: Array
    c_error: float
    b_error: float


class RegressionBounds:
    """The regression on some features, by their positions among these."""

    def __init__(self, data: Data, statement: Statement, features: Indices, step: RegressionTree) -> None:
        if statement.loss != "squared" or statement.k is None:
            raise ValueError("a regression tree needs the squared loss and a number of features")
        self.k: int = statement.k
        self.features: Indices = np.sort(features)
        self.step = step
        self.n = data.n
        self._gram(data, statement.gamma)
        self._expand(data, step)

    def _gram(self, data: Data, gamma: float) -> None:
        columns = centred_columns(data, self.features, gamma)
        m = self.features.size
        insist_on_room(m)
        if not columns.norms.all():
            raise ValueError("a column is constant")
        self._units = columns.units * columns.norms
        self._X = columns.values / columns.norms
        self._column_error = columns.error + 8.0 * UNIT
        ridge = columns.ridge / np.square(columns.norms) * (1.0 - 8.0 * UNIT)
        self._ridge = ridge
        self.M: Array = self._X.T @ self._X
        self.M.flat[:: m + 1] += ridge
        if not np.isfinite(self.M).all():
            raise ValueError("the columns' scales are out of range")
        self._largest = float(self.M.diagonal().max(initial=1.0))
        error = self._column_error
        self.M_error = 1.02 * (growth(data.n + 8) + 2.0 * error + error * error) + 4.0 * UNIT * self._largest
        self.least = self._smallest_eigenvalue()

    def _smallest_eigenvalue(self) -> float:
        """A lower bound of the smallest eigenvalue of M, and so of all its principal submatrices."""
        m = self.M.shape[0]
        if not m:
            return 1.0
        estimate = float(np.linalg.eigvalsh(self.M)[0])
        for part in (0.9, 0.5):
            lowered = self.M.copy()
            lowered.flat[:: m + 1] -= part * estimate
            if estimate > 0.0 and is_semidefinite(lowered, m * self.M_error + 4.0 * UNIT * self._largest):
                return part * estimate
        raise ValueError("the features of a region are linearly dependent, or nearly so")

    def _expand(self, data: Data, step: RegressionTree) -> None:
        """Take the sums about the coefficients of a step."""
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
            # Coefficients that explain nothing only cost digits.
            self.center, w0, residual = self.center[:0], w0[:0], z
        size = float(norms_above(residual))
        explained = float(np.abs(w0).sum())
        error = growth(data.n + w0.size + 24) * 1.6 * (data.y_norm + explained) + self._column_error * explained
        ridge = self._ridge[self.center]
        b = self._X.T @ residual
        b[self.center] -= ridge * w0
        c = 0.5 * float(residual @ residual) + 0.5 * float(ridge @ (w0 * w0))
        c_error = 1.01 * (size * error + 0.5 * error * error) + growth(data.n + w0.size + 8) * c
        b_error = 1.01 * (growth(data.n + 8) * size + self._column_error * size + error)
        b_error += 8.0 * UNIT * float((ridge * np.abs(w0)).max(initial=0.0))
        if not np.isfinite(c + c_error + b_error):
            raise ValueError("the coefficients to expand about are too large")
        self.w0, self.about_w0 = w0, _Sums(c, b, c_error, b_error)

    def model(self) -> tuple[Array, Array, float]:
        """``M^{-1}``, the coefficients and the value of the regression on all features, for a search."""
        N = np.linalg.inv(self.M).astype(np.float64, copy=False)
        w = N @ self.about_w0.b
        value = self.about_w0.c - 0.5 * float(self.about_w0.b @ w)
        w[self.center] += self.w0
        return N, w, value

    def about_zero(self) -> tuple[float, Array]:
        """``½z'z`` and ``X'z``, for a search."""
        move = self.M[:, self.center] @ self.w0
        c, b = self.about_w0.c, self.about_w0.b
        return c + float(self.w0 @ (b[self.center] + 0.5 * move[self.center])), b + move

    def relative_error(self) -> float:
        """About how large rounding errors of a regression are, as a part of the sum of squares."""
        return 8.0 * (self.n + self.features.size) * UNIT / self.least

    def prove(self, entries: NDArray[np.int32], forced: Indices, enough: float) -> float:
        """Return the smallest bound of the regions that a tree closes; above ``enough`` it need not be the best."""
        position = {int(feature): j for j, feature in enumerate(self.features)}
        alive = np.ones(self.features.size, dtype=bool)
        inside, outside = np.searchsorted(self.features, forced).tolist(), list[int]()
        # The other side of every branch above: its feature, and how many were inside and outside.
        pending: list[tuple[int, int, int]] = []
        lowest, finished = np.inf, False
        for entry in entries.tolist():
            if finished:
                raise ValueError("a tree goes on after its end")
            if entry != LEAF:
                j = position.get(entry)
                if j is None or not alive[j] or j in inside:
                    raise ValueError("branches on a feature that is not free")
                pending.append((j, len(inside), len(outside)))
                inside.append(j)
                continue
            lowest = min(lowest, self.bound(inside, alive, enough))
            finished = not pending
            if pending:
                j, n_inside, n_outside = pending.pop()
                alive[outside[n_outside:]] = True
                del inside[n_inside:], outside[n_outside:]
                outside.append(j)
                alive[j] = False
        if not finished:
            raise ValueError(f"a tree leaves {len(pending) + 1} region(s) open")
        return float(lowest)

    def bound(self, inside: list[int], alive: Mask, enough: float = np.inf) -> float:
        """Return the bound of a region; above ``enough`` it need not be the best."""
        left = self.k - len(inside)
        if left <= 0:
            alive = np.zeros_like(alive)
            alive[inside] = True
        drop = int(alive.sum()) - max(self.k, len(inside))
        # A loss is not negative.
        best = 0.0
        if 0 < left <= 2 and drop > 0 and np.isfinite(enough):
            best = max(best, self._completed(inside, alive, left, enough))
        if best < enough:
            best = max(best, self._regression(self._sums(alive), alive, inside, drop, enough))
        return best

    def _completed(self, inside: list[int], alive: Mask, left: int, enough: float) -> float:
        """``enough``, or a little less, if all choices of at most two further features leave that much; else 0."""
        chosen = np.zeros_like(alive)
        chosen[inside] = True
        sums = self._sums(chosen)
        for less in _LADDER:
            target = enough - less * abs(enough)
            if self._no_completion_is_better(sums, inside, alive, left, target):
                return target
        return 0.0

    def _sums(self, alive: Mask) -> _Sums:
        """The sums about w⁰ without the features that are out."""
        sums = self.about_w0
        gone = ~alive[self.center]
        out, u = self.center[gone], self.w0[gone]
        if not out.size:
            return sums
        size = float(np.abs(u).sum())
        move = self.M[:, out] @ u
        c = sums.c + float(u @ (sums.b[out] + 0.5 * move[out]))
        terms = float(np.abs(u) @ np.abs(sums.b[out])) + self._largest * size * size
        rounding = growth(2 * out.size + 16)
        c_error = sums.c_error + sums.b_error * size + 0.5 * self.M_error * size * size + rounding * (sums.c + terms)
        b_error = sums.b_error + self.M_error * size + rounding * self._largest * size
        b_error += rounding * float(np.abs(sums.b).max())
        return _Sums(c, sums.b + move, 1.01 * c_error, 1.01 * b_error)

    def _below(self, sums: _Sums, b: Array, W: Array, g: Array, fixed: Indices | None = None) -> Array:
        """``c - ½w'(b + g) - ‖g‖²/(2ℓ)`` from below for the columns of W, given g as computed.

        Where the entry ``fixed`` of each column is not to be minimised over, it does not count in the last term.
        """
        size = np.abs(W).sum(axis=0)
        linear = np.abs(b) @ np.abs(W)
        rounding = growth(3 * b.size + 24)
        value = sums.c - 0.5 * (W * (b[:, None] + g)).sum(axis=0)
        error = sums.c_error + sums.b_error * size + 0.5 * self.M_error * size * size
        error += rounding * (abs(sums.c) + linear + self._largest * size * size)
        slope = sums.b_error + self.M_error * size + rounding * (np.abs(b).max(initial=0.0) + self._largest * size)
        squares = np.square(g)
        if fixed is not None:
            squares[fixed, np.arange(fixed.size)] = 0.0
        norm = np.sqrt(squares.sum(axis=0)) * (1.0 + rounding) + np.sqrt(b.size) * slope
        return value - 1.01 * error - 0.51 * norm * norm / self.least

    def _regression(self, sums: _Sums, alive: Mask, inside: list[int], drop: int, enough: float) -> float:
        """The better of ``f(A)`` and, where ``drop`` free features have to go, the least ``f(A without j)`` over J."""
        A = np.flatnonzero(alive)
        M, b = self.M[np.ix_(A, A)], sums.b[A]
        if not A.size:
            return sums.c - sums.c_error
        N = np.linalg.inv(M)
        w = N @ b
        whole = float(self._below(sums, b, w[:, None], (b - M @ w)[:, None])[0])
        if drop <= 0 or whole >= enough:
            return whole
        free = np.flatnonzero(~np.isin(A, inside))
        pivots = np.maximum(N.diagonal(), 1e-300)
        # The coefficients are w and those that the sums are about; a feature is left out where both cancel.
        about = np.zeros(self.features.size)
        about[self.center] = self.w0
        about = about[A]
        costs = (w[free] + about[free]) ** 2 / pivots[free]
        J = free[np.argsort(-costs, kind="stable")[: free.size - drop + 1]]
        W = w[:, None] - N[:, J] * ((w[J] + about[J]) / pivots[J])
        W[J, np.arange(J.size)] = -about[J]
        return max(whole, float(self._below(sums, b, W, b[:, None] - M @ W, J).min()))

    def _no_completion_is_better(self, sums: _Sums, inside: list[int], alive: Mask, left: int, target: float) -> bool:
        """Whether no one or two further features bring the regression on those inside below a target.

        Features T gain ``½r_T'C_TT^{-1}r_T``, C and r what the features inside leave of M and b.  That is at most
        ``t/2`` exactly when ``C_TT - r_T r_T'/t`` is positive semidefinite: pairs are tried by its minors.  For any K,
        ``[-K, I]'M[-K, I]`` exceeds C by ``Γ'M_SS^{-1}Γ``, ``Γ = M_SF - M_SS K``.
        """
        S = np.array(inside, dtype=np.intp)
        F = np.flatnonzero(alive & ~np.isin(np.arange(alive.size), S))
        M_SS, M_SF, b_S = self.M[np.ix_(S, S)], self.M[np.ix_(S, F)], sums.b[S]
        N = np.linalg.inv(M_SS)
        w, K = N @ b_S, N @ M_SF
        g, gamma = b_S - M_SS @ w, M_SF - M_SS @ K
        value = float(self._below(sums, b_S, w[:, None], g[:, None])[0]) if S.size else sums.c - sums.c_error
        t = 2.0 * (value - target) * (1.0 - 8.0 * UNIT)
        if not t > 0.0:
            return False
        sizes = 1.0 + np.abs(K).sum(axis=0)
        rounding = growth(3 * S.size + 16) * self._largest + self.M_error
        slack = np.sqrt(np.square(gamma).sum(axis=0)) + np.sqrt(S.size) * rounding * sizes
        residue = slack / np.sqrt(self.least) * 1.01
        C = self.M[np.ix_(F, F)] - K.T @ M_SF - M_SF.T @ K + K.T @ (M_SS @ K)
        C_error = 1.01 * rounding * np.outer(sizes, sizes) + np.outer(residue, residue)
        r = sums.b[F] - M_SF.T @ w
        w_size, b_size = float(np.abs(w).sum()), float(np.abs(sums.b).max())
        step = sums.b_error + rounding * w_size + growth(S.size + 8) * b_size
        g_size = float(np.linalg.norm(g)) * 1.01 + np.sqrt(S.size) * (step + rounding * w_size)
        r_error = step + (sizes + slack / self.least) * g_size * 1.01
        upper = np.abs(r) + r_error
        lowest = C.diagonal() - C_error.diagonal() - upper * upper / t * (1.0 + 8.0 * UNIT)
        if not lowest.min(initial=np.inf) > 0.0:
            return False
        if left == 1:
            return True
        off = np.abs(C - np.outer(r, r) / t) + C_error
        off += (np.outer(upper, r_error) + np.outer(r_error, upper) + 8.0 * UNIT * np.outer(upper, upper)) / t
        off.flat[:: F.size + 1] = 0.0
        return bool((off * off * (1.0 + 8.0 * UNIT) <= np.outer(lowest, lowest)).all())
