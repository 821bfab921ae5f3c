"""Bounds of rounding errors in double precision.

``u = 2^-53`` is the unit roundoff.  Sources: Higham, Accuracy and Stability of Numerical Algorithms (2002), for sums,
products and Cholesky factors in any order, with or without fused operations (Lemma 3.1, §3.1, Theorem 10.3); Rump,
Verification of positive definiteness (BIT 2006), for ``is_semidefinite``; Dekker (1971) and Knuth (1969) for sums and
products whose rounding errors are floating-point numbers themselves.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

UNIT = 2.0**-53
# Bounds are lowered by this amount for underflow: each such error is below 2^-1074, and there are few.
UNDERFLOW = 2.0**-1000
# The smallest normal number.
TINY = 2.0**-1022
_SPLITTER = 2.0**27 + 1.0


def growth(operations: float) -> float:
    """``γ_m = mu/(1 - mu)``: the relative error of m roundings, rounded up."""
    return operations * UNIT / (1.0 - operations * UNIT) * (1.0 + 8.0 * UNIT)


def norms_above(matrix: Array) -> Array:
    """Upper bounds of the Euclidean norms of a vector, or of the columns of a matrix."""
    peak = np.abs(matrix).max(axis=0, initial=0.0)
    scale = np.where((peak > 0.0) & np.isfinite(peak), peak, 1.0)
    squares = np.square(matrix / scale).sum(axis=0)
    return np.sqrt(squares) * scale * (1.0 + growth(matrix.shape[0] + 8))


def sum_above(values: Array) -> float:
    """An upper bound of a sum of nonnegative numbers."""
    return float(values.sum()) * (1.0 + growth(values.size + 2))


def is_semidefinite(matrix: Array, error: float) -> bool:
    """Whether all symmetric matrices within ``error`` (spectral norm) of a symmetric one are positive semidefinite.

    If the Cholesky factorisation of ``A - cI`` succeeds with ``c ≥ γ_{m+1}/(1 - γ_{m+1}) trace(A)``, A is positive
    semidefinite.  Overflow and NaN prove nothing.
    """
    m = matrix.shape[0]
    if m == 0:
        return True
    diagonal = matrix.diagonal()
    if not (np.isfinite(matrix).all() and np.isfinite(error) and diagonal.min() > 0.0):
        return False
    trace = sum_above(diagonal)
    shift = 1.01 * (error + growth(m + 3) / (1.0 - growth(m + 3)) * trace)
    # The subtraction below has a relative error of at most u.
    shift += 4.0 * UNIT * trace + UNDERFLOW
    lowered = matrix.copy()
    lowered.flat[:: m + 1] -= shift
    if not lowered.diagonal().min() > 0.0:
        return False
    try:
        factor = np.linalg.cholesky(lowered)
    except np.linalg.LinAlgError:
        return False
    return bool(np.isfinite(factor).all() and factor.diagonal().min() > 0.0)


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """``a + b`` as a rounded sum and its exact error."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """``ab`` as a rounded product and its exact error, without overflow and underflow."""
    product = a * b
    high_a, high_b = a * _SPLITTER, b * _SPLITTER
    high_a, high_b = high_a - (high_a - a), high_b - (high_b - b)
    low_a, low_b = a - high_a, b - high_b
    return product, low_a * low_b - (((product - high_a * high_b) - low_a * high_b) - high_a * low_b)


def precise_product(high: Array, low: Array, matrix: Array) -> tuple[Array, Array]:
    """``(high + low) @ matrix`` as a rounded matrix and a correction, with an error of about ``u²`` of its terms."""
    shape = high.shape[0], matrix.shape[1]
    total, rest = np.zeros(shape), np.zeros(shape)
    for j in range(high.shape[1]):
        product, error = two_product(high[:, j : j + 1], matrix[j : j + 1])
        total, carried = two_sum(total, product)
        rest += carried + (error + low[:, j : j + 1] * matrix[j : j + 1])
    # If terms cancel, the correction is not small compared with the sum; add it.
    return two_sum(total, rest)
