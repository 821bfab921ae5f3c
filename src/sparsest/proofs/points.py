"""Dual points: the stored points of a proof become exactly feasible vectors.

Such a vector is a witness.  Its origin does not matter; only two properties do.  Every entry lies in the domain of the
conjugate, which comparisons decide.  With an intercept, the entries sum exactly to zero: they are integer multiples of
one power of two, small enough that their sum is exact in 64-bit integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsest.proofs.columns import Columns
from sparsest.proofs.data import Data
from sparsest.proofs.losses import ROUNDINGS, LossRule, Squared
from sparsest.proofs.rounding import UNDERFLOW, UNIT, Array, Indices, growth, norms_above
from sparsest.proofs.steps import DualPoint, Point, SplitPoint, is_column_set

# Steps towards the best intercept, most of which halve an interval.  A slightly wrong intercept only weakens the bound.
_INTERCEPT_STEPS = 100
# Dual points whose largest entry is smaller than this are replaced by zero, and so are smaller entries if there is no
# grid.  Quotients of the other entries by weights then do not underflow.
_SMALLEST_PEAK = 1e-160


class Witnesses(NamedTuple):
    """Exactly feasible dual points, by columns.

    ``constants`` bound ``-Σωℓ*(α/ω)`` from below and ``norms`` bound ``‖Ω^{-½}α‖`` from above.  For a split point with
    the exact residual α*, ``spreads`` bound ``‖Ω^{-½}(α* - α)‖`` and ``lost`` bounds the effect on the constant.
    ``used`` and ``coefficients`` are the features of each sparse point and its coefficients for columns scaled by
    ``exponents``.
    """

    alpha: Array
    constants: Array
    norms: Array
    spreads: Array
    lost: Array
    used: list[Indices]
    coefficients: list[Array]
    exponents: list[NDArray[np.intc]]


def feasible(rule: LossRule, y: Array, weights: Array, alpha: Array, balanced: bool) -> Array:
    """Return exactly feasible dual points near the columns of ``alpha``; ``balanced`` ones sum to zero.

    Every domain is an interval that contains zero.  So entries stay in it if those of the sign with the larger total
    are scaled down and all are rounded towards zero.
    """
    alpha = rule.project(y[:, None], np.where(np.isfinite(alpha), alpha, 0.0), weights[:, None])
    if not balanced:
        return np.where(np.abs(alpha) >= _SMALLEST_PEAK, alpha, 0.0)
    up, down = np.maximum(alpha, 0.0).sum(axis=0), np.maximum(-alpha, 0.0).sum(axis=0)
    smaller = np.minimum(up, down)
    shrink_up, shrink_down = smaller / np.where(up > 0.0, up, 1.0), smaller / np.where(down > 0.0, down, 1.0)
    alpha = alpha * np.where(alpha > 0.0, np.minimum(shrink_up, 1.0), np.minimum(shrink_down, 1.0))
    return _to_grid(alpha)


def _to_grid(alpha: Array) -> Array:
    """Round towards zero to multiples of a power of two, and move one large entry so that the sum is zero."""
    n, count = alpha.shape
    peak = np.abs(alpha).max(axis=0, initial=0.0)
    bits = min(52, 61 - n.bit_length())
    exponents = np.frexp(peak)[1] - bits
    units = np.ldexp(alpha, -exponents).astype(np.int64)
    units[:, ~((peak >= _SMALLEST_PEAK) & np.isfinite(peak))] = 0
    rest = units.sum(axis=0)
    towards = units * np.sign(rest)
    largest, at = towards.max(axis=0, initial=0), towards.argmax(axis=0)
    units[at, np.arange(count)] -= rest
    units[:, largest < np.abs(rest)] = 0
    return np.ldexp(units.astype(np.float64), exponents)


def witnesses(data: Data, rule: LossRule, points: Sequence[Point], columns: Columns, caution: float = 1.0) -> Witnesses:
    """Turn points of a proof into exactly feasible dual points; ValueError if one is not valid.

    ``caution`` multiplies the bounds of rounding errors.
    """
    count = len(points)
    alpha, spreads, lost = np.zeros((data.n, count)), np.zeros(count), np.zeros(count)
    used: list[Indices] = [np.empty(0, dtype=np.intp)] * count
    coefficients: list[Array] = [np.empty(0)] * count
    exponents: list[NDArray[np.intc]] = [np.empty(0, dtype=np.intc)] * count
    sparse = []
    for i, point in enumerate(points):
        if isinstance(point, DualPoint):
            if point.values.shape != (data.n,) or not np.isfinite(point.values).all():
                raise ValueError(f"a dual point must have {data.n} finite entries")
            alpha[:, i] = point.values
        else:
            sparse.append(i)
    sizes = np.zeros(count)
    if sparse:
        given = [points[i] for i in sparse]
        margins, sizes[sparse] = _margins(data, given, columns, used, coefficients, exponents, sparse)
        start = np.array([getattr(points[i], "intercept", 0.0) for i in sparse]) - data.y_shift
        alpha[:, sparse] = _derivatives(data, rule, margins + data.offset[:, None], start)
    exact = feasible(rule, data.y, data.weights, alpha, data.fit_intercept)
    y, weights = data.y[:, None], data.weights[:, None]
    terms, size = rule.conjugate(y, exact, weights)
    error = ROUNDINGS * UNIT * size.sum(axis=0) + growth(data.n + 2) * np.abs(terms).sum(axis=0)
    if data.offset.any():
        # An offset o subtracts oα from the conjugate; add the error of o.
        shifted = data.offset[:, None] * exact
        terms = terms - shifted
        error += growth(data.n + 4) * (np.abs(shifted) + np.abs(terms)).sum(axis=0) + data.offset_error @ np.abs(exact)
    constants = -terms.sum(axis=0) - 1.01 * caution * error - UNDERFLOW
    split = np.array([isinstance(point, SplitPoint) for point in points], dtype=bool)
    if split.any():
        if not isinstance(rule, Squared):
            raise ValueError("a split needs the squared loss")
        spreads, lost = _spreads(data, alpha, exact, sizes, used, caution)
        spreads, lost = np.where(split, spreads, 0.0), np.where(split, lost, 0.0)
    norms = norms_above(exact / np.sqrt(weights)) * (1.0 + growth(8))
    return Witnesses(exact, constants, norms, spreads, lost, used, coefficients, exponents)


def _margins(
    data: Data,
    points: Sequence[Point],
    columns: Columns,
    used: list[Indices],
    coefficients: list[Array],
    exponents: list[NDArray[np.intc]],
    places: list[int],
) -> tuple[Array, Array]:
    """``X̃w̃`` of sparse points, and ``Σ_j ‖√Ωx̃_j‖|w̃_j|``; also stores their features and scaled coefficients."""
    for point in points:
        assert not isinstance(point, DualPoint)
        if point.values.shape != point.features.shape or not is_column_set(point.features, data.p):
            raise ValueError("a point's coefficients do not fit the columns of the data")
        if not np.isfinite(point.values).all():
            raise ValueError("a point's coefficients are not finite")
    features = np.unique(np.concatenate([point.features for point in points if not isinstance(point, DualPoint)]))
    positions = columns.position[features]
    values, bounds = columns.block(positions) if (positions >= 0).all() else data.block(features)
    units, norms = bounds.units, bounds.weighted_norms
    W = np.zeros((features.size, len(points)))
    for column, (place, point) in enumerate(zip(places, points, strict=True)):
        assert not isinstance(point, DualPoint)
        rows = np.searchsorted(features, point.features)
        scaled = point.values.astype(np.float64) * units[rows]
        if not np.isfinite(scaled).all():
            raise ValueError("a point's coefficients are too large")
        W[rows, column] = scaled
        used[place], coefficients[place], exponents[place] = point.features, scaled, bounds.exponents[rows]
    return values @ W, norms @ np.abs(W)


def _derivatives(data: Data, rule: LossRule, margins: Array, intercepts: Array) -> Array:
    """``ωℓ'(y, margin + b)`` with the b at which it sums to about zero."""
    y, weights = data.y[:, None], data.weights[:, None]
    b = np.zeros(margins.shape[1])
    if isinstance(rule, Squared) and data.fit_intercept:
        b = data.weights @ (y - margins) / data.total
    elif data.fit_intercept:
        b = _intercepts(data, rule, margins, np.where(np.isfinite(intercepts), intercepts, 0.0))
    return weights * rule.derivative(y, margins + b)[0]


def _intercepts(data: Data, rule: LossRule, margins: Array, b: Array) -> Array:
    """The b at which ``Σωℓ'(y, margin + b)`` is about zero, by Newton steps within an interval that contains it.

    The sum increases with b, so its sign tells on which side the root is.  Until both sides are known, steps may
    double.
    """
    y, active = data.y[:, None], np.arange(b.size)
    low, high, reach = np.full(b.size, -np.inf), np.full(b.size, np.inf), np.ones(b.size)
    for _ in range(_INTERCEPT_STEPS):
        slope, curvature = rule.derivative(y, margins[:, active] + b[active])
        total, bend, size = (data.weights @ values for values in (slope, curvature, np.abs(slope)))
        # Smaller sums are rounding errors.
        unbalanced = np.abs(total) > growth(data.n) * size
        active, total, bend = active[unbalanced], total[unbalanced], bend[unbalanced]
        if not active.size:
            break
        at = b[active]
        low[active] = np.where(total < 0.0, at, low[active])
        high[active] = np.where(total > 0.0, at, high[active])
        left, right, step = low[active], high[active], reach[active]
        newton = at - np.clip(total / np.where(bend > 0.0, bend, np.nan), -step, step)
        between = np.isfinite(right - left)
        otherwise = np.where(between, 0.5 * (left + right), at - np.sign(total) * step)
        b[active] = np.where((newton > left) & (newton < right), newton, otherwise)
        reach[active] = 2.0 * step
    return b


def _spreads(
    data: Data, alpha: Array, exact: Array, sizes: Array, used: list[Indices], caution: float = 1.0
) -> tuple[Array, Array]:
    """Bounds of the distance between exact residuals of split points and witnesses, and of its effect on constants.

    ``-Ω(y - X̃w̃ - mean)`` is computed with an error of at most ``γ(‖√Ωy‖ + Σ_j‖√Ωx̃_j‖|w̃_j|)`` in the norm of
    ``Ω^{-½}``.  The constant ``-y'α - ½Σα²/ω`` has the gradient ``-(y + α/ω)``, whose norm is at most
    ``‖√Ωy‖ + ‖Ω^{-½}α‖``.
    """
    root = np.sqrt(data.weights)[:, None]
    most = max((features.size for features in used), default=0)
    moved = norms_above((exact - alpha) / root) * (1.0 + growth(8))
    spreads = caution * (growth(data.n + most + 24) * (data.y_norm + sizes) * 1.01 + moved)
    slope = data.y_norm + norms_above(exact / root) * (1.0 + growth(8))
    return spreads, 1.01 * (slope * spreads + 0.5 * spreads * spreads)
