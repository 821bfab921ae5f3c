"""The inverse of the active part of a Gram matrix, kept from one solution of a path to the next."""

from __future__ import annotations

import numpy as np
from scipy.linalg import blas, lapack

from sparsest.arrays import Array, Indices

_RANK = 96  # low-rank terms that are kept apart before they are added up
_BLOCK = 48  # features that enter or leave at a time
_LAG = 4.0  # factor by which positive curvatures may be wrong before the inverse is computed anew


class ActiveInverse:
    """The inverse of ``G_AA + diag(κ)`` for a changing set A, as ``base + Σ_r sign_r low_r low_r'``.

    Each feature owns a row.  Features that leave or enter add terms to the sum, in ``O(|A|²)`` for a whole block; the
    sum joins the base when it has become long.  The caller has to make up for small lags of κ, and for
    negative κ that were left out because the matrix would not be positive definite.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self, room: int = 64) -> None:
        """Forget everything; hold up to so many features."""
        self._base, self._low = np.zeros((room, room)), np.zeros((_RANK, room))
        self._sign, self._rank = np.zeros(_RANK), 0
        self._owner, self._kappa = np.full(room, -1), np.zeros(room)

    @property
    def size(self) -> int:
        """How many features the inverse holds."""
        return int(np.count_nonzero(self._owner >= 0))

    def solve(self, r: Array) -> Array:
        """Return ``(G_AA + diag κ)^{-1} r_A``, and zero outside A."""
        # Rows without an owner read and write the entry behind the last.
        packed = np.append(r, 0.0)[self._owner]
        low = self._low[: self._rank]
        solved = self._base @ packed + (self._sign[: self._rank] * (low @ packed)) @ low
        out = np.zeros(r.size + 1)
        out[self._owner] = solved
        return out[:-1]

    def adapt(self, gram: Array, active: Indices, kappa: Array) -> bool:
        """Move to this set and curvature; False if the matrix there is singular."""
        wanted = np.full(gram.shape[0] + 1, np.nan)
        wanted[active] = kappa
        goal = wanted[self._owner]
        with np.errstate(invalid="ignore"):
            near = (goal > 0.0) & (goal < _LAG * self._kappa) & (self._kappa < _LAG * goal)
        keep = near | (goal == self._kappa)
        present = self._owner >= 0
        gone = np.flatnonzero(present & ~keep)
        n_kept = np.count_nonzero(present) - gone.size
        if n_kept < 0.7 * active.size:
            return self._rebuild(gram, active, kappa)
        wanted[self._owner[keep & present]] = np.nan
        fresh = active[~np.isnan(wanted[active])]
        # Positive curvatures lag together: otherwise each feature would have to be renewed at a time of its own.
        if near.any():
            wanted *= float(np.median(self._kappa[near] / goal[near]))
        for start in range(0, gone.size, _BLOCK):
            if not self._leave(gone[start : start + _BLOCK]):
                self.reset()
                return False
        if active.size > self._owner.size:
            self._make_room(active.size + 64)
        return all(
            self._enter(gram, fresh[start : start + _BLOCK], wanted[fresh[start : start + _BLOCK]])
            for start in range(0, fresh.size, _BLOCK)
        )

    def _rebuild(self, gram: Array, active: Indices, kappa: Array) -> bool:
        a = active.size
        self.reset(max(a + 64, self._owner.size))
        square = gram[np.ix_(active, active)]
        factor = _factor(square, square.diagonal(), kappa)
        if factor is None:
            return False
        lower, _ = lapack.dpotri(factor, lower=1)
        # The factor's upper part is zero: only the diagonal is counted twice.
        np.add(lower, lower.T, out=self._base[:a, :a])
        self._base[np.arange(a), np.arange(a)] *= 0.5
        self._owner[:a], self._kappa[:a] = active, kappa
        return True

    def renumber(self, new_number: Indices) -> None:
        """Follow a change of the features' numbers; those numbered -1 are dropped."""
        numbers = np.append(new_number, -1)
        gone = np.flatnonzero((self._owner >= 0) & (numbers[self._owner] < 0))
        if gone.size > _BLOCK or not self._leave(gone):
            self.reset()
        self._owner = numbers[self._owner]

    def _make_room(self, room: int) -> None:
        old = self._owner.size
        base, low, sign, rank = self._base, self._low, self._sign, self._rank
        owner, kappa = self._owner, self._kappa
        self.reset(room)
        self._base[:old, :old], self._low[:, :old], self._sign, self._rank = base, low, sign, rank
        self._owner[:old], self._kappa[:old] = owner, kappa

    def _leave(self, slots: Indices) -> bool:
        """Drop rows D of the inverse M: ``M - M_D' M_DD^{-1} M_D``; False if rounding has spoilt it."""
        if slots.size == 0:
            return True
        self._flush(slots.size)
        low = self._low[: self._rank]
        rows = self._base[slots] + (low[:, slots].T * self._sign[: self._rank]) @ low
        factor, info = lapack.dpotrf(rows[:, slots], lower=1)
        self._owner[slots] = -1
        return info == 0 and self._append(factor, rows, -1.0)

    def _enter(self, gram: Array, names: Indices, kappa: Array) -> bool:
        """Border the inverse by new features N; False if they are dependent on the others.

        With K those present, ``V = G_NK M`` and ``S = G_NN + diag κ - V G_KN``: M gains ``(V - E)' S^{-1} (V - E)``,
        where E marks the new rows.
        """
        self._flush(names.size)
        low, free = self._low[: self._rank], self._owner < 0
        border = gram[np.ix_(names, self._owner)]
        border[:, free] = 0.0
        rows = border @ self._base + ((border @ low.T) * self._sign[: self._rank]) @ low
        rows[:, free] = 0.0
        square = gram[np.ix_(names, names)]
        factor = _factor(square - rows @ border.T, square.diagonal(), kappa)
        if factor is None:
            return False
        chosen = np.flatnonzero(free)[: names.size]
        rows[np.arange(names.size), chosen] = -1.0
        self._owner[chosen], self._kappa[chosen] = names, kappa
        return self._append(factor, rows, 1.0)

    def _append(self, factor: Array, rows: Array, sign: float) -> bool:
        end = self._rank + rows.shape[0]
        self._low[self._rank : end] = blas.dtrsm(1.0, factor, rows, lower=1)
        self._sign[self._rank : end] = sign
        self._rank = end
        return True

    def _flush(self, n_more: int) -> None:
        """Add the low-rank terms to the base if there is no room for more of them."""
        if self._rank + n_more <= _RANK:
            return
        low = self._low[: self._rank]
        blas.dgemm(1.0, low.T * self._sign[: self._rank], low.T, 1.0, self._base.T, trans_b=1, overwrite_c=1)
        self._rank = 0
        free = self._owner < 0
        self._base[free] = 0.0
        self._base[:, free] = 0.0


def _factor(matrix: Array, scale: Array, kappa: Array) -> Array | None:
    """Cholesky's factor of ``matrix + diag(κ)``, without negative κ if they make it indefinite; None if that fails."""
    for diagonal in (kappa, np.maximum(kappa, 0.0)):
        shifted = matrix + np.diag(diagonal)
        factor, info = lapack.dpotrf(shifted, lower=1)
        if info == 0 and (factor.diagonal() ** 2 > 1e-11 * scale).all():
            return factor
        if not (kappa < 0.0).any():
            break
    return None
