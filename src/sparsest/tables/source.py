"""The result of a reader: named columns, or a matrix with further columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Kind = Literal["number", "text", "date", "other"]

# How missing values are written in text files.
MISSING = ("", "NA", "N/A", "#N/A", "n/a", "NaN", "nan", "-nan", "NAN", "null", "NULL", "None", "?", ".")
# A sparse matrix with more empty rows or columns than this, and with more than this many for each entry, is taken for a
# mistake in the file: it would waste memory.
_MOST_EMPTY_LINES, _EMPTY_LINES_PER_ENTRY = 10_000_000, 100


class Levels(NamedTuple):
    """A column of text: the number of every row's level, -1 if missing, and the levels in sorted order."""

    codes: NDArray[np.int32]
    levels: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Column:
    """A named column that is converted when needed.

    Attributes
    ----------
    kind : "number", "text", "date", or "other" for types that no model can use
    load : returns the numbers, NaN if missing; for text its :class:`Levels`
    dtype : type of the numbers
    coded : whether the user asked for categories, so that numbers among them are levels
    """

    name: str
    kind: Kind
    load: Callable[[], Any]
    dtype: np.dtype[Any] = field(default_factory=lambda: np.dtype(np.float64))
    coded: bool = False


@dataclass(eq=False)
class Source:
    """The content of a file.

    Attributes
    ----------
    n_rows : number of observations
    columns : named columns: the features if there is no matrix, otherwise possible targets, weights and names of rows
    matrix : the features as an array, compressed sparse columns, or a design that is read on demand; or None
    names : names of the matrix's columns, or None
    target : the column that is the target by default
    notes : notes for the user
    ids : the column that names the rows of a matrix
    zeros : whether columns that are missing from the file are zero, as in formats that list only nonzero entries
    first_row : row number of the first observation in a spreadsheet: 2 if there is a header
    """

    n_rows: int
    columns: list[Column]
    matrix: Any = None
    names: tuple[str, ...] | None = None
    target: str | None = None
    notes: list[str] = field(default_factory=list)
    ids: str | None = None
    zeros: bool = False
    first_row: int = 1

    def take_as_categories(self, names: Sequence[str]) -> None:
        """Read these columns as text, with a level for each number among their values."""
        self.columns = [_coded(column) if column.name in names else column for column in self.columns]

    def column(self, name: str) -> Column | None:
        """The column with this name, which may be one of the matrix; None if there is none."""
        for column in self.columns:
            if column.name == name:
                return column
        place = self.place(name)
        return None if place is None else number_column(name, one_column(self.matrix, place))

    def place(self, name: str) -> int | None:
        """The index of the matrix's column with this name; without names, the name is the index."""
        if self.matrix is None:
            return None
        if self.names is not None:
            return self.names.index(name) if name in self.names else None
        return int(name) if name.isdecimal() and int(name) < self.matrix.shape[1] else None

    def all_names(self) -> list[str]:
        """Names of all columns."""
        return [column.name for column in self.columns] + list(self.names or ())


def is_design(matrix: Any) -> bool:
    """Whether a matrix is read on demand; does not import the module of designs."""
    return callable(getattr(matrix, "tdot", None))


def taken(matrix: Any, columns: list[int]) -> Any:
    """Columns of a matrix, which may be a design that is read on demand."""
    return matrix.take(np.array(columns, dtype=np.intp)) if is_design(matrix) else matrix[:, columns]


def one_column(matrix: Any, place: int) -> NDArray[Any]:
    """One column of a matrix, as a vector."""
    if is_design(matrix):
        return np.asarray(matrix.columns([place])[:, 0])
    column = matrix[:, [place]]
    return np.asarray(column.toarray() if hasattr(column, "toarray") else column)[:, 0]


def number_column(name: str, values: NDArray[Any]) -> Column:
    """A column of numbers from an array."""
    return Column(name, "number", lambda: values, values.dtype)


def _coded(column: Column) -> Column:
    """A column as text with a level for each number; dates and other types are returned unchanged."""
    if column.kind != "number":
        return replace(column, coded=column.kind == "text")

    def load() -> Levels:
        values = np.asarray(column.load())
        return levels_of(np.array([None if x != x else f"{x:.15g}" for x in values.astype(np.float64)], dtype=object))

    return Column(column.name, "text", load, coded=True)


def refuse_empty_lines(n_rows: int, n_columns: int, n_entries: int) -> None:
    """Raise a ValueError where a sparse matrix states far more rows or columns than it has entries."""
    if max(n_rows, n_columns) > max(_MOST_EMPTY_LINES, _EMPTY_LINES_PER_ENTRY * n_entries):
        raise ValueError(f"it states {n_rows} rows and {n_columns} columns, but only {n_entries} entries")


def column_of(name: str, values: NDArray[Any]) -> Column:
    """A column from an array of any type."""
    if values.dtype.kind in "fiub":
        return number_column(name, values)
    if values.dtype.kind in "USO":
        return Column(name, "text", lambda: levels_of(values.astype(object)))
    return Column(name, "date" if values.dtype.kind in "Mm" else "other", lambda: values)


def levels_of(values: NDArray[Any]) -> Levels:
    """Levels of an array of texts; None and the texts that stand for missing values are missing."""
    texts = np.array(["" if value is None or value != value else _text(value) for value in values], dtype=object)
    missing = np.isin(texts, MISSING)
    levels, codes = np.unique(texts[~missing].astype(str), return_inverse=True)
    all_codes = np.full(texts.size, -1, dtype=np.int32)
    all_codes[~missing] = codes
    return Levels(all_codes, tuple(levels.tolist()))


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def distinct(names: Sequence[str], notes: list[str]) -> list[str]:
    """Make names distinct by appending numbers to repeated ones, and note it."""
    seen: Counter[str] = Counter()
    taken, found, repeated = set(names), [], []
    for name in names:
        seen[name] += 1
        new = name
        if seen[name] > 1:
            repeated.append(name)
            number = seen[name]
            while (new := f"{name} ({number})") in taken:
                number += 1
            taken.add(new)
        found.append(new)
    if repeated:
        notes.append(f"names that occur more than once got a number: {listing(repeated)}")
    return found


def listing(names: Sequence[str], most: int = 8) -> str:
    """Names for a message, at most ``most`` of them."""
    unique = list(dict.fromkeys(names))
    more = f" and {len(unique) - most} more" if len(unique) > most else ""
    return ", ".join(repr(name) for name in unique[:most]) + more
