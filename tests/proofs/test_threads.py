"""Work on several threads: results in order, exceptions raised, nothing started after one."""

import threading
import time
from contextlib import ExitStack

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from proofs.helpers import indices, sample, statement_of
from sparsest.proofs.check import prove
from sparsest.proofs.data import Data, Room
from sparsest.proofs.reading import ColumnBlocks
from sparsest.proofs.steps import Branch, Leaf, PrimalPoint, Proof
from sparsest.proofs.threads import Workers, cores, mapped


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_are_in_the_order_of_the_work(threads):
    assert cores() >= 1
    assert list(mapped(lambda i: i * i, range(50), threads)) == [i * i for i in range(50)]
    assert list(mapped(lambda i: i, [], threads)) == []


def test_several_threads_work_at_the_same_time():
    """Each waits for the other."""
    both = threading.Barrier(2, timeout=60.0)
    assert sorted(mapped(lambda i: both.wait(), range(2), 2)) == [0, 1]


@pytest.mark.parametrize("threads", [1, 3])
def test_an_exception_is_raised_where_the_results_are_collected(threads):
    def work(i):
        if i == 3:
            raise ValueError("three")
        return i

    with pytest.raises(ValueError, match="three"):
        list(mapped(work, range(30), threads))


def test_no_more_than_a_few_calls_wait():
    release, begun = threading.Event(), []

    def work():
        begun.append(None)
        release.wait(60.0)

    with Workers(2) as workers:
        for _ in range(4):
            workers.submit(work)
        late = threading.Thread(target=lambda: workers.submit(work))
        late.start()
        late.join(0.2)
        assert late.is_alive() and len(begun) <= 2
        release.set()
        late.join(60.0)
        assert len(workers.collect()) == 5


def test_blas_has_its_threads_back_after_checks_that_overlap():
    """The second user used to record the limit of one thread as the normal one, and restored it at its end."""

    def blas():
        return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]

    with threadpool_limits(2, user_api="blas"):
        usual, first, second = blas(), ExitStack(), ExitStack()
        first.enter_context(Workers(2))
        second.enter_context(Workers(2))
        first.close()
        assert blas() == [1 for _ in usual]
        second.close()
        assert blas() == usual


@pytest.mark.parametrize("packed", [0, 1 << 31])
def test_columns_that_are_stored_elsewhere_are_read_by_one_thread_at_a_time(packed):
    """Who reads from a file seeks in it first; batches of a tree read columns that are too many to be kept."""
    X, y = sample(30, 6)
    reading, calls = threading.Lock(), []

    def read(features):
        assert reading.acquire(blocking=False), "another thread reads"
        time.sleep(0.002)
        calls.append(features)
        reading.release()
        return X[:, features]

    def steps(free):
        return [Branch(free[0]), *steps(free[1:]), *steps(free[1:])] if free else [Leaf(0)]

    statement = statement_of(X, y, k=2)
    room = Room(packed=packed, gains=8 * 30 * 2, threads=4)
    data = Data.of(statement, ColumnBlocks(X.shape, read), y, None, room=room)
    point = PrimalPoint(indices(0, 1), np.ones(2), 0.0)
    found = prove(data, statement, Proof(steps([0, 1, 2, 3, 4]), (point,)))
    assert not found.complaints and calls
