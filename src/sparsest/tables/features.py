"""The matrix of the features, filled column by column; each source column is freed after it is copied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sparsest.core.arrays import Mask
from sparsest.core.checks import refuse_inexact
from sparsest.tables.encoding import GAP, Encoding
from sparsest.tables.source import Column, is_design

# Types with which a dense design computes directly; others are converted to float64.
_STORED = {np.dtype(name) for name in ("f4", "f8", "?", "i1", "u1", "i2", "u2", "i4", "u4")}
# Number of columns that are inspected together.
_BLOCK_ENTRIES = 1 << 22


class Filled(NamedTuple):
    """A matrix, with the number of missing values of each column, their replacements, and the complete rows."""

    matrix: Any
    missing: dict[str, int]
    fill: dict[str, float | str]
    complete: Mask


class Part(NamedTuple):
    """A column and its features: the column itself if there are no groups, else one feature for each group of levels.

    A column of numbers may have the group of missing values, which indicates where it is missing.
    """

    column: Column
    groups: tuple[tuple[str, ...], ...] = ()

    @property
    def width(self) -> int:
        """Number of features."""
        return len(self.groups) or 1


def replaces(impute: str | None) -> bool:
    """Whether missing values are replaced."""
    return impute is not None and impute != "drop"


def fill_columns(parts: list[Part], n_rows: int, impute: str | None, known: dict[str, float | str]) -> Filled:
    """Fill a matrix in Fortran order from columns, which are removed from the list one by one.

    Parameters
    ----------
    impute : "median" or "mean" replaces missing numbers by that of their column, and missing text without a separate
        level by the most frequent level; with "drop" and None they stay missing
    known : replacements from an earlier table
    """
    dtypes = [np.dtype(np.int8) if part.groups else part.column.dtype for part in parts]
    dtype = np.result_type(*dtypes) if dtypes else np.dtype(np.float64)
    matrix = np.empty((n_rows, sum(part.width for part in parts)), dtype if dtype in _STORED else np.float64, order="F")
    filled = Filled(matrix, {}, {}, np.ones(n_rows, dtype=bool))
    place = 0
    parts.reverse()
    while parts:
        part = parts.pop()
        target = matrix[:, place : place + part.width]
        if part.groups and part.column.kind == "number":
            target[:, 0] = np.isnan(np.asarray(part.column.load(), dtype=np.float64))
        elif part.groups:
            _fill_levels(part, target, impute, known, filled)
        else:
            values = part.column.load()
            refuse_inexact(values, f"column {part.column.name!r}")
            target[:, 0] = values
            _impute(target[:, 0], part.column.name, impute, known, filled)
        place += part.width
    return filled


def _fill_levels(
    part: Part, target: NDArray[Any], impute: str | None, known: dict[str, float | str], filled: Filled
) -> None:
    name, found = part.column.name, part.column.load()
    codes = found.codes
    gaps = codes < 0
    own = known.get(name) == GAP or any(GAP in group for group in part.groups)
    if gaps.any():
        filled.missing[name] = int(gaps.sum())
        filled.complete[gaps] &= own
    if own:
        filled.fill[name] = GAP
    elif replaces(impute) and found.levels:
        level = known.get(name) or found.levels[int(np.bincount(codes[~gaps]).argmax())]
        filled.fill[name] = level
        if level in found.levels:
            codes = np.where(gaps, found.levels.index(str(level)), codes)
    for j, group in enumerate(part.groups):
        chosen = [found.levels.index(level) for level in group if level in found.levels] + [-1] * (GAP in group)
        target[:, j] = np.isin(codes, chosen)


def _impute(values: NDArray[Any], name: str, impute: str | None, known: dict[str, float | str], filled: Filled) -> None:
    """Count the missing values of a column, and replace them in place."""
    gaps = np.isnan(values) if values.dtype.kind == "f" else np.zeros(0, dtype=bool)
    some = bool(gaps.any())
    if some:
        filled.missing[name] = int(gaps.sum())
        filled.complete[gaps] = False
    if replaces(impute):
        rest = values[~gaps] if some else values
        if not rest.size and name not in known:
            return
        middle = np.mean if str(impute).startswith("mean") else np.median
        value = float(known[name]) if name in known else float(middle(rest.astype(np.float64)))
        filled.fill[name] = value
        if some:
            values[gaps] = value


def fill_matrix(matrix: Any, names: Sequence[str], impute: str | None, known: dict[str, float | str]) -> Filled:
    """Fill missing values of an existing matrix; it is copied only if a value has to be replaced."""
    n, p = matrix.shape
    filled = Filled(matrix, {}, {}, np.ones(n, dtype=bool))
    if is_design(matrix):
        own = getattr(getattr(matrix, "source", None), "imputes", None)
        if impute not in (None, "drop", own):
            raise ValueError("--impute needs data in memory, but these are read on demand: impute them first")
        return filled
    affected = range(p) if replaces(impute) else _with_gaps(matrix)
    changed = matrix
    for j in affected:
        column = changed[:, [j]].toarray()[:, 0] if sp.issparse(changed) else np.array(changed[:, j])
        some = column.dtype.kind == "f" and bool(np.isnan(column).any())
        _impute(column, names[j], impute, known, filled)
        if some and replaces(impute):
            if changed is matrix:
                changed = matrix.copy()
            _replace(changed, j, column)
    return filled._replace(matrix=changed)


def _with_gaps(matrix: Any) -> list[int]:
    """Columns with missing values."""
    if matrix.dtype.kind != "f":
        return []
    if sp.issparse(matrix):
        places = np.flatnonzero(np.isnan(matrix.data))
        return np.unique(np.searchsorted(matrix.indptr, places, side="right") - 1).tolist()
    width = max(1, _BLOCK_ENTRIES // max(matrix.shape[0], 1))
    blocks = range(0, matrix.shape[1], width)
    gaps = [np.isnan(matrix[:, start : start + width]).any(axis=0) for start in blocks]
    return np.flatnonzero(np.concatenate(gaps)).tolist() if gaps else []


def _replace(matrix: Any, j: int, column: NDArray[Any]) -> None:
    if not sp.issparse(matrix):
        matrix[:, j] = column
        return
    stored = slice(matrix.indptr[j], matrix.indptr[j + 1])
    matrix.data[stored] = column[matrix.indices[stored]]


def spread(block: NDArray[Any], places: Sequence[int], p: int) -> sp.csc_array:
    """A matrix of p columns with ``block`` at the given columns; the other columns are empty."""
    n = block.shape[0]
    counts = np.zeros(p, dtype=np.int64)
    counts[list(places)] = n
    indices = np.tile(np.arange(n), len(places))
    data = block.ravel(order="F")
    return sp.csc_array((data, indices, np.concatenate([[0], np.cumsum(counts)])), shape=(n, p))


def origins(encoding: Encoding, names: Sequence[str]) -> dict[str, tuple[str, tuple[str, ...]]]:
    """For every feature its column, and its levels if the column is text."""
    special: dict[str, tuple[str, tuple[str, ...]]] = {
        feature: (column, (GAP,)) for column, feature in encoding.indicators.items()
    }
    for column, features in encoding.categories.items():
        special |= {feature: (column, levels) for feature, levels in grouped(features).items()}
    return {name: special.get(name, (name, ())) for name in names}


def grouped(features: dict[str, str | None]) -> dict[str, tuple[str, ...]]:
    """The levels of every feature of a column of text."""
    found: dict[str, tuple[str, ...]] = {}
    for level, feature in features.items():
        if feature is not None:
            found[feature] = (*found.get(feature, ()), level)
    return found
