"""The results of a study: its rows with what each belongs to, its findings judged, and tables of its figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sparsest.studies.findings import Finding, Verdict
from sparsest.studies.store import Finished, Store
from sparsest.studies.study import Figure, Size, Study
from sparsest.studies.views import Row, curves


class Standing(NamedTuple):
    """How much of a study is done."""

    done: int
    total: int
    seconds: float


def status(study: Study, size: Size, store: Store) -> Standing:
    """Count the tasks that are done, and the seconds they took."""
    finished = store.finished()
    tasks = study.tasks(size)
    done = [finished[task.id] for task in tasks if task.id in finished]
    return Standing(len(done), len(tasks), sum(one.seconds for one in done))


def rows_of(study: Study, size: Size, finished: dict[str, Finished]) -> list[Row]:
    """All rows so far, with panel, place, data set and true size."""
    found: list[Row] = []
    for panel in study.panels(size):
        for cell, task in panel.tasks():
            if task.id not in finished:
                continue
            done = finished[task.id]
            known: dict[str, Any] = {
                "panel": panel.name, "x": cell.x, "n": task.n, "set": task.number, "k_true": cell.source.k,
                "timed_k": cell.plan.timed_k, "version": done.version, "machine": done.machine,
            }  # fmt: skip
            found += [{**known, **row} for row in done.rows]
    return found


def check(study: Study, rows: Sequence[Row]) -> list[tuple[Finding, Verdict]]:
    """Judge every finding."""
    return [(finding, finding.judge(rows)) for finding in study.findings]


class TableRow(NamedTuple):
    """One point of a curve."""

    figure: str
    panel: str
    method: str
    x: float
    mean: float
    standard_error: float
    n_sets: int


def table(figure: Figure, rows: Sequence[Row]) -> list[TableRow]:
    """The points of a figure, as a table."""
    return [
        TableRow(figure.name, panel, method, x, mean, error, count)
        for panel, methods in curves(figure.view(rows)).items()
        for method, curve in methods.items()
        for x, mean, error, count in zip(*curve, strict=True)
    ]
