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
# Of thousands of measured whole numbers some are distinct and of equal length by chance: 41 of 7129 in ma_golub.  With
# more columns than this, only the monotone ones are named.
_MOST_IDENTIFIERS = 10
# Largest number of entries of a matrix that is searched for repeated rows; number of rows in which a feature is first
# compared with the target.
_MOST_ENTRIES, _FIRST_ROWS = 50_000_000, 2000


def number_suspects(columns: Sequence[Column], target: NDArray[Any]) -> list[str]:
    """A note on columns that look like identifiers: distinct whole numbers, monotone or of equal length.

    Rows that repeat an earlier one in all columns do not count, because their identifiers are repeated too.
    """
    numbers = [column for column in columns if column.kind == "number"]
    suspected = [column for column in numbers if _like_identifiers(column, columns, target)]
    by_chance = len(suspected) > _MOST_IDENTIFIERS
    found = [column.name for column in suspected if not by_chance or _in_order(column.load())]
    if not found:
        return []
    one = len(found) == 1
    return [
        f"{'a column looks like an identifier' if one else 'columns look like identifiers'}, distinct whole numbers: "
        f"{listing(found)}; leave {'it' if one else 'them'} out with --drop, or use --categorical for codes"
    ]


def _like_identifiers(column: Column, columns: Sequence[Column], target: NDArray[Any]) -> bool:
    values = column.load()
    if not _whole_numbers(values):
        return False
    values = values.astype(np.float64)
    if _distinct_in_order_or_length(values):
        return True
    if not _may_be_repeated(values):
        return False
    _, index, inverse = np.unique(values, return_index=True, return_inverse=True)
    first, rows = index[inverse], np.arange(values.size)
    again = rows[first != rows]
    if not 0 < again.size <= values.size / 2 or not _distinct_in_order_or_length(values[first == rows]):
        return False
    others = [one for one in columns if one.name != column.name and one.kind in ("number", "text")]
    return bool(others) and bool((target[again] == target[first[again]]).all()) and all(
        _repeats(one, again, first[again]) for one in others
    )  # fmt: skip


def _whole_numbers(values: NDArray[Any]) -> bool:
    """Whether there are enough values, and all of them are finite whole numbers."""
    if values.dtype.kind == "b" or values.size < _LEAST_ROWS:
        return False
    # The first entries suffice for most columns.
    parts = (values[:_LEAST_ROWS], values) if values.dtype.kind == "f" else ()
    return all(bool(np.isfinite(part).all() and (part == np.floor(part)).all()) for part in parts)


def _distinct_in_order_or_length(values: NDArray[np.float64]) -> bool:
    """Whether values are strictly monotone, or distinct and of one length."""
    steps = np.diff(values)
    if (steps > 0).all() or (steps < 0).all():
        return True
    return _of_one_length(values) and np.unique(values).size == values.size


def _in_order(values: NDArray[Any]) -> bool:
    """Whether values are monotone."""
    return bool((values[1:] >= values[:-1]).all() or (values[1:] <= values[:-1]).all())


def _of_one_length(values: NDArray[np.float64]) -> bool:
    """Whether all whole numbers have the same number of digits, and enough of them."""
    digits = np.floor(np.log10(np.maximum(np.abs(values), 1.0)))
    return bool(digits.min() == digits.max() >= _DIGITS - 1)


def _may_be_repeated(values: NDArray[np.float64]) -> bool:
    """Whether values may be identifiers of which some are repeated, judged without sorting them."""
    steps = np.diff(values[:_LEAST_ROWS])
    monotone = (steps >= 0).all() or (steps <= 0).all()
    return bool(monotone and 2 * np.count_nonzero(steps) >= steps.size) or _of_one_length(values)


def _repeats(column: Column, rows: NDArray[np.intp], earlier: NDArray[np.intp]) -> bool:
    """Whether a column has the same values in some rows as in earlier ones."""
    loaded = column.load()
    values = loaded.codes if column.kind == "text" else loaded
    return np.array_equal(values[rows], values[earlier], equal_nan=values.dtype.kind == "f")


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
