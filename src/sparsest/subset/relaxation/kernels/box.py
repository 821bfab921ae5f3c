"""Penalty, proximal step and gains of the relaxation for coefficients in a box ``|w_j| ≤ M``.

    Ω(w) = min_s { ½ Σ_j δ_j w_j²/s_j + price Σ_j s_j :  |w_j| ≤ M s_j,  0 ≤ s ≤ 1,  Σ_free s ≤ budget }

Let μ be the larger of the budget's multiplier and the price, and ``σ = 1/√(2μ)``.  The proximal step of length 1/L from
v has ``s_j = clip(σ√δ_j|v_j| - δ_j/L, 0, 1)`` if ``σ√δ_j M ≥ 1``.  Otherwise the box limits w_j, and
``s_j = clip(|v_j|/M - δ_j/(2L) - μ/(LM²), 0, 1)``.  In both cases ``w_j = min(|v_j| s_j/(s_j + δ_j/L), M s_j)`` with
the sign of v_j.  For infinite L this s attains Ω(v).  The gain of a product u is ``max {uw - ½δw²: |w| ≤ M}``.  δ may
be 0.
"""

from __future__ import annotations

import numpy as np

from sparsest.runtime.jit import inlined, kernel

# Relative excess over the box and over the budget that is attributed to rounding.
_ROUNDING = 1e-9
# The σ that is returned if the box alone uses up the budget.
_SMALLEST_SIGMA = 1e-150


@inlined
def gain_in_box(u, root, box):
    """``max {uw - ½δw²: |w| ≤ box}`` with ``δ = root²``."""
    size, delta = abs(u), root * root
    if size > delta * box:
        gain = box * (size - 0.5 * delta * box)
    elif size > 0.0:
        gain = 0.5 * (size / root) * (size / root)
    else:
        gain = 0.0
    return gain


@inlined
def share_in_box(size, root, step, sigma, box):
    """Return the s of a proximal step of length ``step`` from a coefficient of absolute value ``size``."""
    tau = step * root * root
    if size == 0.0:
        s = 0.0
    elif sigma * root * box >= 1.0:
        s = sigma * root * size - tau
    else:
        s = size / box - 0.5 * tau - 0.5 * step / (sigma * box) / (sigma * box)
    return min(max(s, 0.0), 1.0)


@inlined
def next_sigma(sigma, value, slope, low, high, budget):
    """One bracketed Newton step towards the σ at which the shares s add up to ``budget``.

    ``value`` is the sum of shares minus the budget at the current σ, ``slope`` its derivative.  Returns whether to
    continue, the next σ, and the new bracket.
    """
    if value >= 0.0:
        high = sigma
    else:
        low = sigma
    if abs(value) <= 1e-13 * (budget + 1.0):
        return False, sigma, low, high
    following = sigma - value / slope if slope > 0.0 else np.inf
    if low < following < high:
        sigma = following
    elif high < np.inf:
        sigma = 0.5 * (low + high)
    else:
        sigma *= 4.0
    return high == np.inf or high - low > 1e-15 * high, sigma, low, high


@kernel
def sigma_in_box(v, step, root_delta, forced, budget, box, sigma):
    """Return the σ at which the free features' shares add up to ``budget``, by bracketed Newton steps.

    Infinite if the shares stay below the budget.  The iteration starts at ``sigma`` if that is positive.
    """
    most, least, largest, longest = 0.0, 0.0, 0.0, 0.0
    for j in range(v.size):
        if not forced[j] and v[j] != 0.0:
            size = abs(v[j])
            within = min(max(size / box - 0.5 * step * root_delta[j] * root_delta[j], 0.0), 1.0)
            most += 1.0 if root_delta[j] > 0.0 else within
            least += within
            largest, longest = max(largest, root_delta[j]), max(longest, size)
    if most <= budget:
        return np.inf
    if step == 0.0 and least >= budget:
        return _SMALLEST_SIGMA
    if budget <= 0:
        return 0.0
    low, high = 0.0, np.inf
    if not 0.0 < sigma < np.inf:
        # The σ at which the first share becomes positive or, for Ω itself, at which the box stops being active.
        sigma = np.sqrt(0.5 * step / (box * longest)) if step > 0.0 else 1.0 / (largest * box)
    for _ in range(200):
        value, slope = -float(budget), 0.0
        for j in range(v.size):
            if not forced[j]:
                size, root = abs(v[j]), root_delta[j]
                s = share_in_box(size, root, step, sigma, box)
                value += s
                if 0.0 < s < 1.0:
                    if sigma * root * box >= 1.0:
                        slope += root * size
                    else:
                        slope += step / (sigma * box) / (sigma * box) / sigma
        more, sigma, low, high = next_sigma(sigma, value, slope, low, high, budget)
        if not more:
            break
    return sigma


@kernel
def penalty_in_box(w, root_delta, forced, budget, price, box, sigma, highest):
    """Return Ω(w), which is infinite outside of the box, and the σ ≤ ``highest`` at which it is attained."""
    sigma = min(sigma_in_box(w, 0.0, root_delta, forced, budget, box, sigma), highest)
    total, shares = 0.0, 0.0
    for j in range(w.size):
        size = abs(w[j])
        if size > box * (1.0 + _ROUNDING):
            total = np.inf
        energy = 0.5 * root_delta[j] * size * root_delta[j] * size
        if forced[j]:
            total += energy + price
        elif size > 0.0:
            s = share_in_box(size, root_delta[j], 0.0, sigma, box)
            total += energy / s + price * s
            shares += s
    if shares > budget * (1.0 + _ROUNDING):
        total = np.inf
    return total, sigma


@kernel
def proximal_in_box(v, L, root_delta, forced, budget, box, sigma, highest, out):
    """Write the proximal step from v to ``out``; return its σ, which is at most ``highest``."""
    step = 1.0 / L
    sigma = min(sigma_in_box(v, step, root_delta, forced, budget, box, sigma), highest)
    for j in range(v.size):
        size, tau = abs(v[j]), step * root_delta[j] * root_delta[j]
        s = 1.0 if forced[j] else share_in_box(size, root_delta[j], step, sigma, box)
        w = min(size * s / (s + tau), box * s) if s > 0.0 else 0.0
        out[j] = w if v[j] > 0.0 else -w
    return sigma
