"""Results of tasks in an SQLite file: tasks are stored completely or not at all, and no two runners run the same one.

A runner claims a task before it begins and renews its claims by a heartbeat.  The claims of a dead process expire: on
the same host immediately, on other hosts when the heartbeat is overdue.  So a killed run can be resumed.
"""

from __future__ import annotations

import json
import os
import platform
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any, NamedTuple

import sparsest

# Seconds between two heartbeats, and seconds without a heartbeat after which a claim expires.
_HEARTBEAT, _VOID = 5.0, 60.0

_SCHEMA = """
CREATE TABLE IF NOT EXISTS tasks (
    id TEXT PRIMARY KEY, identity TEXT NOT NULL, seconds REAL NOT NULL, version TEXT NOT NULL, machine TEXT NOT NULL,
    finished REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS rows (
    task TEXT NOT NULL REFERENCES tasks(id), position INTEGER NOT NULL, content TEXT NOT NULL,
    PRIMARY KEY (task, position)
);
CREATE TABLE IF NOT EXISTS claims (task TEXT PRIMARY KEY, host TEXT NOT NULL, pid INTEGER NOT NULL, seen REAL NOT NULL);
CREATE TABLE IF NOT EXISTS failures (task TEXT PRIMARY KEY, error TEXT NOT NULL, version TEXT NOT NULL);
"""


class Finished(NamedTuple):
    """A finished task: its rows, seconds, version and machine."""

    rows: list[dict[str, Any]]
    seconds: float
    version: str
    machine: str


class Store:
    """The file of results; every call opens and closes it, so that threads and processes can share it."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._me = platform.node(), os.getpid()
        try:
            with self._open(writing=False) as connection:
                connection.execute("PRAGMA journal_mode=WAL")
            with self._open() as connection:
                for statement in _SCHEMA.split(";"):
                    connection.execute(statement)
        except sqlite3.Error as error:
            raise ValueError(f"{path} cannot be used as a file of results: {error}") from error

    @contextmanager
    def _open(self, *, writing: bool = True) -> Iterator[sqlite3.Connection]:
        """One transaction."""
        connection = sqlite3.connect(self.path, timeout=120.0, isolation_level=None)
        try:
            if writing:
                connection.execute("BEGIN IMMEDIATE")
            yield connection
            if writing:
                connection.execute("COMMIT")
        finally:
            # Closing rolls back changes that are not committed.
            connection.close()

    def claim(self, task: str) -> bool:
        """Claim a task; False if it is done or held by another live runner."""
        with self._open() as connection:
            if connection.execute("SELECT 1 FROM tasks WHERE id = ?", (task,)).fetchone():
                return False
            held = connection.execute("SELECT host, pid, seen FROM claims WHERE task = ?", (task,)).fetchone()
            if held and _holds(*held) and (held[0], held[1]) != self._me:
                return False
            connection.execute("REPLACE INTO claims VALUES (?, ?, ?, ?)", (task, *self._me, time.time()))
            return True

    def finish(self, task: str, identity: str, rows: Iterable[dict[str, Any]], seconds: float) -> None:
        """Store the outcome of a task in one transaction."""
        with self._open() as connection:
            connection.execute(
                "REPLACE INTO tasks VALUES (?, ?, ?, ?, ?, ?)",
                (task, identity, seconds, sparsest.__version__, machine(), time.time()),
            )
            connection.execute("DELETE FROM rows WHERE task = ?", (task,))
            connection.executemany(
                "INSERT INTO rows VALUES (?, ?, ?)",
                [(task, position, json.dumps(row)) for position, row in enumerate(rows)],
            )
            connection.execute("DELETE FROM claims WHERE task = ?", (task,))
            connection.execute("DELETE FROM failures WHERE task = ?", (task,))

    def fail(self, task: str, error: str) -> None:
        """Store why a task failed; the next run tries it again."""
        with self._open() as connection:
            connection.execute("REPLACE INTO failures VALUES (?, ?, ?)", (task, error, sparsest.__version__))
            connection.execute("DELETE FROM claims WHERE task = ?", (task,))

    def release(self) -> None:
        """Release all claims of this process."""
        with self._open() as connection:
            connection.execute("DELETE FROM claims WHERE host = ? AND pid = ?", self._me)

    def finished(self) -> dict[str, Finished]:
        """All finished tasks by id."""
        with self._open(writing=False) as connection:
            tasks = connection.execute("SELECT id, seconds, version, machine FROM tasks").fetchall()
            contents = connection.execute("SELECT task, content FROM rows ORDER BY task, position").fetchall()
        found: dict[str, Finished] = {id: Finished([], *rest) for id, *rest in tasks}
        for task, content in contents:
            found[task].rows.append(json.loads(content))
        return found

    def seconds(self) -> dict[str, float]:
        """The seconds of every finished task by id."""
        with self._open(writing=False) as connection:
            return dict(connection.execute("SELECT id, seconds FROM tasks").fetchall())

    def failures(self) -> dict[str, str]:
        """The errors of failed tasks by id."""
        with self._open(writing=False) as connection:
            return dict(connection.execute("SELECT task, error FROM failures").fetchall())

    @contextmanager
    def alive(self) -> Iterator[None]:
        """Renew this process's claims by a heartbeat, and release them at the end."""
        stop = Event()

        def beat() -> None:
            while not stop.wait(_HEARTBEAT):
                with self._open() as connection:
                    connection.execute(
                        "UPDATE claims SET seen = ? WHERE host = ? AND pid = ?", (time.time(), *self._me)
                    )

        thread = Thread(target=beat, name="sparsest-claims", daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()
            self.release()


def _holds(host: str, pid: int, seen: float) -> bool:
    """Whether the claim of a process is still valid."""
    if time.time() - seen > _VOID:
        return False
    return host != platform.node() or is_running(pid)


def is_running(pid: int) -> bool:
    """Whether a process of this machine exists; True where the system cannot tell."""
    # Only on POSIX systems can signal 0 test whether a process exists.
    if os.name == "posix":
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
    return True


def machine() -> str:
    """A short description of the machine."""
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
