"""Inputs of a penalty for each coefficient: λ, the curvature of the loss along its column, and its limits.

Penalties that need only λ take an array of numbers.  The others take records, whose fields kernels read by the
same names.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from sparsest.core.arrays import Array, Mask

# A strength of each coefficient: an array of λ, or of records with the fields of _RECORD.
Strengths: TypeAlias = Any

_LIMITED = np.dtype((np.record, [(name, np.float64) for name in ("lam", "curvature", "lower", "upper")]))
_RECORD = np.dtype((np.record, [(name, np.float64) for name in ("lam", "curvature")]))

# Coefficients within this relative distance of a limit are at the limit.
_ROUNDING = 1e-12


class _Records(np.ndarray):
    """Records whose fields are attributes, as in kernels; they are read five times as fast as those of a recarray."""

    lam = property(lambda self: self["lam"].view(np.ndarray))
    curvature = property(lambda self: self["curvature"].view(np.ndarray))
    lower = property(lambda self: self["lower"].view(np.ndarray))
    upper = property(lambda self: self["upper"].view(np.ndarray))


def make_strengths(lam: Array, curvature: Any = 1.0, lower: Any = None, upper: Any = None) -> Strengths:
    """Records of λ, the curvature v of the loss along a column, and the limits of a coefficient if there are any."""
    records = np.empty(np.shape(lam), _RECORD if lower is None else _LIMITED).view(_Records)
    records["lam"], records["curvature"] = lam, curvature
    if lower is not None:
        records["lower"], records["upper"] = lower, upper
    return records


def lambdas(strengths: Strengths) -> Array:
    """λ of each coefficient."""
    return strengths if strengths.dtype.names is None else strengths.lam


def with_lambdas(strengths: Strengths, lam: Array) -> Strengths:
    """Strengths with these λ, and otherwise the same."""
    if strengths.dtype.names is None:
        return lam
    changed = strengths.copy()
    changed["lam"] = lam
    return changed


def limits(strengths: Strengths) -> tuple[Array, Array] | None:
    """The smallest and the largest value of each coefficient, or None if there are no limits."""
    names = strengths.dtype.names
    return None if names is None or "lower" not in names else (strengths.lower, strengths.upper)


def clipped(w: Array, strengths: Strengths) -> Array:
    """The nearest coefficients within the limits."""
    within = limits(strengths)
    return w if within is None else put_within(w, *within)


def put_within(w: Array, lower: Array, upper: Array) -> Array:
    """The nearest coefficients within limits; those within rounding errors of a limit are set to it."""
    w = np.clip(w, lower, upper)
    for limit in (lower, upper):
        w = np.where(np.isfinite(limit) & (np.abs(w - limit) <= _ROUNDING * np.abs(limit)), limit, w)
    return w


def pushed(grad: Array, strengths: Strengths) -> Array:
    """How strongly this gradient pushes coefficients at zero to a side where they may be."""
    within = limits(strengths)
    if within is None:
        return np.abs(grad)
    return np.maximum(np.where(within[1] > 0.0, -grad, 0.0), np.where(within[0] < 0.0, grad, 0.0))


def held(w: Array, slope: Array, strengths: Strengths) -> Mask:
    """Coefficients at a limit beyond which this slope of the objective would take them."""
    within = limits(strengths)
    if within is None:
        return np.zeros(w.size, dtype=bool)
    return ((w <= within[0]) & (slope >= 0.0)) | ((w >= within[1]) & (slope <= 0.0))
