"""Restarted FISTA in Gram space for the relaxation over units with prices and nested limits.

    min_w ½w'Hw - c'w + Ω(w)

where Ω is that of :mod:`sparsest.subset.relaxation.kernels.nested`.  Every w gives the lower bound ``-½w'Hw - gain(u)``
with ``u = c - Hw``.
"""

from __future__ import annotations

import numpy as np

from sparsest.runtime.jit import kernel
from sparsest.subset.relaxation.kernels.fista import gradient_product
from sparsest.subset.relaxation.kernels.nested import nested_gain, nested_penalty, nested_proximal

# Largest number of times that a step is shortened.
_SHORTENINGS = 200
# Number of iterations between computations of the gap.
_EVERY = 5


@kernel
def relax_nested(H, c, omega, w, L, tolerance, cutoff, max_iterations, momentum):
    """Minimise from ``w``, which is overwritten, with the momentum of earlier iterations.

    It ends when primal - dual ≤ ``tolerance``, when dual ≥ ``cutoff``, or when a value is NaN.  Returns the primal
    value, the best dual value, the number of iterations, and the last L.
    """
    m = w.size
    point, H_point, size = momentum
    Hw, previous, H_previous = np.empty(m), np.empty(m), np.empty(m)
    v, u, shares = np.empty(m), np.empty(m), np.empty(omega.forced.size)
    levels, value_levels = np.zeros(omega.room.size), np.zeros(omega.room.size)
    gradient_product(H, w, Hw)
    if size[0] == 0.0:
        point[:], H_point[:] = w, Hw
    size[0] = max(size[0], 1.0)
    primal, dual = np.inf, -np.inf
    for iteration in range(max_iterations + 1):
        if iteration % _EVERY == 0 or iteration == max_iterations:
            square, linear = 0.0, 0.0
            for j in range(m):
                square += w[j] * Hw[j]
                linear += c[j] * w[j]
                u[j] = c[j] - Hw[j]
            primal = 0.5 * square - linear + nested_penalty(w, omega, value_levels, shares)
            dual = max(dual, -0.5 * square - nested_gain(u, omega))
            if not primal - dual > tolerance or dual >= cutoff or iteration == max_iterations:
                break
        previous[:], H_previous[:] = w, Hw
        for _ in range(_SHORTENINGS):
            for j in range(m):
                v[j] = point[j] - (H_point[j] - c[j]) / L
            nested_proximal(v, L, omega, levels, shares, w)
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
    return primal, dual, iteration, L
