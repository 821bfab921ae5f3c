"""Gradients along a path, computed only if bounds from earlier gradients do not suffice."""

from __future__ import annotations

import numpy as np

from sparsest.core.arrays import Array, Indices, Mask
from sparsest.core.designs import Design
from sparsest.paths.kernels.group_screening import foreseen_groups, unsettled_groups
from sparsest.paths.kernels.screening import BothSides, Memory, OneSided, foreseen, inner_products, remember, unsettled

# Number of points at which gradients are stored: each costs an inner product with τ in every check, but a feature whose
# points were dropped has to be computed.
_N_POINTS = 16
# Gradients of groups are bounded with the roots of sums of squares, which are at most √d times the spectral norms.
# Spectral norms take as long as about three gradients of all features, so they are computed after that many gradients.
_PASSES_BEFORE_NORMS = 3.0
# Bytes of columns that are read at a time for them, and their relative rounding error.
_BLOCK_BYTES, _NORM_ROUNDING = 1 << 24, 1e-10


def make_memory(tau: Array, gradient: Array, alpha: float) -> Memory:
    """A memory with the gradient at one point, which belongs to this alpha."""
    p = gradient.size
    # Unused points have norm 1; no feature refers to them.
    points, products, alphas = np.zeros((_N_POINTS, tau.size)), np.eye(_N_POINTS), np.full(_N_POINTS, np.inf)
    points[0], products[0, 0], alphas[0] = tau, max(float(tau @ tau), 1e-300), alpha
    first, none = np.zeros(p, dtype=np.uint8), np.full(p, _N_POINTS, dtype=np.uint8)
    return Memory(gradient.copy(), np.zeros(p), first, none, points, products, alphas, np.zeros(1, dtype=np.intp))


class Gradients:
    """Gradients ``X'θ``, recomputed only for features that bounds do not keep below their limits.

    Parameters
    ----------
    view : the design whose gradients are wanted.
    norms : ``‖X_j‖`` of every column, with ``‖x‖² = Σ ω x²``.
    weights : ω.
    slope : limits of the gradients, as multiples of λ.
    sides : the directions in which coefficients may move.
    theta, value : the first θ, and the gradients there.
    """

    def __init__(
        self,
        view: Design,
        norms: Array,
        weights: Array,
        slope: Array,
        sides: BothSides | OneSided,
        theta: Array,
        value: Array,
    ) -> None:
        self._sides = sides
        self._view, self._norms, self._slope, self._root = view, norms, slope, np.sqrt(weights)
        self._memory = make_memory(theta / self._root, value, np.inf)
        self._found = np.empty(norms.size, dtype=np.intp)

    @property
    def value(self) -> Array:
        """The gradients, as they were when last computed."""
        return self._memory.value

    def renew(self, theta: Array, alpha: float, outside: Mask, only_at_hand: bool = False) -> Indices:
        """Make ``value`` exact for the features outside that may exceed their limit at λ, or for more; returns those.

        With ``only_at_hand``, features are left out whose columns cannot be read without others.
        """
        tau = theta / self._root
        inner, square = inner_products(self._memory, tau)
        count = self._unsettled(inner, square, alpha, outside)
        needed = self._found[:count].copy()
        if only_at_hand:
            needed = self._at_hand(needed)
        needed, fresh = self._view.tdot_some(theta, needed, outside, lambda: self._nearest(outside))
        remember(self._memory, tau, inner, square, alpha, needed, needed.size, fresh)
        return needed

    def _nearest(self, outside: Mask) -> Indices:
        """The features outside, those first whose gradients are nearest to their limits."""
        index = np.flatnonzero(outside)
        return index[np.argsort(-self._sides.push(index, self.value[index]) / np.maximum(self._slope[index], 1e-300))]

    def _at_hand(self, needed: Indices) -> Indices:
        """The features among these whose columns can be read without others."""
        return needed[self._view.at_hand(needed)]

    def _unsettled(self, inner: Array, square: float, alpha: float, outside: Mask) -> int:
        """Find the features outside that may exceed their limits; returns their number."""
        return unsettled(
            self._memory, inner, square, self._norms, self._slope, self._sides, alpha, outside, self._found
        )

    def foresee(self, alpha: float, outside: Mask) -> Indices:
        """The features outside that will probably enter at the next λ."""
        count = foreseen(self._memory, self._slope, self._sides, alpha, outside, 1, self._found)
        return self._found[:count].copy()


class GroupGradients(Gradients):
    """Gradients of groups: those of a group are computed together, and the limit applies to their norm.

    Parameters
    ----------
    norms : for each feature a bound of the norm of its group's columns.
    members, starts : the features group by group, and where each group begins, with the end of the last one.
    """

    def __init__(
        self,
        view: Design,
        norms: Array,
        weights: Array,
        slope: Array,
        sides: BothSides | OneSided,
        members: Indices,
        starts: Indices,
        theta: Array,
        value: Array,
    ) -> None:
        super().__init__(view, norms, weights, slope, sides, theta, value)
        self._members, self._starts, self._weights = members, starts, weights
        self._n_computed, self._sharp = 0, False

    def _unsettled(self, inner: Array, square: float, alpha: float, outside: Mask) -> int:
        if not self._sharp and self._n_computed > _PASSES_BEFORE_NORMS * self._members.size:
            self._norms, self._sharp = self._spectral_norms(), True
        count = self._unsettled_groups(inner, square, alpha, outside)
        self._n_computed += count
        return count

    def _at_hand(self, needed: Indices) -> Indices:
        """All of them: the gradients of a group are computed together."""
        return needed

    def _spectral_norms(self) -> Array:
        """For each feature, the spectral norm of its group's columns, up to rounding errors."""
        norms, sizes, begins = self._norms.copy(), np.diff(self._starts), self._starts[:-1]
        for width in np.unique(sizes[sizes > 1]):
            chosen = begins[sizes == width]
            step = max(1, _BLOCK_BYTES // (8 * width * self._weights.size))
            for part in (chosen[at : at + step] for at in range(0, chosen.size, step)):
                index = self._members[part[:, None] + np.arange(width)]
                columns = self._root * self._view.columns(index.ravel()).T
                columns = columns.reshape(part.size, width, -1)
                largest = np.linalg.eigvalsh(columns @ columns.transpose(0, 2, 1))[:, -1]
                norms[index] = np.minimum(norms[index], np.sqrt(largest * (1.0 + _NORM_ROUNDING))[:, None])
        return norms

    def _unsettled_groups(self, inner: Array, square: float, alpha: float, outside: Mask) -> int:
        return unsettled_groups(
            self._memory, inner, square, self._norms, self._slope, self._sides, alpha, outside, self._members,
            self._starts, self._found,
        )  # fmt: skip

    def foresee(self, alpha: float, outside: Mask) -> Indices:
        """The features of groups outside that will probably enter at the next λ."""
        count = foreseen_groups(
            self._memory, self._slope, self._sides, alpha, outside, self._members, self._starts, self._found
        )
        return self._found[:count].copy()
