"""Checks of arguments: each returns the value in its proper type, or raises a ValueError that says what to give.

Functions, estimators, data sets and the command line share them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from importlib import import_module
from numbers import Integral, Real
from operator import index
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsest.core.arrays import Array, Indices

# Longer values are cut off in messages, which have to stay one short line.
_SHOWN_CHARACTERS = 60
# Columns that a message names; a table may have thousands.
_NAMED_COLUMNS = 5
# From here on not every whole number is a floating-point number.
_EXACT_INTEGER = 2**53


def shown(value: Any) -> str:
    """Return a value for a message: short, on one line, and without raising an error."""
    try:
        text = " ".join(repr(value).split())
    except Exception:
        # A user's class may fail to print itself in any way, and so do whole numbers of more than 4300 digits.
        text = f"a value of type {type(value).__name__}"
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[: _SHOWN_CHARACTERS - 1]}…"


def _plain(value: Any) -> Any:
    """Take a scalar out of an array without dimensions; a masked scalar becomes None."""
    if isinstance(value, np.ma.MaskedArray):
        return None
    return value.item() if isinstance(value, (np.ndarray, np.generic)) and value.ndim == 0 else value


def number(
    value: Any,
    name: str,
    *,
    above: float | None = None,
    least: float | None = None,
    below: float | None = None,
    most: float | None = None,
    finite: bool = True,
    or_else: str = "",
) -> float:
    """Return a real number within limits as a float.

    Parameters
    ----------
    value, name : the argument and what the message calls it
    above, least, below, most : open and closed limits
    finite : whether infinity is refused; NaN always is
    or_else : what else the caller takes, for the message
    """
    try:
        plain = _plain(value)
        x = float(plain) if isinstance(plain, Real) and not isinstance(plain, bool) else np.nan
    except OverflowError:
        x = np.nan
    inside = (
        (above is None or x > above)
        and (least is None or x >= least)
        and (below is None or x < below)
        and (most is None or x <= most)
    )
    if x == x and inside and not (finite and np.isinf(x)):
        return x
    limits = ((">", above), (">=", least), ("<", below), ("<=", most))
    bounds = " and ".join(f"{sign} {limit:g}" for sign, limit in limits if limit is not None)
    unbounded = below is None and most is None
    wanted = f"a {'finite ' if finite and unbounded else ''}number {bounds}{'' if finite else ' or inf'}"
    raise ValueError(_refusal(name, wanted, value, or_else))


def whole_number(value: Any, name: str, *, least: int | None = None, most: int | None = None, or_else: str = "") -> int:
    """Return a whole number within limits as an int; floats and booleans are not whole numbers."""
    try:
        x = None if isinstance(value, (bool, np.ma.MaskedArray)) else index(value)
    except TypeError:
        x = None
    if x is not None and (least is None or x >= least) and (most is None or x <= most):
        return x
    limits = ((">=", least), ("<=", most))
    bounds = " and ".join(f"{sign} {limit}" for sign, limit in limits if limit is not None)
    raise ValueError(_refusal(name, f"a whole number {bounds}".rstrip(), value, or_else))


def _refusal(name: str, wanted: str, value: Any, or_else: str) -> str:
    return f"{name} must be {wanted}{f' or {or_else}' if or_else else ''}, got {shown(value)}"


def flag(value: Any, name: str) -> bool:
    """Return True or False; texts like "false" and numbers are neither."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise ValueError(_refusal(name, "True or False", value, ""))


def word(value: Any, name: str, *, words: Collection[str]) -> str:
    """Return one of several words."""
    if isinstance(value, str) and value in words:
        return str(value)
    raise ValueError(f"unknown {name} {shown(value)}; choose one of {', '.join(words)}")


def instance(value: Any, name: str, *, kind: type, or_else: str = "") -> Any:
    """Return an object of a class."""
    if isinstance(value, kind):
        return value
    raise ValueError(_refusal(name, f"a {kind.__name__}", value, or_else))


def path_name(value: Any, *, kind: str = "file") -> Path:
    """Return the name of a file or folder as a path."""
    try:
        return Path(value)
    except TypeError as error:
        raise ValueError(f"path must name a {kind}, got {shown(value)}") from error


def function(value: Any, name: str, *, or_else: str = "") -> Any:
    """Return a callable."""
    if callable(value):
        return value
    raise ValueError(_refusal(name, "a function", value, or_else))


def optional(check: Callable[..., Any], **limits: Any) -> Callable[[Any, str], Any]:
    """Return a check that accepts None as well."""

    def checked(value: Any, name: str) -> Any:
        return None if value is None else check(value, name, or_else="None", **limits)

    return checked


def required_package(name: str, extra: str, purpose: str) -> Any:
    """Return an optional package; if it is missing, raise an ImportError that says which extra brings it."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(f"{purpose} need {name}: pip install 'sparsest[{extra}]'") from error


def as_array(values: Any, name: str) -> NDArray[Any]:
    """Return lists, series and frames as an array; ragged lists and masked entries are refused."""
    if np.ma.is_masked(values):
        raise ValueError(f"{name} has masked entries: fill them in or drop them first")
    try:
        array = np.asarray(list(values) if isinstance(values, (set, frozenset)) else values)
    except (TypeError, ValueError, OverflowError, AttributeError) as error:
        raise ValueError(f"{name} cannot be read as an array: its rows may have different lengths") from error
    if array.ndim == 2 and _has_polars_dates(values):
        raise ValueError(_not_numbers(name, values))
    return array


def as_numbers(values: NDArray[Any], name: str, frame: Any = None) -> Array:
    """Return an array as float64; refuse text, complex numbers and dates instead of converting them.

    The message names the columns at fault if the array was read from a data ``frame``.
    """
    if values.dtype.kind not in "fiubO" or holds_text_or_dates(values):
        raise ValueError(_not_numbers(name, frame))
    try:
        with np.errstate(over="ignore"):
            numbers = values.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(_not_numbers(name, frame)) from error
    refuse_inexact(values, name)
    return numbers


def refuse_inexact(values: NDArray[Any], name: str) -> None:
    """Refuse whole numbers that double precision may not represent: they would be rounded silently."""
    if values.dtype.kind == "O":
        whole = [entry for entry in values.flat if isinstance(entry, Integral)]
        largest = max((abs(int(entry)) for entry in whole), default=0)
    else:
        whole_numbers = values.dtype.kind in "iu" and values.dtype.itemsize == 8 and values.size
        largest = max(abs(int(values.max())), abs(int(values.min()))) if whole_numbers else 0
    if largest >= _EXACT_INTEGER:
        raise ValueError(
            f"{name} holds whole numbers such as {shown(largest)} that double precision cannot represent: subtract a "
            "constant or divide, or drop the column if it is an identifier"
        )


def _not_numbers(name: str, frame: Any = None) -> str:
    columns = [shown(column) for column in _columns_without_numbers(frame)]
    named = columns[:_NAMED_COLUMNS] + ["…"] * (len(columns) > _NAMED_COLUMNS)
    where = f", but {', '.join(named)} {'does' if len(columns) == 1 else 'do'} not" if columns else ""
    return f"{name} must hold real numbers{where}: encode text, categories and dates, and fill in missing values"


def _columns_without_numbers(frame: Any) -> list[str]:
    """The columns of a data frame that hold something else; none for anything but a data frame."""
    found = []
    for column in column_names(frame) or () if hasattr(frame, "__getitem__") else ():
        try:
            as_numbers(as_array(frame[column], column), column)
        except (TypeError, ValueError):
            found.append(column)
    return found


def _has_polars_dates(values: Any) -> bool:
    """Whether a polars frame has columns of dates or times, which would become numbers of days or microseconds."""
    kinds = getattr(values, "dtypes", ())
    return isinstance(kinds, list) and any(getattr(kind, "is_temporal", bool)() for kind in kinds)


def check_entries(values: Any, name: str) -> None:
    """Refuse matrices that scikit-learn would accept: with text, dates or masked entries, or sparse and inconsistent.

    Single objects that are not numbers are left to scikit-learn, whose convention is a TypeError.
    """
    if hasattr(values, "tocsr"):
        check_sparse(values, name)
        return
    array = as_array(values, name)
    if array.ndim == 0:
        raise ValueError(f"{name} must be a matrix with two dimensions, got {shown(values)}")
    if array.dtype.kind == "V" or holds_text_or_dates(array):
        raise ValueError(_not_numbers(name, values))
    try:
        if array.dtype.kind == "O":
            array.astype(np.float64)
    except OverflowError as error:
        raise ValueError(_not_numbers(name)) from error
    except (TypeError, ValueError):
        return
    refuse_inexact(array, name)


def holds_text_or_dates(values: NDArray[Any]) -> bool:
    """Whether an array holds text or dates, which NumPy would convert to numbers where it can."""
    if values.dtype.kind == "O":
        return any(isinstance(entry, (str, bytes, np.datetime64, np.timedelta64)) for entry in values.flat)
    return values.dtype.kind in "USmM"


def column_numbers(values: Any, name: str, p: int, *, or_else: str = "") -> Indices:
    """Return column numbers between 0 and p - 1, in the given order."""
    columns = as_array(values, name)
    if columns.ndim != 1 or (columns.size and columns.dtype.kind not in "iu"):
        raise ValueError(_refusal(name, "a list of column numbers or names", values, or_else))
    if columns.size and (columns.min() < 0 or columns.max() >= p):
        raise ValueError(f"{name} must hold column numbers from 0 to {p - 1}, got {shown(values)}")
    return columns.astype(np.intp)


def column_names(X: Any) -> tuple[str, ...] | None:
    """Return the names of the columns of a data frame, if all of them are texts, or of a design; None otherwise."""
    columns = getattr(X, "columns", None)
    if callable(columns):
        # A design has a method of that name.
        known = getattr(X, "names", None)
        return known if isinstance(known, tuple) else None
    if columns is None:
        return None
    names = list(columns)
    return tuple(str(name) for name in names) if all(isinstance(name, str) for name in names) else None


def check_names(names: Any, name: str, p: int) -> tuple[str, ...]:
    """Return names for p columns."""
    entries = as_array(names, name)
    if entries.shape != (p,) or not all(isinstance(entry, str) for entry in entries):
        raise ValueError(_refusal(name, f"a list of {p} texts, one for each column", names, "None"))
    return tuple(str(entry) for entry in entries)


def by_number(columns: Any, name: str, names: tuple[str, ...] | None) -> Any:
    """Replace names of columns by their numbers; return values without names unchanged."""
    if isinstance(columns, (str, bytes)):
        return columns
    try:
        entries = list(columns)
    except TypeError:
        return columns
    if not any(isinstance(entry, str) for entry in entries):
        return columns
    if names is None:
        hint = "give names with a data frame or feature_names"
        raise ValueError(f"{name} must be a list of column numbers where X has no names, got {shown(columns)}: {hint}")
    return [_number_of(entry, name, names) if isinstance(entry, str) else entry for entry in entries]


def _number_of(column: str, name: str, names: tuple[str, ...]) -> int:
    times = names.count(column)
    if times != 1:
        found = f"has {times} times" if times else "does not have"
        raise ValueError(f"{name} names the column {shown(column)}, which X {found}")
    return names.index(column)


def check_sparse(matrix: Any, name: str) -> None:
    """Refuse a SciPy sparse matrix whose arrays contradict each other.

    Compiled code does not check these arrays: an index out of range would make it access foreign memory.
    """
    if matrix.ndim != 2:
        raise ValueError(f"{name} must be a matrix with two dimensions, got {matrix.ndim}")
    if matrix.dtype.kind not in "fiub":
        raise ValueError(f"{name} must hold real numbers, got a sparse matrix of type {matrix.dtype}")
    problem = _PROBLEMS[matrix.format](matrix)
    if problem:
        raise ValueError(f"{name} is a broken sparse matrix, {problem}: rebuild it from its entries")
    if matrix.dtype.kind in "iu":
        refuse_inexact(matrix.tocoo().data, name)


def _compressed(matrix: Any) -> str:
    """What is wrong with compressed rows, columns or blocks."""
    data, indices, indptr = (np.asarray(part) for part in (matrix.data, matrix.indices, matrix.indptr))
    height, width = data.shape[1:] if matrix.format == "bsr" and data.ndim == 3 else (1, 1)
    if data.ndim != (3 if matrix.format == "bsr" else 1) or min(height, width) < 1:
        return f"its entries have the shape {data.shape}"
    n_rows, n_columns = matrix.shape[0] // height, matrix.shape[1] // width
    if (n_rows * height, n_columns * width) != tuple(matrix.shape):
        return f"blocks of {height} × {width} do not fill it"
    n_lines, n_places = (n_columns, n_rows) if matrix.format == "csc" else (n_rows, n_columns)
    if indices.dtype.kind not in "iu" or indptr.dtype.kind not in "iu":
        return "its indices are not whole numbers"
    if indptr.shape != (n_lines + 1,) or indices.shape != data.shape[:1]:
        return "its arrays have the wrong lengths"
    if indptr[0] != 0 or indptr[-1] > indices.size or (indptr[1:] < indptr[:-1]).any():
        return "its indptr does not rise from 0 to the number of entries"
    return _outside(indices, n_places)


def _outside(indices: NDArray[Any], n_places: int) -> str:
    """What is wrong with the indices of entries."""
    if indices.size and (indices.min() < 0 or indices.max() >= n_places):
        return f"it has indices outside 0 to {n_places - 1}"
    return ""


def _coordinates(matrix: Any) -> str:
    """What is wrong with lists of coordinates."""
    data = np.asarray(matrix.data)
    for coordinate, n_places in zip((matrix.row, matrix.col), matrix.shape, strict=True):
        if coordinate.dtype.kind not in "iu" or coordinate.shape != data.shape or data.ndim != 1:
            return "its coordinates do not fit its entries"
        problem = _outside(coordinate, n_places)
        if problem:
            return problem
    return ""


def _lists(matrix: Any) -> str:
    """What is wrong with a list of entries for each row."""
    if len(matrix.rows) != matrix.shape[0] or len(matrix.data) != matrix.shape[0]:
        return "it has the wrong number of rows"
    if any(len(places) != len(entries) for places, entries in zip(matrix.rows, matrix.data, strict=True)):
        return "its indices do not fit its entries"
    return _outside(np.array([place for places in matrix.rows for place in places], dtype=np.intp), matrix.shape[1])


def _diagonals(matrix: Any) -> str:
    """What is wrong with diagonals."""
    data, offsets = np.asarray(matrix.data), np.asarray(matrix.offsets)
    fit = data.ndim == 2 and offsets.shape == data.shape[:1] and offsets.dtype.kind in "iu"
    return "" if fit else "its offsets do not fit its diagonals"


def _dictionary(matrix: Any) -> str:
    """What is wrong with a dictionary of entries."""
    try:
        return _coordinates(matrix.tocoo())
    except (TypeError, ValueError, LookupError, OverflowError) as error:
        return f"which SciPy cannot read ({error})"


_PROBLEMS: dict[str, Callable[[Any], str]] = {
    "csc": _compressed,
    "csr": _compressed,
    "bsr": _compressed,
    "coo": _coordinates,
    "lil": _lists,
    "dia": _diagonals,
    "dok": _dictionary,
}
