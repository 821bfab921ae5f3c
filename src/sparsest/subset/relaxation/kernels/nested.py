"""Penalty, proximal step and gain of the relaxation over units of columns with prices and nested limits.

    Ω(w) = min_s { Σ_g ½ Σ_{j∈g} δ_j w_j²/s_g + price_g s_g :  0 ≤ s ≤ 1, Σ_C s ≤ room_C, low_j s_g ≤ w_j ≤ high_j s_g }

where s_g = 1 for units that are forced in.  A free unit has the multiplier ``m_g = price_g + μ_g``.  In a proximal step
of length 1/L from v, s_g is the root of ``Σ_{j∈g} h_j(s) = m_g`` in [0, 1], with ``τ = δ_j/L`` and
``h_j(s) = δ_j v_j²/(2(s + τ)²)``, or ``L b(|v_j| - bs) - ½δ_j b²`` where the bound b on the side of v_j is active.  For
equal δ and no bounds ``s_g = a_g/√(2m_g) - τ`` with ``a_g² = Σ δ_j v_j²``; for τ = 0 this s attains Ω(v).

μ is found set by set, from the inside out: for each set the smallest t ≥ 0 with ``Σ_C s_g(price_g + max(μ_g, t)) ≤
room_C`` replaces smaller μ_g.  The gain of a unit is the sum of ``max {u_j w - ½δ_j w²: low_j ≤ w ≤ high_j}``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsest.core.arrays import Array, Indices, Mask
from sparsest.core.kernels.nested import choose_nested
from sparsest.runtime.jit import inlined, kernel
from sparsest.subset.relaxation.kernels.box import next_sigma

# Relative excess over bounds and limits that is attributed to rounding.
_ROUNDING = 1e-9
# Relative difference of a multiplier from a negative price below which the share of the unit may jump.
_TIED = 1e-10
# Largest number of Newton steps for the share of a unit with bounds; a few are usual.
_NEWTON_STEPS = 100
# Largest number of steps for the multiplier of a set.
_LEVEL_STEPS = 200


class NestedRegulariser(NamedTuple):
    """Ω over some columns.

    Attributes
    ----------
    root_delta : √δ of each column; equal within a unit unless ``bounded``
    unit : the unit of each column, numbered from 0
    forced, price : whether each unit is forced in, and its price
    start, members, room : the nested sets of free units and the number that may be chosen of each
    low, high : bounds of each column
    bounded : whether a bound is finite
    """

    root_delta: Array
    unit: Indices
    forced: Mask
    price: Array
    start: Indices
    members: Indices
    room: Indices
    low: Array
    high: Array
    bounded: bool

    def start_levels(self):
        """The multipliers of the sets before the first step."""
        return np.zeros(self.room.size)

    def penalty(self, w, levels):
        """Ω(w)."""
        return nested_penalty(w, self, levels, np.empty(self.forced.size))

    def gain(self, u):
        """The largest worth of a choice of units."""
        return nested_gain(u, self)

    def proximal_step(self, v, L, levels, work, out):
        """Write the proximal step from v to ``out``; there are at most as many units as columns."""
        nested_proximal(v, L, self, levels, work[0, : self.forced.size], out)


@inlined
def plain_share(a, multiplier, tau, floor):
    """The s of a unit with ``a² = Σ δv²``, equal τ and no active bound, but at least ``floor``."""
    if multiplier < 0.0:
        s = 1.0
    elif a == 0.0:
        s = 0.0
    elif multiplier == 0.0:
        s = 1.0
    elif multiplier == np.inf:
        s = 0.0
    else:
        s = a / np.sqrt(2.0 * multiplier) - tau
    return min(max(s, floor), 1.0)


@kernel
def bounded_share(multiplier, v, omega, order, begin, end, L):
    """The s of a proximal step of a unit with bounds, and its derivative with respect to the multiplier.

    ``Σ_j h_j`` decreases and is convex, so Newton's method from s = 0 approaches the root from below.
    """
    if multiplier < 0.0:
        return 1.0, 0.0
    s = 0.0
    for _ in range(_NEWTON_STEPS):
        value, slope = -multiplier, 0.0
        for place in range(begin, end):
            j = order[place]
            size = abs(v[j])
            bound = omega.high[j] if v[j] > 0.0 else -omega.low[j]
            if size > 0.0 and bound > 0.0:
                delta = omega.root_delta[j] * omega.root_delta[j]
                shifted = s + delta / L
                if size <= bound * shifted:
                    value += 0.5 * delta * (size / shifted) * (size / shifted)
                    slope += delta * (size / shifted) * (size / shifted) / shifted
                else:
                    value += L * bound * (size - bound * s) - 0.5 * delta * bound * bound
                    slope += L * bound * bound
        if not value > 0.0 or slope == 0.0:
            return s, -1.0 / slope if s > 0.0 and slope > 0.0 else 0.0
        following = s + value / slope
        if following >= 1.0:
            return 1.0, 0.0
        if following <= s:
            return s, -1.0 / slope
        s = following
    return s, -1.0 / slope


@inlined
def grouped(unit, n_units):
    """The columns in the order of their units, and where each unit begins."""
    begin = np.zeros(n_units + 1, dtype=np.int64)
    for j in range(unit.size):
        begin[unit[j] + 1] += 1
    for g in range(n_units):
        begin[g + 1] += begin[g]
    order, filled = np.empty(unit.size, dtype=np.int64), begin.copy()
    for j in range(unit.size):
        order[filled[unit[j]]] = j
        filled[unit[j]] += 1
    return order, begin


@inlined
def is_tied(price, multiplier):
    """Whether the multiplier makes up for a negative price, so that the share of a unit without coefficients jumps."""
    return price < 0.0 and abs(price + multiplier) <= _TIED * multiplier


@inlined
def spread_ties(members, price, mu, multiplier, floor, room, total, shares):
    """Divide the room that a full set has left among its tied units; return the new total.

    Units that a smaller set limits keep their shares.
    """
    count = 0
    for g in members:
        if mu[g] <= multiplier and is_tied(price[g], multiplier):
            total -= shares[g]
            count += 1
    if count > 0:
        share = min(max((room - total) / count, 0.0), 1.0)
        for g in members:
            if mu[g] <= multiplier and is_tied(price[g], multiplier):
                shares[g] = max(share, floor[g])
                total += shares[g]
    return total


class UnitSums(NamedTuple):
    """What the shares of units need: for a proximal step from v of length 1/L, or for Ω(v) itself if L is infinite.

    Attributes
    ----------
    size : ``√Σ δ_j v_j²`` over the columns of each unit
    tau : δ/L of each unit
    floor : the smallest s at which no bound is exceeded, for Ω(v)
    slope : ``Σ_j h_j(0)``
    order, begin : the columns in the order of their units, and where each unit begins
    by_newton : whether shares are found by Newton's method; only then slope, order and begin are filled
    """

    size: Array
    tau: Array
    floor: Array
    slope: Array
    order: Indices
    begin: Indices
    by_newton: bool


@inlined
def sums_of_units(v, omega, L):
    """Return the sums of all units, and whether Ω is finite as far as bounds of coefficients decide."""
    root_delta, unit, n_units = omega.root_delta, omega.unit, omega.forced.size
    size, tau, floor, slope = np.zeros(n_units), np.zeros(n_units), np.zeros(n_units), np.zeros(n_units)
    by_newton = omega.bounded and np.isfinite(L)
    order, begin = np.empty(0, dtype=np.int64), np.zeros(n_units + 1, dtype=np.int64)
    if by_newton:
        order, begin = grouped(unit, n_units)
    for j in range(v.size):
        delta = root_delta[j] * root_delta[j]
        size[unit[j]] += (root_delta[j] * v[j]) ** 2
        tau[unit[j]] = delta / L
        if omega.bounded:
            value, bound = abs(v[j]), omega.high[j] if v[j] > 0.0 else -omega.low[j]
            if not by_newton and value > 0.0:
                floor[unit[j]] = max(floor[unit[j]], value / bound if bound > 0.0 else np.inf)
            elif by_newton and value * L <= bound * delta:
                slope[unit[j]] += 0.5 * L * value * (L * value / delta) if value > 0.0 else 0.0
            elif by_newton and bound > 0.0:
                slope[unit[j]] += L * bound * value - 0.5 * delta * bound * bound
    finite = True
    for g in range(n_units):
        size[g] = np.sqrt(size[g])
        finite = finite and floor[g] <= 1.0 + _ROUNDING
        floor[g] = min(floor[g], 1.0)
    return UnitSums(size, tau, floor, slope, order, begin, by_newton), finite


@inlined
def share_of(g, multiplier, units, v, omega, L):
    """The s of a free unit, and its derivative with respect to the multiplier."""
    if units.by_newton:
        s, change = bounded_share(multiplier, v, omega, units.order, units.begin[g], units.begin[g + 1], L)
    else:
        s = plain_share(units.size[g], multiplier, units.tau[g], units.floor[g])
        change = -(s + units.tau[g]) / (2.0 * multiplier) if units.floor[g] < s < 1.0 else 0.0
    return s, change


@inlined
def level_of(c, level, units, shares, mu, v, omega, L):
    """The multiplier at which the shares of set c add up to its room, by Newton's method from an earlier ``level``."""
    start, members, room = omega.start, omega.members, omega.room
    if room[c] <= 0:
        return np.inf
    weight, steepest, lowest = 0.0, 0.0, 0.0
    for place in range(start[c], start[c + 1]):
        weight += units.size[members[place]]
        steepest = max(steepest, units.slope[members[place]])
        lowest = min(lowest, omega.price[members[place]])
    sigma = room[c] / max(weight, 1e-300)
    if 0.0 < level < np.inf:
        sigma = 1.0 / np.sqrt(2.0 * level)
    elif units.by_newton:
        # Half of the multiplier from which on all shares would be 0.
        sigma = 1.0 / np.sqrt(max(steepest, 1e-300))
    if level == 0.0 and lowest < 0.0:
        # There all negative prices are made up for.
        sigma = min(sigma, 1.0 / np.sqrt(-2.0 * lowest))
    below, above = 0.0, np.inf
    for _ in range(_LEVEL_STEPS):
        t = 0.5 / (sigma * sigma)
        value, slope = -float(room[c]), 0.0
        for place in range(start[c], start[c + 1]):
            g = members[place]
            if mu[g] > t and is_tied(omega.price[g], mu[g]):
                value += shares[g]
                continue
            s, change = share_of(g, omega.price[g] + max(mu[g], t), units, v, omega, L)
            value += s
            if t > mu[g]:
                slope -= change / (sigma * sigma * sigma)
        more, sigma, below, above = next_sigma(sigma, value, slope, below, above, room[c])
        if not more:
            break
    return 0.5 / (sigma * sigma)


@kernel
def nested_shares(v, omega, L, levels, shares):
    """Write s of each unit for a proximal step of length 1/L from v, or for Ω(v) itself if L is infinite.

    ``levels`` has the multiplier t of each set; its old values are the starting points.  Returns whether Ω is finite.
    """
    price, start, members, room = omega.price, omega.start, omega.members, omega.room
    units, finite = sums_of_units(v, omega, L)
    mu = np.zeros(omega.forced.size)
    for g in range(omega.forced.size):
        shares[g] = 1.0 if omega.forced[g] else share_of(g, price[g], units, v, omega, L)[0]
    for c in range(room.size):
        total = 0.0
        for place in range(start[c], start[c + 1]):
            total += shares[members[place]]
        if total <= room[c]:
            levels[c] = 0.0
            continue
        levels[c] = level_of(c, levels[c], units, shares, mu, v, omega, L)
        total = 0.0
        for place in range(start[c], start[c + 1]):
            g = members[place]
            kept = mu[g] > levels[c] and is_tied(price[g], mu[g])
            mu[g] = max(mu[g], levels[c])
            if kept:
                total += shares[g]
                continue
            shares[g] = share_of(g, price[g] + mu[g], units, v, omega, L)[0]
            total += shares[g]
        if abs(total - room[c]) > _ROUNDING * (room[c] + 1.0):
            tied = members[start[c] : start[c + 1]]
            total = spread_ties(tied, price, mu, levels[c], units.floor, room[c], total, shares)
        finite = finite and (units.by_newton or total <= room[c] + 1e-6 * (room[c] + 1.0))
    return finite


@kernel
def nested_penalty(w, omega, levels, shares):
    """Return Ω(w); write the multipliers of the sets and the shares of the units at which it is attained."""
    finite = nested_shares(w, omega, np.inf, levels, shares)
    squares = np.zeros(shares.size)
    for j in range(w.size):
        squares[omega.unit[j]] += (omega.root_delta[j] * w[j]) ** 2
    total = 0.0 if finite else np.inf
    for g in range(shares.size):
        total += omega.price[g] * shares[g]
        if squares[g] > 0.0:
            total += 0.5 * squares[g] / shares[g] if shares[g] > 0.0 else np.inf
    return total


@kernel
def nested_proximal(v, L, omega, levels, shares, out):
    """Write the proximal step from v to ``out``; ``levels`` and ``shares`` are overwritten by its multipliers and s."""
    nested_shares(v, omega, L, levels, shares)
    for j in range(v.size):
        s, delta = shares[omega.unit[j]], omega.root_delta[j] * omega.root_delta[j]
        w = v[j] * s / (s + delta / L) if s > 0.0 else 0.0
        if omega.bounded and s > 0.0:
            w = min(max(w, omega.low[j] * s), omega.high[j] * s)
        out[j] = w


@kernel
def nested_gain(u, omega):
    """Return the worth of the forced units and of the best choice of free ones for products u."""
    n_units = omega.forced.size
    worth, state = np.empty(n_units), np.empty(n_units, dtype=np.int8)
    for g in range(n_units):
        worth[g], state[g] = -omega.price[g], 0
    for j in range(u.size):
        root = omega.root_delta[j]
        if omega.bounded:
            size, bound, delta = abs(u[j]), omega.high[j] if u[j] > 0.0 else -omega.low[j], root * root
            if size > delta * bound:
                worth[omega.unit[j]] += bound * (size - 0.5 * delta * bound)
            elif size > 0.0:
                worth[omega.unit[j]] += 0.5 * (size / root) ** 2
        else:
            worth[omega.unit[j]] += 0.5 * (u[j] / root) ** 2
    total = 0.0
    for g in range(n_units):
        if omega.forced[g]:
            total += worth[g]
            # Sets list free units only.
            state[g] = -1
    return total + choose_nested(
        worth, state, omega.start, omega.members, omega.room, np.empty(n_units, dtype=np.bool_)
    )
