"""Jobs of several regions: outcomes are in the order of the requests, and a failed job ends them."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from sparsest.subset.tree.threads import collect, submit


class Squares:
    """A stand-in for a bounder: the outcome of a request is its square; negative requests fail."""

    def __init__(self, batch_size):
        self.batch_size, self.sizes = batch_size, []

    def solve(self, requests, cutoff):
        self.sizes.append(len(requests))
        if min(requests) < 0:
            raise MemoryError("no room")
        return [cutoff * request**2 for request in requests]


@pytest.mark.parametrize(("count", "batch_size", "sizes"), [(0, 8, []), (1, 8, [1]), (5, 8, [2, 3]), (16, 4, [4] * 4)])
def test_outcomes_come_in_order(count, batch_size, sizes):
    bounder = Squares(batch_size)
    with ThreadPoolExecutor(2) as pool:
        jobs = submit(pool, bounder, range(count), 10.0)
        assert list(collect(jobs)) == [10.0 * i**2 for i in range(count)]
    assert sorted(bounder.sizes) == sizes


def test_a_failure_ends_them_with_a_warning():
    with ThreadPoolExecutor(2) as pool:
        jobs = submit(pool, Squares(2), [1, 2, -1, 3, 4, 5], 1.0)
        with pytest.warns(RuntimeWarning, match=r"ended early because of MemoryError\('no room'\)"):
            assert list(collect(jobs)) == [1.0, 4.0, None]
