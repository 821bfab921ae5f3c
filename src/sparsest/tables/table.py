"""From a file to a table for a fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sparsest.core.checks import number, optional, whole_number, word
from sparsest.runtime.faults import reach
from sparsest.tables.encoding import (
    IMPUTATIONS,
    MISSING_TEXTS,
    Encoding,
    is_identifier,
    refuse_dates,
    refuse_missing,
)
from sparsest.tables.features import Filled, fill_columns, fill_matrix
from sparsest.tables.plan import plan_columns, what_was_filled
from sparsest.tables.readers import read_source
from sparsest.tables.reading_options import ReadingOptions
from sparsest.tables.remarks import remarks
from sparsest.tables.roles import (
    identifiers_of,
    require_column,
    rows_of,
    taken_columns,
    target_name,
    target_of,
    whole_as_integers,
)
from sparsest.tables.source import Column, Source, is_design, listing
from sparsest.tables.source import taken as taken_from
from sparsest.tables.suspects import number_suspects, suspects, text_suspects


@dataclass(frozen=True, eq=False)
class Table:
    """Data for a model.

    Attributes
    ----------
    matrix : n × p features, an array or compressed sparse columns, in the type they are stored in
    names : p names, or None
    target : n numbers or labels, or None
    rows : those of "sample_weight", "offset" and "exposure" that are given, n numbers each
    ids : names of the n rows, or None
    encoding : the encoding of the columns
    notes : notes for the user
    row_numbers : n row numbers in the file, as in a spreadsheet
    n_unexposed : number of rows that were left out because their exposure is not above zero
    """

    matrix: Any
    names: tuple[str, ...] | None
    target: NDArray[Any] | None
    rows: dict[str, Any]
    ids: NDArray[Any] | None
    encoding: Encoding
    notes: list[str] = field(default_factory=list)
    row_numbers: NDArray[np.intp] | None = None
    n_unexposed: int = 0


def read_table(data: str, options: ReadingOptions) -> Table:
    """Read the data of a fit.

    Parameters
    ----------
    data : a file, a folder with data.npz, or "-" for standard input
    options : target, weights, identifiers and what to do about missing values
    """
    reach("table")
    _check(options)
    source = read_source(data)
    name = target_name(source, options.target)
    encoding = Encoding(target=name, beside=options.beside, impute=options.impute, categorical=options.categorical)
    target, rows = target_of(source, name, options.target, source.n_rows), rows_of(source, options.beside)
    _require_columns(source, options)
    if source.matrix is None:
        encoding, names, filled = _from_columns(source, encoding, options, target)
    else:
        encoding, names, filled = _from_matrix(source, encoding, options)
    ids = identifiers_of(source, encoding)
    shown = [str(j) for j in range(filled.matrix.shape[1])] if names is None else names
    encoding = replace(encoding, fill=filled.fill, missing=filled.missing)
    numbers = np.arange(source.first_row, source.first_row + source.n_rows)
    table = Table(filled.matrix, names, target, rows, ids, encoding, source.notes, numbers)
    table.notes.extend(what_was_filled(filled, options.impute, source.n_rows))
    table = with_exposure(without_gaps(table, filled), options.drop_zero_exposure)
    if is_design(table.matrix):
        # A matrix that is read on demand is checked in the first pass.
        return table
    _refuse_infinite(table.matrix, shown)
    table.notes.extend(remarks(table.matrix, shown, options.least_rows(table.matrix.shape[0])))
    table.notes.extend(suspects(table.matrix, shown, table.target))
    return table


def _check(options: ReadingOptions) -> None:
    if options.impute is not None:
        word(options.impute, "--impute", words=IMPUTATIONS)
    word(options.missing_text, "--missing-text", words=MISSING_TEXTS)
    number(options.max_missing, "--max-missing", least=0, most=1)
    optional(whole_number, least=1)(options.min_level, "--min-level")


def _require_columns(source: Source, options: ReadingOptions) -> None:
    """Raise a ValueError if a named column does not exist."""
    named = {"--id or --exclude": options.ids, "--drop": options.drop, "--categorical": options.categorical}
    if source.matrix is None:
        named["--id or --exclude"] = (*options.ids, *options.exclude)
    elif options.categorical:
        raise ValueError("--categorical needs a table with named columns, such as CSV or Parquet")
    for option, names in named.items():
        for name in names:
            require_column(source, name, option)


def _from_columns(
    source: Source, encoding: Encoding, options: ReadingOptions, target: NDArray[Any]
) -> tuple[Encoding, tuple[str, ...] | None, Filled]:
    """Encode the columns of a fit."""
    source.take_as_categories(options.categorical)
    candidates, encoding = _candidates(source, encoding, options)
    refuse_dates(candidates)
    plan = plan_columns(candidates, encoding, options, source.n_rows)
    source.notes.extend([*plan.notes, *number_suspects(candidates, target), *text_suspects(candidates, target)])
    names = tuple(plan.names)
    if not names:
        raise ValueError("no column is left as a feature: exclude fewer columns, or raise --max-missing")
    if len(set(names)) < len(names):
        twice = [name for name in set(names) if names.count(name) > 1]
        raise ValueError(f"two features would be called {listing(twice)}: rename one of the columns")
    source.columns = [column for column in source.columns if column.name in plan.encoding.ids]
    # Columns are freed one by one, so there must be no other reference to them.
    del candidates
    return plan.encoding, names, fill_columns(plan.parts, source.n_rows, encoding.impute, {})


def _candidates(source: Source, encoding: Encoding, options: ReadingOptions) -> tuple[list[Column], Encoding]:
    """The columns that may be features: without names of rows, unusable columns and excluded ones."""
    used = {encoding.target, *encoding.beside.values(), *options.drop}
    candidates = [column for column in source.columns if column.name not in used]
    ids = [c.name for j, c in enumerate(candidates) if c.name in options.ids or is_identifier(c, j == 0)]
    if found := [name for name in ids if name not in options.ids]:
        source.notes.append(f"left out as names of the rows: {listing(found)}")
    unusable = [c.name for c in candidates if c.name in options.exclude and c.kind != "number" and c.name not in ids]
    rest = [column for column in candidates if column.name not in ids and column.name not in unusable]
    known = {column.name for column in source.columns}
    dropped = [name for name in options.drop if name in known and name not in (encoding.target, *ids)]
    return rest, replace(encoding, ids=tuple(ids), left_out=(*dropped, *unusable))


def _from_matrix(
    source: Source, encoding: Encoding, options: ReadingOptions
) -> tuple[Encoding, tuple[str, ...] | None, Filled]:
    """Take the features of a fit from a matrix."""
    if str(encoding.impute).endswith("indicator"):
        raise ValueError("--impute …+indicator needs a table with named columns, such as CSV or Parquet")
    ids = options.ids or (() if source.ids is None else (source.ids,))
    encoding = replace(encoding, ids=(*ids, *options.drop))
    taken, matrix, names = taken_columns(source, encoding), source.matrix, source.names
    if taken - {None}:
        rest = [j for j in range(matrix.shape[1]) if j not in taken]
        matrix, names = taken_from(matrix, rest), None if names is None else tuple(names[j] for j in rest)
    shown = [str(j) for j in range(matrix.shape[1])] if names is None else list(names)
    return encoding, names, fill_matrix(matrix, shown, encoding.impute, {})


def without_gaps(table: Table, filled: Filled) -> Table:
    """Drop rows with missing values if ``impute`` is "drop"; a ValueError for values that are still missing."""
    impute = table.encoding.impute
    lost = {name: count for name, count in filled.missing.items() if name not in filled.fill}
    keep = filled.complete if impute == "drop" else np.ones(filled.complete.size, dtype=bool)
    beside = [(table.encoding.target or "the target", table.target)]
    beside += [(table.encoding.beside[role], values) for role, values in table.rows.items()]
    for name, values in beside:
        gaps = None if values is None else _gaps(values)
        if gaps is not None and gaps.any():
            lost[str(name)] = int(gaps.sum())
            keep = keep & ~gaps
    if impute != "drop" and any(name in filled.missing for name in lost):
        refuse_missing(lost, keep.size)
    if impute is None and lost:
        worst = max(lost.values())
        raise ValueError(
            f"missing values in {listing(list(lost))}, up to {worst} of {keep.size} rows, which are not filled in: "
            "leave these rows out with --impute drop (or another --impute, which fills in features)"
        )
    if keep.all():
        return table
    if not keep.any():
        raise ValueError("every row has missing values: leave out the emptiest columns with --drop, or --impute median")
    n_left_out = int((~keep).sum())
    table.notes.append(
        f"{n_left_out} of {keep.size} rows {'was' if n_left_out == 1 else 'were'} left out for missing values in "
        f"{listing(list(lost))}"
    )
    return with_rows(table, np.flatnonzero(keep))


def with_exposure(table: Table, drop: bool) -> Table:
    """Drop rows without exposure if ``drop``; otherwise raise a ValueError if there are any."""
    exposure = table.rows.get("exposure")
    bad = np.empty(0, dtype=np.intp) if exposure is None else np.flatnonzero(~(exposure > 0.0))
    if exposure is None or not bad.size:
        return table
    if not drop or bad.size == exposure.size:
        row = bad[0] if table.row_numbers is None else table.row_numbers[bad[0]]
        others = "" if bad.size == 1 else f" and {bad.size} rows in all"
        raise ValueError(
            f"the exposure {table.encoding.beside['exposure']!r} must be above zero, got {exposure[bad[0]]:g} in row "
            f"{row}{others}: correct them, or leave them out with --drop-zero-exposure"
        )
    verb = "was" if bad.size == 1 else "were"
    table.notes.append(f"{bad.size} of {exposure.size} rows {verb} left out: exposure not above zero")
    return replace(with_rows(table, np.flatnonzero(exposure > 0.0)), n_unexposed=bad.size)


def with_rows(table: Table, rows: NDArray[np.intp]) -> Table:
    """The table restricted to some rows."""
    target = None if table.target is None else table.target[rows]
    if target is not None:
        # Missing values, which are gone now, had other types.
        target = target.astype(str) if target.dtype == object else whole_as_integers(target)
    return replace(
        table,
        matrix=table.matrix.rows(rows) if is_design(table.matrix) else table.matrix[rows],
        target=target,
        rows={role: values[rows] for role, values in table.rows.items()},
        ids=None if table.ids is None else table.ids[rows],
        row_numbers=None if table.row_numbers is None else table.row_numbers[rows],
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
        raise ValueError(f"infinite numbers in {listing(bad)}: correct them, or leave these columns out with --drop")


def _stored(matrix: Any, j: int) -> NDArray[Any]:
    return matrix.data[matrix.indptr[j] : matrix.indptr[j + 1]] if sp.issparse(matrix) else matrix[:, j]
