"""From a file to a table for a fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sparsest.checks import word
from sparsest.tables.encoding import (
    IMPUTATIONS,
    Encoding,
    categorical_features,
    is_identifier,
    refuse_dates,
    refuse_missing,
)
from sparsest.tables.features import Filled, Part, fill_columns, fill_matrix
from sparsest.tables.readers import read_source
from sparsest.tables.remarks import remarks
from sparsest.tables.roles import identifiers_of, insist_on, rows_of, taken_columns, target_name, target_of
from sparsest.tables.source import Source, listing


@dataclass(frozen=True)
class Wishes:
    """What a user says about the columns of a file.

    Attributes
    ----------
    target : a column, or a file with one column
    beside : columns of weights, offsets and exposures, by the names of these arguments
    ids : columns that name the rows
    exclude : columns that must not be in the model; those that no model can use are left out of the table
    impute : "median", "mean" or "drop" for missing values
    """

    target: str | None = None
    beside: dict[str, str] = field(default_factory=dict)
    ids: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    impute: str | None = None


@dataclass(frozen=True, eq=False)
class Table:
    """Data for a model.

    Attributes
    ----------
    matrix : n × p features, an array or compressed sparse columns, in the type they are stored in
    names : p names, or None
    target : n numbers or labels, or None
    rows : of "sample_weight", "offset" and "exposure" those that there are, n numbers each
    ids : what names the rows, n texts, or None
    encoding : how the columns were read
    notes : what a user should know
    """

    matrix: Any
    names: tuple[str, ...] | None
    target: NDArray[Any] | None
    rows: dict[str, Any]
    ids: NDArray[Any] | None
    encoding: Encoding
    notes: list[str] = field(default_factory=list)


def read_table(data: str, wishes: Wishes) -> Table:
    """Read the data of a fit.

    Parameters
    ----------
    data : a file, a folder with data.npz, or "-" for standard input
    wishes : target, weights, identifiers and what to do about missing values
    """
    if wishes.impute is not None:
        word(wishes.impute, "--impute", words=IMPUTATIONS)
    source = read_source(data)
    name = target_name(source, wishes.target)
    encoding = Encoding(target=name, beside=wishes.beside, impute=wishes.impute)
    target, rows = target_of(source, name, wishes.target, source.n_rows), rows_of(source, wishes.beside)
    for wish in (*wishes.ids, *(() if source.matrix is not None else wishes.exclude)):
        insist_on(source, wish, "--id or --exclude")
    if source.matrix is None:
        encoding, names, filled = _from_columns(source, encoding, wishes)
    else:
        encoding, names, filled = _from_matrix(source, encoding, wishes)
    ids = identifiers_of(source, encoding)
    shown = [str(j) for j in range(filled.matrix.shape[1])] if names is None else names
    encoding = replace(encoding, fill=filled.fill)
    table = Table(filled.matrix, names, target, rows, ids, encoding, source.notes)
    table = without_gaps(table, filled)
    _refuse_infinite(table.matrix, shown)
    table.notes.extend(remarks(table.matrix, shown))
    return table


def _from_columns(
    source: Source, encoding: Encoding, wishes: Wishes
) -> tuple[Encoding, tuple[str, ...] | None, Filled]:
    """Encode the columns of a fit."""
    used = {encoding.target, *encoding.beside.values()}
    candidates = [column for column in source.columns if column.name not in used]
    ids = [
        column.name for j, column in enumerate(candidates) if column.name in wishes.ids or is_identifier(column, j == 0)
    ]
    if found := [name for name in ids if name not in wishes.ids]:
        source.notes.append(f"left out as names of the rows: {listing(found)}")
    unusable = [c.name for c in candidates if c.name in wishes.exclude and c.kind != "number" and c.name not in ids]
    candidates = [column for column in candidates if column.name not in ids and column.name not in unusable]
    refuse_dates(candidates)
    parts: list[Part] = []
    categories, empty = {}, []
    for column in candidates:
        if column.kind == "number":
            parts.append(Part(column))
            continue
        levels = column.load()
        features = categorical_features(column, levels)
        shown = tuple(level for level, name in features.items() if name is not None)
        if not shown:
            empty.append(column.name)
            continue
        categories[column.name] = features
        parts.append(Part(column, shown))
    if empty:
        source.notes.append(f"left out, as there is one value or none: {listing(empty)}")
    if categories:
        source.notes.append(f"columns of text became one feature for each level: {listing(list(categories))}")
    names = tuple(
        name
        for part in parts
        for name in (categories[part.column.name].values() if part.levels else (part.column.name,))
        if name is not None
    )
    if not names:
        raise ValueError("no column is left to be a feature")
    if len(set(names)) < len(names):
        twice = [name for name in set(names) if names.count(name) > 1]
        raise ValueError(f"two features would be called {listing(twice)}: rename one of the columns")
    encoding = replace(encoding, ids=tuple(ids), left_out=(*unusable, *empty), categories=categories)
    source.columns = [column for column in source.columns if column.name in ids]
    # The columns are let go one by one: nothing else may hold them.
    del candidates, column
    return encoding, names, fill_columns(parts, source.n_rows, encoding.impute, {})


def _from_matrix(source: Source, encoding: Encoding, wishes: Wishes) -> tuple[Encoding, tuple[str, ...] | None, Filled]:
    """Take the features of a fit from a matrix."""
    encoding = replace(encoding, ids=wishes.ids or (() if source.ids is None else (source.ids,)))
    taken, matrix, names = taken_columns(source, encoding), source.matrix, source.names
    if taken - {None}:
        rest = [j for j in range(matrix.shape[1]) if j not in taken]
        matrix, names = matrix[:, rest], None if names is None else tuple(names[j] for j in rest)
    shown = [str(j) for j in range(matrix.shape[1])] if names is None else list(names)
    return encoding, names, fill_matrix(matrix, shown, encoding.impute, {})


def without_gaps(table: Table, filled: Filled) -> Table:
    """Leave out rows with missing values where that was asked for, and refuse what is still missing."""
    impute = table.encoding.impute
    lost = dict(filled.missing) if impute is None else {n: c for n, c in filled.missing.items() if n not in filled.fill}
    keep = filled.complete if impute == "drop" else np.ones(filled.complete.size, dtype=bool)
    beside = [(table.encoding.target or "the target", table.target)]
    beside += [(table.encoding.beside[role], values) for role, values in table.rows.items()]
    for name, values in beside:
        gaps = None if values is None else _gaps(values)
        if gaps is not None and gaps.any():
            lost[str(name)] = int(gaps.sum())
            keep = keep & ~gaps
    features_lost = [name for name in lost if name in filled.missing]
    if impute is None or (impute != "drop" and features_lost):
        refuse_missing(lost, keep.size)
    if keep.all():
        return table
    if not keep.any():
        raise ValueError(
            "every row has missing values: leave out the emptiest columns with --exclude, or --impute median"
        )
    table.notes.append(f"{int((~keep).sum())} of {keep.size} rows were left out for missing values")
    rows = np.flatnonzero(keep)
    target = None if table.target is None else table.target[rows]
    if target is not None and target.dtype == object:
        target = target.astype(str)
    return replace(
        table,
        matrix=table.matrix[rows],
        target=target,
        rows={role: values[rows] for role, values in table.rows.items()},
        ids=None if table.ids is None else table.ids[rows],
    )


def _gaps(values: NDArray[Any]) -> NDArray[np.bool_]:
    if values.dtype == object:
        return np.array([value is None for value in values])
    return np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.shape, dtype=bool)


def _refuse_infinite(matrix: Any, names: Sequence[str]) -> None:
    if matrix.dtype.kind != "f":
        return
    bad = [name for j, name in enumerate(names) if not np.isfinite(_stored(matrix, j)).all()]
    if bad:
        raise ValueError(f"infinite numbers in {listing(bad)}: mend them, or leave these columns out with --exclude")


def _stored(matrix: Any, j: int) -> NDArray[Any]:
    return matrix.data[matrix.indptr[j] : matrix.indptr[j + 1]] if sp.issparse(matrix) else matrix[:, j]
