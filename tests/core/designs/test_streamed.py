"""Designs that are read in blocks: the contract for every kind of source, one pass a method, and equal results."""

import os
import pickle
import signal
import threading
import time
from itertools import count

import numpy as np
import pytest
import scipy.sparse as sp

from checks import best_subset
from core.designs.storages import DENSE, WEIGHTS, N, P, dense, many_rows, matrix, offset_columns
from design_contract import DesignContract
from exact import exact_moments
from samples import sample
from sparsest.core.designs import Dense, PassStopped, Streamed, stopping, view_with
from sparsest.core.designs.row_sums import RowSums
from sparsest.core.designs.sources import ArraySource, CompressedSource, SlicedSource, in_memory
from sparsest.core.designs.summed_packs import SummedPack
from sparsest.proofs.fingerprint import Fingerprint
from sparsest.runtime.events import Bound, Pass, Status
from sparsest.runtime.sizes import resized


def compressed(X, by_rows):
    stored = (sp.csr_array if by_rows else sp.csc_array)(X)
    return CompressedSource(stored.data, stored.indices, stored.indptr.astype(np.int64), X.shape, by_rows)


SOURCES = {
    "C order": lambda X: ArraySource(np.ascontiguousarray(X)),
    "Fortran order": lambda X: ArraySource(np.asfortranarray(X)),
    "float32": lambda X: ArraySource(X.astype(np.float32)),
    "int8": lambda X: ArraySource(DENSE["int8"](X)),
    "sparse in memory": lambda X: in_memory(sp.csc_array(X)),
    "rows": SlicedSource,
    "columns": lambda X: SlicedSource(X, chunks=(X.shape[0], 1)),
    "chunks of rows": lambda X: SlicedSource(X, chunks=(2, X.shape[1])),
    "chunks of columns": lambda X: SlicedSource(X.astype(np.float32), chunks=(X.shape[0], 2)),
    "float16": lambda X: SlicedSource(np.round(X / 8.0).astype(np.float16)),
    "sparse rows": lambda X: compressed(X, True),
    "sparse columns": lambda X: compressed(X, False),
}
STORED = {
    "float32": lambda X: X.astype(np.float32),
    "chunks of columns": lambda X: X.astype(np.float32),
    "int8": DENSE["int8"],
    "float16": lambda X: np.round(X / 8.0).astype(np.float16),
}


def pair_of(name, X, **settings):
    return Streamed(SOURCES[name](X), **settings), dense(STORED.get(name, np.asarray)(X))


class TestBlocksOfFewLines(DesignContract):
    """Nothing is copied: rows and columns that are chosen are remembered."""

    @pytest.fixture(params=SOURCES)
    def pair(self, request):
        with resized(rows_of_map=2):
            yield pair_of(request.param, matrix(), block_bytes=8 * N * 2, copy_bytes=0)


class TestCopies(DesignContract):
    """Rows and columns that are chosen are copied."""

    @pytest.fixture(params=SOURCES)
    def pair(self, request):
        return pair_of(request.param, matrix(), block_bytes=8 * N * 2)


class TestManyRows(DesignContract):
    """More than kernels add up at once, in several blocks of rows."""

    @pytest.fixture(params=["C order", "Fortran order", "float32", "rows", "sparse rows"])
    def pair(self, request):
        return pair_of(request.param, many_rows(), block_bytes=1 << 14)


@pytest.mark.parametrize("name", SOURCES)
def test_rows_and_columns_together(name):
    design, X = pair_of(name, matrix(), block_bytes=8 * N * 2, copy_bytes=0)
    keep, chosen = np.array([4, 1, 3]), np.array([5, 0, 2])
    for part in (design.rows(keep).take(chosen), design.take(chosen).rows(keep)):
        expected = X[np.ix_(keep, chosen)]
        assert part.shape == (3, 3) and np.array_equal(part.columns([0, 1, 2]), expected)
        np.testing.assert_allclose(part.tdot(np.arange(3.0)), expected.T @ np.arange(3.0), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(part.dot(np.ones(2), [2, 1]), expected[:, [2, 1]].sum(axis=1), rtol=1e-12)
        survey = part.survey(np.ones(3), np.ones(3))
        np.testing.assert_allclose(survey.products, expected.sum(axis=0), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("name", ["C order", "rows", "Fortran order", "columns"])
def test_moments_of_columns_with_large_means(name):
    X = offset_columns()
    with resized(rows_of_map=1):
        mean, rest, variance = Streamed(SOURCES[name](X), block_bytes=1).moments(WEIGHTS)
    for j in range(X.shape[1]):
        exact_mean, exact_variance = exact_moments(X[:, j], WEIGHTS)
        assert variance[j] == pytest.approx(float(exact_variance), rel=1e-13, abs=0.0)
        assert abs(float(exact_mean - type(exact_mean)(mean[j])) - rest[j]) <= 1e-13 * np.sqrt(variance[j])


@pytest.mark.parametrize("name", ["C order", "rows", "Fortran order", "columns"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_not_finite(name, bad):
    X = matrix()
    X[3, 4] = bad
    for weights in (WEIGHTS, np.where(np.arange(N) == 3, 0.0, 1.0)):
        with pytest.raises(ValueError, match="NaN or infinity"):
            Streamed(SOURCES[name](X), block_bytes=8 * N).survey(weights)


@pytest.mark.parametrize("name", SOURCES)
def test_every_method_takes_one_pass(name):
    design, _ = pair_of(name, matrix(), block_bytes=8 * N * 2)
    calls = {
        "survey": lambda: design.survey(np.ones(N), np.ones((N, 3))), "tdot": lambda: design.tdot(np.ones((N, 20))),
        "dot": lambda: design.dot(np.ones(P)), "all columns": lambda: design.columns(np.arange(P)),
    }  # fmt: skip
    for what, call in calls.items():
        before, n_bytes = design.reading.passes, design.reading.bytes
        call()
        assert design.reading.passes == pytest.approx(before + 1.0), what
        assert design.reading.bytes - n_bytes == design.source.line_bytes * design.source.n_lines
    counted = design.counted()
    assert counted.reading.summary() == {"passes": 0, "bytes": 0, "seconds_reading": 0, "seconds_computing": 0}
    counted.columns([1])
    assert counted.reading.seconds_reading > 0.0 and counted.reading.seconds_computing > 0.0
    assert counted.reading.passes == pytest.approx(1.0 if design.source.by_rows else design.source.step / P)


class TestLikelyColumns:
    """Where rows are read, a product copies columns that will probably be wanted: reading them takes no other pass."""

    @pytest.mark.parametrize("name", ["C order", "rows", "sparse rows"])
    @pytest.mark.parametrize("chosen", [None, np.arange(N - 1, 2, -1)])
    def test_they_take_no_pass(self, name, chosen):
        with resized(rows_of_map=2):
            whole, X = pair_of(name, matrix())
            X = X if chosen is None else X[chosen]
            n, everything = X.shape[0], np.ones(P, dtype=bool)
            r = np.arange(1.0, n + 1.0)
            # Copies of three columns fit.
            design = Streamed(whole.source, chosen, copy_bytes=4 * 3 * 8 * n, block_bytes=8 * N * 2)
            before = design.reading.passes
            index, products = design.tdot_some(r, np.arange(P), everything, lambda: np.array([5, 2, 0, 1]))
            np.testing.assert_allclose(products, X.T @ r, rtol=1e-12, atol=1e-9)
            assert index.tolist() == list(range(P)) and design.reading.passes == pytest.approx(before + n / N)
            assert design.at_hand(np.arange(P)).tolist() == [j in (0, 2, 5) for j in range(P)]
            assert np.array_equal(design.columns([2, 5, 2]), X[:, [2, 5, 2]])
            np.testing.assert_allclose(design.tdot(r, [5, 0]), X[:, [5, 0]].T @ r, rtol=1e-12)
            known = design.tdot_some(r, np.array([0, 2]), everything, lambda: np.array([6]))
            assert known[0].tolist() == [0, 2] and design.reading.passes == pytest.approx(before + n / N)
            # Others replace them, and those that stay are not read again.
            design.tdot_some(r, np.arange(P), everything, lambda: np.array([6, 2]))
            assert design.at_hand(np.arange(P)).tolist() == [j in (2, 6) for j in range(P)]
            assert np.array_equal(design.columns([6, 2]), X[:, [6, 2]])

    def test_nothing_is_copied_by_columns(self):
        design, _ = pair_of("Fortran order", matrix())
        design.tdot_some(np.ones(N), np.array([1]), np.ones(P, dtype=bool), lambda: 1 / 0)
        assert design.reading.passes == pytest.approx(1 / P) and design.at_hand(np.arange(P)).all()


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("name", ["C order", "rows", "sparse rows"])
def test_working_sets_that_are_not_copied_take_one_pass(name, centred):
    """Gram matrices of rows are sums over their blocks, with the results of copied columns."""
    with resized(rows_of_map=2):
        design, X = pair_of(name, matrix(), block_bytes=8 * N * 2, copy_bytes=0)
        view = view_with(design, design.moments(WEIGHTS), center=True, scale=True)
        known = view_with(Dense(X), Dense(X).moments(WEIGHTS), center=True, scale=True).pack(centred)
        pack = SummedPack(RowSums(design), view, view.shift, view.scale, centred, copy_bytes=0)
        h = np.linspace(0.5, 2.0, N)
        for step in (
            lambda p: p.append(np.array([3, 1])),
            lambda p: p.append(np.array([0, 6, 4])),
            lambda p: p.weigh(h),
        ):
            before = design.reading.passes
            step(pack)
            step(known)
            assert design.reading.passes == pytest.approx(before + 1.0)
            everything = np.arange(pack.model().curvature.size)
            np.testing.assert_allclose(pack.gram(everything), known.gram(everything), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(pack.squares(h), known.squares(h), rtol=1e-9)
        some = np.array([4, 0, 2])
        third, chosen = known.third_moments(some, np.ones(3, dtype=bool), h), np.array([True, False, True])
        np.testing.assert_allclose(pack.third_moments(some, chosen, h), third[chosen], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(pack.gram(some, h[::-1]), known.gram(some, h[::-1]), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(pack.tdot(h, 2), known.tdot(h, 2), rtol=1e-9, atol=1e-9)


@resized(digest_entries=2 * N)
@pytest.mark.parametrize("name", SOURCES)
def test_digests_are_those_of_the_columns(name):
    plain, X = pair_of(name, matrix(), block_bytes=8 * N * 2)
    design, keys = plain.fingerprinted(), Fingerprint(N, P).keys
    expected = Dense(np.asfortranarray(X)).digests(keys)
    design.survey(WEIGHTS)
    passes = design.reading.passes
    assert np.array_equal(design.digests(keys), expected) and design.reading.passes == passes
    assert np.array_equal(design.counted().digests(keys), expected)
    other = Fingerprint(N - 1, P).keys
    assert np.array_equal(design.rows(np.arange(1, N)).digests(other), Dense(np.asfortranarray(X[1:])).digests(other))


@pytest.mark.parametrize("name", ["C order", "rows", "columns", "sparse rows"])
def test_results_do_not_depend_on_the_number_of_threads(name, monkeypatch):
    design, _ = pair_of(name, many_rows(), block_bytes=1 << 13)
    n, p = design.shape
    results = []
    for cores in (1, 2, 5):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, cores=cores: range(cores), raising=False)
        results.append(
            (design.tdot(np.arange(float(n))), design.dot(np.arange(float(p))), design.survey(np.ones(n))[0])
        )
    for other in results[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(results[0], other, strict=True))


def test_an_error_of_a_block_is_raised():
    class Broken(SlicedSource):
        def read(self, begin, end):
            if begin >= 2:
                raise OSError("the disk is gone")
            return super().read(begin, end)

    with pytest.raises(OSError, match="the disk is gone"):
        Streamed(Broken(matrix()), block_bytes=8 * P * 2).tdot(np.ones(N))


def test_a_design_can_be_sent_to_another_process():
    design, X = pair_of("rows", matrix())
    assert np.array_equal(pickle.loads(pickle.dumps(design)).columns([1, 2]), X[:, [1, 2]])


@pytest.mark.parametrize("name", ["C order", "Fortran order", "rows", "sparse columns"])
@pytest.mark.parametrize("method", ["tree", "relaxation"])
def test_the_certificate_is_that_of_the_matrix(name, method):
    """The answer is proved without a copy of the matrix, and holds for it."""
    X, y = sample("squared", 60, 12)
    result = best_subset(Streamed(SOURCES[name](X), block_bytes=1 << 10), y, k=3, method=method)
    known = best_subset(X, y, k=3, method=method)
    assert result.support.tolist() == known.support.tolist()
    assert result.objective == pytest.approx(known.objective, rel=1e-12)
    assert result.statement.fingerprint == known.statement.fingerprint
    assert result.certificate.verify(X, y)


class Interrupting(ArraySource):
    """Presses Ctrl-C in one of its reads, and goes on when the main thread has taken notice."""

    def __init__(self, array, at):
        super().__init__(array)
        self._reads, self.at, self.pressed = count(1), at, False

    def read(self, begin, end):
        if next(self._reads) == self.at:
            searching = signal.getsignal(signal.SIGINT)
            # Blocks are read by another thread.
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
            deadline = time.monotonic() + 60.0
            while signal.getsignal(signal.SIGINT) is searching and time.monotonic() < deadline:
                time.sleep(0.001)
            self.pressed = signal.getsignal(signal.SIGINT) is not searching
        return super().read(begin, end)


class TestStopping:
    """A pass that takes long ends between two blocks."""

    @pytest.fixture
    def problem(self):
        X, y = sample("squared", 60, 12)
        return Streamed(SOURCES["Fortran order"](X), block_bytes=60 * 8 * 2), X, y

    def test_a_pass_stops_after_a_block(self, problem):
        design, _, _ = problem
        asked = []
        with pytest.raises(PassStopped), stopping(design, lambda: bool(asked.append(1)) or len(asked) == 2):
            design.tdot(np.ones(60))
        assert design.reading.passes == pytest.approx(4 / 12)
        design.tdot(np.ones(60))
        with stopping(Dense(np.ones((2, 2))), lambda: True):
            assert Dense(np.ones((2, 2))).tdot(np.ones(2)).tolist() == [2.0, 2.0]

    @pytest.mark.parametrize("method", ["relaxation", "tree"])
    def test_an_interrupted_search_keeps_its_answer(self, problem, method, keyboard):
        """Ctrl-C in the first pass of the search, between two blocks."""
        _, X, y = problem
        # The survey reads all six blocks.
        source = Interrupting(np.asfortranarray(X), at=6 + 2)
        result = best_subset(Streamed(source, block_bytes=60 * 8 * 2), y, k=3, method=method)
        assert source.pressed and result.status is Status.INTERRUPTED and result.support.size == 3
        assert result.certificate.verify(X, y)

    def test_passes_of_a_relaxation(self):
        """Rounds and two more: the survey, and the check of the proof; and some columns."""
        X, y = sample("squared", 60, 400)
        design, told = Streamed(SOURCES["Fortran order"](X), block_bytes=60 * 8 * 20), []
        settings = {"method": "relaxation", "options": {"polish": False}, "callback": told.append}
        trace = best_subset(design, y, k=3, **settings).trace
        rounds = trace["relaxation"]["rounds"]
        assert trace["relaxation"]["passes"] + 2 <= trace["reading"]["passes"] <= rounds + 2 + 1
        assert trace["reading"]["bytes"] == pytest.approx(trace["reading"]["passes"] * X.nbytes)
        assert trace["reading"]["seconds_reading"] > 0.0 and trace["reading"]["seconds_computing"] > 0.0
        assert sum(isinstance(event, Bound) for event in told) == rounds


def test_every_block_is_reported_from_the_first_pass_on():
    """A callback gets an event for each block that is read, also before the search begins."""
    X, y = sample("squared", N, P)
    source, events = SOURCES["columns"](X), []
    result = best_subset(Streamed(source, block_bytes=8 * N), y, k=2, method="relaxation", callback=events.append)
    passes = [event.passes for event in events if isinstance(event, Pass)]
    assert passes[:P] == pytest.approx(np.arange(1, P + 1) / P) and passes == sorted(passes)
    first_other = next(i for i, event in enumerate(events) if not isinstance(event, Pass))
    assert first_other >= P
    reading = result.trace["reading"]
    assert passes[-1] == pytest.approx(reading["passes"]) and events[-1].__class__ is not Pass
