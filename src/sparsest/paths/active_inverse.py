"""The inverse of the active part of a Gram matrix, kept from one solution of a path to the next."""

from __future__ import annotations

import numpy as np
from scipy.linalg import blas, lapack

from sparsest.core.arrays import Array, Indices

# Largest number of rank-one terms that are kept separately before they are added to the base: each adds two inner
# products to a solve, and adding them is a product of matrices, which is more efficient with many.
_MAX_TERMS = 96
# Number of features that enter or leave together: blocks use matrix products, and two of them fit in the terms.
_BLOCK = 48
# Largest ratio between a stored positive curvature and the true one; beyond it the feature leaves and enters again.
# The caller iterates anyway: a factor of 4 costs a few iterations, new curvatures as much as a new inverse.
_CURVATURE_LAG = 4.0
# If less than this share of the inverse can be kept, it is computed from scratch, which costs about as much as updates.
_LEAST_KEPT = 0.7
# Pivots below this share of the diagonal are rounding errors: the matrix counts as singular.
_SMALLEST_PIVOT = 1e-11
# Number of spare rows, so that memory is not reallocated for each feature.
_SPARE_ROWS = 64


class ActiveInverse:
    """The inverse of ``G_AA + diag(κ)`` for a changing set A, as ``base + Σ_t sign_t term_t term_t'``.

    Each feature of A has a row of the base; unused rows are zero in the sum.  Features that leave or enter add terms,
    in ``O(|A|²)`` for a whole block, and terms are added to the base when there are many.  The inverse is approximate:
    κ may be outdated, and negative κ are left out if they make the matrix indefinite; the caller corrects for this.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self, n_rows: int = _SPARE_ROWS) -> None:
        """Clear the inverse, and allocate rows for this many features."""
        self._base = np.zeros((n_rows, n_rows))
        self._term, self._sign, self._n_terms = np.zeros((_MAX_TERMS, n_rows)), np.zeros(_MAX_TERMS), 0
        # Which rows are used, their features (undefined for unused rows), and their κ.
        self._owned = np.zeros(n_rows, dtype=bool)
        self._owner, self._kappa = np.zeros(n_rows, dtype=np.intp), np.zeros(n_rows)

    @property
    def size(self) -> int:
        """Number of features in the inverse."""
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
        """Update the inverse to this set and curvature; False if the matrix is singular."""
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
        # Positive curvatures are updated together, not one feature at a time.
        if near.any():
            target *= float(np.median(old[near] / new[near]))
        if not all(self._leave(block) for block in _blocks(rows[~kept])):
            self.reset()
            return False
        if active.size > self._owned.size:
            self._make_room(active.size + _SPARE_ROWS)
        return all(self._enter(gram, block, target[block]) for block in _blocks(entering))

    def keep(self, positions: Indices, size: int) -> None:
        """Renumber after the working set of ``size`` features was reduced to those at ``positions``."""
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
        """Drop rows D of the inverse M: ``M - M_D' M_DD^{-1} M_D``; False if that fails because of rounding errors."""
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
        """Extend the inverse by new features N; False if they depend linearly on the others.

        With K the features present, ``V = G_NK M`` and ``S = G_NN + diag κ - V G_KN``, this adds
        ``(V - E)' S^{-1} (V - E)`` to M, where E marks the new rows.
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
