"""Few coefficients with bounds: minimisation of quadratics, and bounds as further pieces of a piecewise linear loss."""

from __future__ import annotations

import numpy as np

from sparsest.core.arrays import Array, Indices
from sparsest.core.bounds import Bounds
from sparsest.subset.fits.interior_point import Rows
from sparsest.subset.fits.linear_algebra import factor_positive, solve_positive

# Largest number of projected Newton steps, and of halvings of a step.  If bounds require more halvings, an active-set
# method continues; the third number is its largest number of steps for each coefficient.
_MOST_STEPS, _MOST_HALVINGS, _MOST_CHANGES = 200, 4, 10
# Iteration stops if a step would decrease the value by less than this share of it, which is rounding error.
_ROUNDING = 1e-16
# Slope of the penalty for leaving the bounds, relative to the largest slope of the loss along the coefficient.
_BOUND_SLOPE_FACTOR = 1.5
# Smallest such slope relative to the largest one; a column of zeros would otherwise have the slope 0.
_LEAST_BOUND_SLOPE = 1e-8


# A step that overflows gives a value that is not finite, and is halved.
@np.errstate(over="ignore", invalid="ignore")
def minimise_in_box(H: Array, c: Array, low: Array, high: Array) -> Array | None:
    """Minimise ``½x'Hx - c'x`` for ``low ≤ x ≤ high``, starting nearest to 0; None if a step is not finite.

    The method takes projected Newton steps: coefficients at a bound whose descent direction points out of it are held;
    the others move towards their minimum and are clipped to the bounds, with halving until the value decreases.  Nearly
    dependent columns may make such steps short: an active-set method then continues, which always ends.
    """
    x = np.clip(np.zeros(c.size), low, high)
    bounded = np.isfinite(high - low) & (high > low)
    widest = float((high - low)[bounded].max(initial=0.0))
    gradient = H @ x - c
    value = 0.5 * float(x @ (gradient - c))
    for _ in range(_MOST_STEPS):
        held = ((x <= low) & (gradient > 0.0)) | ((x >= high) & (gradient < 0.0))
        free = np.flatnonzero(~held)
        if not free.size:
            return x
        direction = np.zeros(c.size)
        towards = _towards_minimum(H, gradient, free)
        if towards is None:
            return None
        direction[free] = towards
        if -float(gradient @ direction) <= _ROUNDING * abs(value):
            return x
        # With almost no curvature the minimum is far outside of the bounds: a shorter step reaches one at a time.
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
    return _hold_and_release(H, c, low, high, x)


def _towards_minimum(H: Array, gradient: Array, free: Indices) -> Array | None:
    """The step of the free coefficients to the minimum over them; None if it is not finite."""
    factor = factor_positive(H[np.ix_(free, free)].copy())
    step = None if factor is None else -solve_positive(factor, gradient[free])
    return step if step is not None and np.isfinite(step).all() else None


def _hold_and_release(H: Array, c: Array, low: Array, high: Array, x: Array) -> Array:
    """An active-set method from x: every step ends at the minimum over the free coefficients or at the first bound.

    A coefficient that reaches a bound is held there.  At the minimum, the held coefficient that promises most is
    released; one that cannot leave its bound because of rounding errors is not released again until others have moved.
    """
    x, squares = x.copy(), np.maximum(np.diagonal(H), 1e-300)
    free, stuck = (low < x) & (x < high), np.zeros(x.size, dtype=bool)
    released = -1
    for _ in range(_MOST_CHANGES * x.size):
        gradient = H @ x - c
        some = np.flatnonzero(free)
        if some.size:
            step = _towards_minimum(H, gradient, some)
            if step is None:
                break
            side = np.where(step > 0.0, high[some], low[some])
            room = np.divide(side - x[some], step, out=np.full(some.size, np.inf), where=step != 0.0)
            t = max(min(1.0, float(room.min())), 0.0)
            x[some] = np.clip(x[some] + t * step, low[some], high[some])
            if t < 1.0:
                blocked = some[room <= t]
                x[blocked] = side[room <= t]
                free[blocked] = False
                stuck[:] = (stuck | (np.arange(x.size) == released)) if t == 0.0 and released in blocked else False
                continue
            gradient = H @ x - c
        inwards = ~free & ~stuck & (((gradient < 0.0) & (x < high)) | ((gradient > 0.0) & (x > low)))
        promise = np.where(inwards, gradient**2 / squares, 0.0)
        released = int(promise.argmax())
        if promise[released] <= _ROUNDING * abs(0.5 * float(x @ (gradient - c))):
            break
        free[released] = True
    return x


def with_bounds(rows: Rows, bounds: Bounds) -> Rows:
    """Add pieces ``ω_j[z_j - high_j]_+`` and ``ω_j[low_j - z_j]_+`` to those of a loss, zero for infinite bounds.

    They are steep enough to keep all coefficients within their bounds.
    """
    n, m = rows.Z.shape[0], bounds.low.size
    Z = np.zeros((n + m, rows.Z.shape[1]), order="F")
    Z[:n] = rows.Z
    Z[n:, :m] = np.eye(m)
    omega, sign, a = (part.reshape(-1, n) for part in (rows.omega, rows.sign, rows.a))
    if omega.shape[0] == 1:
        # A second piece that is always zero.
        omega, sign, a = np.vstack([omega, omega]), np.vstack([sign, 0.0 * sign]), np.vstack([a, -np.ones((1, n))])
    steep = _BOUND_SLOPE_FACTOR * (np.abs(omega * sign).sum(axis=0) @ np.abs(rows.Z[:, :m]))
    # A larger slope is valid as well; very small ones exceed the numerical range of the interior-point method.
    steep = np.maximum(steep, _LEAST_BOUND_SLOPE * steep.max(initial=0.0))
    steep[steep == 0.0] = 1.0
    above, below = np.isfinite(bounds.high), np.isfinite(bounds.low)
    return Rows(
        Z,
        np.concatenate([a[0], np.where(above, -bounds.high, -1.0), a[1], np.where(below, bounds.low, -1.0)]),
        np.concatenate([sign[0], np.where(above, -1.0, 0.0), sign[1], np.where(below, 1.0, 0.0)]),
        np.concatenate([omega[0], steep, omega[1], steep]),
    )
