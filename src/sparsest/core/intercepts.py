"""The best intercept for given predictions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sparsest.core.arrays import Array
from sparsest.core.losses import Loss

# Largest number of doublings of a bracket, which then exceeds all floats, and of steps inside it: halving alone takes
# 64 steps from any bracket to the last digit.
_DOUBLINGS = 1100
_BRACKET_STEPS = 200
# Steps of at most this size, relative to the residuals, are rounding errors.
_ROUNDING = 4e-16
# After a Newton step of this size, relative to the residuals, the next one would be a rounding error.
_NEARLY_ROUNDING, _NEWTON_STEPS = 1e-10, 20


def best_intercept(loss: Loss, y: Array, weights: Array, margin: Array, start: float = 0.0) -> float:
    """Minimise ``b → Σ ω ℓ(y, margin + b)`` by Newton steps inside a shrinking bracket; NaN if the slope is not finite.

    Its slope changes sign within the range of the residuals, or a few times as far for the logistic loss.
    """

    def slope(b: float) -> float:
        return float(weights @ loss.derivative(y, margin + b))

    at_start = slope(start)
    if at_start == 0.0:
        return start
    if not np.isfinite(at_start):
        return np.nan
    # Labels differ by 2, whatever the margins are; logarithms of responses differ little.
    reach = 1.0 if loss.log_link else max(float(np.abs(y - margin - start).max()), float(loss.classification))
    curvature = float(weights @ loss.second_derivative(y, margin + start))
    if abs(at_start) <= _ROUNDING * max(reach, abs(start)) * curvature:
        return start
    near, g, done = _newton(loss, y, weights, margin, start, at_start, curvature, reach)
    if done:
        return near
    low, high = _bracket(slope, near, -1.0 if g > 0 else 1.0, reach)
    b, step = 0.5 * (low + high), high - low
    for _ in range(_BRACKET_STEPS):
        g = slope(b)
        curvature = float(weights @ loss.second_derivative(y, margin + b))
        newton = b - g / curvature if curvature > 0 else np.inf
        if g == 0.0 or newton == b:
            break
        low, high = (low, b) if g > 0 else (b, high)
        # Far from the root of an exponential, all Newton steps have the same length; halving is faster.
        helps = low < newton < high and abs(newton - b) <= 0.5 * step
        previous, b = b, newton if helps else 0.5 * (low + high)
        step = abs(b - previous)
        if abs(b - previous) <= _ROUNDING * max(reach, abs(b)):
            break
    return b


def _newton(
    loss: Loss, y: Array, weights: Array, margin: Array, b: float, g: float, curvature: float, reach: float
) -> tuple[float, float, bool]:
    """Newton's method while it halves the slope; return b, its slope, and whether it is the minimum.

    From a start near the minimum it takes two or three steps; a bracket takes ten.
    """
    for _ in range(_NEWTON_STEPS):
        if not curvature > 0.0:
            break
        following = b - g / curvature
        small = abs(following - b) <= _NEARLY_ROUNDING * max(reach, abs(following))
        slope = float(weights @ loss.derivative(y, margin + following))
        if abs(slope) < abs(g):
            halved = abs(slope) <= 0.5 * abs(g)
            b, g = following, slope
        else:
            halved = False
        if small or g == 0.0:
            return b, g, True
        if not halved:
            break
        curvature = float(weights @ loss.second_derivative(y, margin + b))
    return b, g, False


def _bracket(slope: Callable[[float], float], start: float, sign: float, step: float) -> tuple[float, float]:
    """Return an interval with slopes of different signs at its ends, if there is one in the direction ``sign``."""
    near = far = start
    for _ in range(_DOUBLINGS):
        near, far = far, far + sign * step
        # A step may be lost in rounding, or exceed all floats.
        if not np.isfinite(far) or not slope(far) * sign < 0.0:
            break
        step *= 2.0
    far = far if np.isfinite(far) else near
    return min(near, far), max(near, far)
