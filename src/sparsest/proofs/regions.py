"""Bounds of regions from the gains of features: ``constant - gain(q)``.

``gain`` is the total gain of the features forced in and of the best free features that k or the price admits.  Upper
bounds of the gains give an upper bound of it, because it increases with each of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsest.proofs.rounding import Array, Indices, growth
from sparsest.proofs.statement import Statement

# 1 forced in, -1 forced out, 0 free.
State = NDArray[np.int8]


class RegionBounds(NamedTuple):
    """Bounds of regions, and the cost of forcing a feature against the best choice.

    A feature of gain q is worth ``t = q - price``.  Forcing it in costs ``max(last - t, 0)``, forcing it out
    ``max(t - following, 0)``.  ``last`` is the smallest worth in the best choice and ``following`` the largest outside
    of it, both at least zero.  Rounding errors are relative to ``sizes``.  ``values`` are the bounds of the points
    alone and may be below the ``floors``: costs are added first, and the sum is then raised to the floor.
    """

    bounds: Array
    values: Array
    last: Array
    following: Array
    sizes: Array
    floors: Array
    price: float
    caution: float

    def closed_by(self, i: int, q: Array, inside: Indices, outside: Indices) -> float:
        """The smallest bound of the other sides of features that are fixed in and out."""
        if not np.isfinite(self.sizes[i]):
            return float(self.floors[i])
        worth_out, worth_in = q[outside] - self.price, q[inside] - self.price
        costs = [np.maximum(self.last[i] - worth_out, 0.0), np.maximum(worth_in - self.following[i], 0.0)]
        least = float(np.concatenate(costs).min())
        # A full region admits no further feature.
        if not inside.size and np.isinf(self.last[i]):
            return np.inf
        bound = float(self.values[i]) + least - self.caution * growth(8) * (float(self.sizes[i]) + least)
        return max(bound, float(self.floors[i]))


def region_bounds(
    statement: Statement, gains: Array, states: State, constants: Array, caution: float = 1.0
) -> RegionBounds:
    """Bound regions given by the rows of ``states`` with the rows of ``gains`` and the constants.

    ``caution`` multiplies the bounds of rounding errors.
    """
    forced = states == 1
    q_forced = np.where(forced, gains, 0.0).sum(axis=1)
    n_forced = forced.sum(axis=1)
    price, k = statement.price, gains.shape[1] if statement.k is None else statement.k
    free, last, following = _best_choice(k, np.maximum(gains - price, 0.0), states, n_forced)
    gain, sizes = q_forced - price * n_forced + free, q_forced + price * n_forced + free
    floors = price * n_forced * (1.0 - growth(2))
    with np.errstate(invalid="ignore"):
        sizes = np.abs(constants) + sizes
        # Adding zero involves no rounding.
        terms = min(k, gains.shape[1]) + int(n_forced.max(initial=0))
        values = constants - gain - caution * growth(terms + 16) * sizes
    # Losses are nonnegative, so the price of its forced features bounds a region.
    bounds = np.where(np.isfinite(sizes), np.fmax(values, floors), floors)
    return RegionBounds(bounds, values, last, following, sizes, floors, price, caution)


def _best_choice(k: int, worth: Array, states: State, n_forced: NDArray[np.intp]) -> tuple[Array, Array, Array]:
    """The total worth of the best free features up to k, the smallest worth among them, and the largest of the others.

    A region whose gains are not all finite gets an infinite sum.
    """
    count, m = worth.shape
    left = np.maximum(k - n_forced, 0)
    unusable = ~np.where(states >= 0, np.isfinite(worth), True).all(axis=1)
    # Features forced in come first and those forced out last, so the first k of a row are the best choice.
    keys = np.where(states == 1, np.inf, np.where(states == 0, worth, -1.0))
    most = min(k, m)
    places = [place for place in (most - 1, most) if 0 <= place < m]
    sorted_keys = -np.partition(-keys, places, axis=1) if places else keys
    best = sorted_keys[:, :most]
    total = np.where(np.isfinite(best), np.maximum(best, 0.0), 0.0).sum(axis=1)
    last = np.maximum(best[:, -1], 0.0) if most else np.full(count, np.inf)
    following = np.maximum(sorted_keys[:, most], 0.0) if most < m else np.zeros(count)
    full = left == 0
    total[full] = 0.0
    last[full], following[full] = np.inf, np.inf
    return np.where(unusable, np.inf, total), last, following
