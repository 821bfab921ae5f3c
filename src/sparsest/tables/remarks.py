"""Notes on constant, nearly constant and duplicated columns."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparsest.tables.source import listing

# Number of entries from which the most frequent value of a nearly constant column is found.
_SAMPLED = 25


def remarks(matrix: Any, names: Sequence[str], least: int = 1) -> list[str]:
    """Notes on columns that are constant, nearly constant, or equal to an earlier one.

    A column is nearly constant if fewer than ``least`` rows differ from its most frequent value.
    """
    constant, rare, copies = [], [], []
    first: dict[bytes, str] = {}
    columns = sp.csc_array(matrix) if sp.issparse(matrix) else matrix
    if sp.issparse(columns):
        columns.sort_indices()
    for j, name in enumerate(names):
        values, content = _content(columns, j)
        if values.size == 0 or bool((values == values[0]).all()):
            constant.append(name)
            continue
        if least > 1 and (count := _n_different(values, matrix.shape[0])) < least:
            rare.append(f"{name} ({count})")
        original = first.setdefault(blake2b(content, digest_size=16).digest(), name)
        if original != name:
            copies.append(f"{name} = {original}")
    notes = []
    if constant:
        notes.append(f"{_columns(len(constant))} the same value everywhere and cannot matter: {listing(constant)}")
    if rare:
        notes.append(
            f"{_columns(len(rare))} the same value in all but a few rows, which alone determine the coefficient "
            f"(--drop, --min-level): {listing(rare)}"
        )
    if copies:
        one = len(copies) == 1
        notes.append(f"{len(copies)} column{'' if one else 's'} repeat{'s' * one} an earlier one: {listing(copies)}")
    return notes


def _n_different(values: Any, n_rows: int) -> int:
    """The number of rows in which a nearly constant column differs from its most frequent value."""
    if values.size != n_rows:
        # For a sparse column, the stored entries and a zero.
        return int(np.count_nonzero(values))
    some = values[np.linspace(0, values.size - 1, _SAMPLED).astype(np.intp)]
    usual, counts = np.unique(some, return_counts=True)
    return int(np.count_nonzero(values != usual[counts.argmax()]))


def _content(columns: Any, j: int) -> tuple[Any, bytes]:
    """The values of a column, and a key that is equal only for equal columns."""
    if not sp.issparse(columns):
        values = np.ascontiguousarray(columns[:, j])
        return values, values.tobytes()
    stored = slice(columns.indptr[j], columns.indptr[j + 1])
    values, rows = columns.data[stored], columns.indices[stored]
    content = rows.astype(np.int64).tobytes() + values.tobytes()
    # A column with fewer entries than rows also has zeros.
    return (values if values.size == columns.shape[0] else np.append(values, 0.0)), content


def _columns(count: int) -> str:
    return "1 column has" if count == 1 else f"{count} columns have"
