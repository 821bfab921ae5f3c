"""The results of a study: how much of it is done, its rows with what each belongs to, and its findings judged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from sparsest.studies.findings import Finding, Verdict
from sparsest.studies.store import Finished, Store
from sparsest.studies.study import Size, Study
from sparsest.studies.views import Row


class Standing(NamedTuple):
    """How much of a study is done: tasks, and the seconds they took."""

    done: int
    total: int
    seconds: float


def status(study: Study, size: Size, finished: dict[str, Finished]) -> Standing:
    """Count the tasks that are done."""
    tasks = study.tasks(size)
    done = [finished[task.id] for task in tasks if task.id in finished]
    return Standing(len(done), len(tasks), sum(one.seconds for one in done))


class Results(NamedTuple):
    """A study at one size, and what there is of it."""

    study: Study
    size: Size
    standing: Standing
    rows: list[Row]


def results_of(studies: Iterable[Study], sizes: Iterable[Size], store: Store) -> list[Results]:
    """All that there is of some studies; those without a single task done are left out."""
    finished = store.finished()
    found = []
    for size in sizes:
        for study in studies:
            rows = rows_of(study, size, finished)
            if rows:
                found.append(Results(study, size, status(study, size, finished), rows))
    return found


def rows_of(study: Study, size: Size, finished: dict[str, Finished]) -> list[Row]:
    """All rows so far, with panel, place, data set and true size.

    Where each size is a task, rows of a procedure count when all sizes are there: one is chosen among them.
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
