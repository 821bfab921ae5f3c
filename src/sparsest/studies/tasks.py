"""Tasks: one procedure on one data set, identified by everything that the outcome depends on."""

from __future__ import annotations

import hashlib
import json
import time
import traceback
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from sparsest.studies.procedures import PROCEDURES, Plan
from sparsest.studies.samples import Sample, Source, draw
from sparsest.studies.scratch import Scratch


@dataclass(frozen=True)
class Task:
    """One procedure on one data set.

    The data depend only on source, n and number, so that all procedures get the same; nothing depends on the order of
    tasks, on the worker or on the time.
    """

    source: Source
    n: int
    number: int
    procedure: str
    plan: Plan

    @property
    def identity(self) -> str:
        """Everything that the outcome depends on, as JSON with sorted keys."""
        return json.dumps(asdict(self), sort_keys=True)

    @property
    def id(self) -> str:
        """A hash of the identity."""
        return hashlib.sha256(self.identity.encode()).hexdigest()[:20]

    @property
    def data_id(self) -> str:
        """A hash of the data set, which tasks of other procedures share."""
        return self._digest().hex()[:20]

    def generator(self) -> np.random.Generator:
        """The random number generator of the data set."""
        return np.random.default_rng(int.from_bytes(self._digest()[:16], "little"))

    def sample(self, folder: str | None, scratch: Scratch) -> Sample:
        """The data set, from files if it is large."""
        if scratch.wanted(self.source, self.n):
            return scratch.draw(self.source, self.n, self.generator(), self.data_id)
        return draw(self.source, self.n, self.generator(), folder)

    def _digest(self) -> bytes:
        of_data = json.dumps([asdict(self.source), self.n, self.number], sort_keys=True)
        return hashlib.sha256(of_data.encode()).digest()

    def estimate(self) -> float:
        """Estimated seconds."""
        return PROCEDURES[self.procedure].estimate(self.n, max(self.source.p, 1000), self.plan)


class Outcome(NamedTuple):
    """The outcome of a task: its rows, or an error."""

    id: str
    rows: list[dict[str, Any]]
    seconds: float
    error: str | None = None


def run_task(task: Task, folder: str | None, scratch: Scratch | None = None) -> Outcome:
    """Draw the data and run the procedure with one BLAS thread; an error is returned, not raised."""
    began = time.perf_counter()
    scratch = scratch or Scratch()
    try:
        with threadpool_limits(limits=1):
            sample = task.sample(folder, scratch)
            rows = [dict(row) for row in PROCEDURES[task.procedure].run(sample, task.plan)]
    except Exception as error:
        where = traceback.format_exc(limit=-2)
        return Outcome(task.id, [], time.perf_counter() - began, f"{type(error).__name__}: {error}\n{where}")
    finally:
        if not scratch.keep:
            scratch.remove(task.data_id)
    if any(row.get("status") == "INTERRUPTED" for row in rows):
        return Outcome(task.id, [], time.perf_counter() - began, "interrupted")
    return Outcome(task.id, rows, time.perf_counter() - began)
