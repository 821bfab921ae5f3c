"""A quadratic on a few columns with the regulariser of a Boolean relaxation, by restarted FISTA in Gram space.

    min_w ½w'Hw - c'w + Ω(w)

Every w gives the lower bound ``-½w'Hw - gain(u)`` with ``u = c - Hw``.  Ω is a named tuple with these methods, where
``levels`` is the solution of its inner problem, whose old entries are starting points, and ``work`` has two rows of the
size of w:

- ``start_levels()``: the levels before the first step;
- ``penalty(w, levels)``: Ω(w), with its levels written to ``levels``;
- ``proximal_step(v, L, levels, work, out)``: write the proximal step of length 1/L from v to ``out``;
- ``gain(u)``: the conjugate of Ω.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsest.core.arrays import Array
from sparsest.runtime.jit import dispatched, inlined, kernel

# Largest number of times that a step is shortened.  Each time shortens it by at least a sixth, so 200 times reduce it
# below machine precision.
_SHORTENINGS = 200
# Number of iterations between computations of the gap.
_EVERY = 5


@dispatched
def start_levels(self):
    """The levels before the first step."""
    return self.start_levels()


@dispatched
def penalty(self, w, levels):
    """Ω(w)."""
    return self.penalty(w, levels)


@dispatched
def proximal_step(self, v, L, levels, work, out):
    """Write the proximal step from v to ``out``."""
    self.proximal_step(v, L, levels, work, out)


@dispatched
def gain(self, u):
    """The conjugate of Ω."""
    return self.gain(u)


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
def values_at(c, omega, w, Hw, u, levels):
    """Return the primal and the dual value at w; ``u = c - Hw`` and the levels of w are written."""
    quadratic, linear = 0.0, 0.0
    for j in range(w.size):
        quadratic += w[j] * Hw[j]
        linear += c[j] * w[j]
        u[j] = c[j] - Hw[j]
    primal = 0.5 * quadratic - linear + penalty(omega, w, levels)
    return primal, -0.5 * quadratic - gain(omega, u)


@inlined
def step_from(point, H_point, H, c, omega, L, levels, v, work, w, Hw):
    """Write the proximal step from ``point`` to w, and Hw; return L, increased until the quadratic allows the step."""
    for _ in range(_SHORTENINGS):
        for j in range(w.size):
            v[j] = point[j] - (H_point[j] - c[j]) / L
        proximal_step(omega, v, L, levels, work, w)
        gradient_product(H, w, Hw)
        curvature, length = 0.0, 0.0
        for j in range(w.size):
            d = w[j] - point[j]
            curvature += d * (Hw[j] - H_point[j])
            length += d * d
        if not curvature > L * length * (1.0 + 1e-12) or length == 0.0:
            break
        L = max(1.2 * L, min(2.0 * L, 1.02 * curvature / length))
    return L


@inlined
def extrapolate(w, Hw, previous, H_previous, momentum):
    """Move the point of the momentum beyond w, or to w itself if the step went uphill."""
    point, H_point, size = momentum
    uphill = 0.0
    for j in range(w.size):
        uphill += (point[j] - w[j]) * (w[j] - previous[j])
    following = 1.0 if uphill > 0.0 else 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * size[0] * size[0]))
    beta = 0.0 if uphill > 0.0 else (size[0] - 1.0) / following
    size[0] = following
    for j in range(w.size):
        point[j] = w[j] + beta * (w[j] - previous[j])
        H_point[j] = Hw[j] + beta * (Hw[j] - H_previous[j])


@kernel
def relax_quadratic(H, c, omega, w, L, tolerance, cutoff, max_iterations):
    """Minimise ``½w'Hw - c'w + Ω(w)`` from ``w``, which is overwritten: see :func:`relax_further`."""
    momentum = Momentum(np.empty(w.size), np.empty(w.size), np.zeros(1))
    return relax_further(H, c, omega, w, L, tolerance, cutoff, max_iterations, momentum)


@kernel
def relax_further(H, c, omega, w, L, tolerance, cutoff, max_iterations, momentum):
    """Minimise ``½w'Hw - c'w + Ω(w)`` from ``w``, which is overwritten, with the momentum of earlier iterations.

    It ends when primal - dual ≤ ``tolerance``, when dual ≥ ``cutoff``, or when a value is NaN.  Returns the primal
    value, the best dual value, the number of iterations, the last L, and the levels of w.
    """
    m = w.size
    point, H_point, size = momentum
    Hw = np.empty(m)
    previous, H_previous = w.copy(), np.empty(m)
    v, u, work = np.empty(m), np.empty(m), np.empty((2, m))
    gradient_product(H, w, Hw)
    for j in range(m):
        H_previous[j] = Hw[j]
        if size[0] == 0.0:
            point[j], H_point[j] = w[j], Hw[j]
    size[0] = max(size[0], 1.0)
    levels, value_levels = start_levels(omega), start_levels(omega)
    primal, dual = np.inf, -np.inf
    for iteration in range(max_iterations + 1):
        if iteration % _EVERY == 0 or iteration == max_iterations:
            primal, value = values_at(c, omega, w, Hw, u, value_levels)
            dual = max(dual, value)
            if not primal - dual > tolerance or dual >= cutoff or iteration == max_iterations:
                break
        for j in range(m):
            previous[j] = w[j]
            H_previous[j] = Hw[j]
        L = step_from(point, H_point, H, c, omega, L, levels, v, work, w, Hw)
        extrapolate(w, Hw, previous, H_previous, momentum)
    return primal, dual, iteration, L, value_levels
