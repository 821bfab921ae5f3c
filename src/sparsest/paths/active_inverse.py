"""The inverse of the active part of a Gram matrix, kept from one solution of a path to the next."""

from __future__ import annotations

import numpy as np
from scipy.linalg import blas, lapack

from sparsest.core.arrays import Array, Indices

# Rank-one terms that are kept apart before they are added to the base: each makes a solve dearer by two rows, and
# adding them up costs a product of matrices, which is faster with many.
_MAX_TERMS = 96
# Features that enter or leave together: blocks use BLAS on matrices, and two of them fit in the terms.
_BLOCK = 48
# Factor by which positive curvatures may be wrong before their features enter anew.  The caller iterates anyway: a
# wrong factor of 4 costs it a few iterations, while new curvatures cost as much as a new inverse.
_CURVATURE_LAG = 4.0
# An inverse of which less than this share can be kept is computed anew: that costs about as much as changing the rest.
_LEAST_KEPT = 0.7
# Pivots below this share of the diagonal are rounding errors: the matrix counts as singular.
_SMALLEST_PIVOT = 1e-11
# Rows beyond those needed now, so that the memory need not grow with each feature.
_SPARE_ROWS = 64


class ActiveInverse:
    """The inverse of ``G_AA + diag(κ)`` for a changing set A, as ``base + Σ_t sign_t term_t term_t'``.

    Each feature of A owns a row of the base; rows without an owner are zero in the sum.  Features that leave or enter
    add terms, in ``O(|A|²)`` for a whole block, and the terms join the base when they have become many.  The caller has
    to make up for lagging κ, and for negative κ that were left out because the matrix would not be positive definite.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self, n_rows: int = _SPARE_ROWS) -> None:
        """Forget everything, and make room for this many features."""
        self._base = np.zeros((n_rows, n_rows))
        self._term, self._sign, self._n_terms = np.zeros((_MAX_TERMS, n_rows)), np.zeros(_MAX_TERMS), 0
        # Which rows are owned, by which feature (numbers elsewhere mean nothing), and with which κ.
        self._owned = np.zeros(n_rows, dtype=bool)
        self._owner, self._kappa = np.zeros(n_rows, dtype=np.intp), np.zeros(n_rows)

    @property
    def size(self) -> int:
        """How many features the inverse holds."""
        return int(np.count_nonzero(self._owned))

    def solve(self, r: Array) -> Array:
        """Return ``(G_AA + diag κ)^{-1} r_A``, and zero outside A."""
        rows = np.flatnonzero(self._owned)
        names = self._owner[rows]
        packed = np.zeros(self._owned.size)
        packed[rows] = r[names]
        term = self._term[: self._n_terms]
        solved = self._base @ packed + (self._sign[: self._n_terms] * (term @ packed)) @ term
        out = np.zeros(r.size)
        out[names] = solved[rows]
        return out

    def adapt(self, gram: Array, active: Indices, kappa: Array) -> bool:
        """Move to this set and curvature; False if the matrix there is singular."""
        wanted, target = np.zeros(gram.shape[0], dtype=bool), np.zeros(gram.shape[0])
        wanted[active], target[active] = True, kappa
        rows = np.flatnonzero(self._owned)
        names = self._owner[rows]
        old, new = self._kappa[rows], target[names]
        near = wanted[names] & (new > 0.0) & (new < _CURVATURE_LAG * old) & (old < _CURVATURE_LAG * new)
        kept = near | (wanted[names] & (new == old))
        if np.count_nonzero(kept) < _LEAST_KEPT * active.size:
            return self._rebuild(gram, active, kappa)
        wanted[names[kept]] = False
        entering = active[wanted[active]]
        # Positive curvatures lag together: otherwise each feature would have to be renewed at a time of its own.
        if near.any():
            target *= float(np.median(old[near] / new[near]))
        if not all(self._leave(block) for block in _blocks(rows[~kept])):
            self.reset()
            return False
        if active.size > self._owned.size:
            self._make_room(active.size + _SPARE_ROWS)
        return all(self._enter(gram, block, target[block]) for block in _blocks(entering))

    def keep(self, positions: Indices, size: int) -> None:
        """Follow the features, of which there were ``size``: those at the positions remain and get new numbers."""
        remains, number = np.zeros(size, dtype=bool), np.zeros(size, dtype=np.intp)
        remains[positions], number[positions] = True, np.arange(positions.size)
        rows = np.flatnonzero(self._owned)
        leaving = rows[~remains[self._owner[rows]]]
        if leaving.size > _BLOCK or not self._leave(leaving):
            self.reset()
        rows = np.flatnonzero(self._owned)
        self._owner[rows] = number[self._owner[rows]]

    def _rebuild(self, gram: Array, active: Indices, kappa: Array) -> bool:
        a = active.size
        self.reset(max(a + _SPARE_ROWS, self._owned.size))
        square = gram[np.ix_(active, active)]
        factor = _factor(square, square.diagonal(), kappa)
        if factor is None:
            return False
        lower, _ = lapack.dpotri(factor, lower=1)
        # The factor's upper part is zero: only the diagonal is counted twice.
        np.add(lower, lower.T, out=self._base[:a, :a])
        self._base[np.arange(a), np.arange(a)] *= 0.5
        self._owned[:a], self._owner[:a], self._kappa[:a] = True, active, kappa
        return True

    def _make_room(self, n_rows: int) -> None:
        old = self._owned.size
        base, term, sign, n_terms = self._base, self._term, self._sign, self._n_terms
        owned, owner, kappa = self._owned, self._owner, self._kappa
        self.reset(n_rows)
        self._base[:old, :old], self._term[:, :old], self._sign, self._n_terms = base, term, sign, n_terms
        self._owned[:old], self._owner[:old], self._kappa[:old] = owned, owner, kappa

    def _leave(self, rows: Indices) -> bool:
        """Drop rows D of the inverse M: ``M - M_D' M_DD^{-1} M_D``; False if rounding has spoilt it."""
        if rows.size == 0:
            return True
        self._flush(rows.size)
        term = self._term[: self._n_terms]
        inverse_rows = self._base[rows] + (term[:, rows].T * self._sign[: self._n_terms]) @ term
        factor, info = lapack.dpotrf(inverse_rows[:, rows], lower=1)
        self._owned[rows] = False
        if info != 0:
            return False
        self._append(factor, inverse_rows, -1.0)
        return True

    def _enter(self, gram: Array, names: Indices, kappa: Array) -> bool:
        """Border the inverse by new features N; False if they are dependent on the others.

        With K those present, ``V = G_NK M`` and ``S = G_NN + diag κ - V G_KN``: M gains ``(V - E)' S^{-1} (V - E)``,
        where E marks the new rows.
        """
        self._flush(names.size)
        term, rows = self._term[: self._n_terms], np.flatnonzero(self._owned)
        border = np.zeros((names.size, self._owned.size))
        border[:, rows] = gram[np.ix_(names, self._owner[rows])]
        product = border @ self._base + ((border @ term.T) * self._sign[: self._n_terms]) @ term
        product[:, ~self._owned] = 0.0
        square = gram[np.ix_(names, names)]
        factor = _factor(square - product @ border.T, square.diagonal(), kappa)
        if factor is None:
            return False
        chosen = np.flatnonzero(~self._owned)[: names.size]
        product[np.arange(names.size), chosen] = -1.0
        self._owned[chosen], self._owner[chosen], self._kappa[chosen] = True, names, kappa
        self._append(factor, product, 1.0)
        return True

    def _append(self, factor: Array, rows: Array, sign: float) -> None:
        """Add ``sign · rows' (factor factor')^{-1} rows`` as terms."""
        end = self._n_terms + rows.shape[0]
        self._term[self._n_terms : end] = blas.dtrsm(1.0, factor, rows, lower=1)
        self._sign[self._n_terms : end] = sign
        self._n_terms = end

    def _flush(self, n_more: int) -> None:
        """Add the terms to the base if there is no room for this many more."""
        if self._n_terms + n_more <= _MAX_TERMS:
            return
        term = self._term[: self._n_terms]
        blas.dgemm(1.0, term.T * self._sign[: self._n_terms], term.T, 1.0, self._base.T, trans_b=1, overwrite_c=1)
        self._n_terms = 0
        self._base[~self._owned] = 0.0
        self._base[:, ~self._owned] = 0.0


def _blocks(entries: Indices) -> list[Indices]:
    return [entries[start : start + _BLOCK] for start in range(0, entries.size, _BLOCK)]


def _factor(matrix: Array, scale: Array, kappa: Array) -> Array | None:
    """Cholesky's factor of ``matrix + diag(κ)``, without negative κ if they make it indefinite; None if that fails."""
    for diagonal in (kappa, np.maximum(kappa, 0.0)):
        shifted = matrix + np.diag(diagonal)
        factor, info = lapack.dpotrf(shifted, lower=1)
        if info == 0 and (factor.diagonal() ** 2 > _SMALLEST_PIVOT * scale).all():
            return factor
        if not (kappa < 0.0).any():
            break
    return None
