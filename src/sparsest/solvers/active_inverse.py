"""The inverse of a Gram matrix whose set of features changes little from one use to the next."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


class ActiveInverse:
    """The inverse of ``G_AA + diag(κ)`` for a changing set A, kept up to date by block elimination.

    Going to a set that differs in d features costs ``O(|A|² d)`` in matrix products instead of a new factorisation.
    The caller has to make up for small lags of κ, and for negative κ that were left out because the matrix would not
    be positive definite.
    """

    def __init__(self) -> None:
        self._work = np.empty(0)
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self._members = np.empty(0, dtype=np.intp)
        self._kappa = np.empty(0)
        self._buffer = np.empty((0, 0))

    @property
    def size(self) -> int:
        """How many features the inverse holds."""
        return self._members.size

    def solve(self, r: Array) -> Array:
        """Return ``(G_AA + diag κ)^{-1} r_A``, and zero outside A."""
        a = self._members.size
        out = np.zeros(r.size)
        out[self._members] = self._buffer[:a, :a] @ r[self._members]
        return out

    def adapt(self, gram: Array, active: Indices, kappa: Array) -> bool:
        """Move to this set and curvature; False if the matrix there is singular."""
        wanted = np.full(gram.shape[0], np.nan)
        wanted[active] = kappa
        goal = wanted[self._members]
        keep = np.abs(self._kappa - goal) <= 0.3 * np.abs(goal)
        kept = np.zeros(gram.shape[0], dtype=bool)
        kept[self._members[keep]] = True
        fresh = active[~kept[active]]
        n_changes = fresh.size + np.count_nonzero(~keep)
        if n_changes > 8 + active.size // 4:
            return self._rebuild(gram, active, kappa)
        return n_changes == 0 or self._exchange(gram, keep, fresh, wanted[fresh])

    def renumber(self, new_number: Indices) -> None:
        """Follow a change of the features' numbers; those numbered -1 are dropped."""
        keep = new_number[self._members] >= 0
        if not keep.all():
            self._exchange(np.empty((0, 0)), keep, np.empty(0, dtype=np.intp), np.empty(0))
        self._members = new_number[self._members]

    def _rebuild(self, gram: Array, active: Indices, kappa: Array) -> bool:
        a = active.size
        inverse = _inverse(gram[np.ix_(active, active)], kappa)
        if inverse is None:
            self.reset()
            return False
        self._members, self._kappa = active.copy(), kappa.copy()
        self._buffer = np.empty((a + 64, a + 64))
        self._buffer[:a, :a] = inverse
        return True

    def _exchange(self, gram: Array, keep: NDArray[np.bool_], fresh: Indices, kappa: Array) -> bool:
        """Drop and border in one update of low rank; False if the new features are dependent on the others.

        With K kept, D dropped and N new, ``S = G_NN + diag κ - G_NK V`` and ``V = (M_KK - M_KD M_DD^{-1} M_DK) G_KN``:
        the block of K becomes ``M_KK - M_KD M_DD^{-1} M_DK + V S^{-1} V'``.
        """
        self._move_to_front(keep)
        k, a, f, M = int(keep.sum()), keep.size, fresh.size, self._buffer
        dropped = M[:k, k:a].copy()
        weights: Array = np.asarray(np.linalg.solve(M[k:a, k:a], dropped.T), dtype=np.float64)
        self._members, self._kappa = self._members[:k], self._kappa[:k]
        border = gram[np.ix_(self._members, fresh)] if f else np.empty((k, 0))
        solved = M[:k, :k] @ border - dropped @ (weights @ border)
        inverse = _inverse(gram[np.ix_(fresh, fresh)] - border.T @ solved, kappa) if f else np.empty((0, 0))
        if inverse is None:
            M[:k, :k] -= self._product(dropped, weights)
            return False
        cross = solved @ inverse
        M[:k, :k] += self._product(np.hstack([-dropped, cross]), np.vstack([weights, solved.T]))
        if f:
            self._border(cross, inverse, fresh, kappa)
        return True

    def _move_to_front(self, keep: NDArray[np.bool_]) -> None:
        """Swap the kept features before the dropped ones."""
        a, k, M = keep.size, int(keep.sum()), self._buffer
        for i, j in zip(np.flatnonzero(~keep[:k]), k + np.flatnonzero(keep[k:]), strict=True):
            M[[i, j], :a] = M[[j, i], :a]
            M[:a, [i, j]] = M[:a, [j, i]]
            self._members[[i, j]] = self._members[[j, i]]
            self._kappa[[i, j]] = self._kappa[[j, i]]

    def _border(self, cross: Array, inverse: Array, fresh: Indices, kappa: Array) -> None:
        """Write the rows and columns of the new features."""
        k, f = cross.shape
        if k + f > self._buffer.shape[0]:
            grown = np.empty((k + f + 128, k + f + 128))
            grown[:k, :k] = self._buffer[:k, :k]
            self._buffer = grown
        M = self._buffer
        M[:k, k : k + f] = -cross
        M[k : k + f, :k] = -cross.T
        M[k : k + f, k : k + f] = inverse
        self._members = np.concatenate([self._members, fresh])
        self._kappa = np.concatenate([self._kappa, kappa])

    def _product(self, left: Array, right: Array) -> Array:
        """``left @ right`` in memory that is kept: fresh pages would cost more than the product."""
        size = left.shape[0] * right.shape[1]
        if self._work.size < size:
            self._work = np.empty(2 * size)
        return np.matmul(left, right, out=self._work[:size].reshape(left.shape[0], right.shape[1]))


def _inverse(matrix: Array, kappa: Array) -> Array | None:
    """The inverse of ``matrix + diag(κ)``, without the negative κ if they make it indefinite; None if that fails."""
    for diagonal in (kappa, np.maximum(kappa, 0.0)):
        shifted = matrix + np.diag(diagonal)
        factor, info = lapack.dpotrf(shifted, lower=1)
        if info == 0 and (np.diag(factor) ** 2 > 1e-11 * np.diag(shifted)).all():
            lower, _ = lapack.dpotri(factor, lower=1)
            inverse = lower + lower.T  # the factor's upper part is zero, only the diagonal is counted twice
            inverse[np.diag_indices_from(inverse)] *= 0.5
            return inverse
        if not (kappa < 0.0).any():
            break
    return None
