"""Regions of the tree: the bound of a point, the features that it fixes, and the branching feature.

``state[j]`` is 1 for a feature forced in, -1 for a feature forced out, and 0 for a free feature.  The bound for ``u``
and ridges δ is ``-½ quadratic - gain(u)``.  The gain is the sum of ``q_j - price`` over the forced features and the
best choice of free ones, with ``q_j = u_j²/(2δ_j)``, or less if a bound limits the coefficient.  ``low`` and ``high``
are empty if there are no bounds.
"""

from __future__ import annotations

import numpy as np

from sparsest.core.kernels.selection import largest_sum
from sparsest.runtime.jit import inlined, kernel
from sparsest.subset.relaxation.kernels.box import gain_in_box, limit_of

NO_FEATURE = -1


@inlined
def list_alive(state, alive):
    """Write the features that are not forced out to ``alive``; return their number and the number forced in."""
    count, forced = 0, 0
    for j in range(state.size):
        if state[j] >= 0:
            alive[count] = j
            count += 1
            if state[j] == 1:
                forced += 1
    return count, forced


@inlined
def region_bound(u, quadratic, root_delta, state, alive, n_in, budget, price, low, high, q, work):
    """Return ``-½w'Hw - gain(u)``, the smallest gain q inside the best free choice, and the largest outside it."""
    gain = 0.0
    free = 0
    bounded = low.size > 0
    for j in alive:
        if bounded:
            q[j] = gain_in_box(u[j], root_delta[j], low[j], high[j])
        else:
            ratio = u[j] / root_delta[j]
            q[j] = 0.5 * ratio * ratio
        if state[j] == 1:
            gain += q[j] - price
        else:
            work[free] = max(q[j] - price, 0.0)
            free += 1
    left = budget - n_in
    total, last = largest_sum(work[:free], left)
    gain += total
    following = 0.0
    for j in range(max(left, 0), free):
        following = max(following, work[j])
    if left <= 0:
        last, following = np.inf, np.inf
    elif left >= free:
        last = 0.0
    return -0.5 * quadratic - gain, last + price, following + price


@kernel
def tighten(u, quadratic, root_delta, state, budget, price, low, high, cutoff):
    """Return a point's bound for a region, and the features that it fixes in and out against ``cutoff``.

    The fourth value are the forced-out features that bound and fixings need, because their gains are large: both remain
    valid if the other forced-out features are free.  The fifth value is the smallest bound of the sides closed by the
    fixings.  ``state`` is updated with the fixed features.
    """
    m = state.size
    alive, q, work = np.empty(m, dtype=np.int64), np.empty(m), np.empty(m)
    count, n_in = list_alive(state, alive)
    bound, last, following = region_bound(
        u, quadratic, root_delta, state, alive[:count], n_in, budget, price, low, high, q, work
    )
    slack = cutoff - bound
    inside, outside = np.empty(m, dtype=np.int64), np.empty(m, dtype=np.int64)
    n_inside, n_outside, least = 0, 0, np.inf
    if slack > 0.0:
        for j in alive[:count]:
            if state[j] == 0:
                if last - q[j] > slack:
                    least = min(least, last - q[j])
                    state[j] = -1
                    outside[n_outside] = j
                    n_outside += 1
                elif q[j] - following > slack:
                    least = min(least, q[j] - following)
                    state[j] = 1
                    inside[n_inside] = j
                    n_inside += 1
    # Features fixed out by this call have smaller gains and are not needed.
    most = following if n_inside else last
    level, n_needed = np.sqrt(2.0 * most), 0
    for j in range(m):
        # The rarely true condition comes first.  Gains within bounds are smaller.
        if not abs(u[j]) <= root_delta[j] * level and state[j] == -1:
            small = low.size > 0 and gain_in_box(u[j], root_delta[j], low[j], high[j]) <= most
            alive[n_needed] = j
            n_needed += not small
    # Copies, because views would keep the arrays over all features in memory.
    return bound, inside[:n_inside].copy(), outside[:n_outside].copy(), alive[:n_needed].copy(), bound + least


@kernel
def nearest(indicator, state, target):
    """Return the free feature whose indicator is nearest to ``target``, or NO_FEATURE if all are integral.

    Distances below the target are relative to ``target``, distances above it to ``1 - target``.
    """
    best, score = NO_FEATURE, 1e-7
    for j in range(state.size):
        if state[j] == 0:
            closeness = min(indicator[j] / target, (1.0 - indicator[j]) / (1.0 - target))
            if closeness > score:
                best, score = j, closeness
    return best


@kernel
def distance_to_integral(indicator):
    """The distance of the indicator from the nearest integral vector, in the 1-norm."""
    total = 0.0
    for s in indicator:
        total += min(s, 1.0 - s)
    return total


@kernel
def unpack(w, state, root_delta, sigma, low, high):
    """Return the features with nonzero coefficients, these coefficients, and the indicator of all features."""
    used, indicator, count = np.empty(w.size, dtype=np.int64), np.empty(w.size), 0
    for j in range(w.size):
        if w[j] != 0.0:
            used[count] = j
            count += 1
        share = sigma * root_delta[j] * abs(w[j])
        if low.size > 0 and w[j] != 0.0:
            share = max(share, abs(w[j]) / limit_of(w[j], low[j], high[j]))
        indicator[j] = 1.0 if state[j] == 1 else min(1.0, share)
    used, values = used[:count].copy(), np.empty(count)
    for a in range(count):
        values[a] = w[used[a]]
    return used, values, indicator
