"""Likely mistakes in a table: numbers that may be identifiers, repeated rows, features that determine the target."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sparsest.tables.source import Column, listing

# Smallest number of rows for a judgement; smallest number of digits of identifiers of equal length.
_LEAST_ROWS, _DIGITS = 12, 4
# Largest number of entries of a matrix that is searched for repeated rows; number of rows in which a feature is first
# compared with the target.
_MOST_ENTRIES, _FIRST_ROWS = 50_000_000, 2000


def number_suspects(columns: Iterable[Column]) -> list[str]:
    """A note on columns that look like identifiers: distinct whole numbers, monotone or of equal length."""
    found = [column.name for column in columns if column.kind == "number" and _like_identifiers(column.load())]
    if not found:
        return []
    one = len(found) == 1
    return [
        f"{'a column looks like an identifier' if one else 'columns look like identifiers'}, distinct whole numbers: "
        f"{listing(found)}; leave {'it' if one else 'them'} out with --drop, or use --categorical for codes"
    ]


def _like_identifiers(values: NDArray[Any]) -> bool:
    if values.dtype.kind == "b" or values.size < _LEAST_ROWS:
        return False
    first = values[:_LEAST_ROWS]
    # The first entries suffice for most columns.
    if values.dtype.kind == "f" and not (first == np.floor(first)).all():
        return False
    if values.dtype.kind == "f" and not (np.isfinite(values).all() and (values == np.floor(values)).all()):
        return False
    steps = np.diff(values.astype(np.float64))
    if (steps > 0).all() or (steps < 0).all():
        return True
    digits = np.floor(np.log10(np.maximum(np.abs(values.astype(np.float64)), 1.0)))
    of_one_length = digits.min() == digits.max() >= _DIGITS - 1
    return bool(of_one_length and np.unique(values).size == values.size)


def suspects(matrix: Any, names: Sequence[str], target: NDArray[Any] | None) -> list[str]:
    """Notes on rows that repeat an earlier one, and on features that determine the target."""
    notes = []
    if repeated := _repeated_rows(matrix, target):
        notes.append(
            f"{repeated} of {matrix.shape[0]} rows repeat an earlier one in all columns: if they are the same "
            "observation, remove them, otherwise held-out scores are too optimistic"
        )
    return notes if target is None else notes + _leak_notes(_leaks(matrix, names, target))


def _leak_notes(leaks: list[str]) -> list[str]:
    if not leaks:
        return []
    return [
        f"the target follows from one feature alone: {listing(leaks)}; if that is not known beforehand, leave it out "
        "with --drop"
    ]


def text_suspects(columns: Iterable[Column], target: NDArray[Any]) -> list[str]:
    """Notes on columns of text that determine the target."""
    codes = np.unique(target.astype(str), return_inverse=True)[1]
    found = [column for column in columns if column.kind == "text" and len(column.load().levels) > 2]
    if codes.size < _LEAST_ROWS:
        return []
    return _leak_notes([column.name for column in found if _determines(column.load().codes, codes, None)])


def _repeated_rows(matrix: Any, target: NDArray[Any] | None) -> int:
    n, p = matrix.shape
    if sp.issparse(matrix) or target is None or n * p > _MOST_ENTRIES or n < _LEAST_ROWS:
        return 0
    codes = np.unique(target, return_inverse=True)[1]
    seen = {(int(code), row.tobytes()) for code, row in zip(codes, np.ascontiguousarray(matrix), strict=True)}
    return n - len(seen)


def _leaks(matrix: Any, names: Sequence[str], target: NDArray[Any]) -> list[str]:
    """Features with repeated values such that equal values always have equal targets."""
    labels, codes = np.unique(target, return_inverse=True)
    if labels.size < 2 or codes.size < _LEAST_ROWS:
        return []
    numeric = target.astype(np.float64) if target.dtype.kind in "fiub" else None
    return [
        name
        for j, name in enumerate(names)
        if _determines(_column(matrix, j, _FIRST_ROWS), codes[:_FIRST_ROWS], numeric)
        and _determines(_column(matrix, j, None), codes, numeric)
    ]


def _column(matrix: Any, j: int, n_rows: int | None) -> NDArray[Any]:
    if not sp.issparse(matrix):
        return np.asarray(matrix[:n_rows, j])
    column = np.zeros(matrix.shape[0], dtype=matrix.dtype)
    stored = slice(matrix.indptr[j], matrix.indptr[j + 1])
    column[matrix.indices[stored]] = matrix.data[stored]
    return column[:n_rows]


def _determines(values: NDArray[Any], codes: NDArray[np.intp], numeric: NDArray[np.float64] | None) -> bool:
    """Whether equal values have equal targets, or values and targets are linear functions of each other."""
    if numeric is not None and _proportional(values.astype(np.float64), numeric[: values.size]):
        return True
    distinct, groups = np.unique(values, return_inverse=True)
    if not 1 < distinct.size <= values.size / 2:
        return False
    first = np.full(distinct.size, -1)
    first[groups[::-1]] = codes[::-1]
    return bool((first[groups] == codes).all() and np.ptp(codes) > 0)


def _proportional(values: NDArray[np.float64], target: NDArray[np.float64]) -> bool:
    a, b = values - values.mean(), target - target.mean()
    size = float(a @ a) * float(b @ b)
    return bool(size > 0.0 and np.isfinite(size) and float(a @ b) ** 2 >= (1.0 - 1e-12) * size)
