"""Large data sets on disk: the numbers of those in memory, written whole, shared by tasks and deleted."""

import os
from dataclasses import replace

import numpy as np
import pytest

from sparsest.studies.procedures import Plan
from sparsest.studies.runner import run
from sparsest.studies.samples import Source, draw
from sparsest.studies.scratch import Scratch
from sparsest.studies.store import Store
from sparsest.studies.tasks import Task, run_task

# Three blocks of features.
TOEPLITZ = Source("toeplitz", p=1200, k=3, snr=4.0, rho=0.5, n_validation=50, n_test=60, dtype="float32")
PLAN = Plan(timed_k=2, gamma_factor=2.0)
TASK = Task(replace(TOEPLITZ, p=40, k=2), 100, 0, "relaxation_once", PLAN)


def on_disk(folder, **more):
    return Scratch(str(folder), in_memory=0.0, **more)


@pytest.mark.parametrize(
    "source",
    [
        TOEPLITZ,
        replace(TOEPLITZ, task="classification"),
        replace(TOEPLITZ, design="hard", rho=0.0),
        replace(TOEPLITZ, dtype="float64"),
    ],
    ids=["toeplitz", "classes", "hard", "double"],
)
def test_the_same_numbers_as_in_memory(source, tmp_path):
    expected = draw(source, 2000, np.random.default_rng(5))
    sample = on_disk(tmp_path).draw(source, 2000, np.random.default_rng(5), "one")
    assert isinstance(sample.train.X, np.memmap) and sample.train.X.flags.f_contiguous
    for part, other in zip(sample[:3], expected[:3], strict=True):
        np.testing.assert_array_equal(part.X, other.X, strict=True)
        np.testing.assert_array_equal(part.y, other.y, strict=True)
    np.testing.assert_array_equal(sample.support, expected.support)
    assert sample[4:] == expected[4:]


def test_what_is_there_is_not_written_again(tmp_path):
    scratch = on_disk(tmp_path)
    first = scratch.draw(TASK.source, TASK.n, TASK.generator(), "one")
    before = [path.stat().st_mtime_ns for path in tmp_path.glob("*/*")]
    again = scratch.draw(TASK.source, TASK.n, np.random.default_rng(9), "one")
    np.testing.assert_array_equal(first.train.X, again.train.X)
    assert [path.stat().st_mtime_ns for path in tmp_path.glob("*/*")] == before and len(before) == 2


def test_which_data_are_written():
    scratch = Scratch(in_memory=TASK.source.nbytes(TASK.n))
    assert TASK.source.nbytes(100) == 210 * 40 * 4
    assert not scratch.wanted(TASK.source, 100) and scratch.wanted(TASK.source, 101)
    assert not scratch.wanted(Source("real", folder="made"), 10**9)


def test_removing_takes_the_remains_of_processes_that_are_gone(tmp_path):
    scratch = on_disk(tmp_path)
    scratch.draw(TASK.source, TASK.n, TASK.generator(), "one")
    gone, alive = 2**22 + 1, os.getppid()
    for owner in (scratch.owner, gone, alive):
        (tmp_path / f"sparsest-one.{owner}.x").mkdir()
    (tmp_path / "sparsest-other").mkdir()
    scratch.remove("one")
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"sparsest-one.{alive}.x", "sparsest-other"]


def test_an_error_leaves_nothing(tmp_path):
    with pytest.raises(ValueError, match=r"does not fit into .*--scratch"):
        on_disk(tmp_path).draw(replace(TASK.source, p=10**13), 100, TASK.generator(), "one")

    class Failing:
        def __getattr__(self, name):
            raise RuntimeError("no numbers")

    with pytest.raises(RuntimeError, match="no numbers"):
        on_disk(tmp_path).draw(TASK.source, 100, Failing(), "one")
    assert list(tmp_path.iterdir()) == []


def test_outcomes_are_those_in_memory(tmp_path):
    times = ("seconds", "elapsed")
    one, other = (
        [{key: value for key, value in row.items() if key not in times} for row in run_task(TASK, None, scratch).rows]
        for scratch in (on_disk(tmp_path), Scratch(in_memory=np.inf))
    )
    assert one == other and one[0]["certified"]
    # Nobody said that other tasks need the data.
    assert list(tmp_path.iterdir()) == []


def test_a_run_writes_data_once_and_deletes_them(tmp_path):
    """Tasks of the same data share a file, which is there until the last of them."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    pair = [replace(TASK, procedure=name) for name in ("relaxation_once", "subgradient_once")]
    tasks = [*pair, replace(TASK, number=1)]
    seen = []

    def look(progress):
        train = next(folder.glob(f"sparsest-{pair[0].data_id}/train.npy"), None)
        seen.append((progress.task.procedure, progress.task.number, train and train.stat().st_mtime_ns))

    # ``listener`` is called after the data of a task that is the last of its kind are gone.
    ended = run(tasks, Store(tmp_path / "results"), n_jobs=1, scratch=on_disk(folder), listener=look)
    assert ended.done == 3 and [one[:2] for one in seen[:2]] == [("relaxation_once", 0), ("subgradient_once", 0)]
    assert seen[0][2] is not None and seen[1][2] is None and list(folder.iterdir()) == []
