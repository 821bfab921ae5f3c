"""Arrays of cones ``2vs ≥ w²``, v, s ≥ 0: Nesterov–Todd scaling, and the largest step that stays inside.

Vectors are columns of arrays of three rows (v, s, w).  The cone is its own dual.  In the coordinates
``((v + s)/√2, (v - s)/√2, w)`` it is the second-order cone, with the product ``x∘y = (x'y, x_0 y_1 + y_0 x_1)``,
``_1`` standing for the last two entries, and the identity (1, 0, 0).
"""

from __future__ import annotations

import numpy as np

from sparsest.core.arrays import Array

_HALF_ROOT = np.sqrt(0.5)


def rotated(x: Array) -> Array:
    """Convert between (v, s, w) and the coordinates of the second-order cone; the map is its own inverse."""
    return np.array([_HALF_ROOT * (x[0] + x[1]), _HALF_ROOT * (x[0] - x[1]), x[2]])


def product(x: Array, y: Array) -> Array:
    """``x∘y`` in the coordinates of the second-order cone."""
    return np.array([(x * y).sum(axis=0), x[0] * y[1] + y[0] * x[1], x[0] * y[2] + y[0] * x[2]])


def quotient(x: Array, d: Array) -> Array:
    """The y with ``x∘y = d``."""
    first = (x[0] * d[0] - x[1] * d[1] - x[2] * d[2]) / (x[0] ** 2 - x[1] ** 2 - x[2] ** 2)
    return np.array([first, (d[1] - first * x[1]) / x[0], (d[2] - first * x[2]) / x[0]])


def depth(x: Array) -> Array:
    """``2vs - w²``: positive inside, zero on the boundary."""
    return 2.0 * x[0] * x[1] - x[2] ** 2


def largest_step(x: Array, d: Array) -> float:
    """The largest step along d, from x inside the cones, that does not leave them."""
    now, slope, curvature = depth(x), x[0] * d[1] + x[1] * d[0] - x[2] * d[2], depth(d)
    # The smallest positive zero t of now + 2 slope t + curvature t², if there is one.
    root = np.sqrt(np.maximum(slope**2 - curvature * now, 0.0)) - slope
    meets = (slope**2 >= curvature * now) & (root > 0.0)
    return float(np.divide(now, root, where=meets, out=np.full(now.size, np.inf)).min(initial=np.inf))


class Scaling:
    """The symmetric W with ``W²y = x`` for vectors x inside the cones and y inside their duals.

    ``W² = η²(2uu' - J)`` with ``J = diag(1, -1, -1)``; η is ``size``.
    """

    def __init__(self, x: Array, y: Array) -> None:
        self.x, self.y = x, y
        in_x, in_y = np.sqrt(depth(x)), np.sqrt(depth(y))
        near, far = rotated(x) / in_x, rotated(y) / in_y
        half = np.sqrt(0.5 * (1.0 + (near * far).sum(axis=0)))
        self.u = np.array([near[0] + far[0], near[1] - far[1], near[2] - far[2]]) / (2.0 * half)
        self.size = np.sqrt(in_x / in_y)

    def _times(self, z: Array, sign: float) -> Array:
        """``Wz/η`` or, with ``sign`` -1, ``ηW^{-1}z``."""
        u0, u1, u2 = self.u[0], sign * self.u[1], sign * self.u[2]
        across = u1 * z[1] + u2 * z[2]
        along = z[0] + across / (1.0 + u0)
        return np.array([u0 * z[0] + across, z[1] + u1 * along, z[2] + u2 * along])

    def goal(self, target: float, affine: tuple[Array, Array] | None) -> Array:
        """The c with ``dx = c - W²dy`` for steps to complementarity ``target``.

        ``affine`` is the predictor's step, whose second-order terms are included.
        """
        c = -self.x
        if target == 0.0 and affine is None:
            return c
        aim = np.zeros_like(c)
        aim[0] = target
        if affine is not None:
            dx, dy = self._times(rotated(affine[0]), -1.0) / self.size, self.size * self._times(rotated(affine[1]), 1.0)
            aim -= product(dx, dy)
        scaled = self.size * self._times(rotated(self.y), 1.0)
        return c + rotated(self.size * self._times(quotient(scaled, aim), 1.0))

    def block(self) -> tuple[Array, Array, Array]:
        """Entries a, b, c of the inverse of W² without the row and column of v: ``[[a + cb², cb], [cb, c]]``."""
        _, s, w = rotated(self.u)
        c = self.size**-2
        return 0.5 * c / s**2, -w / s, c

    def first(self, missing: Array, d_w: Array) -> Array:
        """The entry v of ``W²(0, dq, dr)`` with ``dq = a·missing + b·dr``, computed without cancellation."""
        _, s, w = rotated(self.u)
        return w / s * (0.5 * w / s * missing + self.size**2 * d_w)
