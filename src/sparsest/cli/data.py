"""From a data file to a table, with notes on stderr; the loss that suits a target."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
import typer
from numpy.typing import NDArray

from sparsest.cli.app import log
from sparsest.cli.options import ColumnOptions, SubsetOptions, names
from sparsest.tables import ReadingOptions, Table, read_table

if TYPE_CHECKING:
    from sparsest.paths.path_result import PathResult
    from sparsest.results.result import Result
    from sparsest.tables import Encoding

# Largest number of labels that a message lists.
_SHOWN_LABELS = 6
# A target with at most this many different whole numbers may hold counts or classes: a note says what is assumed.
_FEW_VALUES = 30
_ROW = re.compile(r"in row (\d+)")


def load(data: str, required: ReadingOptions, quiet: bool) -> Table:
    """Read the table of a fit; print its notes on stderr unless ``quiet``."""
    start = time.perf_counter()
    table = read_table(data, required)
    n, p = table.matrix.shape
    kind = getattr(table.matrix, "dtype", "as stored")
    log("read %s: %d rows, %d features of type %s, %.2f s", data, n, p, kind, time.perf_counter() - start)
    if not quiet:
        print_notes(table.notes)
    return table


def print_notes(notes: list[str]) -> None:
    """Print notes on stderr."""
    for note in notes:
        typer.echo(f"note: {note}", err=True)


def add_note(table: Table, note: str, quiet: bool) -> None:
    """Add a note to those of the table, and print it unless ``quiet``."""
    table.notes.append(note)
    if not quiet:
        print_notes([note])


def choose_loss(loss: str, table: Table, quiet: bool) -> str:
    """The given loss, or the usual one for the target with a note on what was assumed."""
    if loss != "auto":
        return loss
    assert table.target is not None
    chosen = _usual_loss(table.target)
    if assumed := what_is_assumed(table.target, "exposure" in table.rows):
        add_note(table, assumed, quiet)
    return chosen


def model_settings(model: SubsetOptions, columns: ColumnOptions, table: Table, quiet: bool) -> dict[str, Any]:
    """Loss, scale and restrictions of a best subset as settings of the library."""
    if model.positive and model.lower:
        raise ValueError("--positive means --lower 0: give one of them")
    limits = model.settings()
    lower = 0.0 if limits.pop("positive") else limits["lower"]
    given = {name: value for name, value in asdict(model).items() if name != "positive"}
    return {
        **given, "lower": _by_column(lower, table), "upper": _by_column(limits["upper"], table),
        "loss": choose_loss(model.loss, table, quiet), "include": columns_of(names(model.include), table),
        "exclude": columns_of(names(columns.exclude), table),
    }  # fmt: skip


def _by_column(limits: Any, table: Table) -> Any:
    """Limits of coefficients with column numbers in place of names; one number for all is returned unchanged."""
    if not isinstance(limits, dict):
        return limits
    return {column: limit for name, limit in limits.items() for column in columns_of((name,), table)}


def what_is_assumed(target: NDArray[Any], exposed: bool) -> str:
    """A note on how a target of few whole numbers is interpreted and how to change this; empty for other targets.

    Parameters
    ----------
    exposed : whether there are exposures, which only counts and totals have
    """
    if target.dtype.kind not in "fiu":
        return ""
    values = np.unique(target)
    if values.size == 2:
        low, high = (f"{value:g}" for value in values)
        share = float(np.mean(target == values[1]))
        return (
            f"the target has two values, {low} and {high}: they are taken as classes ({share:.0%} are {high}); "
            "if they are amounts give --loss squared"
        )
    whole = values.size and bool((values == np.round(values)).all())
    if whole and values[0] >= 0 and (exposed or values.size <= _FEW_VALUES):
        return (
            f"the target has {values.size} whole numbers from {values[0]:g} to {values[-1]:g}: they are taken as "
            "amounts (least squares); if they are counts give --loss poisson (or negative_binomial), if they are "
            "classes make a column that says whether a row has one of them"
        )
    return ""


@contextmanager
def rows_of_the_file(table: Table) -> Iterator[None]:
    """Make errors report row numbers of the file: from 1, including the header, as in a spreadsheet."""
    try:
        yield
    except ValueError as error:
        named = _ROW.search(str(error))
        if named is None or table.row_numbers is None or int(named[1]) >= table.row_numbers.size:
            raise
        row = int(table.row_numbers[int(named[1])])
        raise ValueError(_ROW.sub(f"in row {row} of the file", str(error), count=1)) from error


def _usual_loss(target: NDArray[Any]) -> str:
    labels = np.unique(target)
    if labels.size == 2:
        return "logistic"
    if target.dtype.kind in "US":
        shown = ", ".join(repr(str(label)) for label in labels[:_SHOWN_LABELS])
        more = ", …" if labels.size > _SHOWN_LABELS else ""
        raise ValueError(
            f"the target has {labels.size} labels ({shown}{more}), but a classifier separates two classes: make a "
            "column that says whether a row has a certain label"
        )
    return "squared"


def columns_of(given: tuple[str, ...], table: Table) -> list[int | str]:
    """Features by name, by the column of text whose levels they are, or by number if no name matches.

    Columns that are not in the table are left out.
    """
    known, levels = table.names or (), table.encoding.categories
    found: list[int | str] = []
    for name in given:
        if name in table.encoding.left_out or name in table.encoding.ids:
            continue
        if name in levels and name not in known:
            found += dict.fromkeys(feature for feature in levels[name].values() if feature is not None)
        else:
            found.append(int(name) if name.isdecimal() and name not in known else name)
    return found


def gamma_of(text: str) -> Any:
    """The number, or the text itself, which the library accepts or refuses."""
    try:
        return float(text)
    except ValueError:
        return text


def encoding_of(result: Result | PathResult) -> Encoding:
    """The encoding that is stored with a model; an empty one if the model was not made by the command line."""
    from sparsest.tables import Encoding

    kept = result.about.get("table")
    return Encoding() if kept is None else Encoding.from_json(kept)
