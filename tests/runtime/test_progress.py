"""The line that ``verbose=True`` shows, in a terminal and in a notebook."""

import sys
from types import SimpleNamespace

import pytest
from rich.console import Console

from checks import best_subset, best_subset_path
from samples import HARD, hard, sample
from sparsest import BestSubsetRegressor
from sparsest.runtime.events import Bound, Done, Fold, Incumbent, Pass, Root, Status
from sparsest.runtime.progress import Record, SearchState, in_terminal

EVENTS = [
    Incumbent(0.1, 8.0, (1, 2)),
    Root(0.2, 4.0, 10),
    Bound(0.3, 6.0, 8.0, 7),
    Done(0.4, 8.0, 8.0, Status.OPTIMAL),
]
LINES = [
    "incumbent 8, no bound yet, 0 nodes",
    "incumbent 8, bound 4, gap 50.00%, 0 nodes",
    "incumbent 8, bound 6, gap 25.00%, 7 nodes",
    "incumbent 8, bound 8, gap 0.00%, 7 nodes",
]


def test_state_of_a_search():
    state, lines = SearchState(), []
    assert str(state) == "no incumbent yet, no bound yet, 0 nodes"
    for event in EVENTS:
        state.take(event)
        lines.append(str(state))
    assert lines == LINES


@pytest.mark.parametrize("stays", [True, False])
def test_terminal(stays):
    console = Console(record=True, force_terminal=True, width=120, file=SimpleNamespace(write=len, flush=lambda: None))
    with in_terminal(console, "[data]", stays=stays) as show:
        for event in EVENTS:
            show(event)
    assert f"[data]: {LINES[-1]}" in console.export_text()


def test_folds_are_counted_on_a_terminal_and_are_no_part_of_a_record():
    console = Console(record=True, force_terminal=True, width=120, file=SimpleNamespace(write=len, flush=lambda: None))
    record = Record()
    with in_terminal(console, "data", stays=True) as show:
        for event in (Fold(0.1, 1, 5), Fold(0.2, 2, 5)):
            show(event)
            record.take(event)
    assert "data: 2 of 5 folds are done" in console.export_text() and record.points == []


def test_what_was_read_is_shown_and_is_no_part_of_a_record():
    console = Console(record=True, force_terminal=True, width=120, file=SimpleNamespace(write=len, flush=lambda: None))
    record = Record()
    with in_terminal(console, "data", stays=True) as show:
        for take in (show, record.take):
            take(Pass(0.5, 1.25, 2_000_000_000))
    assert "data: 1.25 passes, 2.00 GB read" in console.export_text() and record.points == []


def test_verbose_in_functions_and_estimators(capsys):
    X, y = sample("squared", 40, 6)
    quiet = best_subset(X, y, 2, gamma=0.3)
    assert capsys.readouterr().out == ""
    events = []
    loud = best_subset(X, y, 2, gamma=0.3, verbose=True, callback=events.append)
    assert loud.objective == quiet.objective and isinstance(events[-1], Done)
    assert f"incumbent {loud.objective:.6g}, bound" in capsys.readouterr().out
    best_subset_path(X, y, [1, 2], gamma=0.3, verbose=True)
    assert "best subset: incumbent" in capsys.readouterr().out
    BestSubsetRegressor(2, verbose=True).fit(X, y)
    assert "best subset: incumbent" in capsys.readouterr().out


def test_a_callback_still_stops_the_search(capsys):
    X, y = hard()
    assert best_subset(X, y, **HARD, verbose=True, callback=lambda event: True).status is Status.INTERRUPTED


def test_notebook(monkeypatch):
    """IPython shows the line and changes it in place; ipywidgets is not needed."""
    shown = []

    def display(content, raw, display_id):
        shown.append(content)
        return SimpleNamespace(update=lambda content, raw: shown.append(content))

    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(display=SimpleNamespace(display=display)))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    X, y = sample("squared", 40, 6)
    result = best_subset(X, y, 2, gamma=0.3, verbose=True)
    assert shown[0] == {"text/plain": "best subset"}
    assert f"incumbent {result.objective:.6g}, bound {result.lower_bound:.6g}" in shown[-1]["text/plain"]
