"""The runner loses nothing and repeats nothing: killed at any moment, interrupted, or twice at once."""

import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from clusters import two_workers
from sparsest.studies import runner
from sparsest.studies.procedures import Plan
from sparsest.studies.runner import estimate, run
from sparsest.studies.samples import Source
from sparsest.studies.store import Store
from sparsest.studies.tasks import Task
from studies.naps import tasks as naps

NAPS = Path(__file__).with_name("naps.py")
TASK = Task(Source("toeplitz", p=12, k=2, snr=4.0, n_validation=20, n_test=20), 30, 0, "lasso", Plan((1, 2), 2))
# More tasks than twenty runs can finish if each is killed after at most three.
COUNT = 90


def begin(folder, n_tasks=COUNT):
    arguments = [sys.executable, str(NAPS), str(folder / "results.sqlite"), str(folder / "log"), str(n_tasks)]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def after(process, count):
    """Wait until this many tasks are done."""
    for _ in range(count):
        assert process.stdout.readline() == "done\n", process.stderr.read()
    return process


def end(process):
    """The exit code, the last line, and what went to stderr."""
    out, errors = process.communicate()
    return process.returncode, out.splitlines()[-1] if out else "", errors


def finished_at(folder):
    with sqlite3.connect(folder / "results.sqlite") as connection:
        found = dict(connection.execute("SELECT id, finished FROM tasks").fetchall())
    connection.close()
    return found


def test_killed_twenty_times(tmp_path):
    """What was finished stays as it is, and in the end everything is there once."""
    rng = np.random.default_rng(0)
    before = {}
    for _ in range(20):
        process = after(begin(tmp_path), rng.integers(1, 4))
        time.sleep(rng.uniform(0.0, 0.02))
        process.kill()
        end(process)
        now = finished_at(tmp_path)
        assert before.items() <= now.items() and len(now) > len(before)
        before = now
    code, out, errors = end(begin(tmp_path))
    assert (code, out) == (0, f"{COUNT} False"), errors
    now = finished_at(tmp_path)
    assert before.items() <= now.items() and now.keys() == {task.id for task in naps(COUNT)}
    rows = Store(tmp_path / "results.sqlite").finished()
    assert all(len(one.rows) == 1 for one in rows.values())


def test_two_runners_share_the_work(tmp_path):
    both = [begin(tmp_path), begin(tmp_path)]
    for process in both:
        code, _, errors = end(process)
        assert code == 0, errors
    lines = (tmp_path / "log").read_text().splitlines()
    assert len(lines) == len(set(lines)) == COUNT
    assert len(finished_at(tmp_path)) == COUNT


def test_ctrl_c_ends_cleanly(tmp_path):
    # Many more tasks than are done before the signal, also if this process has to wait.
    n_tasks = 20 * COUNT
    process = after(begin(tmp_path, n_tasks), 2)
    process.send_signal(signal.SIGINT)
    code, out, errors = end(process)
    assert code == 0 and errors == "", errors
    done, interrupted = out.split()
    assert interrupted == "True" and 2 <= int(done) < n_tasks and len(finished_at(tmp_path)) == int(done)
    with sqlite3.connect(tmp_path / "results.sqlite") as connection:
        assert connection.execute("SELECT count(*) FROM claims").fetchone() == (0,)
    connection.close()


def test_results_do_not_depend_on_workers_or_order(tmp_path):
    tasks = [replace(TASK, number=number) for number in range(3)]
    stores = [Store(tmp_path / name) for name in ("one", "two")]
    run(tasks, stores[0], n_jobs=1)
    run(tasks[::-1], stores[1], n_jobs=2)
    for task in tasks:
        one, two = (
            [{k: v for k, v in row.items() if k != "seconds"} for row in store.finished()[task.id].rows]
            for store in stores
        )
        assert one == two and one


def test_progress_and_failures(tmp_path):
    tasks = [TASK, replace(TASK, source=Source("real", folder="nowhere"))]
    store, seen = Store(tmp_path / "results"), []
    assert estimate(tasks, store.seconds(), 1) > 0.0
    ended = run(tasks, store, n_jobs=1, listener=seen.append)
    assert (ended.done, ended.total, ended.failed, ended.interrupted) == (1, 2, 1, False)
    assert [progress.done for progress in seen] == [1, 1] and seen[-1].seconds_left == 0.0
    assert "SPARSEST_DATA" in store.failures()[tasks[1].id]
    # Only what failed is tried again.
    again = []
    run(tasks, store, n_jobs=1, listener=again.append)
    assert [progress.task for progress in again] == [tasks[1]]


def test_a_dask_cluster_does_the_same(tmp_path):
    with two_workers() as client:
        store = Store(tmp_path / "results")
        ended = run([TASK], store, cluster=client.cluster.scheduler_address)
    assert ended.done == 1
    local = Store(tmp_path / "local")
    run([TASK], local, n_jobs=1)
    assert local.finished()[TASK.id].rows[0]["test"] == store.finished()[TASK.id].rows[0]["test"]


@pytest.mark.parametrize("empty", [True, False])
def test_kernels_are_compiled_before_anything_is_measured(tmp_path, monkeypatch, cache, empty):
    calls = []

    class Watched(Store):
        def claim(self, task):
            calls.append("claimed")
            return False

    if not empty:
        (cache / "leap.nbi").touch()
    monkeypatch.setattr(runner, "warmup", lambda: calls.append("compiled"))
    run([TASK], Watched(tmp_path / "results.sqlite"), n_jobs=1)
    assert calls == (["compiled", "claimed"] if empty else ["claimed"])
