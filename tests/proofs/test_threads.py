"""Work on several threads: results in order, exceptions raised, nothing started after one."""

import threading

import pytest

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
