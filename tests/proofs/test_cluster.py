"""Arrays of Dask as grids, on every scheduler; and a worker that is killed."""

import os
import pickle
import signal
import time
from threading import Timer

import dask
import dask.array as da
import distributed
import numpy as np
import pytest

from clusters import two_workers, worker_processes
from sparsest.proofs.cluster import DaskGrid, is_dask_array
from sparsest.proofs.grid import Call

N, P = 30, 8
CHUNKS = [(N, P), (N, 3), (11, P), (11, 3)]


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).standard_normal((N, P))


@pytest.fixture(scope="module")
def client():
    with two_workers() as client:
        yield client


def sums(block, shared, own):
    return float(block.sum() + shared + own)


def owner(block, shared, own):
    return os.getpid()


def inside_of_a_task(array):
    """A pass that is started by a task of a worker."""
    grid = DaskGrid(array)
    return sum(grid.run(sums, [Call(i, j, 0.0) for i in range(grid.size[0]) for j in range(grid.size[1])], [0.0] * 9))


def check(grid, X):
    R, C = grid.size
    assert grid.shape == X.shape and grid.dtype == X.dtype
    calls = [Call(i, j, 10.0 * j) for j in range(C) for i in range(R)]
    expected = [
        X[grid.row_slices[i], grid.column_slices[j]].sum() + 100.0 * i + 10.0 * j for j in range(C) for i in range(R)
    ]
    np.testing.assert_allclose(grid.run(sums, calls, [100.0 * i for i in range(R)]), expected)
    assert grid.run(sums, []) == []
    index = np.array([P - 1, 0, P - 1, 3])
    assert np.array_equal(grid.gather(index), X[:, index])
    assert np.array_equal(grid.gather_row(17), X[17])


@pytest.mark.parametrize("chunks", CHUNKS, ids=str)
@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_schedulers_of_one_machine(X, chunks, scheduler):
    with dask.config.set(scheduler=scheduler):
        check(DaskGrid(da.from_array(X, chunks=chunks)), X)


@pytest.mark.parametrize("persisted", [False, True])
@pytest.mark.parametrize("chunks", CHUNKS, ids=str)
def test_workers(X, client, chunks, persisted):
    array = da.from_array(X, chunks=chunks)
    check(DaskGrid(array.persist() if persisted else array), X)


def test_blocks_stay_where_they_are(X, client):
    array = da.from_array(X, chunks=(5, 2)).map_blocks(lambda block: block + os.getpid())
    grid = DaskGrid(array)
    calls = [Call(i, j) for i in range(6) for j in range(4)]
    first = grid.run(owner, calls)
    assert first == grid.run(owner, calls) and len(set(first)) == 2
    # One task for each worker: the blocks of a worker are called in the process that computed them.
    by_block = {(call.i, call.j): pid for call, pid in zip(calls, first, strict=True)}
    for j in range(4):
        column = grid.gather(np.array([2 * j]))[:, 0] - X[:, 2 * j]
        assert [round(column[5 * i]) for i in range(6)] == [by_block[i, j] for i in range(6)]


def test_long_vectors_are_sent_once(X, client):
    long = [np.full(200_000, 1.0 + i) for i in range(3)]
    grid = DaskGrid(da.from_array(X, chunks=(11, 3)))
    calls = [Call(i, j) for i in range(3) for j in range(3)]
    assert grid.run(first_entry, calls, long) == [1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 3.0, 3.0, 3.0]
    whole = DaskGrid(da.from_array(X, chunks=(N, 3)))
    assert whole.run(first_entry, calls[:3], long[:1]) == [1.0, 1.0, 1.0]


def first_entry(block, shared, own):
    return float(shared[0])


def test_errors_reach_the_caller(X, client):
    with pytest.raises(ZeroDivisionError):
        DaskGrid(da.from_array(X, chunks=(11, 3))).run(failing, [Call(0, 0)])


def failing(block, shared, own):
    return 1 // 0


def test_a_grid_can_be_pickled(X, client):
    check(pickle.loads(pickle.dumps(DaskGrid(da.from_array(X, chunks=(11, 3))))), X)


def test_passes_of_a_task_do_not_wait_for_its_own_thread(X, client):
    """Both workers have one thread, and both run tasks that wait for blocks on both."""
    array = da.from_array(X, chunks=(11, 3))
    tasks = [client.submit(inside_of_a_task, array, workers=[w], pure=False) for w in client.nthreads()]
    np.testing.assert_allclose(client.gather(tasks), X.sum())


def test_a_killed_worker_costs_a_recomputation(X):
    with two_workers() as client:
        grid = DaskGrid(da.from_array(X, chunks=(5, 2)))
        calls = [Call(i, j) for i in range(6) for j in range(4)]
        victim = grid.run(owner, calls)[0]
        assert victim in worker_processes(client)
        os.kill(victim, signal.SIGKILL)
        check(grid, X)
        assert victim not in grid.run(owner, calls)


def slow_sum(block, shared, own):
    time.sleep(0.05)
    return float(block.sum() + shared[0])


def test_a_worker_killed_during_a_pass(X):
    """Long vectors are sent to workers before the tasks, and lost with them."""
    with two_workers() as client:
        grid = DaskGrid(da.from_array(X, chunks=(5, 2)))
        calls = [Call(i, j) for i in range(6) for j in range(4)]
        victim = grid.run(owner, calls)[0]
        assert victim in worker_processes(client)
        for length in (1, 100_000):
            timer = Timer(0.3, lambda: os.kill(min(worker_processes(client)), signal.SIGKILL))
            timer.start()
            found = grid.run(slow_sum, calls, [np.full(length, 7.0 * i) for i in range(6)])
            timer.join()
            expected = [X[5 * i : 5 * i + 5, 2 * j : 2 * j + 2].sum() + 7.0 * i for i, j, _ in calls]
            np.testing.assert_allclose(found, expected)


def test_blocks_that_do_not_fit_are_computed_for_each_pass(X, client):
    grid = DaskGrid(da.from_array(X, chunks=(11, 3)), most_memory=0.0)
    assert not distributed.futures_of(grid._array)
    check(grid, X)


def test_conversion_and_empty_chunks():
    whole = np.arange(12).reshape(4, 3)
    array = da.from_array(whole, chunks=((2, 0, 2), (3, 0)))
    grid = DaskGrid(array, np.float64, np.dtype(np.float64))
    assert grid.size == (2, 1) and grid.dtype == np.float64
    assert np.array_equal(grid.gather(np.array([2])), whole[:, [2]])


def test_refused_arrays(X):
    array = da.from_array(X, chunks=(11, 3))
    for bad, message in (
        (array[0], "two dimensions"),
        (array[array[:, 0] > 0.0], r"unknown sizes: call X.compute_chunk_sizes\(\)"),
        (array[:0], "at least one row"),
        (array.astype(str), "real numbers"),
        (array * 1j, "real numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            DaskGrid(bad)
    assert is_dask_array(array) and not is_dask_array(X)
