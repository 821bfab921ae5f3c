"""The results of a study: how much of it is done, its rows with panel and data set, and its findings judged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from sparsest.studies.findings import Finding, Verdict
from sparsest.studies.store import Finished, Store
from sparsest.studies.study import Size, Study
from sparsest.studies.views import Row


class Completion(NamedTuple):
    """How much of a study is done: finished tasks, all tasks, and the seconds of the finished ones."""

    done: int
    total: int
    seconds: float


def status(study: Study, size: Size, finished: dict[str, Finished]) -> Completion:
    """Count the tasks that are done."""
    tasks = study.tasks(size)
    done = [finished[task.id] for task in tasks if task.id in finished]
    return Completion(len(done), len(tasks), sum(one.seconds for one in done))


class Results(NamedTuple):
    """A study at one size, and its rows so far."""

    study: Study
    size: Size
    completion: Completion
    rows: list[Row]


def results_of(studies: Iterable[Study], sizes: Iterable[Size], store: Store) -> list[Results]:
    """The results of several studies; studies without finished rows are left out."""
    finished = store.finished()
    found = []
    for size in sizes:
        for study in studies:
            rows = rows_of(study, size, finished)
            if rows:
                found.append(Results(study, size, status(study, size, finished), rows))
    return found


def rows_of(study: Study, size: Size, finished: dict[str, Finished]) -> list[Row]:
    """All rows so far, with panel, x, data set and true size.

    If each size is a separate task, the rows of a procedure are returned only when all of its sizes are finished,
    because one of them is chosen.
    """
    found: list[Row] = []
    for panel in study.panels(size):
        pairs = panel.tasks(extras=True)
        for _, fits in groupby(pairs, lambda pair: (id(pair[0]), pair[1].number, pair[1].procedure)):
            together = list(fits)
            if not all(task.id in finished for _, task in together):
                continue
            for cell, task in together:
                done = finished[task.id]
                known: dict[str, Any] = {
                    "panel": panel.name, "x": cell.x, "n": task.n, "p": cell.source.p, "set": task.number,
                    "k_true": cell.source.k, "timed_k": cell.plan.timed_k, "version": done.version,
                    "machine": done.machine, "task": task.id, "procedure": task.procedure,
                }  # fmt: skip
                found += [{**known, "position": position, **row} for position, row in enumerate(done.rows)]
    return found


def check(study: Study, rows: Sequence[Row]) -> list[tuple[Finding, Verdict]]:
    """Judge every finding."""
    return [(finding, finding.judge(rows)) for finding in study.findings]
