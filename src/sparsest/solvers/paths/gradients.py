"""Gradients along a path: computed where bounds from earlier ones do not settle the matter."""

from __future__ import annotations

import numpy as np

from sparsest.arrays import Array, Indices, Mask
from sparsest.designs import Design
from sparsest.kernels.screening import foreseen, unsettled

# Points θ that are remembered as references: each costs a product with θ in every round, and a feature whose references
# are forgotten has to be computed.
_N_REFERENCES = 16
# Features whose extrapolated gradient exceeds this share of its limit are foreseen.
_FORESEEN_SHARE = 0.99


class Gradients:
    """Knowledge of ``X'θ`` that is renewed where it matters.

    Gradients g, g' known at references θ', θ'' bound the one at θ:
    ``|X_j'θ| ≤ |s g + t g'| + ‖X_j‖ ‖θ - sθ' - tθ''‖`` for all s and t, with the norm ``‖r‖² = Σ r²/ω`` and its dual.
    Features whose bound is below their limit are not looked at.

    Parameters
    ----------
    view : the design whose gradients are wanted.
    norms : ``‖X_j‖`` of every column, with ``‖x‖² = Σ ω x²``.
    weights : ω.
    slope : limits of the gradients, as multiples of α.
    theta : the first θ, at which all gradients are computed, as for an infinite α.

    Attributes
    ----------
    value : the gradients, as they were when last computed.
    """

    def __init__(self, view: Design, norms: Array, weights: Array, slope: Array, theta: Array) -> None:
        self._view, self._norms, self._slope, self._root = view, norms, slope, np.sqrt(weights)
        p = norms.size
        self._references = np.zeros((_N_REFERENCES, theta.size))
        # A reference that is not there yet is of size one: nobody refers to it.
        self._products, self._alphas = np.eye(_N_REFERENCES), np.full(_N_REFERENCES, np.inf)
        self._latest, self._found = 0, np.empty(p, dtype=np.intp)
        self.value, self._earlier = view.tdot(theta), np.zeros(p)
        self._reference, self._before = np.zeros(p, dtype=np.intp), np.full(p, _N_REFERENCES)
        tau = theta / self._root
        self._remember(tau, self._references @ tau, float(tau @ tau), np.inf)
        self._reference[:] = self._latest

    @property
    def _known(self) -> tuple[Array, Array, Indices, Indices]:
        return self.value, self._earlier, self._reference, self._before

    def _remember(self, tau: Array, inner: Array, square: float, alpha: float) -> None:
        """Let θ take the place of the oldest reference."""
        self._latest = (self._latest + 1) % _N_REFERENCES
        self._references[self._latest], self._alphas[self._latest] = tau, alpha
        self._products[self._latest] = self._products[:, self._latest] = inner
        self._products[self._latest, self._latest] = max(square, 1e-300)

    def renew(self, theta: Array, alpha: float, outside: Mask) -> Indices:
        """Make ``value`` exact for the features outside that may exceed their limit at α; returns those."""
        tau = theta / self._root
        inner, square = self._references @ tau, float(tau @ tau)
        reused = (self._latest + 1) % _N_REFERENCES
        count = unsettled(
            self._products, inner, square, self._known, self._norms, self._slope, alpha, outside, reused, self._found
        )
        needed = self._found[:count].copy()
        # What was computed before for the same alpha says nothing about how gradients change with it.
        older = needed[np.append(self._alphas, np.inf)[self._reference[needed]] != alpha]
        self._earlier[older], self._before[older] = self.value[older], self._reference[older]
        self._remember(tau, inner, square, alpha)
        self.value[needed] = self._view.tdot(theta, needed)
        self._reference[needed] = self._latest
        return needed

    def foresee(self, alpha: float, outside: Mask) -> Indices:
        """The features outside that will probably be needed at the next α."""
        count = foreseen(self._known, self._alphas, self._slope, alpha, _FORESEEN_SHARE, outside, self._found)
        return self._found[:count].copy()
