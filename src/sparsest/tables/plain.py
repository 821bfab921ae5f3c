"""CSV without pyarrow, by Python's own reader."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsest.runtime.sizes import sizes
from sparsest.tables.dialect import Dialect, fields_of_any_length
from sparsest.tables.opening import Opened
from sparsest.tables.source import MISSING, Column, Source, column_of, levels_of

_BOOLEANS = {"true": 1.0, "false": 0.0}


def read_csv(opened: Opened, dialect: Dialect) -> Source:
    """Read a text file; a column with an entry that is not a number is read again as text."""
    text: set[int] = set()
    while True:
        chunks = [[] for _ in dialect.names]  # type: list[list[NDArray[Any]]]
        n_rows = 0
        before = len(text)
        for rows in _rows(opened, dialect):
            n_rows += len(rows)
            for j, entries in enumerate(zip(*rows, strict=True)):
                numbers = None if j in text else _numbers(entries, dialect.decimal)
                if numbers is None:
                    text.add(j)
                    numbers = np.array(entries, dtype=object)
                chunks[j].append(numbers)
        if not n_rows:
            chunks = [[np.empty(0)] for _ in dialect.names]
        if len(text) == before or n_rows <= sizes().text_rows:
            break
    columns = [_column(name, np.concatenate(parts)) for name, parts in zip(dialect.names, chunks, strict=True)]
    return Source(n_rows, columns, notes=list(dialect.notes), first_row=1 + dialect.header)


def _column(name: str, values: NDArray[Any]) -> Column:
    if values.dtype == object:
        found = levels_of(values)
        if found.levels and set(level.lower() for level in found.levels) <= _BOOLEANS.keys():
            truth = np.array([*(_BOOLEANS[level.lower()] for level in found.levels), np.nan])[found.codes]
            return column_of(name, truth)
        return Column(name, "text", lambda: found)
    return column_of(name, values)


def _rows(opened: Opened, dialect: Dialect) -> Iterator[list[list[str]]]:
    """Blocks of rows, each row as long as the header."""
    with opened.stream() as stream, fields_of_any_length():
        reader = csv.reader(
            io.TextIOWrapper(stream, encoding=dialect.encoding, newline=""), delimiter=dialect.separator
        )
        if dialect.header:
            next(reader)
        full = (row for row in reader if row)
        while rows := list(islice(full, sizes().text_rows)):
            for row in rows:
                if len(row) != len(dialect.names):
                    raise ValueError(
                        f"{opened.name} cannot be read as a table: line {reader.line_num} or one before it has "
                        f"{len(row)} entries, the header {len(dialect.names)}"
                    )
            yield rows


def _numbers(entries: tuple[str, ...], decimal: str) -> NDArray[np.float64] | None:
    """The entries as numbers, NaN if missing; None if an entry is neither a number nor missing."""
    try:
        if decimal == ".":
            return np.array(entries, dtype=np.float64)
    except ValueError:
        pass
    try:
        known = ["nan" if entry in MISSING else entry.replace(decimal, ".") for entry in entries]
        return np.array(known, dtype=np.float64)
    except ValueError:
        return None
