"""Run the tasks of a study in local processes or on a Dask cluster, and store each outcome as soon as it is known."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import Any, NamedTuple

from joblib import Parallel, delayed, parallel_config

from sparsest.runtime.jit import is_cache_empty
from sparsest.studies.scratch import Scratch
from sparsest.studies.store import Store
from sparsest.studies.tasks import Outcome, Task, run_task
from sparsest.warming import warmup


class Progress(NamedTuple):
    """Reported when a task ends: tasks that are done, all tasks, failed tasks, and an estimate of the seconds left."""

    task: Task
    seconds: float
    done: int
    total: int
    failed: int
    seconds_left: float


class Ended(NamedTuple):
    """How a run ended."""

    done: int
    total: int
    failed: int
    interrupted: bool


Listener = Callable[[Progress], Any]


def estimate(tasks: Sequence[Task], finished: dict[str, float], n_jobs: int) -> float:
    """Estimate the seconds of the remaining tasks: prior estimates, scaled by how long finished tasks really took.

    Parameters
    ----------
    finished : seconds of finished tasks (:meth:`Store.seconds`)
    """
    if not finished:
        return sum(task.estimate() for task in tasks) / n_jobs
    taken = [(finished[task.id], task.estimate()) for task in tasks if task.id in finished]
    scale = sum(seconds for seconds, _ in taken) / sum(guess for _, guess in taken) if taken else 1.0
    return scale * sum(task.estimate() for task in tasks if task.id not in finished) / n_jobs


def run(
    tasks: Sequence[Task],
    store: Store,
    *,
    n_jobs: int | None = None,
    cluster: str | None = None,
    folder: str | None = None,
    scratch: Scratch | None = None,
    listener: Listener = lambda progress: None,
) -> Ended:
    """Run the tasks that are not done yet; after Ctrl-C all finished tasks are kept.

    Parameters
    ----------
    n_jobs : local processes; all cores by default
    cluster : address of a Dask scheduler, instead of local processes
    folder : the folder that holds the folders of real data
    scratch : where data sets that are too large for memory are written; on a cluster, on the machine of each worker
    """
    workers = n_jobs or os.cpu_count() or 1
    known = {task.id: task for task in tasks}
    finished = store.seconds()
    pending = [task for task in tasks if task.id not in finished]
    counter = _Counter(tasks, pending, workers)
    interrupted = False
    if pending and cluster is None and is_cache_empty():
        # Compile first: tasks measure CPU time, which must not include compilation.
        warmup()
    shared = _SharedData(pending, (scratch or Scratch())._replace(owner=os.getpid(), keep=cluster is None))
    with store.alive(), shared, _backend(cluster, workers):
        # Every worker gets one task at a time: a task that is claimed but not begun is withheld from other runners.
        parallel = Parallel(return_as="generator_unordered", pre_dispatch="n_jobs", batch_size=1)
        outcomes: Iterator[Outcome] = parallel(
            delayed(run_task)(task, folder, shared.scratch) for task in shared.used(_claimed(pending, store))
        )
        try:
            for outcome in outcomes:
                task = known[outcome.id]
                shared.release(task)
                if outcome.error is None:
                    store.finish(task.id, task.identity, outcome.rows, outcome.seconds)
                else:
                    store.fail(task.id, outcome.error)
                listener(counter.after(task, outcome))
        except KeyboardInterrupt:
            interrupted = True
            _abandon(outcomes)
    return Ended(counter.done, len(tasks), counter.failed, interrupted)


def _claimed(tasks: Sequence[Task], store: Store) -> Iterator[Task]:
    """Claim tasks one by one and yield those that no other runner holds."""
    for task in tasks:
        if store.claim(task.id):
            yield task


def _backend(cluster: str | None, workers: int) -> AbstractContextManager[Any]:
    """The backend of joblib that runs the tasks."""
    if cluster is None:
        return parallel_config(backend="loky", n_jobs=workers, inner_max_num_threads=1)
    try:
        from dask.distributed import Client
    except ImportError as error:
        raise ValueError("a Dask cluster needs the package dask: pip install 'sparsest[dask]'") from error
    stack = ExitStack()
    client = stack.enter_context(Client(cluster))
    stack.enter_context(parallel_config(backend="dask", n_jobs=-1, client=client))
    return stack


def _abandon(outcomes: Any) -> None:
    """Stop waiting for tasks that are running."""
    close = getattr(outcomes, "close", None)
    if close is not None:
        close()
    from joblib.externals.loky import get_reusable_executor

    get_reusable_executor().shutdown(wait=False, kill_workers=True)


class _SharedData(AbstractContextManager["_SharedData"]):
    """Data sets on disk; each is deleted after the last of its tasks, and all of them at the end of the run."""

    def __init__(self, pending: Sequence[Task], scratch: Scratch) -> None:
        self.scratch = scratch
        self._left = Counter(task.data_id for task in pending)
        self._used: set[str] = set()

    def __exit__(self, *error: object) -> None:
        for name in self._used:
            self.scratch.remove(name)

    def used(self, tasks: Iterable[Task]) -> Iterator[Task]:
        """Pass on tasks that are about to begin; note those whose data are written."""
        for task in tasks:
            if self.scratch.wanted(task.source, task.n):
                self._used.add(task.data_id)
            yield task

    def release(self, task: Task) -> None:
        """A task has ended."""
        self._left[task.data_id] -= 1
        if task.data_id in self._used and not self._left[task.data_id]:
            self._used.discard(task.data_id)
            self.scratch.remove(task.data_id)


class _Counter:
    """Count finished tasks, and estimate from them how long the rest will take."""

    def __init__(self, tasks: Sequence[Task], pending: Sequence[Task], workers: int) -> None:
        self.total, self.workers = len(tasks), workers
        self.done = len(tasks) - len(pending)
        self.failed = 0
        self._left = sum(task.estimate() for task in pending)
        self._guessed = self._taken = 0.0

    def after(self, task: Task, outcome: Outcome) -> Progress:
        """Count an outcome and report the progress."""
        guess = task.estimate()
        self.done += outcome.error is None
        self.failed += outcome.error is not None
        self._left -= guess
        self._guessed += guess
        self._taken += outcome.seconds
        left = max(self._left, 0.0) * self._taken / self._guessed / self.workers
        return Progress(task, outcome.seconds, self.done, self.total, self.failed, left)
