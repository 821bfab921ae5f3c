"""Few coefficients in a box: quadratics over it, and the box as a part of a piecewise linear loss."""

from __future__ import annotations

import numpy as np

from sparsest.core.arrays import Array
from sparsest.subset.fits.interior_point import Rows
from sparsest.subset.fits.linear_algebra import factor_positive, solve_positive

# Steps at most, each to the minimum over the coefficients that are not held at the box; and halvings of one.
_MOST_STEPS, _MOST_HALVINGS = 200, 40
# A step that would win less than this part of what there is, is rounding.
_ROUNDING = 1e-16
# The box of a piecewise linear loss costs so many times what leaving it can win.
_STEEPER = 1.5
# The least of these costs, as a part of the largest: that of a column of zeros, which wins nothing.
_LEAST_STEEP = 1e-8


# A step that overflows has no value, and is halved.
@np.errstate(over="ignore", invalid="ignore")
def minimise_in_box(H: Array, c: Array, low: Array, high: Array) -> Array | None:
    """Minimise ``½x'Hx - c'x`` for ``low ≤ x ≤ high``, from the point nearest to 0; None where a step is no number.

    Projected Newton steps: coefficients at the box whose gradients point out of it are held, the others go to their
    minimum and are cut off at the box, as far as that decreases the value.
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
        # Where hardly anything is curved the minimum is far outside: the way there is cut off by one side at a time.
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
    """The pieces of a loss and, for each coefficient, ``ω_j[|z_j| - box_j]_+``: steep enough to keep it inside."""
    n, m = rows.Z.shape[0], box.size
    Z = np.zeros((n + m, rows.Z.shape[1]), order="F")
    Z[:n] = rows.Z
    Z[n:, :m] = np.eye(m)
    omega, sign, a = (part.reshape(-1, n) for part in (rows.omega, rows.sign, rows.a))
    if omega.shape[0] == 1:
        # A second piece that is always zero.
        omega, sign, a = np.vstack([omega, omega]), np.vstack([sign, 0.0 * sign]), np.vstack([a, -np.ones((1, n))])
    steep = _STEEPER * (np.abs(omega * sign).sum(axis=0) @ np.abs(rows.Z[:, :m]))
    # A steeper cost keeps inside too; one that is next to nothing is out of the range of the interior point's numbers.
    steep = np.maximum(steep, _LEAST_STEEP * steep.max(initial=0.0))
    steep[steep == 0.0] = 1.0
    ones = np.ones(m)
    return Rows(
        Z,
        np.concatenate([np.append(a[0], -box), np.append(a[1], -box)]),
        np.concatenate([np.append(sign[0], -ones), np.append(sign[1], ones)]),
        np.concatenate([np.append(omega[0], steep), np.append(omega[1], steep)]),
    )
