"""Gradients along a path: computed where bounds from earlier ones do not settle the matter."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparsest.arrays import Array, Indices
from sparsest.designs import Dense, Design, take_apart
from sparsest.kernels.descent import column_products

_MEMORY = 12  # solutions whose gradients serve as references


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
