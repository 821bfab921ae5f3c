"""What a path keeps from one solution to the next: Gram matrices, the inverse of their active part, gradients."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack

from sparsest.designs import Dense, Design, take_apart
from sparsest.kernels.descent import Gram, column_products
from sparsest.solvers.packs import Pack

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_MEMORY = 12  # solutions whose gradients serve as references
_RANK = 96  # low-rank terms that are kept apart before they are added up
_BLOCK = 48  # features that enter or leave at a time
_LAG = 4.0  # factor by which positive curvatures may be wrong before the inverse is computed anew


class DensePack(Pack):
    """Standardised columns side by side and their Gram matrix, in buffers that double when they are full."""

    def __init__(self, design: Design, centred: bool) -> None:
        super().__init__(design, centred)
        self._size = 0
        self._buffer, self._gram = np.empty((design.shape[0], 32), order="F"), np.empty((32, 32))
        self._mass = np.empty(0)

    def append(self, index: Indices) -> None:
        """Take in these columns of the design."""
        m, end = self._size, self._size + index.size
        if end > self._buffer.shape[1]:
            room = max(end, 2 * m)
            buffer, gram = np.empty((self.h.size, room), order="F"), np.empty((room, room))
            buffer[:, :m], gram[:m, :m] = self._columns, self._gram[:m, :m]
            self._buffer, self._gram = buffer, gram
        self._buffer[:, m:end] = self.design.columns(index)
        self._size = end
        self._fill(m)

    @property
    def _columns(self) -> Array:
        return self._buffer[:, : self._size]

    def _fill(self, first: int) -> None:
        """Compute the Gram matrix from this column on."""
        weighted = self.h[:, None] * self._columns[:, first:]
        cross = self._columns.T @ weighted
        self._mass = np.concatenate([self._mass[:first], weighted.sum(axis=0)])
        if self.centred:
            cross -= np.outer(self._mass, self._mass[first:] / self.h.sum())
        self._gram[: self._size, first : self._size] = cross
        self._gram[first : self._size, : self._size] = cross.T

    def keep(self, positions: Indices) -> None:
        """Drop all columns but those at these positions."""
        self._size = k = positions.size
        self._buffer[:, :k] = self._buffer[:, positions]
        self._gram[:k, :k] = self._gram[np.ix_(positions, positions)]
        self._mass = self._mass[positions]

    def weigh(self, h: Array) -> None:
        """Take these weights of the observations."""
        self.h = h
        self._fill(0)

    def dot(self, w: Array) -> Array:
        """``X_E w``."""
        return self._columns @ w

    def tdot(self, r: Array, first: int = 0) -> Array:
        """``X_E' r`` from this column on."""
        return self._columns[:, first:].T @ r

    def gram(self, positions: Indices) -> Array:
        """``G`` over the columns at these positions."""
        return self._gram[np.ix_(positions, positions)]

    def model(self, theta: Array) -> Gram:
        """``G`` itself, in memory that may be larger."""
        return Gram(self._gram)

    def image(self, model: Gram, d: Array) -> Array:
        """``Gd``."""
        used, square = np.flatnonzero(d), self._gram[: d.size, : d.size]
        return d[used] @ square[used] if 8 * used.size < d.size else square @ d

    def step(self, model: Gram, d: Array) -> None:
        """``G`` stays as it is."""


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


class Gradients:
    """Knowledge of ``X'θ`` that is renewed where it matters.

    A gradient g known at θ' bounds the one at θ: ``|X_j'θ| ≤ |s g| + ‖X_j‖ ‖θ - sθ'‖`` for every s, with the norm
    ``‖r‖² = Σ r²/ω`` and its dual.  Features whose bound is below their limit are not looked at.

    Attributes
    ----------
    value : the gradients, as they were when last computed.
    guess : their sizes at the last θ, where not computed as ``|s g|``.
    """

    def __init__(self, view: Design, norms: Array, weights: Array, theta: Array) -> None:
        # A column of zeros has no bound either before it has been looked at.
        self._view, self._norms, self._root = view, np.maximum(norms, 1e-300), np.sqrt(weights)
        base, self._shift, self._scale = take_apart(view)
        self._array = base.array if isinstance(base, Dense) else None
        p = norms.size
        self._known, self._squares = np.zeros((_MEMORY, theta.size)), np.ones(_MEMORY)
        self._when, self._now = np.full(p, _MEMORY), 0
        self.value, self.guess = np.zeros(p), np.zeros(p)
        self.renew(theta, np.zeros(p), np.ones(p, dtype=bool))

    def renew(self, theta: Array, limit: Array, open_: NDArray[np.bool_]) -> Indices:
        """Make ``value`` exact for the open features that may exceed their limit; returns those."""
        tau, when = theta / self._root, self._when
        inner, square = self._known @ tau, float(tau @ tau)
        share = inner / self._squares
        # Rounding of the difference of squares is covered by the second term.
        error = np.sqrt(np.maximum(square - inner * share, 0.0)) + 1e-7 * np.sqrt(square)
        self.guess = np.append(np.abs(share), 1.0)[when] * np.abs(self.value)
        bound = self.guess + np.append(error, np.inf)[when] * self._norms
        needed = np.flatnonzero(open_ & ~(bound <= limit))
        self._now = (self._now + 1) % _MEMORY
        self._known[self._now], self._squares[self._now] = tau, max(square, 1e-300)
        when[when == self._now] = _MEMORY
        when[needed] = self._now
        self.value[needed] = self.at(needed, theta)
        self.guess[needed] = np.abs(self.value[needed])
        return needed

    def at(self, index: Indices, theta: Array) -> Array:
        """``X_S'θ``, by the columns named where they can be read one by one."""
        view, array, p = self._view, self._array, self._when.size
        if array is None or 4 * index.size > 3 * p:
            return view.tdot(theta)[index]
        if not array.flags.f_contiguous or array.dtype != np.float64:
            return view.columns(index).T @ theta if 8 * index.size < p else view.tdot(theta)[index]
        out = np.empty(index.size)
        column_products(array.T, index, theta, out)
        return (out - theta.sum() * self._shift[index]) / self._scale[index]
