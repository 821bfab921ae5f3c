"""Few coefficients in a box: minimisation of quadratics, and the box as further pieces of a piecewise linear loss."""

from __future__ import annotations

import numpy as np

from sparsest.core.arrays import Array
from sparsest.subset.fits.interior_point import Rows
from sparsest.subset.fits.linear_algebra import factor_positive, solve_positive

# Largest number of projected Newton steps, and of halvings of a step.
_MOST_STEPS, _MOST_HALVINGS = 200, 40
# Iteration stops if a step would decrease the value by less than this share of it, which is rounding error.
_ROUNDING = 1e-16
# Slope of the penalty for leaving the box, relative to the largest slope of the loss along the coefficient.
_BOX_SLOPE_FACTOR = 1.5
# Smallest such slope relative to the largest one; a column of zeros would otherwise have the slope 0.
_LEAST_BOX_SLOPE = 1e-8


# A step that overflows gives a value that is not finite, and is halved.
@np.errstate(over="ignore", invalid="ignore")
def minimise_in_box(H: Array, c: Array, low: Array, high: Array) -> Array | None:
    """Minimise ``½x'Hx - c'x`` for ``low ≤ x ≤ high``, starting nearest to 0; None if a step is not finite.

    The method takes projected Newton steps: coefficients at the box whose descent direction points out of it are held;
    the others move towards their minimum and are clipped to the box, with halving until the value decreases.
    """
    x = np.clip(np.zeros(c.size), low, high)
    bounded = np.isfinite(high - low)
    widest = float((high - low)[bounded].max(initial=0.0))
    gradient = H @ x - c
    value = 0.5 * float(x @ (gradient - c))
    for _ in range(_MOST_STEPS):
        held = ((x <= low) & (gradient > 0.0)) | ((x >= high) & (gradient < 0.0))
        free = np.flatnonzero(~held)
        if not free.size:
            break
        factor = factor_positive(H[np.ix_(free, free)].copy())
        direction = np.zeros(c.size)
        if factor is not None:
            direction[free] = -solve_positive(factor, gradient[free])
        if factor is None or not np.isfinite(direction).all():
            return None
        if -float(gradient @ direction) <= _ROUNDING * abs(value):
            break
        # With almost no curvature the minimum is far outside of the box: a shorter step reaches one side at a time.
        longest = float(np.abs(direction[bounded]).max(initial=0.0))
        t = min(1.0, widest / longest) if longest > 0.0 else 1.0
        for _ in range(_MOST_HALVINGS):
            following = np.clip(x + t * direction, low, high)
            slopes = H @ following - c
            reached = 0.5 * float(following @ (slopes - c))
            if reached <= value + 1e-4 * float(gradient @ (following - x)):
                break
            t *= 0.5
        else:
            break
        x, gradient, value = following, slopes, reached
    return x


def with_box(rows: Rows, box: Array) -> Rows:
    """Add pieces ``ω_j[|z_j| - box_j]_+`` to those of a loss, steep enough to keep each coefficient in its box."""
    n, m = rows.Z.shape[0], box.size
    Z = np.zeros((n + m, rows.Z.shape[1]), order="F")
    Z[:n] = rows.Z
    Z[n:, :m] = np.eye(m)
    omega, sign, a = (part.reshape(-1, n) for part in (rows.omega, rows.sign, rows.a))
    if omega.shape[0] == 1:
        # A second piece that is always zero.
        omega, sign, a = np.vstack([omega, omega]), np.vstack([sign, 0.0 * sign]), np.vstack([a, -np.ones((1, n))])
    steep = _BOX_SLOPE_FACTOR * (np.abs(omega * sign).sum(axis=0) @ np.abs(rows.Z[:, :m]))
    # A larger slope is valid as well; very small ones exceed the numerical range of the interior-point method.
    steep = np.maximum(steep, _LEAST_BOX_SLOPE * steep.max(initial=0.0))
    steep[steep == 0.0] = 1.0
    ones = np.ones(m)
    return Rows(
        Z,
        np.concatenate([np.append(a[0], -box), np.append(a[1], -box)]),
        np.concatenate([np.append(sign[0], -ones), np.append(sign[1], ones)]),
        np.concatenate([np.append(omega[0], steep), np.append(omega[1], steep)]),
    )
