"""The progress of a search: shown in a terminal or a notebook while it runs, or recorded.

Everything here listens to the events of a search.  Apart from the command line nothing else prints.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import isfinite
from typing import TYPE_CHECKING, Any

from sparsest.proofs.certificate import relative_gap
from sparsest.runtime.events import Alpha, Bound, Done, Event, Fold, Incumbent, NotTried, Pass, Repetition, Root

if TYPE_CHECKING:
    from rich.console import Console

Listener = Callable[[Event], Any]
# Events about parts of the work; they say nothing about incumbent and bound.
_PARTS = (Fold, Repetition, Alpha, Pass)
# Seconds between two updates in a notebook: every update takes time from the search.
_PAUSE = 0.2


class SearchState:
    """Incumbent, bound, gap and nodes of a search, from its events."""

    def __init__(self) -> None:
        self.objective, self.bound, self.n_nodes = float("inf"), float("-inf"), 0

    def take(self, event: Event) -> None:
        """Update the state by an event."""
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
        """The line that a terminal shows, without what is not known yet."""
        gap = relative_gap(self.objective, self.bound)
        incumbent = f"incumbent {self.objective:.6g}" if isfinite(self.objective) else "no incumbent yet"
        bound = f"bound {self.bound:.6g}" if isfinite(self.bound) else "no bound yet"
        return ", ".join([incumbent, bound, *([f"gap {gap:.2%}"] if isfinite(gap) else []), f"{self.n_nodes} nodes"])


class Record:
    """Incumbent and bound over time, from the events of a search; reports draw it."""

    def __init__(self) -> None:
        self._state = SearchState()
        self.points: list[tuple[float, float, float]] = []

    def take(self, event: Event) -> None:
        """Add a point (seconds, objective, bound) if objective or bound has changed."""
        if isinstance(event, (NotTried, *_PARTS)):
            return
        self._state.take(event)
        now = (self._state.objective, self._state.bound)
        if not self.points or self.points[-1][1:] != now or isinstance(event, Done):
            self.points.append((event.seconds, *now))


@contextmanager
def watching(verbose: bool, callback: Listener | None, title: str = "best subset") -> Iterator[Listener | None]:
    """Yield the listener for a search: the user's callback, and with ``verbose`` one that shows the progress too."""
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
    """Show the state beside a spinner, with the time left; remove it at the end unless it ``stays``."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=not stays) as progress:
        task, state = progress.add_task(title), SearchState()

        def show(event: Event) -> None:
            if isinstance(event, NotTried):
                progress.console.print(f"{title}: {event}", markup=False, highlight=False)
                return
            if isinstance(event, _PARTS):
                progress.update(task, description=f"{title}: {_parts_done(event)}")
                return
            state.take(event)
            left = f", {max(time_limit - event.seconds, 0.0):.0f} s left" if time_limit < float("inf") else ""
            progress.update(task, description=f"{title}: {state}{left}")

        yield show


def _parts_done(event: Event) -> str:
    """How many folds, repetitions of a selection or alphas are done, or how much was read."""
    if isinstance(event, Alpha):
        return f"{event.n_done} of {event.n_alphas} alphas, {event.n_features} features"
    if isinstance(event, Pass):
        return f"{event.passes:.2f} passes, {event.n_bytes / 1e9:.2f} GB read"
    if isinstance(event, Fold):
        return f"{event.n_done} of {event.n_folds} folds are done"
    assert isinstance(event, Repetition)
    return f"{event.n_done} of {event.n_repetitions} repetitions are done"


@contextmanager
def _in_notebook(title: str) -> Iterator[Listener]:
    """Show the state in the output of a cell and update it in place, for which rich would need ipywidgets."""
    from IPython.display import display

    shown = display({"text/plain": title}, raw=True, display_id=True)
    state, last = SearchState(), [0.0]

    def show(event: Event) -> None:
        if isinstance(event, NotTried):
            display({"text/plain": f"{title}: {event}"}, raw=True)
            return
        parts = isinstance(event, _PARTS)
        if not parts:
            state.take(event)
        now = time.monotonic()
        if now - last[0] >= _PAUSE or isinstance(event, Done):
            last[0] = now
            line = _parts_done(event) if parts else state
            shown.update({"text/plain": f"{title}: {line}, {event.seconds:.1f} s"}, raw=True)

    yield show
