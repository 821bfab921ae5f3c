"""Gradients along a path: computed where bounds from earlier ones do not settle the matter."""

from __future__ import annotations

import numpy as np

from sparsest.core.arrays import Array, Indices, Mask
from sparsest.core.designs import Design
from sparsest.paths.kernels.screening import Memory, foreseen, inner_products, remember, unsettled
from sparsest.paths.sides import FeatureSides

# Points at which gradients are remembered: each costs a product with τ in every check, and a feature whose points are
# forgotten has to be computed.
_N_POINTS = 16


def make_memory(tau: Array, gradient: Array, alpha: float) -> Memory:
    """Know the gradient at one point, which belongs to this alpha."""
    p = gradient.size
    # Points that do not exist yet have norm 1; no feature refers to them.
    points, products, alphas = np.zeros((_N_POINTS, tau.size)), np.eye(_N_POINTS), np.full(_N_POINTS, np.inf)
    points[0], products[0, 0], alphas[0] = tau, max(float(tau @ tau), 1e-300), alpha
    first, none = np.zeros(p, dtype=np.uint8), np.full(p, _N_POINTS, dtype=np.uint8)
    return Memory(gradient.copy(), np.zeros(p), first, none, points, products, alphas, np.zeros(1, dtype=np.intp))


class Gradients:
    """Knowledge of ``X'θ`` that is renewed where it matters: not for features whose bounds are below their limits.

    Parameters
    ----------
    view : the design whose gradients are wanted.
    norms : ``‖X_j‖`` of every column, with ``‖x‖² = Σ ω x²``.
    weights : ω.
    slope : limits of the gradients, as multiples of λ.
    sides : which gradients push features away from zero.
    theta : the first θ, at which all gradients are computed.
    """

    def __init__(
        self, view: Design, norms: Array, weights: Array, slope: Array, sides: FeatureSides, theta: Array
    ) -> None:
        self._sides = sides.kernel
        self._view, self._norms, self._slope, self._root = view, norms, slope, np.sqrt(weights)
        self._memory = make_memory(theta / self._root, view.tdot(theta), np.inf)
        self._found = np.empty(norms.size, dtype=np.intp)

    @property
    def value(self) -> Array:
        """The gradients, as they were when last computed."""
        return self._memory.value

    def renew(self, theta: Array, alpha: float, outside: Mask) -> Indices:
        """Make ``value`` exact for the features outside that may exceed their limit at λ; returns those."""
        tau = theta / self._root
        inner, square = inner_products(self._memory, tau)
        count = unsettled(
            self._memory, inner, square, self._norms, self._slope, self._sides, alpha, outside, self._found
        )
        needed = self._found[:count].copy()
        remember(self._memory, tau, inner, square, alpha, needed, count, self._view.tdot(theta, needed))
        return needed

    def foresee(self, alpha: float, outside: Mask) -> Indices:
        """The features outside that will probably be needed at the next λ."""
        count = foreseen(self._memory, self._slope, self._sides, alpha, outside, 1, self._found)
        return self._found[:count].copy()
