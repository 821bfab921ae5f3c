"""Gains of many choices of a few features: least squares by elimination, with or without limits of coefficients."""

from __future__ import annotations

import numpy as np

from sparsest.core.arrays import Array, Indices, Mask
from sparsest.core.bounds import Bounds

# A column counts as dependent on others if its residual on them has less than this share of its square.
DEPENDENT = 1e-11
# Number of entries of columns that are copied at a time.
_GATHERED = 4_000_000


def gains_of(rows: Array, r: Array, ridge: Array, choices: Indices, bounds: Bounds) -> Array:
    """The largest ``2r_T'w - w'C_TT w`` of each choice T within the bounds; dependent columns add nothing.

    ``C = rows rows' + diag(ridge)``.
    """
    count, q = choices.shape
    gains = np.empty(count)
    step = max(1, _GATHERED // max(1, q * rows.shape[1]))
    for begin in range(0, count, step):
        part = choices[begin : begin + step]
        V = rows[part]
        C = np.einsum("cai,cbi->cab", V, V)
        C[:, np.arange(q), np.arange(q)] += ridge[part]
        if bounds.exist:
            gains[begin : begin + step] = _within(C, r[part], bounds.low[part], bounds.high[part])
        else:
            gains[begin : begin + step] = _explained(C, r[part])[0]
    return gains


def _within(C: Array, r: Array, low: Array, high: Array) -> Array:
    """The gains within bounds.

    If the best coefficients without bounds violate some, one of the best ones within them is at such a bound.
    """
    q = r.shape[1]
    gains, w, dependent = _explained(C, r)
    # With dependent columns the best coefficients are not unique, and others may be within the bounds.
    outside = np.flatnonzero(~((low <= w) & (w <= high)).all(axis=1) & ~dependent)
    if not outside.size:
        return gains
    gains[outside] = 0.0
    for i in range(q):
        others = [j for j in range(q) if j != i]
        for end, beyond in ((low, w < low), (high, w > high)):
            at = outside[beyond[outside, i]]
            value = end[at, i]
            rest = r[at][:, others] - C[at][:, others, i] * value[:, None]
            sides = low[at][:, others], high[at][:, others]
            more = _within(C[at][:, others][:, :, others], rest, *sides) if others else 0.0
            gains[at] = np.maximum(gains[at], value * (2.0 * r[at, i] - C[at, i, i] * value) + more)
    return gains


def _explained(C: Array, r: Array) -> tuple[Array, Array, Mask]:
    """The gains without bounds, the best coefficients, and which choices have dependent columns."""
    C, s = C.copy(), r.copy()
    count, q = s.shape
    gains, w, dependent = np.zeros(count), np.zeros((count, q)), np.zeros(count, dtype=bool)
    inverses = []
    for i in range(q):
        pivot = C[:, i, i]
        usable = pivot > DEPENDENT
        dependent |= ~usable
        inverses.append(np.where(usable, 1.0 / np.where(usable, pivot, 1.0), 0.0))
        gains += s[:, i] ** 2 * inverses[i]
        for a in range(i + 1, q):
            factor = C[:, a, i] * inverses[i]
            s[:, a] -= factor * s[:, i]
            C[:, a] -= factor[:, None] * C[:, i]
    for i in reversed(range(q)):
        w[:, i] = inverses[i] * (s[:, i] - np.einsum("ca,ca->c", C[:, i, i + 1 :], w[:, i + 1 :]))
    return gains, w, dependent
