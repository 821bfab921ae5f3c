"""Cholesky factors, eigenvalues, and regularised least squares on few columns without loss of digits.

    ½ Σ_i ω_i (z_i - x_i'w)² + ½ λ‖w‖²

Columns are divided by ``e_j = √(Σω x_j² + λ)``, so that units do not matter.  If the Cholesky factor of the scaled Gram
matrix shows that the scaled columns are well conditioned, the coordinates are the scaled coefficients.  Otherwise the
singular value decomposition ``[√ω X; √λ I] diag(1/e) = P diag(s) V'`` gives coordinates t of an orthogonal basis: with
``P = [√ω C; B]`` the predictions are ``Ct`` and the ridge is ``½‖Bt‖²``, where ``C'diag(ω)C + B'B = I``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeVar

import numpy as np
import scipy.linalg as la
from scipy.linalg import lapack
from scipy.sparse.linalg import LinearOperator, eigsh

from sparsest.core.arrays import Array

Number = TypeVar("Number", float, Array)

# Smallest pivot of the scaled Gram matrix for which the Cholesky factor is used.  The square of a pivot is the share of
# a column's squared norm that is orthogonal to the preceding columns; from this value on the normal equations keep half
# of the digits, and one step of refinement recovers the others.
_LEAST_PIVOT = 1e-4

# Shares of the largest singular value below which a direction is dropped as a rounding error.  Which one is best
# depends on the data; all that give different ranks are tried.
_CUTS = (1e-15, 1e-13, 1e-11)

# Share of the largest pivot up to which a direction of the row space consists of rounding errors.
_NO_DIRECTION = 1e-14

# Number of diagonal shifts tried for a matrix that is not positive definite; the first has the size of a rounding
# error, each further one is 100 times as large.
_SHIFTS = 12

# Number of columns below which a singular value decomposition is as fast as Lanczos steps.
_FEW_COLUMNS = 60

# Number of corrections of coefficients in a nearly dependent basis; each gains at least three digits.
_CORRECTIONS = 3


class Coordinates(NamedTuple):
    """A basis of the column space: predictions ``Ct``, ridge ``½ Σ μ_j t_j²``.

    Attributes
    ----------
    columns : C.
    ridge : μ.
    factor : Cholesky factor of ``C'diag(ω)C + diag(μ)``, or None if that is the identity.
    """

    columns: Array
    ridge: Array
    factor: Array | None

    def solve(self, g: Array) -> Array:
        """``(C'diag(ω)C + diag(μ))^{-1} g``."""
        return g if self.factor is None or not g.size else lapack.dpotrs(self.factor, g, lower=1)[0]


class Scaled(NamedTuple):
    """Coordinates t_j that are the coefficients w_j times a scale of their columns."""

    coordinates: Coordinates
    scale: Array

    def coefficients(self, t: Array) -> Array:
        """The coefficients w at the coordinates t."""
        return t / self.scale

    def margin(self, block: Array, w: Array, b: float) -> Array:
        """The predictions ``Xw + b``."""
        return block @ w + b

    def inverse(self, w: Array) -> Array:
        """The coordinates t of the coefficients w."""
        return w * self.scale


class Orthogonal(NamedTuple):
    """Orthogonal coordinates of nearly dependent columns: ``basis = [√ω C; B]`` and ``w = back t``."""

    coordinates: Coordinates
    stacked: Array
    basis: Array
    back: Array

    def coefficients(self, t: Array) -> Array:
        """The coefficients w at t, with corrections because large coefficients cancel in the predictions."""
        goal, w = self.basis @ t, self.back @ t
        for _ in range(_CORRECTIONS):
            w = w + self.back @ (self.basis.T @ residual(goal, self.stacked, w))
        return w

    def margin(self, block: Array, w: Array, b: float) -> Array:
        """The predictions ``Xw + b``, in doubled precision because large coefficients cancel."""
        return residual(np.full(block.shape[0], b), block, -w)

    def inverse(self, w: Array) -> Array:
        """The coordinates t of the coefficients w."""
        return self.basis.T @ (self.stacked @ w)


def coordinates(columns: Array, weights: Array, ridge: float) -> Iterator[Scaled | Orthogonal]:
    """Yield coordinates to minimise in: one choice if the columns are well conditioned, otherwise one per rank."""
    m = columns.shape[1]
    root = np.sqrt(weights)
    weighted = columns if (root == 1.0).all() else root[:, None] * columns
    gram = weighted.T @ weighted
    squares = gram.diagonal() + ridge
    # A column of zeros has no effect; its scale is arbitrary.
    scale = np.sqrt(np.where(squares > 0.0, squares, 1.0))
    if m == 0:
        yield Scaled(Coordinates(columns, np.empty(0), None), scale)
        return
    gram /= scale[:, None] * scale
    gram.flat[:: m + 1] = 1.0
    factor = cholesky(gram)
    if factor is not None and factor.diagonal().min() >= _LEAST_PIVOT:
        yield Scaled(Coordinates(columns / scale, ridge / scale**2, factor), scale)
        return
    stacked = weighted if ridge == 0.0 else np.vstack([weighted, np.sqrt(ridge) * np.eye(m)])
    left, values, right = la.svd(stacked / scale, full_matrices=False, check_finite=False)
    # The rank is 0 if all singular values are 0.
    ranks = {int(np.count_nonzero(values > cut * values[0])) for cut in _CUTS}
    for rank in sorted(ranks, reverse=True):
        basis, back = left[:, :rank], (right[:rank].T / values[:rank]) / scale[:, None]
        bottom = basis[root.size :]
        mu = np.zeros(rank)
        if ridge > 0.0:
            mu, turn = la.eigh(bottom.T @ bottom, check_finite=False)
            basis, back = basis @ turn, back @ turn
        C = np.asfortranarray(basis[: root.size] / root[:, None])
        yield Orthogonal(Coordinates(C, np.clip(mu, 0.0, 1.0), None), stacked, basis, back)


def row_space(columns: Array, scale: bool) -> tuple[Array, Array]:
    """Return columns L, as many as the rank of X, and a matrix Q with ``XQ = L`` whose columns are orthogonal.

    With ``scale`` the columns of X are normalised first, and Q is orthogonal in units of their norms.  Sorting by norm
    and pivoting keep the digits of small columns.
    """
    norms = np.sqrt(np.einsum("ij,ij->j", columns, columns))
    factor = np.where(norms > 0.0, norms, 1.0) if scale else np.ones(norms.size)
    order = np.argsort(-norms)
    Q, R, pivots = la.qr((columns / factor).T[order], mode="economic", pivoting=True, check_finite=False)
    pivot = np.abs(R.diagonal())
    rank = int(np.count_nonzero(pivot > _NO_DIRECTION * pivot[0]))
    packed, rotation = np.empty((R.shape[1], rank), order="F"), np.empty((norms.size, rank))
    packed[pivots], rotation[order] = R[:rank].T, Q[:, :rank]
    return packed, rotation / factor[:, None]


def residual(z: Array, A: Array, w: Array) -> Array:
    """``z - Aw`` in doubled precision, by error-free products and sums (Dekker 1971, Knuth 1969)."""
    total, low = z.astype(np.float64), np.zeros(z.size)
    for j in range(w.size):
        product, error = _two_product(A[:, j], -w[j])
        low += error
        total, error = _two_sum(total, product)
        low += error
    return total + low


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """``a + b`` and its rounding error."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _two_product(a: Array, b: float) -> tuple[Array, Array]:
    """``ab`` and its rounding error."""
    product = a * b
    a_high, a_low = _split(a)
    b_high, b_low = _split(b)
    return product, a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)


def _split(a: Number) -> tuple[Number, Number]:
    """Split a number into two halves of 26 bits that add up to it."""
    c = 134217729.0 * a
    high = c - (c - a)
    return high, a - high


def cholesky(H: Array) -> Array | None:
    """The lower Cholesky factor; None if H is numerically not positive definite, or not finite."""
    factor, info = lapack.dpotrf(H, lower=1)
    return factor if info == 0 and np.isfinite(factor.diagonal()).all() else None


def inverse_semidefinite(H: Array) -> Array:
    """The inverse of a positive semidefinite matrix, or its pseudo-inverse if it is singular."""
    if H.shape[0] == 0:
        return H
    factor = cholesky(H)
    return la.pinvh(H, check_finite=False) if factor is None else solve_positive(factor, np.eye(H.shape[0]))


def largest_eigenvalue_of_square(A: Array) -> float:
    """The largest eigenvalue of ``A'A``; for large A by Lanczos steps, which take only a few products."""
    m = A.shape[1]
    if m < _FEW_COLUMNS:
        return float(np.linalg.norm(A, 2) ** 2)
    operator = LinearOperator((m, m), matvec=lambda v: A.T @ (A @ v), dtype=np.float64)
    return float(eigsh(operator, k=1, which="LA", v0=np.ones(m), tol=1e-9, return_eigenvectors=False)[0])


def factor_positive(H: Array) -> Array | None:
    """Return the Cholesky factor of H plus the smallest diagonal shift tried that makes it positive definite.

    H is overwritten.  None if no shift suffices, for example if H is not finite.
    """
    size = H.shape[0]
    level = float(np.trace(H)) / max(size, 1)
    if size == 0 or not np.isfinite(level):
        return H if size == 0 else None
    shift = max(1e-16 * level, float(np.finfo(np.float64).tiny))
    for _ in range(_SHIFTS):
        factor = cholesky(H)
        if factor is not None:
            return factor
        H.flat[:: size + 1] += shift
        shift *= 100.0
    return None


def solve_positive(factor: Array, right: Array) -> Array:
    """Solve a linear system with a Cholesky factor."""
    return lapack.dpotrs(factor, right, lower=1)[0] if right.size else right
