"""The Boolean relaxation of a quadratic on a few columns, by restarted FISTA in Gram space.

    min_w ½w'Hw - c'w + Ω(w),     Ω(w) = min_s { ½ Σ_j δ_j w_j²/s_j + price Σ_j s_j :  0 ≤ s ≤ 1, Σ_free s ≤ budget }

where s_j = 1 for features that are forced in.  With ``a_j = √δ_j |w_j|`` the best s is ``min(1, σ a_j)``.  Here σ is
the root of ``Σ min(1, σ a_j) = budget`` or ``1/√(2 price)``, whichever is smaller.  The proximal step of length 1/L
from v has ``s_j = clip(σ √δ_j |v_j| - δ_j/L, 0, 1)`` and ``w_j = v_j s_j / (s_j + δ_j/L)``, where σ is the root of
``Σ s_j = budget`` with the same upper limit.

Every w gives the lower bound ``-½w'Hw - gain(u)`` with ``u = c - Hw``.  The gain is the sum of ``q_j - price``,
``q_j = u_j²/(2δ_j)``, over the forced features and the best choice of free ones.  For coefficients with bounds,
:mod:`sparsest.subset.relaxation.kernels.box` has the corresponding formulas.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsest.core.arrays import Array, Mask
from sparsest.core.kernels.selection import largest_sum
from sparsest.runtime.jit import inlined, kernel
from sparsest.subset.relaxation.kernels.box import gain_in_box, next_sigma, penalty_in_box, proximal_in_box

# Largest number of times that a step is shortened.  Each time shortens it by at least a sixth, so 200 times reduce it
# below machine precision.
_SHORTENINGS = 200


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


class Momentum(NamedTuple):
    """The state of FISTA between iterations.

    Attributes
    ----------
    point, image : the extrapolated point from which the next step starts, and H times this point.
    size : the momentum parameter t_k as an array of one entry; 0 before the first iteration.
    """

    point: Array
    image: Array
    size: Array


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


@kernel
def gradient_product(H, w, out):
    """``out = Hw`` for symmetric H, as a sum over the nonzero coefficients."""
    m = w.size
    for i in range(m):
        out[i] = 0.0
    for j in range(m):
        if w[j] != 0.0:
            weight = w[j]
            for i in range(m):
                out[i] += weight * H[j, i]


@kernel
def largest_eigenvalue(H, iterations):
    """Return an estimate of the largest eigenvalue of a positive semidefinite matrix, by the power method."""
    m = H.shape[0]
    v = np.empty(m)
    z = np.empty(m)
    for j in range(m):
        v[j] = 1.0 + 0.1 * ((j * 7919) % 13)
    value = 0.0
    for _ in range(iterations):
        size = 0.0
        for j in range(m):
            size += v[j] * v[j]
        size = np.sqrt(size)
        if size == 0.0:
            return 0.0
        for j in range(m):
            v[j] /= size
        gradient_product(H, v, z)
        value = 0.0
        for j in range(m):
            value += v[j] * z[j]
            v[j] = z[j]
    return value


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


@kernel
def relax_quadratic(H, c, omega, w, L, tolerance, cutoff, max_iterations):
    """Minimise ``½w'Hw - c'w + Ω(w)`` from ``w``, which is overwritten: see :func:`relax_further`."""
    momentum = Momentum(np.empty(w.size), np.empty(w.size), np.zeros(1))
    return relax_further(H, c, omega, w, L, tolerance, cutoff, max_iterations, momentum)


@kernel
def relax_further(H, c, omega, w, L, tolerance, cutoff, max_iterations, momentum):
    """Minimise ``½w'Hw - c'w + Ω(w)`` from ``w``, which is overwritten, with the momentum of earlier iterations.

    It ends when primal - dual ≤ ``tolerance``, when dual ≥ ``cutoff``, or when a value is NaN.  Returns the primal
    value, the best dual value, the number of iterations, the last L, and the σ of w.
    """
    m = w.size
    root_delta, forced, budget, price, low, high = omega
    point, H_point, size = momentum
    bounded = low.size > 0
    Hw = np.empty(m)
    previous, H_previous = w.copy(), np.empty(m)
    v, a, shift, u = np.empty(m), np.empty(m), np.empty(m), np.empty(m)
    gradient_product(H, w, Hw)
    for j in range(m):
        H_previous[j] = Hw[j]
        if size[0] == 0.0:
            point[j], H_point[j] = w[j], Hw[j]
    size[0] = max(size[0], 1.0)
    sigma, value_sigma = 0.0, 0.0
    primal, dual = np.inf, -np.inf
    for iteration in range(max_iterations + 1):
        if iteration % 5 == 0 or iteration == max_iterations:
            quadratic, linear = 0.0, 0.0
            for j in range(m):
                quadratic += w[j] * Hw[j]
                linear += c[j] * w[j]
                u[j] = c[j] - Hw[j]
            value, value_sigma = penalty_value(w, omega, value_sigma)
            primal = 0.5 * quadratic - linear + value
            dual = max(dual, -0.5 * quadratic - dual_gain(u, omega))
            if not primal - dual > tolerance or dual >= cutoff or iteration == max_iterations:
                break
        for j in range(m):
            previous[j] = w[j]
            H_previous[j] = Hw[j]
        for _ in range(_SHORTENINGS):
            for j in range(m):
                v[j] = point[j] - (H_point[j] - c[j]) / L
            if bounded:
                sigma = proximal_in_box(v, L, root_delta, forced, budget, low, high, sigma, largest_sigma(price), w)
            else:
                sigma = proximal(v, L, omega, sigma, a, shift, w)
            gradient_product(H, w, Hw)
            curvature, length = 0.0, 0.0
            for j in range(m):
                d = w[j] - point[j]
                curvature += d * (Hw[j] - H_point[j])
                length += d * d
            if not curvature > L * length * (1.0 + 1e-12) or length == 0.0:
                break
            L = max(1.2 * L, min(2.0 * L, 1.02 * curvature / length))
        uphill = 0.0
        for j in range(m):
            uphill += (point[j] - w[j]) * (w[j] - previous[j])
        following = 1.0 if uphill > 0.0 else 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * size[0] * size[0]))
        beta = 0.0 if uphill > 0.0 else (size[0] - 1.0) / following
        size[0] = following
        for j in range(m):
            point[j] = w[j] + beta * (w[j] - previous[j])
            H_point[j] = Hw[j] + beta * (Hw[j] - H_previous[j])
    return primal, dual, iteration, L, value_sigma
