"""From a data file to a table, with notes on stderr; the loss that suits a target."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
import typer
from numpy.typing import NDArray

from sparsest.cli.app import log
from sparsest.tables import Table, Wishes, read_table

if TYPE_CHECKING:
    from sparsest.path_result import PathResult
    from sparsest.result import Result
    from sparsest.tables import Encoding

# Labels of more classes than these are not all named in a message.
_SHOWN_LABELS = 6


def load(data: str, wishes: Wishes, quiet: bool) -> Table:
    """Read the table of a fit; its notes go to stderr unless they are printed elsewhere."""
    start = time.perf_counter()
    table = read_table(data, wishes)
    n, p = table.matrix.shape
    log("read %s: %d rows, %d features of type %s, %.2f s", data, n, p, table.matrix.dtype, time.perf_counter() - start)
    if not quiet:
        tell(table.notes)
    return table


def tell(notes: list[str]) -> None:
    """Print notes on stderr."""
    for note in notes:
        typer.echo(f"note: {note}", err=True)


def add_note(table: Table, note: str, quiet: bool) -> None:
    """Add a note to those of the table, and print it unless all of them are printed elsewhere."""
    table.notes.append(note)
    if not quiet:
        tell([note])


def choose_loss(loss: str, target: NDArray[Any] | None) -> str:
    """The loss that was asked for, or the usual one for such a target."""
    if loss != "auto":
        return loss
    assert target is not None
    labels = np.unique(target)
    if labels.size == 2:
        return "logistic"
    if target.dtype.kind in "US":
        shown = ", ".join(repr(str(label)) for label in labels[:_SHOWN_LABELS])
        more = ", …" if labels.size > _SHOWN_LABELS else ""
        raise ValueError(
            f"the target has {labels.size} labels ({shown}{more}): a model separates two; make a column that says "
            "whether a row has one of them"
        )
    return "squared"


def columns_of(given: tuple[str, ...], table: Table) -> list[int | str]:
    """Features by name, or by number where that is no name; columns that are not in the table are left out."""
    known = table.names or ()
    wanted = [name for name in given if name not in table.encoding.left_out and name not in table.encoding.ids]
    return [int(name) if name.isdecimal() and name not in known else name for name in wanted]


def gamma_of(text: str) -> Any:
    """A number, or the text as it is, which is then refused by name."""
    try:
        return float(text)
    except ValueError:
        return text


def encoding_of(result: Result | PathResult) -> Encoding:
    """The encoding that was kept with a model; an empty one for a model that was not made by the command line."""
    from sparsest.tables import Encoding

    kept = result.about.get("table")
    return Encoding() if kept is None else Encoding.from_json(kept)
