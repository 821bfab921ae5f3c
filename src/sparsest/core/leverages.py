"""Leverages of the observations of a regularised generalised linear model."""

from __future__ import annotations

import numpy as np
import scipy.linalg as la

from sparsest.core.arrays import Array

# Share of the largest singular value below which a direction consists of rounding errors.
_NO_DIRECTION = 1e-12


def squared_lengths(columns: Array, curvature: Array, ridge: float, fit_intercept: bool) -> Array:
    """``z_i'H⁻¹z_i`` for every row ``z_i`` of the columns, with ``H = Σ c_i z_i z_i' + Λ``.

    Leverages are ``c_i z_i'H⁻¹z_i``.  The last entry of ``z_i`` is 1 if there is an intercept.  The diagonal matrix Λ
    is the ridge, 0 for the intercept.  If H is singular, its pseudo-inverse in units of the columns is used.

    Parameters
    ----------
    columns : an array of shape (n, m), without the intercept's column
    curvature : ``c_i = ω_i ℓ''``, not negative
    ridge : the diagonal entry of Λ
    """
    n, m = columns.shape
    root = np.sqrt(curvature)
    rows = np.column_stack([columns, np.ones(n)]) if fit_intercept else columns
    stacked = root[:, None] * rows
    if ridge > 0.0:
        stacked = np.vstack([stacked, np.sqrt(ridge) * np.eye(m, rows.shape[1])])
    # Scaled columns, so that the choice of directions does not depend on units.
    scale = np.linalg.norm(stacked, axis=0)
    used = scale > 0.0
    if not used.any():
        return np.zeros(n)
    left, values, right = la.svd(stacked[:, used] / scale[used], full_matrices=False, check_finite=False)
    rank = int(np.count_nonzero(values > _NO_DIRECTION * values[0]))
    # The left singular vectors are H^{-1/2} z_i √c_i; they keep the digits of leverages near 1.
    basis = left[:n, :rank] / np.where(root > 0.0, root, 1.0)[:, None]
    flat = root == 0.0
    basis[flat] = (rows[flat][:, used] / scale[used]) @ (right[:rank].T / values[:rank])
    return np.asarray(np.einsum("ij,ij->i", basis, basis))
