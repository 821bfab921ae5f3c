"""The progress of a run of studies: a bar on a terminal, else a line every half minute."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console

from sparsest.runtime.duration import duration

if TYPE_CHECKING:
    from sparsest.studies.runner import Progress

# Seconds between two lines if there is no terminal.
_PAUSE = 30.0


@contextmanager
def following(total: int, done: int, pause: float = _PAUSE) -> Iterator[Callable[[Progress], Any]]:
    """Yield a listener that shows how many tasks are done, how many failed, and the time left."""
    console = Console(stderr=True)
    if console.is_terminal:
        with _bar(console, total, done) as listener:
            yield listener
        return
    shown = time.monotonic()

    def show(progress: Progress) -> None:
        nonlocal shown
        if time.monotonic() - shown >= pause:
            shown = time.monotonic()
            typer.echo(_line(progress), err=True)

    yield show


def _line(progress: Progress) -> str:
    failed = f", {progress.failed} failed" if progress.failed else ""
    return f"{progress.done} of {progress.total} tasks{failed}, about {duration(progress.seconds_left)} left"


@contextmanager
def _bar(console: Console, total: int, done: int) -> Iterator[Callable[[Progress], Any]]:
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bars

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    with Bars(*columns, console=console, transient=True) as bars:
        bar = bars.add_task("starting", total=total, completed=done)

        def show(progress: Progress) -> None:
            bars.update(bar, completed=progress.done, description=_line(progress).partition(" tasks")[2].lstrip(", "))

        yield show
