"""The store: outcomes are there whole or not at all, and a task is one runner's at a time."""

import os
import sqlite3
import subprocess
import sys
import time

import pytest

import sparsest
from sparsest.studies.store import Store


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "deep" / "results.sqlite")


def claimed_by(store, host, pid, seen):
    with sqlite3.connect(store.path) as connection:
        connection.execute("REPLACE INTO claims VALUES ('t', ?, ?, ?)", (host, pid, seen))
    connection.close()


def test_outcomes_are_kept_in_order_with_their_circumstances(store):
    rows = [{"method": "a", "gap": float("inf")}, {"method": "b", "k": 3}]
    store.finish("t", "{}", rows, 1.5)
    found = Store(store.path).finished()["t"]
    assert found.rows == rows and found.seconds == 1.5 and found.version == sparsest.__version__
    assert "cores" in found.machine


def test_what_cannot_be_written_leaves_nothing(store):
    with pytest.raises(TypeError):
        store.finish("t", "{}", [{"k": 1}, {"k": object()}], 1.0)
    assert store.finished() == {} and store.claim("t")


def test_a_task_is_done_once(store):
    assert store.claim("t")
    store.finish("t", "{}", [], 1.0)
    assert not store.claim("t")


def test_what_a_process_has_it_may_claim_again(store):
    """A run that was stopped and began anew in the same process goes on."""
    assert store.claim("t") and store.claim("t")


def test_others_wait_for_those_that_live(store):
    here = os.uname().nodename
    for host, pid, seen, free in (
        (here, os.getppid(), time.time(), False),
        ("another host", 1, time.time(), False),
        ("another host", 1, time.time() - 3600.0, True),
        (here, os.getppid(), time.time() - 3600.0, True),
    ):
        claimed_by(store, host, pid, seen)
        assert store.claim("t") is free, (host, pid, seen)


def test_the_dead_hold_nothing(store):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    claimed_by(store, os.uname().nodename, gone.pid, time.time())
    assert store.claim("t")


def test_claims_are_given_back(store):
    with store.alive():
        assert store.claim("t")
    with sqlite3.connect(store.path) as connection:
        assert connection.execute("SELECT count(*) FROM claims").fetchone() == (0,)
    connection.close()


def test_failures_are_remembered_until_it_works(store):
    assert store.claim("t")
    store.fail("t", "no")
    assert store.failures() == {"t": "no"} and store.claim("t")
    store.finish("t", "{}", [], 1.0)
    assert store.failures() == {}
