"""Tables for people, JSON for programs, and the check that no file is overwritten by accident."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

if TYPE_CHECKING:
    from sparsest.results.result import Result


def refuse_overwriting(force: bool, *paths: str | None) -> None:
    """Raise a ValueError, before anything is computed, for files that exist already or have no folder."""
    for path in paths:
        if path is None:
            continue
        place = Path(path)
        if place.is_file() and not force:
            raise ValueError(f"{path} exists already: choose another name, or overwrite it with --force")
        if place.is_dir():
            raise ValueError(f"{path} is a folder: give the name of a file")
        if not place.absolute().parent.is_dir():
            raise ValueError(f"there is no folder {place.parent} to write {place.name} to")


def print_json(command: str, content: Any) -> None:
    """Print one JSON object; infinity and NaN, which JSON does not have, become null."""
    typer.echo(json.dumps({"format": f"sparsest {command}", "version": 1, **_finite(content)}, ensure_ascii=False))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(entry) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def print_model(result: Result, title: str, *more: str) -> None:
    """Print the selected features, the largest effects first, then what is proved, then further lines."""
    print_grid(title, list(result.heads), [list(row) for row in result.rows()])
    lines = *result.group_lines(), *result.proof_lines(), *result.explained_lines(), *more
    Console().print(*(escape(line) for line in lines), sep="\n")


def print_coefficients(title: str, rows: list[tuple[str, str]]) -> None:
    """Print names with their coefficients."""
    console, grid = Console(), Grid()
    grid.add_column("feature", overflow="fold")
    grid.add_column("coefficient", justify="right", no_wrap=True)
    for name, value in rows:
        grid.add_row(escape(name), value)
    console.print(escape(title), style="bold")
    console.print(grid)


def print_grid(title: str, heads: list[str], rows: list[list[str]], left: tuple[int, ...] = (0,)) -> None:
    """Print a table of texts; columns are aligned to the right, except those in ``left``."""
    console, grid = Console(), Grid()
    for j, head in enumerate(heads):
        grid.add_column(head, justify="left" if j in left else "right", overflow="fold")
    for row in rows:
        grid.add_row(*(escape(entry) for entry in row))
    console.print(escape(title), style="bold")
    console.print(grid)


def given_files(**files: str | None) -> dict[str, str]:
    """The files that have a name."""
    return {name: path for name, path in files.items() if path is not None}


def the_command() -> str:
    """The command line of this process, quoted for a shell."""
    import shlex

    return shlex.join(["sparsest", *sys.argv[1:]])
