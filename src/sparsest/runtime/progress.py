"""Where a search stands, shown while it runs in a terminal or a notebook, or recorded.

This is a listener to the events of a search, and with the reports the only part of the package that prints.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sparsest.proofs.certificate import relative_gap
from sparsest.runtime.events import Bound, Done, Event, Fold, Incumbent, Repetition, Root

if TYPE_CHECKING:
    from rich.console import Console

Listener = Callable[[Event], Any]
# Seconds between two updates in a notebook, which come at the cost of the search.
_PAUSE = 0.2


class Standing:
    """Incumbent, bound, gap and nodes, put together from the events of a search."""

    def __init__(self) -> None:
        self.objective, self.bound, self.n_nodes = float("inf"), float("-inf"), 0

    def take(self, event: Event) -> None:
        """Take over what an event says."""
        match event:
            case Root(lower_bound=bound):
                self.bound, self.n_nodes = bound, 0
            case Incumbent(objective=objective):
                self.objective = objective
            case Bound(lower_bound=bound, objective=objective, n_nodes=n_nodes):
                self.bound, self.objective, self.n_nodes = bound, objective, n_nodes
            case Done(lower_bound=bound, objective=objective):
                self.bound, self.objective = bound, objective

    def __str__(self) -> str:
        """The line that is shown."""
        gap = relative_gap(self.objective, self.bound)
        return f"incumbent {self.objective:.6g}, bound {self.bound:.6g}, gap {gap:.2%}, {self.n_nodes} nodes"


class Record:
    """Incumbent and bound over time, from the events of a search: what a report draws."""

    def __init__(self) -> None:
        self._standing = Standing()
        self.points: list[tuple[float, float, float]] = []

    def take(self, event: Event) -> None:
        """Add seconds, objective and bound where one of the last two has changed."""
        if isinstance(event, (Fold, Repetition)):
            return
        self._standing.take(event)
        now = (self._standing.objective, self._standing.bound)
        if not self.points or self.points[-1][1:] != now or isinstance(event, Done):
            self.points.append((event.seconds, *now))


@contextmanager
def watching(verbose: bool, callback: Listener | None, title: str = "best subset") -> Iterator[Listener | None]:
    """Yield the listener for a search: the user's own, and with ``verbose`` the line beside it."""
    if not verbose:
        yield callback
        return
    from rich.console import Console

    console = Console()
    with _in_notebook(title) if console.is_jupyter else in_terminal(console, title, stays=True) as show:

        def both(event: Event) -> Any:
            show(event)
            return None if callback is None else callback(event)

        yield both


@contextmanager
def in_terminal(
    console: Console, title: str, stays: bool = False, time_limit: float = float("inf")
) -> Iterator[Listener]:
    """Show the line beside a spinner, with the time left; it goes away at the end unless it ``stays``."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=not stays) as progress:
        task, standing = progress.add_task(title), Standing()

        def show(event: Event) -> None:
            if isinstance(event, (Fold, Repetition)):
                progress.update(task, description=f"{title}: {_parts_done(event)}")
                return
            standing.take(event)
            left = f", {max(time_limit - event.seconds, 0.0):.0f} s left" if time_limit < float("inf") else ""
            progress.update(task, description=f"{title}: {standing}{left}")

        yield show


def _parts_done(event: Event) -> str:
    """How many folds, or repetitions of a selection, are done."""
    if isinstance(event, Fold):
        return f"{event.n_done} of {event.n_folds} folds are done"
    assert isinstance(event, Repetition)
    return f"{event.n_done} of {event.n_repetitions} repetitions are done"


@contextmanager
def _in_notebook(title: str) -> Iterator[Listener]:
    """Show the line in the output of a cell, and change it there; rich would need ipywidgets for it."""
    from IPython.display import display

    shown = display({"text/plain": title}, raw=True, display_id=True)
    standing, last = Standing(), [0.0]

    def show(event: Event) -> None:
        parts = isinstance(event, (Fold, Repetition))
        if not parts:
            standing.take(event)
        now = time.monotonic()
        if now - last[0] >= _PAUSE or isinstance(event, Done):
            last[0] = now
            state = _parts_done(event) if parts else standing
            shown.update({"text/plain": f"{title}: {state}, {event.seconds:.1f} s"}, raw=True)

    yield show
