"""Columns that depend on others exactly, as dummy variables on the intercept or a total on its parts.

Without a ridge such a column adds nothing to the others; a near dependence, however near, might.  So a relation
``N x_j = Σ_i c_i x_i + c`` with whole numbers is guessed in floating point and decided in exact arithmetic.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from sparsest.proofs.data import Data
from sparsest.proofs.rounding import Array, Indices

# Relations are sought with denominators up to this number, coefficients up to this size, and this many observations.
_DENOMINATORS, _LARGEST, _MOST_ROWS = 12, 1e6, 5000
# A column is a candidate when it leaves less than this part of itself.
_NEARLY_DEPENDENT = 1e-9


def independent_columns(data: Data, features: Indices) -> Indices:
    """Leave out columns that others span exactly; what remains spans the same."""
    kept: list[int] = []
    for feature, suspect in zip(features.tolist(), _suspects(data, features), strict=True):
        if len(kept) + data.fit_intercept >= data.n:
            # So many columns explain everything, and none need be left out.
            return features
        if not (suspect and _is_spanned(data, feature, kept)):
            kept.append(feature)
    return np.array(kept, dtype=np.intp)


def _suspects(data: Data, features: Indices) -> list[bool]:
    """Which columns leave hardly anything of themselves beside those before them; the others are not asked about."""
    X, _ = data.scale(data.raw(features))
    if data.fit_intercept:
        X = np.column_stack([np.ones(data.n), X])
    left = np.zeros(X.shape[1])
    diagonal = np.abs(np.asarray(np.linalg.qr(X, mode="r")).diagonal())
    left[: diagonal.size] = diagonal
    suspect = left <= 10.0 * _NEARLY_DEPENDENT * np.linalg.norm(X, axis=0)
    return [bool(one) for one in suspect[int(data.fit_intercept) :]]


def _is_spanned(data: Data, feature: int, others: list[int]) -> bool:
    """Whether a column is provably a combination of others and, with an intercept, of the constant."""
    column, _ = data.scale(data.raw(np.array([feature])))
    if not column.any():
        return True
    if not others:
        return False
    raw = data.raw(np.array([*others, feature]))
    scaled, exponents = data.scale(raw)
    X, x = scaled[:, :-1], scaled[:, -1]
    if data.fit_intercept:
        X = np.column_stack([X, np.ones(data.n)])
    c, *_ = np.linalg.lstsq(X, x, rcond=None)
    if np.linalg.norm(x - X @ c) > _NEARLY_DEPENDENT * np.linalg.norm(x) or data.n > _MOST_ROWS:
        return False
    # Relations are simple between the columns as given, not between scaled ones.
    c = np.ldexp(c[: len(others)], exponents[-1] - exponents[:-1])
    for denominator in range(1, _DENOMINATORS + 1):
        whole = np.rint(denominator * c)
        if np.abs(denominator * c - whole).max() < 1e-3 and np.abs(whole).max() <= _LARGEST:
            return _holds(raw, whole, denominator, data.fit_intercept)
    return False


def _holds(raw: Array, whole: Array, denominator: int, up_to_constant: bool) -> bool:
    """Whether ``denominator · x - Σ whole_i x_i`` is zero, or the same for all observations, in exact arithmetic."""
    used = np.flatnonzero(whole)
    first: Fraction | None = None if up_to_constant else Fraction(0)
    for row in raw:
        value = denominator * Fraction(row[-1]) - sum(int(whole[i]) * Fraction(row[i]) for i in used)
        if first is None:
            first = value
        if value != first:
            return False
    return True
