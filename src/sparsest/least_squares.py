"""Bounds by least squares on few features: squared loss, at most k features, no ridge or a weak one.

For a region with the features S forced in and A not forced out, the regression ``f(A)`` on all of A bounds every
support.  Leaving out feature j costs at least ``c_j = ŵ_j²/(2N_jj)``, ``N = (X_A'ΩX_A + λI)^{-1}``, and if d free
features have to go, one of them costs at least the d-th smallest.  Where at most two features are still to choose,
all choices are tried.

Where nearly all is explained, ``f(A)`` is a small difference of large sums of squares.  So sums are taken about given
coefficients w⁰: with ``r⁰ = z - Xw⁰`` and O the features that are out, ``z - X_A w_A = (r⁰ + X_O w⁰_O) - X_A v``, which
is about as small as r⁰ as long as no feature of w⁰ is out.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dtrtri

from sparsest.losses import Squared
from sparsest.problem import Cardinality, Problem

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]

# In a tree's preorder: the region is closed.
LEAF = -1
_DEPENDENT = "the features of a region are linearly dependent"


class LeastSquares:
    """The regression on some features, by their positions among these; columns have unit length.

    ``rounding`` bounds the relative errors: a Gram matrix that is wrong by E changes ``b'M^{-1}b`` by at most
    ``‖E‖/λ_min`` of it, where E are the rounding errors of sums of n products and of a factorisation.  A residual that
    is wrong by ρ changes the root of twice a sum of squares by at most ρ.
    """

    def __init__(self, problem: Problem, features: Indices, center: Indices, w0: Array) -> None:
        if not isinstance(problem.loss, Squared) or not isinstance(problem.sparsity, Cardinality):
            raise ValueError("least squares bounds need the squared loss and a number of features")
        if np.setdiff1d(center, features).size or center.shape != w0.shape or not np.isfinite(w0).all():
            raise ValueError("the coefficients to expand about do not fit the region")
        self.k: int = problem.sparsity.k
        self.features: Indices = features
        m = features.size
        root = np.sqrt(problem.weights)
        target = root * (problem.y - problem.intercept_for(np.zeros(problem.n)))
        block = root[:, None] * problem.design.columns(features)
        self.M: Array = block.T @ block
        self.M.flat[:: m + 1] += problem.ridge
        scale = np.sqrt(np.maximum(np.diagonal(self.M), 1e-300))
        self.M /= np.outer(scale, scale)
        self.b: Array = (block.T @ target) / scale
        self.constant: float = 0.5 * float(target @ target)
        least = float(la.eigvalsh(self.M, subset_by_index=[0, 0])[0]) if m else 1.0
        if not least > 0:
            raise ValueError(_DEPENDENT)
        self.rounding: float = 4.0 * (problem.n + m) * float(np.finfo(float).eps) / least
        self.about: tuple[Indices, Array] = center, w0
        self.center: Indices = np.searchsorted(features, center)
        self.w0: Array = w0 * scale[self.center]
        residual = target - block[:, self.center] @ w0
        self.near_constant: float = 0.5 * float(residual @ residual) + 0.5 * problem.ridge * float(w0 @ w0)
        products = block.T @ residual
        products[self.center] -= problem.ridge * w0
        self.near_b: Array = products / scale
        unit = 0.5 * float(np.finfo(float).eps)
        given = root * np.abs(problem.y)
        terms = given + np.abs(block[:, self.center]) @ np.abs(w0)
        self.near_error: float = unit * (center.size + 4.0) * float(np.linalg.norm(terms))
        self.zero_margin: float = self._margin(self.constant, unit * 4.0 * float(np.linalg.norm(given)))
        self._chain: list[tuple[int, Array, Array, float]] = [(-1, self.M, self.b, self.constant)]

    def _margin(self, size: float, error: float) -> float:
        """What rounding may change of a sum of this size, whose residual is wrong by ``error``."""
        return self.rounding * size + error * float(np.sqrt(2.0 * size)) + 0.5 * error**2

    def model(self) -> tuple[Array, Array, float]:
        """Return ``N``, the coefficients and the value of the regression on all features."""
        inverse = _inverse_factor(self.M)
        N = inverse.T @ inverse
        move = N @ self.near_b
        value = self.near_constant - 0.5 * float(self.near_b @ move)
        move[self.center] += self.w0
        return N, move, value

    def prove(self, entries: NDArray[np.int32], forced: Indices, enough: float) -> float:
        """Return the smallest bound of the regions that a tree closes; above ``enough`` it need not be the best.

        ``entries`` are the tree's nodes in preorder: a feature to branch on (in first, then out) or LEAF.
        """
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
                j = position.get(entry, -1)
                if j < 0 or not alive[j] or j in inside:
                    raise ValueError(f"branches on feature {entry}, which is not free")
                pending.append((j, len(inside), len(outside)))
                inside.append(j)
                continue
            bound = self.bound(inside, alive, enough)
            # Comparisons with NaN are false: it would pass for any bound.
            if np.isnan(bound):
                raise ValueError("an overflow leaves no bound")
            lowest = min(lowest, bound)
            finished = not pending
            if pending:
                j, n_inside, n_outside = pending.pop()
                alive[outside[n_outside:]] = True
                del inside[n_inside:], outside[n_outside:]
                outside.append(j)
                alive[j] = False
        if not finished:
            raise ValueError(f"a tree leaves {len(pending) + 1} region(s) open")
        return lowest

    def bound(self, inside: list[int], alive: Mask, enough: float = np.inf) -> float:
        """Return the bound of a region; above ``enough`` it need not be the best."""
        left = self.k - len(inside)
        if left <= 0:
            alive = np.zeros_like(alive)
            alive[inside] = True
        drop = int(alive.sum()) - self.k
        best = -np.inf
        if drop > 0 and left <= 2:
            best = self._exhausted(inside, alive, left, enough)
        return best if best >= enough else max(best, self._regression(inside, alive, drop, enough))

    def _regression(self, inside: list[int], alive: Mask, drop: int, enough: float) -> float:
        """Return ``f(A)`` and the least cost of leaving out ``drop`` features, less the rounding errors."""
        A = np.flatnonzero(alive)
        inverse = _inverse_factor(self.M[A][:, A])
        best = -np.inf
        for sums in (self._about_zero, self._about_w0):
            constant, b, w, margin = sums(alive)
            half = inverse @ b[A]
            value = constant - 0.5 * float(half @ half) - margin
            if drop > 0 and value < enough:
                costs = np.full(alive.size, np.inf)
                costs[A] = 0.5 * (w[A] + half @ inverse) ** 2 / np.einsum("ij,ij->j", inverse, inverse)
                costs[inside] = np.inf
                value += float(np.partition(costs, drop - 1)[drop - 1])
            best = max(best, value)
            if best >= enough:
                break
        return best

    def _about_zero(self, alive: Mask) -> tuple[float, Array, Array, float]:
        """Return half the sum of squares, the products, the coefficients these are about, and the rounding margin."""
        return self.constant, self.b, np.zeros(alive.size), self.zero_margin

    def _about_w0(self, alive: Mask) -> tuple[float, Array, Array, float]:
        """The same about w⁰ without the features that are out."""
        w = np.zeros(alive.size)
        gone = ~alive[self.center]
        w[self.center] = np.where(gone, 0.0, self.w0)
        out, u = self.center[gone], self.w0[gone]
        move = self.M[:, out] @ u
        terms = np.abs(self.near_b[out]) + np.abs(self.M[out][:, out]) @ np.abs(u)
        constant = self.near_constant + float(u @ (self.near_b[out] + 0.5 * move[out]))
        size = self.near_constant + float(np.abs(u) @ terms)
        return constant, self.near_b + move, w, self._margin(size, self.near_error)

    def _exhausted(self, inside: list[int], alive: Mask, left: int, enough: float) -> float:
        """Return a bound of the features inside with at most ``left`` ≤ 2 others: the best of all, or ``enough``.

        Features T gain ``½r_T'G_TT^{-1}r_T``.  That is at most t/2 exactly when ``G_TT - r_T r_T'/t`` is positive
        semidefinite: all pairs are tried by the minors of one matrix.
        """
        G, r, value = self._after(inside)
        value -= self.zero_margin
        if left <= 0:
            return value
        free = alive.copy()
        free[inside] = False
        t = 2.0 * (value - enough)
        if t > 0.0:
            unit = r / np.sqrt(t)
            minor = G - unit[:, None] * unit
            diagonal = np.where(free, minor.diagonal(), np.inf)
            if diagonal.min() > 0.0 and (left == 1 or (minor * minor <= diagonal[:, None] * diagonal).all()):
                return enough
        F = np.flatnonzero(free)
        G, r = G[F][:, F], r[F]
        a = G.diagonal().copy()
        if left == 1:
            return value - 0.5 * float((r * r / a).max())
        determinant = a[:, None] * a - G * G
        determinant.flat[:: F.size + 1] = a
        if not determinant.min() > 0.0:
            raise ValueError(_DEPENDENT)
        gains = (r * r)[:, None] * a + a[:, None] * (r * r) - 2.0 * r[:, None] * r * G
        gains.flat[:: F.size + 1] = r * r
        return value - 0.5 * float((gains / determinant).max())

    def _after(self, inside: list[int]) -> tuple[Array, Array, float]:
        """Gram matrix, products and value of what the features inside leave; those of the same beginning are kept."""
        kept = self._chain
        same = 0
        while same < min(len(kept) - 1, len(inside)) and kept[same + 1][0] == inside[same]:
            same += 1
        del kept[same + 1 :]
        for j in inside[same:]:
            _, G, r, value = kept[-1]
            pivot = G[j, j]
            if not pivot > 0:
                raise ValueError(_DEPENDENT)
            t = G[:, j] / pivot
            kept.append((j, G - t[:, None] * G[j], r - t * r[j], value - 0.5 * float(r[j]) ** 2 / pivot))
        return kept[-1][1:]


def _inverse_factor(M: Array) -> Array:
    """The inverse of the Cholesky factor; LAPACK directly, for this is done for every region."""
    if not M.size:
        return M
    factor, failed = dpotrf(M.T, lower=1, clean=1)
    if failed:
        raise ValueError(_DEPENDENT)
    return dtrtri(factor, lower=1, overwrite_c=1)[0]
