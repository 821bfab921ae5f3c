"""Laws that every loss must obey, as functions that fail if it does not.

Arguments are numbers or arrays that broadcast; ``alpha`` need not lie in the conjugate's domain, it is projected.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar

from sparsest.core.losses import PiecewiseLinear

STEP = 1e-6


def suited(loss, y):
    """Any numbers as responses of a loss."""
    if loss.classification:
        return np.where(np.asarray(y) < 0, -1.0, 1.0)[()]
    if loss.log_link:
        # Predictions for responses near zero would be far outside of the range tried here.
        return np.where(np.abs(y) < 0.01, 0.05 * loss.positive, np.abs(y))[()]
    return y


def _close(a, b, scale=1.0, tolerance=1e-12):
    assert np.all(np.abs(a - b) <= tolerance * (1.0 + np.abs(scale))), f"{a} differs from {b}"


def fenchel_young(loss, y, u, alpha):
    """``ℓ(u) + ℓ*(α) ≥ uα`` on the domain."""
    alpha = loss.project(y, alpha)
    left, right = loss.value(y, u) + loss.conjugate(y, alpha), u * alpha
    assert np.all(left >= right - 1e-12 * (1.0 + np.abs(right) + np.abs(left)))


def fenchel_young_equality(loss, y, u):
    """``ℓ(u) + ℓ*(ℓ'(u)) = uℓ'(u)``."""
    alpha = loss.derivative(y, u)
    value = loss.value(y, u)
    _close(value + loss.conjugate(y, alpha), u * alpha, np.abs(value) + np.abs(u * alpha))


def subgradient(loss, y, u, v):
    """``ℓ(v) ≥ ℓ(u) + ℓ'(u)(v - u)``."""
    line = loss.value(y, u) + loss.derivative(y, u) * (v - u)
    assert np.all(loss.value(y, v) >= line - 1e-12 * (1.0 + np.abs(line)))


def is_smooth_at(loss, y, u):
    """Whether neither the derivative nor the second derivative jumps within a step of u."""
    low, high = u - STEP, u + STEP
    slope = abs(loss.derivative(y, high) - loss.derivative(y, low))
    curvature = abs(loss.second_derivative(y, high) - loss.second_derivative(y, low))
    return slope < 1e-3 and curvature < 1e-3


def numeric_derivative(loss, y, u):
    """``ℓ'`` is the central difference of ``ℓ``."""
    numeric = (loss.value(y, u + STEP) - loss.value(y, u - STEP)) / (2.0 * STEP)
    _close(numeric, loss.derivative(y, u), loss.value(y, u), 1e-8)


def numeric_second_derivative(loss, y, u):
    """``ℓ''`` is the central difference of ``ℓ'``."""
    numeric = (loss.derivative(y, u + STEP) - loss.derivative(y, u - STEP)) / (2.0 * STEP)
    _close(numeric, loss.second_derivative(y, u), loss.derivative(y, u), 1e-8)


def smoothness(loss, y, u, v):
    """``|ℓ'(u) - ℓ'(v)| ≤ L|u - v|`` and ``0 ≤ ℓ'' ≤ L``."""
    if np.isfinite(loss.smoothness):
        change = np.abs(loss.derivative(y, u) - loss.derivative(y, v))
        assert np.all(change <= loss.smoothness * np.abs(u - v) + 1e-12)
    curvature = loss.second_derivative(y, u)
    assert np.all((curvature >= 0) & (curvature <= loss.smoothness * (1.0 + 1e-15)))


def numeric_conjugate(loss, y, alpha):
    """``ℓ*(α)`` is the largest value of ``uα - ℓ(u)``, for α inside the domain."""
    alpha = 0.98 * loss.project(y, alpha)
    found = minimize_scalar(
        lambda u: loss.value(y, u) - u * alpha, bounds=(-50.0, 50.0), method="bounded", options={"xatol": 1e-10}
    )
    _close(-found.fun, loss.conjugate(y, alpha), found.fun, 1e-7)


def conjugate_derivative(loss, y, alpha, other):
    """A subgradient of ``ℓ*`` on its domain, and its central difference where it does not jump."""
    # Well inside the domain: at its border the logistic conjugate has an infinite slope.
    alpha = 0.9 * loss.project(y, alpha) - (0.05 * y if loss.classification else 0.0)
    other = loss.project(y, other)
    value, slope = loss.conjugate(y, alpha), loss.conjugate_derivative(y, alpha)
    line = value + slope * (other - alpha)
    assert np.all(loss.conjugate(y, other) >= line - 1e-12 * (1.0 + np.abs(value) + np.abs(line)))
    low, high = alpha - STEP, alpha + STEP
    if abs(loss.conjugate_derivative(y, high) - loss.conjugate_derivative(y, low)) < 1e-3:
        numeric = (loss.conjugate(y, high) - loss.conjugate(y, low)) / (2.0 * STEP)
        _close(numeric, slope, np.abs(value) + np.abs(slope), 1e-8)


def conjugate_derivative_is_the_inverse(loss, y, u):
    """``ℓ*'(ℓ'(u)) = u`` wherever ``ℓ`` is curved."""
    if loss.second_derivative(y, u) > 0:
        _close(loss.conjugate_derivative(y, loss.derivative(y, u)), u, u, 1e-10)


def projection(loss, y, alpha, other):
    """Projections are idempotent and nearest; derivatives are in the domain already."""
    inside = loss.project(y, alpha)
    assert np.array_equal(loss.project(y, inside), inside)
    assert np.all(np.abs(inside - alpha) <= np.abs(loss.project(y, other) - alpha))
    slope = loss.derivative(y, other)
    assert np.array_equal(loss.project(y, slope), slope)


def domain(loss, y, alpha, t):
    """The domain is star-shaped about zero, and a cone where the loss says so."""
    inside = loss.project(y, alpha)
    scaled = t * inside if loss.domain_is_cone else min(t, 1.0) * inside
    _close(loss.project(y, scaled), scaled, scaled)
    _close(loss.conjugate(y, 0.0 * inside), 0.0)


def quadratic_conjugate(loss, y, alpha, t):
    """``ℓ*(tα) = At + Bt²``, the parabola through t = 0, ½ and 1."""
    alpha = loss.project(y, alpha)
    half, whole = loss.conjugate(y, 0.5 * alpha), loss.conjugate(y, alpha)
    linear, square = 4.0 * half - whole, 2.0 * whole - 4.0 * half
    _close(loss.conjugate(y, t * alpha), (linear + square * t) * t, np.abs(linear) + np.abs(square))


def smoothing(loss, y, u, alpha, mu):
    """The smoothed loss has the conjugate ``ℓ* + μα²/2`` and lies at most ``μ/2`` below the loss."""
    smooth = loss.smoothed(mu)
    alpha = loss.project(y, alpha)
    _close(smooth.project(y, alpha), alpha)
    if not isinstance(loss, PiecewiseLinear):
        assert smooth is loss
        return
    _close(smooth.conjugate(y, alpha), loss.conjugate(y, alpha) + 0.5 * mu * alpha**2, alpha)
    below = loss.value(y, u) - smooth.value(y, u)
    assert np.all((below >= -1e-12) & (below <= 0.5 * mu + 1e-12))


def pieces(loss, y, u):
    """``ℓ(u) = Σ max(0, a - su)`` over the pieces."""
    total = sum(np.maximum(0.0, a - s * u) for a, s in loss.pieces(y))
    _close(total, loss.value(y, u), u)
