"""Limits of BLAS threads, nested and in several threads, and solves side by side."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from checks import check_certificate
from samples import sample
from sparsest import best_subset
from sparsest.runtime.events import Status
from sparsest.runtime.threads import all_threads, single_threaded


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@pytest.fixture(autouse=True)
def several_threads():
    """Begin with a number of threads that no limit of ours has, on any machine."""
    with threadpool_limits(3, user_api="blas"):
        yield


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (1, 2, 0)], ids=str)
def test_limits_of_threads_side_by_side_are_taken_back_in_any_order(order):
    before = blas_threads()
    with all_threads():
        many = blas_threads()
    limits, counts = [single_threaded(), all_threads(), single_threaded()], [[1] * len(many), many, [1] * len(many)]
    wanted = {}
    for place, limit in enumerate(limits):
        limit.__enter__()
        wanted[place] = counts[place]
    for place in order:
        # The last that is still wanted counts.
        assert blas_threads() == wanted[max(wanted)]
        limits[place].__exit__(None, None, None)
        del wanted[place]
    assert blas_threads() == before


def test_nested_limits_are_taken_back_one_by_one():
    before = blas_threads()
    with single_threaded():
        assert set(blas_threads()) == {1}
        with all_threads():
            inner = blas_threads()
            with single_threaded():
                assert set(blas_threads()) == {1}
            assert blas_threads() == inner
        assert set(blas_threads()) == {1}
    assert blas_threads() == before


def test_limits_are_taken_back_after_an_error():
    before = blas_threads()
    with pytest.raises(ZeroDivisionError), single_threaded(), all_threads():
        print(1 // 0)
    assert blas_threads() == before


@pytest.mark.parametrize("method", ["tree", "cuts", "local"])
def test_a_solve_leaves_the_limits_as_they_were(method):
    X, y = sample("squared", 30, 8)
    before = blas_threads()
    best_subset(X, y, 3, gamma=0.1, method=method)
    assert blas_threads() == before


SOLVES = [
    {"loss": "squared", "k": 3, "gamma": 0.2, "method": "tree"},
    {"loss": "logistic", "k": 3, "gamma": 0.2, "method": "tree"},
    {"loss": "hinge", "l0_penalty": 0.5, "gamma": 0.2, "method": "tree"},
    {"loss": "squared", "k": 3, "gamma": 0.2, "method": "cuts"},
    {"loss": "squared", "k": 3, "gamma": np.inf, "method": "tree"},
    {"loss": "squared_hinge", "k": 2, "gamma": 0.2, "method": "relaxation"},
]


@pytest.mark.parametrize("first", range(len(SOLVES)))
def test_two_solves_at_once_answer_as_alone(first):
    pair = [SOLVES[first], SOLVES[(first + 1) % len(SOLVES)]]
    data = [sample(settings["loss"], 40, 10, 1) for settings in pair]
    alone = [best_subset(*given, **settings) for given, settings in zip(data, pair, strict=True)]
    together, before = Barrier(2), blas_threads()

    def solve(given, settings):
        together.wait(timeout=60.0)
        return best_subset(*given, **settings)

    with ThreadPoolExecutor(2) as threads:
        at_once = list(threads.map(solve, data, pair))
    assert blas_threads() == before
    for given, expected, result in zip(data, alone, at_once, strict=True):
        assert result.status is expected.status
        assert result.objective == pytest.approx(expected.objective, rel=1e-6)
        if result.status is Status.OPTIMAL:
            assert result.support.tolist() == expected.support.tolist()
        check_certificate(result, *given)
