"""Bounds by least squares, for the squared loss without a ridge or with one too weak to help.

``regression_bound`` works for any set of columns, even nearly dependent ones.  Let T be nonsingular, here close to the
inverse of a triangular factor.  ``Y = X̃T`` has the span of X̃.  For any v and ``e = y - Yv``,

    min_w ½‖y - X̃w‖² = ½‖e‖² - ½ s'(Y'ΩY)^{-1}s ≥ ½‖e‖² - ½‖s‖²/(1 - τ),   s = Y'Ωe,  ‖Y'ΩY - I‖ ≤ τ.

Y is computed in twice the precision, so that ill-conditioned columns do not spoil the bound.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsest.proofs.data import Data
from sparsest.proofs.dependence import independent_columns
from sparsest.proofs.regression_tree import RegressionBounds
from sparsest.proofs.rounding import UNDERFLOW, UNIT, Array, Indices, growth, norms_above, precise_product
from sparsest.proofs.statement import Statement

__all__ = ["RegressionBounds", "regression_bound"]


_REFINEMENTS = 3


def regression_bound(data: Data, statement: Statement, features: Indices, n_forced: int) -> float:
    """A lower bound of the squared loss over all models on some columns; the ridge is omitted, as it only adds."""
    if statement.loss != "squared":
        raise ValueError("least squares bounds need the squared loss")
    floor = statement.price * n_forced * (1.0 - growth(2))
    features = independent_columns(data, features)
    basis = _Basis.of(data, features)
    if basis is None:
        return floor
    bound = _residual_bound(data, basis)
    if not np.isfinite(bound):
        return floor
    return floor + max(bound - growth(4) * (bound + floor), 0.0)


class _Basis(NamedTuple):
    """Y near an orthonormal basis: rounded, the correction, bounds of the errors of its columns, and τ."""

    high: Array
    low: Array
    errors: Array
    tau: float

    @classmethod
    def of(cls, data: Data, features: Indices) -> _Basis | None:
        """The basis of some columns and, with an intercept, the constant; None if rounding hides its rank."""
        high, low = data.exact_parts(features)
        if data.fit_intercept:
            high = np.column_stack([np.ones(data.n), high])
            low = np.column_stack([np.zeros(data.n), low])
        size = high.shape[1]
        root = np.sqrt(data.weights)[:, None]
        T = np.eye(size)
        Y, correction = high, low
        if size > data.n:
            return None
        for _ in range(_REFINEMENTS):
            R = np.asarray(np.linalg.qr(root * Y, mode="r")) if size else np.empty((0, 0))
            if not (np.isfinite(R).all() and (np.abs(R.diagonal()) > 0.0).all()):
                return None
            T = np.triu(T @ np.linalg.inv(R))
            if not (np.isfinite(T).all() and T.diagonal().all()):
                return None
            Y, correction = precise_product(high, low, T)
        # Doubled precision has an error of (m + 6)² u² of the terms; the correction contains the rounding error of Y.
        terms = (np.abs(high) + np.abs(low)) @ np.abs(T)
        errors = 4.0 * ((size + 6) * UNIT) ** 2 * norms_above(root * terms) * (1.0 + growth(8)) + 1e-300
        gram = (data.weights[:, None] * Y).T @ Y - np.eye(size)
        norms = norms_above(root * Y) * (1.0 + growth(8))
        rough = norms_above(root * correction) * (1.0 + growth(8)) + errors
        a, b = float(np.linalg.norm(norms)), float(np.linalg.norm(rough))
        slack = growth(data.n + 8) * a * a + 2.0 * a * b + b * b
        tau = 1.01 * (float(np.linalg.norm(gram)) + slack)
        return cls(Y, correction, errors, tau) if tau < 0.5 else None


def _residual_bound(data: Data, basis: _Basis) -> float:
    """A lower bound of ``½‖e‖² - ½‖s‖²/(1 - τ)`` for the residual e of least squares."""
    y, weights = data.y, data.weights
    root = np.sqrt(weights)
    v = np.zeros(basis.high.shape[1])
    e = y
    for _ in range(2):
        v = v + basis.high.T @ (weights * e)
        # The residual is computed in twice the precision: Yv may be much larger than it.
        fitted, rest = precise_product(basis.high, basis.low, v[:, None])
        e = (y - fitted[:, 0]) - rest[:, 0]
    size = float(norms_above(root * e)) * (1.0 + growth(8))
    exact = np.abs(root) * (np.abs(y) * UNIT + np.abs(e) * 2.0 * UNIT)
    column_errors = basis.errors + 4.0 * UNIT * norms_above(root[:, None] * basis.low)
    error = float(norms_above(exact)) + float(column_errors @ np.abs(v)) * 1.01
    error += 4.0 * ((v.size + 6) * UNIT) ** 2 * float(norms_above(root[:, None] * basis.high) @ np.abs(v)) + 1e-300
    s = np.abs(basis.high.T @ (weights * e)) + growth(data.n + 8) * size * 1.5
    s += (norms_above(root[:, None] * basis.low) + basis.errors) * size + 1.5 * error
    square = float(np.square(root * e).sum()) * (1.0 - growth(data.n + 8))
    least = max(np.sqrt(square) - 1.01 * error, 0.0)
    bound = 0.5 * least * least - 0.5 * float(s @ s) / (1.0 - basis.tau) * 1.01 - UNDERFLOW
    return max(bound, 0.0) * (1.0 - growth(16))
