"""Blocks of coefficients within limits that include zero.

Steps of block descent and the duality gap both need the largest value of

    v'w - a‖w‖ - κ‖w‖²/2     over  l ≤ w ≤ u.

Only coordinates that v pushes to a side where they may go differ from zero there.  With the size |v_j| of that push and
the room m_j on its side, ``|w_j| = min(|v_j|r/(a + κr), m_j)``, where the radius ``r = ‖w‖`` is the root of one
equation.  It is zero where the norm of the pushes is at most a.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sparsest.core.arrays import Array
from sparsest.core.kernels.descent import threshold
from sparsest.paths.kernels.duality import INSIDE
from sparsest.runtime.jit import dispatched, kernel, second_derivative

# Steps of Newton's method or bisection to a radius, and the relative error of its equation; eight are usual.
_MAX_RADIUS_STEPS, _RADIUS_ACCURACY = 200, 1e-14
# Proximal gradient steps on a block: they end where a step is below this share of the first.
_MAX_STEPS, _SMALL_STEP = 12, 0.02


class Unlimited(NamedTuple):
    """Coefficients without limits."""

    def open_slope(self, j, w, slope):
        """The slope of the objective along a coefficient, or zero if the limit there holds the coefficient."""
        return slope

    def holds(self, w, vectors, change, begin, end):
        """Whether a block is within its limits after a change in the basis of its eigenvectors."""
        return True

    def confine(self, r, s, vectors, w, slope, begin, end, goal):
        """The limits hold already."""


class Box(NamedTuple):
    """Limits of the coefficients."""

    lower: Array
    upper: Array

    def open_slope(self, j, w, slope):
        """The slope of the objective along a coefficient, or zero if the limit there holds the coefficient."""
        if (slope >= 0.0 and w <= self.lower[j]) or (slope <= 0.0 and w >= self.upper[j]):
            return 0.0
        return slope

    def holds(self, w, vectors, change, begin, end):
        """Whether a block is within its limits after a change in the basis of its eigenvectors."""
        for j in range(begin, end):
            goal = w[j]
            for i in range(begin, end):
                goal += vectors[j, i - begin] * change[i]
            if not self.lower[j] <= goal <= self.upper[j]:
                return False
        return True

    def confine(self, r, s, vectors, w, slope, begin, end, goal):
        """Find coefficients of the block within its limits with a smaller objective."""
        confine_block(self.lower, self.upper, r, s, vectors, w, slope, begin, end, goal)


@dispatched
def open_slope(self: Any, j: int, w: float, slope: float) -> float:
    """The slope of the objective along a coefficient, or zero if the limit there holds the coefficient."""
    return self.open_slope(j, w, slope)


@dispatched
def holds(self: Any, w: Array, vectors: Array, change: Array, begin: int, end: int) -> bool:
    """Whether a block is within its limits after a change in the basis of its eigenvectors."""
    return self.holds(w, vectors, change, begin, end)


@dispatched
def confine(
    self: Any, r: Array, s: Array, vectors: Array, w: Array, slope: float, begin: int, end: int, goal: Array
) -> None:
    """Find coefficients of the block within its limits with a smaller objective."""
    self.confine(r, s, vectors, w, slope, begin, end, goal)


@kernel
def radius(push, room, begin, end, slope, ridge):
    """The norm r of the best w, for pushes that are not negative; infinite if nothing limits it.

    The inverse root of ``Σ min(v_j/(a + κr), m_j/r)²`` rises to 1 at the root, and is linear where either all or no
    coordinates are at their limits.
    """
    high = _largest_radius(push, room, begin, end, slope, ridge)
    if not 0.0 < high < np.inf:
        return high
    low, r = 0.0, high
    for _ in range(_MAX_RADIUS_STEPS):
        square, change = _square_of_shares(push, room, begin, end, slope, ridge, r)
        if abs(square - 1.0) <= _RADIUS_ACCURACY:
            break
        if square > 1.0:
            low = r
        else:
            high = r
        step = square * (np.sqrt(square) - 1.0) / change if change > 0.0 else np.inf
        following = r + step
        if not low < following < high:
            following = 0.5 * (low + high)
        if following == r or not low < following < high:
            break
        r = following
    return r


@kernel
def _largest_radius(push, room, begin, end, slope, ridge):
    """An upper bound of the radius, zero or infinite where the radius is that."""
    total, unlimited, widest, first = 0.0, 0.0, 0.0, 0.0
    for j in range(begin, end):
        if room[j] > 0.0:
            total += push[j] * push[j]
        if room[j] == np.inf:
            unlimited += push[j] * push[j]
        elif push[j] > 0.0:
            widest += room[j] * room[j]
        if ridge > 0.0:
            first += min(push[j] / ridge, room[j]) ** 2
    if not np.sqrt(total) > slope:
        return 0.0
    if ridge == 0.0 and unlimited > 0.0:
        return np.sqrt(widest / (1.0 - unlimited / (slope * slope))) if np.sqrt(unlimited) < slope else np.inf
    return np.sqrt(first) if ridge > 0.0 else np.sqrt(widest)


@kernel
def _square_of_shares(push, room, begin, end, slope, ridge, r):
    """``Σ min(v_j/(a + κr), m_j/r)²``, and minus half its derivative in r."""
    square, change, size = 0.0, 0.0, slope + ridge * r
    for j in range(begin, end):
        if push[j] == 0.0:
            continue
        if push[j] * r <= room[j] * size:
            part = push[j] / size
            change += part * part * ridge / size
        else:
            part = room[j] / r
            change += part * part / r
        square += part * part
    return square, change


@kernel
def box_terms(penalty, push, room, begin, end, lam, shift, scale):
    """For the pushes of a group, what :func:`~sparsest.paths.kernels.duality.side_terms` returns for one side.

    Pushes that the gradients of all points at some distance may reach are larger by ``shift``, in norm.
    """
    slope, ridge = threshold(penalty, lam), second_derivative(penalty, 1.0, lam)
    unlimited, open_side = 0.0, False
    for j in range(begin, end):
        if room[j] == np.inf:
            unlimited, open_side = unlimited + push[j] * push[j], True
    largest = np.sqrt(unlimited) + shift if open_side else 0.0
    ratio = 0.0
    if largest > 0.0:
        ratio = largest / slope if slope > 0.0 else np.inf
    slope -= scale * shift
    if slope < 0.0:
        return ratio, np.inf
    pushes = np.empty(end - begin)
    for j in range(begin, end):
        pushes[j - begin] = scale * INSIDE * push[j]
    r = radius(pushes, room[begin:end], 0, end - begin, slope, ridge)
    if r == 0.0 or r == np.inf:
        return ratio, r
    along, square = 0.0, 0.0
    for j in range(begin, end):
        v = pushes[j - begin]
        if v * r > room[j] * (slope + ridge * r):
            along += v * room[j]
            square += room[j] * room[j]
    return ratio, along - square * (ridge + slope / r) + 0.5 * ridge * r * r


@kernel
def sum_of_boxes(penalty, push, room, starts, lam, shift, scale):
    """The largest of the ratios of :func:`box_terms`, and the sum of the conjugates, over the groups."""
    largest, total = 0.0, 0.0
    for g in range(starts.size - 1):
        ratio, cost = box_terms(penalty, push, room, starts[g], starts[g + 1], lam[g], shift[g], scale)
        largest = max(largest, ratio)
        total += cost
    return largest, total


@kernel
def confine_block(lower, upper, r, s, vectors, w, slope, begin, end, goal):
    """Minimise ``Σ_i s_i û_i²/2 - r_i û_i + a‖u‖`` with ``û = Q'u`` over one block within limits, nearly.

    Proximal gradient steps lead from w to the block's entries of ``goal``; where zero is the minimum, that is it.
    """
    m, largest, first = end - begin, 0.0, 0.0
    target, push, room = np.empty(m), np.empty(m), np.empty(m)
    for j in range(begin, end):
        goal[j], largest = w[j], max(largest, s[j])
    for turn in range(_MAX_STEPS + 1):
        # The first turn asks whether zero is the minimum.
        for j in range(m):
            target[j] = largest * goal[begin + j] if turn > 0 else 0.0
        for i in range(m):
            along = 0.0
            if turn > 0:
                for j in range(m):
                    along += vectors[begin + j, i] * goal[begin + j]
            slack = r[begin + i] - s[begin + i] * along
            for j in range(m):
                target[j] += vectors[begin + j, i] * slack
        for j in range(m):
            push[j] = abs(target[j])
            room[j] = upper[begin + j] if target[j] > 0.0 else -lower[begin + j]
        norm, moved = radius(push, room, 0, m, slope, largest), 0.0
        if turn == 0 and norm > 0.0:
            continue
        for j in range(m):
            size = min(push[j] * norm / (slope + largest * norm), room[j]) if norm > 0.0 else 0.0
            new = size if target[j] > 0.0 else -size
            moved += (new - goal[begin + j]) ** 2
            goal[begin + j] = new
        first = max(first, moved)
        if turn == 0 or moved <= _SMALL_STEP**2 * first:
            break
