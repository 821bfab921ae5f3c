"""Columns that are exact linear combinations of others, such as all dummy variables of a factor, or a total of parts.

Without a ridge such a column does not improve a fit, but a nearly dependent column may.  So a relation
``N x_j = Σ_i c_i x_i + c`` with integer coefficients is guessed in floating point and decided in exact arithmetic.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from sparsest.proofs.data import Data
from sparsest.proofs.rounding import Array, Indices

# The largest denominator and coefficient of a relation, and the number of observations from which it is guessed.
_DENOMINATORS, _LARGEST, _MOST_ROWS = 12, 1e6, 5000
# A column is a candidate if its residual is smaller than this share of it.
_NEARLY_DEPENDENT = 1e-9


def independent_columns(data: Data, features: Indices) -> Indices:
    """Leave out columns that are in the span of others; the remaining ones have the same span."""
    kept: list[int] = []
    for feature, suspect in zip(features.tolist(), _suspects(data, features), strict=True):
        if len(kept) + data.fit_intercept >= data.n:
            # As many columns as observations explain everything; none has to be left out.
            return features
        if not (suspect and _is_spanned(data, feature, kept)):
            kept.append(feature)
    return np.array(kept, dtype=np.intp)


def _suspects(data: Data, features: Indices) -> list[bool]:
    """The columns with a tiny residual on those before them; only these are tested."""
    X, _ = data.scale(data.raw(features))
    if data.fit_intercept:
        X = np.column_stack([np.ones(data.n), X])
    left = np.zeros(X.shape[1])
    diagonal = np.abs(np.asarray(np.linalg.qr(X, mode="r")).diagonal())
    left[: diagonal.size] = diagonal
    suspect = left <= 10.0 * _NEARLY_DEPENDENT * np.linalg.norm(X, axis=0)
    return [bool(one) for one in suspect[int(data.fit_intercept) :]]


def _is_spanned(data: Data, feature: int, others: list[int]) -> bool:
    """Whether a column is provably a combination of others and, with an intercept, the constant."""
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
    # Relations have small integers between columns as given, not between scaled ones.
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
