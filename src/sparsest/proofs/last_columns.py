"""Residuals of columns on forced features, with bounds of all rounding errors; squared loss.

Columns are centred and of length at most 1.  The ridge ρ_j of a forced feature is an additional row of its column,
``x̂_j = (x_j, √ρ_j e_j)``, so that ``H_SS = X̂_S'X̂_S`` and, with the projection P onto the span of X̂_S,

    C = W'W + diag(ρ),   r = W'e,   f(S) = ½‖e‖²,     W = (I - P)X,   e = (I - P)z.

P is computed from a factorisation ``X̂_S ≈ QR``.  With ``Δ = X̂_S R⁻¹ - Q`` and ``‖Q'Q - I‖ ≤ τ``,

    ‖P - QQ'‖ ≤ ‖Δ‖/(√(1 - τ) - ‖Δ‖) + τ,

because the projections onto the spans of Q and ``Q + Δ``, which have the same dimension, differ by at most the first
term.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsest.proofs.data import Data
from sparsest.proofs.rounding import UNIT, Array, Indices, growth
from sparsest.proofs.splits import centred_columns

# The squares of other responses could overflow or underflow.
_SMALLEST_RESPONSE, _LARGEST_RESPONSE = 1e-100, 1e100
# A less accurate factorisation proves nothing.
_MOST_ERROR = 1e-3


class Residuals(NamedTuple):
    """Residuals of columns (as ``rows``) and of the response on the features S, and bounds of their errors.

    ``value`` is a lower bound of ``f(S)``.
    """

    rows: Array
    response: Array
    products: Array
    value: float
    row_error: float
    product_error: float


class LastColumns:
    """Columns of length at most 1, as rows, and the response."""

    def __init__(self, data: Data, gamma: float, features: Indices) -> None:
        if 8 * data.n * features.size > data.room.most:
            raise ValueError("a step needs more columns at a time than fit into memory")
        columns = centred_columns(data, features, gamma)
        self.features, self.n = features, data.n
        # A constant column explains nothing.
        self.constant = columns.norms == 0.0
        self.norms: Array = np.where(self.constant, 1.0, columns.norms)
        self.lines: Array = np.ascontiguousarray((columns.values / self.norms).T)
        self.ridge: Array = columns.ridge / np.square(self.norms) * (1.0 - 8.0 * UNIT)
        self.error = columns.error + 8.0 * UNIT
        mean = data.weights @ data.y / data.total if data.fit_intercept else 0.0
        self.z: Array = np.sqrt(data.weights) * (data.y - mean)
        self.z_norm = data.y_norm
        self.z_error = 1.6 * growth(data.n + 24) * data.y_norm
        if not (_SMALLEST_RESPONSE < self.z_norm < _LARGEST_RESPONSE and np.isfinite(self.lines).all()):
            raise ValueError("the response or a column is out of range")
        if not np.isfinite(self.ridge).all():
            raise ValueError("a ridge is out of range")

    def residuals(self, forced: Indices, others: Indices) -> Residuals | None:
        """Residuals of ``others`` on the features ``forced``, all by position; None if rounding hides the span."""
        s = forced.size
        rows, z = self.lines[others], self.z
        error, moved = self.error, 0.0
        if s:
            projection = self._projection(forced)
            if projection is None:
                return None
            Q, moved = projection
            coordinates, of_z = rows @ Q[: self.n], z @ Q[: self.n]
            rows = np.concatenate([rows, np.zeros((others.size, s))], axis=1) - coordinates @ Q.T
            z = np.concatenate([z, np.zeros(s)]) - Q @ of_z
            moved = 1.01 * (moved + growth(self.n + s + 8) * (3 * s + 3))
            error = 1.02 * (error + moved)
        z_error = 1.02 * (self.z_error + moved * self.z_norm)
        rounding = growth(self.n + s + 8)
        size = np.sqrt(float(z @ z)) * (1.0 - rounding) - z_error
        value = 0.5 * max(size, 0.0) ** 2 * (1.0 - 8.0 * UNIT)
        product_error = 1.03 * ((rounding + error) * self.z_norm + z_error)
        return Residuals(rows, z, rows @ z, value, error, product_error)

    def _projection(self, forced: Indices) -> tuple[Array, float] | None:
        """Q such that ``QQ'`` is near the projection onto the span of forced features, and a bound of the distance."""
        s = forced.size
        # Any number whose square is at most the ridge gives a valid bound.
        roots = np.sqrt(self.ridge[forced]) * (1.0 - 4.0 * UNIT)
        columns = np.concatenate([self.lines[forced].T, np.diag(roots)])
        # Scaling by powers of two is exact; a constant column cannot be forced in here.
        sizes = np.sqrt(np.square(columns).sum(axis=0))
        if not (np.isfinite(sizes).all() and (sizes > 0.0).all()):
            return None
        columns = np.ldexp(columns, -np.frexp(sizes)[1])
        try:
            Q, R = np.linalg.qr(columns)
            W = np.linalg.inv(R)
        except np.linalg.LinAlgError:
            return None
        r_size, w_size = float(np.linalg.norm(R)), float(np.linalg.norm(W))
        rounding = growth(self.n + s + 8)
        tau = 1.01 * (float(np.linalg.norm(Q.T @ Q - np.eye(s))) + 2.0 * s * rounding)
        residual = float(np.linalg.norm(columns - Q @ R)) + rounding * 1.1 * np.sqrt(s) * r_size
        # Columns now have a length between ½ and 1, and an error relative to their length without the ridge.
        residual += self.error * np.sqrt(s) + rounding * np.sqrt(s)
        inverse_error = float(np.linalg.norm(np.eye(s) - R @ W)) + rounding * r_size * w_size
        if not (inverse_error < 0.1 and tau < _MOST_ERROR):
            return None
        delta = 1.02 * residual * w_size / (1.0 - inverse_error)
        if not delta < _MOST_ERROR:
            return None
        return Q, 1.02 * (delta / (np.sqrt(1.0 - tau) - delta) + tau)
