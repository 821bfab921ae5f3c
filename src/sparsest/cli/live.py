"""The progress of a search on a terminal, and its record for the report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console

from sparsest.runtime.events import Event
from sparsest.runtime.faults import reach
from sparsest.runtime.progress import Record, in_terminal


@contextmanager
def watched(title: str, time_limit: float, quiet: bool = False) -> Iterator[tuple[Record, Callable[[Event], Any]]]:
    """Yield a record of the search and the listener that fills it; on a terminal a line on stderr shows progress."""
    record, console = Record(), Console(stderr=True)

    def keep(event: Event) -> None:
        record.take(event)
        reach("event", event)

    if quiet or not console.is_terminal:
        yield record, keep
        return
    with in_terminal(console, title, time_limit=time_limit) as show:

        def both(event: Event) -> None:
            keep(event)
            show(event)

        yield record, both
