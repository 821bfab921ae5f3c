"""Constant and duplicated columns, which a user should know of."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparsest.tables.source import listing


def remarks(matrix: Any, names: Sequence[str]) -> list[str]:
    """Say which columns are constant, and which are the same as an earlier one."""
    constant, copies = [], []
    first: dict[bytes, str] = {}
    columns = sp.csc_array(matrix) if sp.issparse(matrix) else matrix
    if sp.issparse(columns):
        columns.sort_indices()
    for j, name in enumerate(names):
        values, content = _content(columns, j)
        if values.size == 0 or bool((values == values[0]).all()):
            constant.append(name)
            continue
        original = first.setdefault(blake2b(content, digest_size=16).digest(), name)
        if original != name:
            copies.append(f"{name} = {original}")
    notes = []
    if constant:
        notes.append(f"{_columns(len(constant))} the same value everywhere and cannot matter: {listing(constant)}")
    if copies:
        one = len(copies) == 1
        notes.append(f"{len(copies)} column{'' if one else 's'} repeat{'s' * one} an earlier one: {listing(copies)}")
    return notes


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
