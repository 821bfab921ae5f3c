"""Gradients along a path: computed where bounds from earlier ones do not settle the matter."""

from __future__ import annotations

import numpy as np

from sparsest.arrays import Array, Indices, Mask
from sparsest.designs import Design

# Points θ that are remembered as references: each costs a product with θ in every round, and a feature whose reference
# is forgotten has to be computed.
_N_REFERENCES = 12
# Rounding errors of the difference of squares in the bound, relative to the size of θ.
_BOUND_ROUNDING = 1e-7


class Gradients:
    """Knowledge of ``X'θ`` that is renewed where it matters.

    A gradient g known at a reference θ' bounds the one at θ: ``|X_j'θ| ≤ |s g| + ‖X_j‖ ‖θ - sθ'‖`` for every s, with
    the norm ``‖r‖² = Σ r²/ω`` and its dual.  Features whose bound is below their limit are not looked at.

    Parameters
    ----------
    view : the design whose gradients are wanted.
    norms : ``‖X_j‖`` of every column, with ``‖x‖² = Σ ω x²``.
    weights : ω.
    theta : the first θ, at which all gradients are computed.

    Attributes
    ----------
    value : the gradients, as they were when last computed.
    guess : their sizes at the last θ; ``|s g|`` where they were not computed.
    """

    def __init__(self, view: Design, norms: Array, weights: Array, theta: Array) -> None:
        # A column of zeros has no bound either before it has been looked at.
        self._view, self._norms, self._root = view, np.maximum(norms, 1e-300), np.sqrt(weights)
        p = norms.size
        self._references, self._squares = np.zeros((_N_REFERENCES, theta.size)), np.ones(_N_REFERENCES)
        self._latest = 0
        # Every feature's reference; the number behind the last stands for one that has been forgotten.
        self._reference_of = np.full(p, _N_REFERENCES)
        self.value, self.guess = np.zeros(p), np.zeros(p)
        self.renew(theta, np.zeros(p), np.ones(p, dtype=bool))

    def renew(self, theta: Array, limit: Array, candidates: Mask) -> Indices:
        """Make ``value`` exact for the candidates that may exceed their limit; returns those."""
        tau, reference_of = theta / self._root, self._reference_of
        inner, square = self._references @ tau, float(tau @ tau)
        share = inner / self._squares
        distance = np.sqrt(np.maximum(square - inner * share, 0.0)) + _BOUND_ROUNDING * np.sqrt(square)
        self.guess = np.append(np.abs(share), 1.0)[reference_of] * np.abs(self.value)
        bound = self.guess + np.append(distance, np.inf)[reference_of] * self._norms
        needed = np.flatnonzero(candidates & ~(bound <= limit))
        self._latest = (self._latest + 1) % _N_REFERENCES
        self._references[self._latest], self._squares[self._latest] = tau, max(square, 1e-300)
        reference_of[reference_of == self._latest] = _N_REFERENCES
        reference_of[needed] = self._latest
        self.value[needed] = self._view.tdot(theta, needed)
        self.guess[needed] = np.abs(self.value[needed])
        return needed

    def at(self, index: Indices, theta: Array) -> Array:
        """``X_S'θ``, which is not remembered."""
        return self._view.tdot(theta, index)
