"""Penalty, proximal step and gains of the relaxation for coefficients with bounds ``low_j ≤ w_j ≤ high_j``.

    Ω(w) = min_s { ½ Σ_j δ_j w_j²/s_j + price Σ_j s_j :  low_j s_j ≤ w_j ≤ high_j s_j,  0 ≤ s ≤ 1,  Σ_free s ≤ budget }

Let μ be the larger of the budget's multiplier and the price, and ``σ = 1/√(2μ)``.  The proximal step of length 1/L from
v keeps the signs of v, so M_j, the bound on that side, limits the size of w_j.  It has
``s_j = clip(σ√δ_j|v_j| - δ_j/L, 0, 1)`` if ``σ√δ_j M_j ≥ 1``.  Otherwise the bound limits w_j, and
``s_j = clip(|v_j|/M_j - δ_j/(2L) - μ/(LM_j²), 0, 1)``.  In both cases ``w_j = min(|v_j| s_j/(s_j + δ_j/L), M_j s_j)``
with the sign of v_j.  For infinite L this s attains Ω(v).  The gain of a product u is ``max {uw - ½δw²}`` over the w
within the bounds.  M_j may be 0 or infinite; δ may be 0 where M_j is finite.
"""

from __future__ import annotations

import numpy as np

from sparsest.runtime.jit import inlined, kernel

# Relative excess over the bounds and over the budget that is attributed to rounding.
_ROUNDING = 1e-9
# The σ that is returned if the bounds alone use up the budget.
_SMALLEST_SIGMA = 1e-150


@inlined
def limit_of(v, low, high):
    """The largest size of a coefficient with the sign of v."""
    return high if v > 0.0 else -low


@inlined
def gain_in_box(u, root, low, high):
    """``max {uw - ½δw²: low ≤ w ≤ high}`` with ``δ = root²``."""
    size, delta, limit = abs(u), root * root, limit_of(u, low, high)
    if size > delta * limit:
        gain = limit * (size - 0.5 * delta * limit)
    elif size > 0.0:
        gain = 0.5 * (size / root) * (size / root)
    else:
        gain = 0.0
    return gain


@inlined
def share_in_box(size, root, step, sigma, limit):
    """Return the s of a proximal step of length ``step`` from a coefficient of absolute value ``size``."""
    tau = step * root * root
    if size == 0.0 or limit == 0.0:
        s = 0.0
    elif sigma * root * limit >= 1.0:
        s = sigma * root * size - tau
    else:
        s = size / limit - 0.5 * tau - 0.5 * step / (sigma * limit) / (sigma * limit)
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
def sigma_in_box(v, step, root_delta, forced, budget, low, high, sigma):
    """Return the σ at which the free features' shares add up to ``budget``, by bracketed Newton steps.

    Infinite if the shares stay below the budget.  The iteration starts at ``sigma`` if that is positive.
    """
    most, least, total, steepest, largest = 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(v.size):
        limit = limit_of(v[j], low[j], high[j])
        if not forced[j] and v[j] != 0.0 and limit > 0.0:
            size, root = abs(v[j]), root_delta[j]
            within = min(max(size / limit - 0.5 * step * root * root, 0.0), 1.0)
            most += 1.0 if root > 0.0 else within
            least += within
            total += root * size
            if limit < np.inf:
                steepest, largest = max(steepest, root * limit), max(largest, size * limit)
    if most <= budget:
        return np.inf
    if step == 0.0 and least >= budget:
        return _SMALLEST_SIGMA
    if budget <= 0:
        return 0.0
    bottom, top = 0.0, np.inf
    if not 0.0 < sigma < np.inf:
        # The σ at which the first share becomes positive or, for Ω itself, at which the bounds stop being active.
        if step > 0.0 and largest > 0.0:
            sigma = np.sqrt(0.5 * step / largest)
        else:
            sigma = 1.0 / steepest if steepest > 0.0 else budget / total
    for _ in range(200):
        value, slope = -float(budget), 0.0
        for j in range(v.size):
            if not forced[j]:
                size, root, limit = abs(v[j]), root_delta[j], limit_of(v[j], low[j], high[j])
                s = share_in_box(size, root, step, sigma, limit)
                value += s
                if 0.0 < s < 1.0:
                    if sigma * root * limit >= 1.0:
                        slope += root * size
                    else:
                        slope += step / (sigma * limit) / (sigma * limit) / sigma
        more, sigma, bottom, top = next_sigma(sigma, value, slope, bottom, top, budget)
        if not more:
            break
    return sigma


@kernel
def penalty_in_box(w, root_delta, forced, budget, price, low, high, sigma, highest):
    """Return Ω(w), which is infinite outside of the bounds, and the σ ≤ ``highest`` at which it is attained."""
    sigma = min(sigma_in_box(w, 0.0, root_delta, forced, budget, low, high, sigma), highest)
    total, shares = 0.0, 0.0
    for j in range(w.size):
        size, limit = abs(w[j]), limit_of(w[j], low[j], high[j])
        if size > limit * (1.0 + _ROUNDING):
            total = np.inf
        energy = 0.5 * root_delta[j] * size * root_delta[j] * size
        if forced[j]:
            total += energy + price
        elif size > 0.0 and limit > 0.0:
            s = share_in_box(size, root_delta[j], 0.0, sigma, limit)
            total += energy / s + price * s
            shares += s
    if shares > budget * (1.0 + _ROUNDING):
        total = np.inf
    return total, sigma


@kernel
def proximal_in_box(v, L, root_delta, forced, budget, low, high, sigma, highest, out):
    """Write the proximal step from v to ``out``; return its σ, which is at most ``highest``."""
    step = 1.0 / L
    sigma = min(sigma_in_box(v, step, root_delta, forced, budget, low, high, sigma), highest)
    for j in range(v.size):
        size, tau, limit = abs(v[j]), step * root_delta[j] * root_delta[j], limit_of(v[j], low[j], high[j])
        s = 1.0 if forced[j] else share_in_box(size, root_delta[j], step, sigma, limit)
        w = min(size * s / (s + tau), limit * s) if s > 0.0 else 0.0
        out[j] = w if v[j] > 0.0 else -w
    return sigma
