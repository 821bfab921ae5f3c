"""The regulariser of the Boolean relaxation on a few columns: its value, its proximal step and its gain.

    Ω(w) = min_s { ½ Σ_j δ_j w_j²/s_j + price Σ_j s_j :  0 ≤ s ≤ 1, Σ_free s ≤ budget }

where s_j = 1 for features that are forced in.  With ``a_j = √δ_j |w_j|`` the best s is ``min(1, σ a_j)``.  Here σ is
the root of ``Σ min(1, σ a_j) = budget`` or ``1/√(2 price)``, whichever is smaller.  The proximal step of length 1/L
from v has ``s_j = clip(σ √δ_j |v_j| - δ_j/L, 0, 1)`` and ``w_j = v_j s_j / (s_j + δ_j/L)``, where σ is the root of
``Σ s_j = budget`` with the same upper limit.

The gain for products u is the sum of ``q_j - price``, ``q_j = u_j²/(2δ_j)``, over the forced features and the best
choice of free ones.  For coefficients with bounds, :mod:`sparsest.subset.relaxation.kernels.box` has the corresponding
formulas.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsest.core.arrays import Array, Mask
from sparsest.core.kernels.selection import largest_sum
from sparsest.runtime.jit import inlined, kernel
from sparsest.subset.relaxation.kernels.box import gain_in_box, next_sigma, penalty_in_box, proximal_in_box

# The bounds of coefficients that have none.
NO_BOUNDS = np.empty(0)


class Regulariser(NamedTuple):
    """Ω over some columns: the roots √δ, the forced features, budget and price of the free ones, and the bounds.

    ``low`` and ``high`` are empty if no coefficient is bounded.
    """

    root_delta: Array
    forced: Mask
    budget: int
    price: float
    low: Array = NO_BOUNDS
    high: Array = NO_BOUNDS

    def start_levels(self):
        """σ before the first step: unknown."""
        return np.zeros(1)

    def penalty(self, w, levels):
        """Ω(w)."""
        value, levels[0] = penalty_value(w, self, levels[0])
        return value

    def gain(self, u):
        """The largest sum of gains minus prices."""
        return dual_gain(u, self)

    def proximal_step(self, v, L, levels, work, out):
        """Write the proximal step from v to ``out``."""
        if self.low.size > 0:
            levels[0] = proximal_in_box(
                v, L, self.root_delta, self.forced, self.budget, self.low, self.high, levels[0],
                largest_sigma(self.price), out,
            )  # fmt: skip
        else:
            levels[0] = proximal(v, L, self, levels[0], work[0], work[1], out)


@inlined
def largest_sigma(price):
    """Return the upper limit ``1/√(2 price)`` of σ."""
    return 1.0 / np.sqrt(2.0 * price) if price > 0.0 else np.inf


@kernel
def best_sigma(a, shift, budget, sigma):
    """Return the σ with ``Σ_j clip(σ a_j - shift_j, 0, 1) = budget``, by bracketed Newton steps; infinite if none."""
    positive = 0
    for j in range(a.size):
        if a[j] > 0.0:
            positive += 1
    if positive <= budget:
        return np.inf
    if budget <= 0:
        return 0.0
    low, high = 0.0, np.inf
    if not 0.0 < sigma < np.inf:
        total = 0.0
        for j in range(a.size):
            total += a[j]
        sigma = budget / total
    for _ in range(100):
        value, slope = -float(budget), 0.0
        for j in range(a.size):
            s = sigma * a[j] - shift[j]
            if s >= 1.0:
                value += 1.0
            elif s > 0.0:
                value += s
                slope += a[j]
        more, sigma, low, high = next_sigma(sigma, value, slope, low, high, budget)
        if not more:
            break
    return sigma


@kernel
def penalty_value(w, omega, sigma):
    """Return Ω(w) and the σ at which it is attained; the iteration for σ starts at ``sigma`` if that is positive."""
    root_delta, forced, budget, price, low, high = omega
    if low.size > 0:
        return penalty_in_box(w, root_delta, forced, budget, price, low, high, sigma, largest_sigma(price))
    m = w.size
    a = np.empty(m)
    shift = np.zeros(m)
    for j in range(m):
        a[j] = 0.0 if forced[j] else root_delta[j] * abs(w[j])
    sigma = min(best_sigma(a, shift, budget, sigma), largest_sigma(price))
    total = 0.0
    for j in range(m):
        full = root_delta[j] * abs(w[j])
        if forced[j]:
            total += 0.5 * full * full + price
        elif full > 0.0:
            s = min(1.0, sigma * full)
            if s > 0.0:
                total += 0.5 * full * full / s + price * s
            else:
                total = np.inf
    return total, sigma


@kernel
def dual_gain(u, omega):
    """Return ``gain(u)``, the sum of gains minus prices over the forced features and the best free ones."""
    root_delta, forced, budget, price, low, high = omega
    m = u.size
    bounded = low.size > 0
    q = np.empty(m)
    total = 0.0
    free = 0
    for j in range(m):
        if bounded:
            gain = gain_in_box(u[j], root_delta[j], low[j], high[j])
        else:
            ratio = u[j] / root_delta[j]
            gain = 0.5 * ratio * ratio
        if forced[j]:
            total += gain - price
        else:
            q[free] = max(gain - price, 0.0)
            free += 1
    return total + largest_sum(q[:free], budget)[0]


@inlined
def proximal(v, L, omega, sigma, a, shift, out):
    """Write the proximal step from v to ``out``; return its σ.  ``a`` and ``shift`` are work space."""
    root_delta, forced, budget, price, _, _ = omega
    m = v.size
    for j in range(m):
        a[j] = 0.0 if forced[j] else root_delta[j] * abs(v[j])
        shift[j] = root_delta[j] * root_delta[j] / L
    sigma = min(best_sigma(a, shift, budget, sigma), largest_sigma(price))
    for j in range(m):
        tau = shift[j]
        if forced[j]:
            s = 1.0
        elif v[j] == 0.0:
            s = 0.0
        else:
            s = min(max(sigma * root_delta[j] * abs(v[j]) - tau, 0.0), 1.0)
        out[j] = v[j] * s / (s + tau) if s > 0.0 else 0.0
    return sigma
