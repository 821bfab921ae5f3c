"""Read a table for an existing model, with the encoding of its fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sparsest.tables.encoding import GAP, Encoding
from sparsest.tables.features import Filled, Part, fill_columns, fill_matrix, origins, spread
from sparsest.tables.products import factors, with_products
from sparsest.tables.readers import read_source
from sparsest.tables.roles import identifiers_of, rows_of, taken_columns, target_name, target_of
from sparsest.tables.source import Source, is_design, listing, taken
from sparsest.tables.table import Table, without_gaps


def read_with_encoding(
    data: str,
    encoding: Encoding,
    names: Sequence[str] | None,
    p: int,
    *,
    needed: Sequence[int] | None = None,
    target: str | None = None,
    beside: dict[str, str] | None = None,
) -> Table:
    """Read data for an existing model, with the encoding of its fit.

    Parameters
    ----------
    names, p : names (or None) and number of the model's features
    needed : features to read, all by default; if given, other features are empty and no target is read
    target, beside : names of these columns that replace those of the encoding
    """
    if encoding.n_factors is not None:
        return _with_products(data, encoding, names, p, needed, target, beside)
    source = read_source(data)
    source.take_as_categories(encoding.categorical)
    named_beside = encoding.beside | (beside or {})
    if needed is not None:
        # Predictions do not use weights.
        named_beside.pop("sample_weight", None)
    encoding = replace(encoding, target=target or encoding.target, beside=named_beside)
    response, rows = None, rows_of(source, encoding.beside)
    if needed is None:
        column = target_name(source, encoding.target)
        response = target_of(source, column, encoding.target, source.n_rows)
        encoding = replace(encoding, target=column)
    ids = identifiers_of(source, encoding)
    wanted = list(range(p)) if needed is None else sorted(int(j) for j in needed)
    filled = _fill(source, encoding, names, p, wanted)
    if needed is not None:
        filled = filled._replace(matrix=spread(_dense(filled.matrix), wanted, p))
    named = None if names is None else tuple(names)
    table = Table(filled.matrix, named, response, rows, ids, encoding, source.notes)
    if needed is None:
        return without_gaps(table, filled)
    left = {name: count for name, count in filled.missing.items() if name not in filled.fill}
    if left:
        raise ValueError(
            f"missing values in columns that the model needs: {listing(list(left))}; fill them in, or fit with "
            "--impute median"
        )
    return table


def _with_products(
    data: str,
    encoding: Encoding,
    names: Sequence[str] | None,
    p: int,
    needed: Sequence[int] | None,
    target: str | None,
    beside: dict[str, str] | None,
) -> Table:
    """Read the factors of the products and multiply them."""
    count = encoding.n_factors
    if names is None or count is None or len(names) != p or count > p:
        raise ValueError("the model has products of features, but not their names: it cannot be read")
    pairs = factors(encoding, names[:count])
    if count + len(pairs) != p:
        raise ValueError("the model has other products of features than its table: it cannot be read")
    read = needed
    if needed is not None:
        read = sorted({factor for j in needed for factor in ((j,) if j < count else pairs[j - count])})
    plain = replace(encoding, n_factors=None)
    table = read_with_encoding(data, plain, names[:count], count, needed=read, target=target, beside=beside)
    return with_products(table)


def _dense(matrix: Any) -> NDArray[Any]:
    if is_design(matrix):
        return matrix.columns(np.arange(matrix.shape[1]))
    return matrix.toarray() if sp.issparse(matrix) else matrix


def _fill(source: Source, encoding: Encoding, names: Sequence[str] | None, p: int, wanted: list[int]) -> Filled:
    """The matrix of the wanted features, from named columns or from a matrix."""
    if source.matrix is not None:
        return _fill_from_matrix(source, encoding, names, p, wanted)
    if names is None:
        used = {encoding.target, *encoding.beside.values(), *encoding.ids, *encoding.left_out}
        rest = [column for column in source.columns if column.name not in used]
        if len(rest) != p:
            raise ValueError(f"the model is for {p} columns without names, the data have {len(rest)}")
        parts = [Part(rest[j]) for j in wanted]
    else:
        came_from = origins(encoding, names)
        by_name = {column.name: column for column in source.columns}
        chosen = [came_from[names[j]] for j in wanted]
        absent = [column for column, _ in chosen if column not in by_name]
        if absent:
            raise ValueError(f"the data have no column {listing(absent)}, which the model needs")
        parts = [Part(by_name[column], (levels,) if levels else ()) for column, levels in chosen]
    _check_kinds(parts)
    _note_new_levels(source, encoding, {part.column.name for part in parts if part.groups} & encoding.categories.keys())
    return fill_columns(parts, source.n_rows, encoding.impute, encoding.fill)


def _note_new_levels(source: Source, encoding: Encoding, used: set[str]) -> None:
    for column in source.columns:
        if column.name in used and (new := set(column.load().levels) - encoding.categories[column.name].keys()):
            source.notes.append(f"column {column.name!r} has values that the fit did not have: {listing(sorted(new))}")


def _check_kinds(parts: list[Part]) -> None:
    for part in parts:
        wanted = "text" if part.groups and part.groups != ((GAP,),) else "number"
        if part.groups == ((GAP,),) and part.column.kind in ("text", "number"):
            continue
        empty = part.column.kind == "text" and not part.groups and not part.column.load().levels
        if part.column.kind != wanted and not empty:
            raise ValueError(
                f"column {part.column.name!r} must hold {wanted}s as in the fit, but holds {part.column.kind}s"
            )


def _fill_from_matrix(
    source: Source, encoding: Encoding, names: Sequence[str] | None, p: int, wanted: list[int]
) -> Filled:
    matrix, own = source.matrix, source.names
    if encoding.categories:
        raise ValueError("the model was fitted to a table with columns of text: give such a table")
    if names is not None and own is not None:
        place = {name: j for j, name in enumerate(own)}
        absent = [names[j] for j in wanted if names[j] not in place]
        if absent and source.zeros:
            matrix = sp.csc_array(sp.hstack([matrix, sp.csc_array((matrix.shape[0], 1), dtype=matrix.dtype)]))
            place |= dict.fromkeys(absent, matrix.shape[1] - 1)
        elif absent:
            raise ValueError(f"the data have no column {listing(absent)}, which the model needs")
        chosen = [place[names[j]] for j in wanted]
    else:
        rest = [j for j in range(matrix.shape[1]) if j not in taken_columns(source, encoding)]
        if len(rest) != p:
            raise ValueError(f"the model is for {p} columns, the data have {len(rest)}")
        chosen = [rest[j] for j in wanted]
    if chosen != list(range(matrix.shape[1])):
        matrix = taken(matrix, chosen)
    shown = [str(j) if names is None else names[j] for j in wanted]
    return fill_matrix(matrix, shown, encoding.impute, encoding.fill)
