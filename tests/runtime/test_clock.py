"""Ctrl-C inside compiled kernels, handlers of the program's own, errors in threads, and what the clock counts."""

import ctypes
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
import pytest
from numba.core.compiler_lock import global_compiler_lock

from checks import best_subset, best_subset_path, check_certificate
from injecting import OnCall
from samples import HARD, LOSS_NAMES, REGIONS, hard, sample
from sparsest import near_optimal
from sparsest.core.problem import make_problem
from sparsest.runtime.clock import Clock, counting_processor_time
from sparsest.runtime.events import Incumbent, Root, Status
from sparsest.runtime.faults import injected
from sparsest.subset.fits.support import fit_support
from sparsest.subset.tree.tuning import Tuning

losses = pytest.mark.parametrize("loss", LOSS_NAMES)

_raise = ctypes.CDLL(None)["raise"]
_raise.argtypes, _raise.restype = [ctypes.c_int], ctypes.c_int
_SIGINT = int(signal.SIGINT)


@numba.njit(nogil=True)
def press(n_times=1):
    """Ctrl-C as it comes in the middle of a kernel: the handler runs before the kernel has returned its result."""
    for _ in range(n_times):
        _raise(_SIGINT)
    return n_times, np.ones(n_times)


def test_an_exception_from_ctrl_c_is_lost_in_a_kernel(keyboard):
    """Otherwise the tests below would show nothing."""
    with pytest.raises(SystemError, match="returned a result with an exception set"):
        press(1)


INSIDE = [
    ("tree", "squared", "relax"),
    ("tree", "squared", "tighten"),
    ("tree", "logistic", "relax"),
    ("tree", "hinge", "dual value"),
    ("tree", "logistic", "tighten"),
    ("cuts", "squared", "relax"),
    ("cuts", "hinge", "dual value"),
    ("relaxation", "squared", "relax"),
]


# A relaxation to the usual tolerance may be over at the first call.
LASTING = {"tree": {"n_jobs": 1, "options": REGIONS}, "relaxation": {"options": {"relaxation_tol": 1e-10}}}


@pytest.mark.parametrize(("method", "loss", "point"), INSIDE)
@pytest.mark.parametrize("at", [1, 2])
def test_ctrl_c_inside_a_kernel_gives_a_result(keyboard, method, loss, point, at):
    X, y = hard(p=30)
    y = y if loss == "squared" else np.sign(y)
    fault = OnCall(at, press)
    with injected(point, fault):
        result = best_subset(X, y, **HARD, loss=loss, method=method, gap_tol=0.0, **LASTING.get(method, {}))
    assert fault.calls >= at
    check_certificate(result, X, y)
    assert result.status is Status.INTERRUPTED
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_inside_a_kernel_of_near_optimal(keyboard):
    X, y = hard(p=30)
    result = best_subset(X, y, **HARD)
    with injected("tighten", OnCall(5, press)):
        found = near_optimal(result, X, y, within=0.3, limit=100_000, n_jobs=1)
    assert found.status is Status.INTERRUPTED and not found.complete


def test_a_second_ctrl_c_inside_a_kernel_is_raised(keyboard):
    X, y = hard(p=30)
    calls = []

    def impatient():
        calls.append(press())
        press()

    with injected("relax", impatient), pytest.raises(KeyboardInterrupt):
        best_subset(X, y, **HARD, method="tree")
    assert len(calls) == 1
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_ends_a_whole_path(keyboard):
    X, y = hard(p=30)
    fault, options = OnCall(2, press), {"relaxation_tol": 1e-9}
    with injected("relax", fault):
        results = best_subset_path(X, y, [2, 3, 4, 5], gamma=0.1, method="relaxation", options=options)
    assert [result.status for result in results] == [Status.INTERRUPTED] * 4
    assert 2 <= fault.calls <= 2 + 3
    for result in results:
        check_certificate(result, X, y)


def test_ctrl_c_in_a_search_inside_another_stops_both(keyboard):
    X, y = hard(p=30)
    inner = []

    def callback(event):
        if isinstance(event, Incumbent) and not inner:
            with injected("relax", OnCall(1, press)):
                inner.append(best_subset(X, y, **HARD, method="relaxation", gap_tol=0.0))

    outer = best_subset(X, y, **HARD, gap_tol=0.0, callback=callback)
    assert inner[0].status is outer.status is Status.INTERRUPTED
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


# Handlers of the program's own


@pytest.fixture
def program(keyboard):
    """A signal handler of the program, which records from where it is called and raises the given exception."""

    class Handler:
        calls, error = 0, None

        def __call__(self, signum, frame):
            self.calls += 1
            if self.error is not None:
                raise self.error

    handler = Handler()
    signal.signal(signal.SIGINT, handler)
    yield handler
    assert signal.getsignal(signal.SIGINT) is handler


def test_a_handler_of_the_program_is_called(program):
    X, y = hard(p=30)
    with injected("relax", OnCall(1, press)):
        result = best_subset(X, y, **HARD, method="tree")
    assert program.calls == 1 and result.status is Status.OPTIMAL


def test_keyboard_interrupt_from_a_handler_of_the_program(program):
    X, y = hard(p=30)
    program.error = KeyboardInterrupt
    with injected("relax", OnCall(1, press)):
        result = best_subset(X, y, **HARD, method="tree", gap_tol=0.0)
    check_certificate(result, X, y)
    assert program.calls == 1 and result.status is Status.INTERRUPTED


def test_other_errors_of_a_handler_of_the_program_are_raised(program):
    X, y = hard(p=30)
    program.error = TimeoutError("the program's own")
    with injected("relax", OnCall(1, press)), pytest.raises(TimeoutError, match="the program's own"):
        best_subset(X, y, **HARD, method="tree")


def test_a_handler_set_by_a_callback_stays(keyboard):
    X, y = sample("squared", 30, 8)

    def own(signum, frame):
        raise AssertionError

    best_subset(X, y, 3, gamma=0.1, callback=lambda event: signal.signal(signal.SIGINT, own) and None)
    assert signal.getsignal(signal.SIGINT) is own


def test_ctrl_c_is_left_alone_in_other_threads(keyboard):
    X, y = sample("squared", 30, 8)
    seen = []
    with ThreadPoolExecutor(1) as pool:
        job = pool.submit(
            best_subset, X, y, 3, gamma=0.1, callback=lambda event: seen.append(signal.getsignal(signal.SIGINT))
        )
    assert job.result().status is Status.OPTIMAL
    assert set(seen) == {signal.default_int_handler}


# Errors in the threads of the tree, and in callbacks


def test_an_error_in_a_thread_leaves_the_incumbent():
    X, y = hard(p=30)
    known = best_subset(X, y, **HARD)

    def fail():
        raise MemoryError("no room")

    early = pytest.warns(RuntimeWarning, match=r"ended early because of MemoryError\('no room'\)")
    with injected("nodes", OnCall(3, fail)), early:
        result = best_subset(X, y, **HARD, n_jobs=2, gap_tol=0.0, options=REGIONS)
    check_certificate(result, X, y)
    assert result.status is Status.INTERRUPTED
    assert 0.0 < result.lower_bound <= known.objective <= result.objective * (1.0 + 1e-4)


@pytest.mark.parametrize("kind", [Incumbent, Root])
def test_an_error_of_a_callback_is_raised(kind):
    X, y = hard(p=30)

    def callback(event):
        if isinstance(event, kind):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        best_subset(X, y, **HARD, callback=callback)


# What ends when time has run out


@losses
def test_a_fit_without_time_is_honest(loss):
    X, y = sample(loss, 40, 12)
    problem = make_problem(X, y, 12, loss=loss, gamma=0.5)
    whole = fit_support(problem, np.arange(12))
    early = fit_support(problem, np.arange(12), expired=lambda: True)
    assert early.dual <= whole.primal * (1.0 + 1e-9) and whole.dual <= early.primal * (1.0 + 1e-9)
    assert loss == "squared" or early.primal > whole.primal


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_no_time_left_while_columns_are_copied(loss):
    """The search by regions cannot begin then, and the root's bound is the result's."""
    X, y = hard(p=30)
    y = y if loss == "squared" else np.sign(y)
    copied = OnCall(0, press)
    by_column = {"tuning": Tuning(packed_bytes=1)}
    with injected("columns", copied), injected("clock", lambda: copied.calls >= 3):
        result = best_subset(X, y, **HARD, loss=loss, gap_tol=0.0, options=by_column)
    check_certificate(result, X, y)
    assert copied.calls == 3 and result.status is Status.TIME_LIMIT and result.n_nodes == 0
    root = best_subset(X, y, **HARD, loss=loss, method="relaxation")
    assert result.lower_bound == pytest.approx(root.lower_bound, rel=0.01)


def test_a_linear_program_that_takes_all_the_time_ends_the_search():
    X, y = hard(p=30)
    known, root = best_subset(X, y, **HARD), best_subset(X, y, **HARD, method="relaxation")
    left = []

    def no_answer(seconds):
        left.append(seconds)
        return True

    with injected("linear program", no_answer), injected("clock", lambda: bool(left)):
        result = best_subset(X, y, **HARD, method="cuts", gap_tol=0.0, time_limit=1e6)
    check_certificate(result, X, y)
    assert result.status is Status.TIME_LIMIT
    assert len(left) == 1 and 0.0 < left[0] <= 1e6
    assert 0.99 * root.lower_bound <= result.lower_bound <= known.objective


# What the clock counts


def test_compiling_does_not_count(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    clock = Clock(5.0)
    now[0] += 1.0
    with global_compiler_lock:
        now[0] += 30.0
        assert clock.seconds() == 1.0
        with global_compiler_lock:
            now[0] += 30.0
        assert clock.seconds() == 1.0 and not clock.expired()
    now[0] += 2.0
    assert clock.seconds() == 3.0 and clock.left() == 2.0
    now[0] += 2.0
    assert clock.expired() and clock.left() == 0.0


def test_what_is_reserved_comes_off_the_limit():
    clock = Clock(100.0)
    assert not clock.expired()
    clock.reserved = 100.0
    assert clock.expired() and clock.left() > 0.0 and clock.early() is Status.TIME_LIMIT


def test_a_clock_of_the_processor_stands_while_the_process_sleeps():
    with counting_processor_time():
        clock = Clock(60.0)
    usual = Clock(60.0)
    time.sleep(0.3)
    assert usual.seconds() >= 0.3
    assert clock.seconds() < 0.2
    began = time.process_time()
    while time.process_time() < began + 0.2:
        pass
    assert clock.seconds() >= 0.2


def test_a_reserve_ends_with_the_search_it_was_for():
    clock = Clock(100.0)
    with clock.reserving(100.0):
        assert clock.expired()
    assert not clock.expired()


def test_what_was_spent_before_counts():
    clock = Clock(5.0, spent=4.0)
    assert 4.0 <= clock.seconds() < 5.0 and clock.left() <= 1.0
    assert Clock(5.0, spent=5.0).expired()


def test_a_part_has_its_own_limit_and_stops_the_whole():
    events, wanted = [], [False]
    clock = Clock(60.0, lambda event: events.append(event) or wanted[0])
    part = clock.part(1e-9)
    assert part.expired() and not clock.expired()
    part.tell(Root(0.0, 1.0, 2))
    assert events == [Root(0.0, 1.0, 2)] and not clock.interrupted
    wanted[0] = True
    part.tell(Root(0.0, 3.0, 4))
    assert part.interrupted and clock.interrupted and clock.part(60.0).interrupted


def test_silenced_events_are_not_sent():
    events = []
    clock = Clock(60.0, events.append)
    with clock.silenced(Root):
        clock.tell(Root(0.0, 1.0, 2))
        clock.found(3.0, [1])
    with clock.silenced():
        clock.found(2.0, [1])
    clock.tell(Root(0.0, 1.0, 2))
    assert [type(event) for event in events] == [Incumbent, Root]


@pytest.mark.parametrize("settings", [{}, {"screen": 15}, {"gamma": "loo"}, {"gamma": "loo", "screen": 15}], ids=str)
def test_seconds_count_from_the_call(settings):
    X, y = hard(60, 20)
    began = time.perf_counter()
    spent = []

    class Slow:
        shape = X.shape

        def __array__(self, dtype=None, copy=None):
            time.sleep(0.2)
            spent.append(0.2)
            return X

    result = best_subset(
        Slow(), y, 3, standardize=True, gamma=settings.get("gamma", 0.1), screen=settings.get("screen")
    )
    assert spent and sum(spent) <= result.seconds <= time.perf_counter() - began
