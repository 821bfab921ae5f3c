"""Reference values in rational and extended arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np


def rationals(values):
    """The numbers that floats stand for."""
    return [Fraction(float(v)) for v in values]


def exact_moments(column, weights):
    """The weighted mean and the weighted mean of squares about it, as rationals."""
    x, omega = rationals(column), rationals(weights)
    total = sum(omega)
    mean = sum(o * v for o, v in zip(omega, x, strict=True)) / total
    return mean, sum(o * (v - mean) ** 2 for o, v in zip(omega, x, strict=True)) / total


def exact_deviations(column, weights):
    """The entries less their weighted mean, rounded once."""
    mean, _ = exact_moments(column, weights)
    return np.array([float(v - mean) for v in rationals(column)])


def least_squares_value(X, y, ridge=0.0, *, center=True):
    """``min ½‖y - Xw - b‖² + ½ ridge ‖w‖²`` by Gram and Schmidt's process in extended precision, twice over."""
    A, z = X.astype(np.longdouble), y.astype(np.longdouble)
    if center:
        A, z = A - A.mean(axis=0), z - z.mean()
    m = A.shape[1]
    A = np.vstack([A, np.sqrt(np.longdouble(ridge)) * np.eye(m)])
    r = np.concatenate([z, np.zeros(m)])
    basis = []
    for column in A.T:
        rest = column
        for _ in range(2):
            for q in basis:
                rest = rest - (q @ rest) * q
        norm = np.sqrt(rest @ rest)
        if norm > 1e-17 * np.sqrt(column @ column):
            basis.append(rest / norm)
    for _ in range(2):
        for q in basis:
            r = r - (q @ r) * q
    return float(r @ r) / 2.0
