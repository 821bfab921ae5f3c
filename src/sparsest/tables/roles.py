"""Columns that are not features: target, weights, offsets and names of rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsest.core.checks import as_numbers
from sparsest.tables.encoding import Encoding, is_identifier
from sparsest.tables.readers import read_source
from sparsest.tables.source import Column, Source, listing

# Names of the target column by default.
_USUAL_TARGETS = ("y", "target")


def target_name(source: Source, given: str | None) -> str | None:
    """The name of the target column; None if the target is in a separate file."""
    if given is not None:
        if source.column(given) is not None:
            return given
        if Path(given).is_file():
            return None
        raise ValueError(f"there is no column (and no file) {given!r} for the target; {_the_columns(source)}")
    usual = [source.target, *(name for name in _USUAL_TARGETS if source.matrix is None)]
    for name in usual:
        if name is not None and source.column(name) is not None:
            return name
    raise ValueError(f"name the column to predict, or a file with it, by --target; {_the_columns(source)}")


def _the_columns(source: Source) -> str:
    names = source.all_names()
    return f"the columns are {listing(names, 12)}" if names else "the columns have no names, only numbers from 0"


def require_column(source: Source, name: str, option: str) -> Column:
    """The column with this name; a ValueError lists the columns if there is none."""
    column = source.column(name)
    if column is None:
        raise ValueError(f"there is no column {name!r} for {option}; {_the_columns(source)}")
    return column


def target_of(source: Source, name: str | None, given: str | None, n_rows: int) -> NDArray[Any]:
    """The responses: numbers (whole numbers as integers) or labels; None or NaN if missing."""
    if name is not None:
        column = require_column(source, name, "--target")
    else:
        other = read_source(str(given))
        if other.n_rows != n_rows:
            raise ValueError(f"the data have {n_rows} rows, but the target in {given} has {other.n_rows}")
        rest = [column for j, column in enumerate(other.columns) if not is_identifier(column, j == 0)]
        if len(rest) != 1 or other.matrix is not None:
            raise ValueError(f"{given} must hold one column, the target")
        column = rest[0]
    if column.kind not in ("number", "text"):
        raise ValueError(f"the target {column.name!r} must hold numbers or labels, but holds {column.kind}s")
    values = column.load()
    if column.kind == "text":
        labels = np.array([*values.levels, None], dtype=object)[values.codes]
        return labels if (values.codes < 0).any() else labels.astype(str)
    return whole_as_integers(np.array(values))


def whole_as_integers(values: NDArray[Any]) -> NDArray[Any]:
    """Floating-point numbers as integers if all of them are whole; other values are returned unchanged."""
    if values.dtype.kind != "f" or not np.isfinite(values).all() or (values != np.round(values)).any():
        return values
    return values.astype(np.int64) if np.abs(values).max(initial=0.0) < 2**53 else values


def rows_of(source: Source, beside: dict[str, str]) -> dict[str, NDArray[Any]]:
    """Weights, offset and exposure of the rows, if there are columns for them."""
    found = {}
    for role, name in beside.items():
        column = require_column(source, name, f"the {role.replace('_', ' ')}")
        if column.kind != "number":
            raise ValueError(f"the {role.replace('_', ' ')} {name!r} must be numbers")
        found[role] = as_numbers(column.load(), f"column {name!r}")
    return found


def identifiers_of(source: Source, encoding: Encoding) -> NDArray[Any] | None:
    """The names of the rows: the first of the identifiers."""
    for name in encoding.ids:
        column = source.column(name)
        if column is not None and column.kind in ("text", "number"):
            values = column.load()
            if column.kind == "text":
                return np.array([*values.levels, ""])[values.codes]
            return np.array([f"{value:.15g}" for value in values.tolist()])
    return None


def taken_columns(source: Source, encoding: Encoding) -> set[int | None]:
    """Columns of the matrix that are not features."""
    beside = (encoding.target, *encoding.beside.values(), *encoding.ids)
    named = {column.name for column in source.columns}
    return {source.place(name) for name in beside if name is not None and name not in named}
