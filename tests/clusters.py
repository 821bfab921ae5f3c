"""A cluster of two processes on this machine, for tests."""

import time
from contextlib import contextmanager

import distributed


@contextmanager
def two_workers():
    """A client of two workers with one thread each, on the loopback interface only."""
    settings = {"n_workers": 2, "processes": True, "threads_per_worker": 1, "host": "127.0.0.1"}
    # Any free port: several tests may run at the same time.
    with (
        distributed.LocalCluster(**settings, dashboard_address="127.0.0.1:0") as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def worker_processes(client):
    """The process numbers of the workers that this client's cluster has started."""
    return {worker.process.pid for worker in client.cluster.workers.values()}


def wait_for_death(client, victim, seconds=60.0):
    """Wait until the cluster has noticed that a worker's process has ended."""
    end = time.monotonic() + seconds
    while victim in worker_processes(client):
        assert time.monotonic() < end
        time.sleep(0.02)
