"""Constant, nearly constant and duplicated columns, which a user should know of."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparsest.tables.source import listing

# Entries that tell the most frequent value of a column that is nearly constant.
_SAMPLED = 25


def remarks(matrix: Any, names: Sequence[str], least: int = 1) -> list[str]:
    """Say which columns are constant, nearly constant, or the same as an earlier one.

    Nearly constant are those with another value in fewer than ``least`` rows.
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
            f"{_columns(len(rare))} the same value in all but a few rows: a coefficient rests on these alone "
            f"(--drop, --min-level): {listing(rare)}"
        )
    if copies:
        one = len(copies) == 1
        notes.append(f"{len(copies)} column{'' if one else 's'} repeat{'s' * one} an earlier one: {listing(copies)}")
    return notes


def _n_different(values: Any, n_rows: int) -> int:
    """In how many rows a column differs from its most frequent value, where that is nearly all of them."""
    if values.size != n_rows:
        # Of a sparse column only what is stored, and a zero.
        return int(np.count_nonzero(values))
    some = values[np.linspace(0, values.size - 1, _SAMPLED).astype(np.intp)]
    usual, counts = np.unique(some, return_counts=True)
    return int(np.count_nonzero(values != usual[counts.argmax()]))


def _content(columns: Any, j: int) -> tuple[Any, bytes]:
    """The values of a column, and what makes it different from others."""
    if not sp.issparse(columns):
        values = np.ascontiguousarray(columns[:, j])
        return values, values.tobytes()
    stored = slice(columns.indptr[j], columns.indptr[j + 1])
    values, rows = columns.data[stored], columns.indices[stored]
    content = rows.astype(np.int64).tobytes() + values.tobytes()
    # A column that is not full has zeros besides.
    return (values if values.size == columns.shape[0] else np.append(values, 0.0)), content


def _columns(count: int) -> str:
    return "1 column has" if count == 1 else f"{count} columns have"
