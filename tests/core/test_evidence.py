"""The data for the checker: fingerprints, and columns with the sums of the first pass over them."""

import gc
import multiprocessing
import pickle
import threading
import time
import weakref

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from checks import best_subset
from core.designs.storages import Foreign
from injecting import OnCall
from proofs.helpers import assert_enclosing
from samples import sample
from sparsest.core.designs import as_design
from sparsest.core.designs.standardized import Standardized
from sparsest.core.evidence import SurveyedColumns
from sparsest.core.problem import make_problem
from sparsest.proofs.columns import AllColumns
from sparsest.proofs.fingerprint import fingerprint
from sparsest.proofs.points import feasible
from sparsest.proofs.reading import ColumnBlocks
from sparsest.runtime.faults import injected
from sparsest.subset.api import METHODS
from sparsest.subset.claims import statement_of


@pytest.mark.parametrize("store", [np.ascontiguousarray, np.asfortranarray, np.float32, sp.csc_array])
def test_the_fingerprint_is_that_of_the_data(store):
    X, y = sample("squared", 20, 5, 0)
    X[3, 2] = -0.0
    problem = make_problem(store(X), y, 2, gamma=0.1)
    found = problem.data.evidence
    found.begin_fingerprint()
    assert found.fingerprint() == fingerprint(found.data) == statement_of(problem).fingerprint
    assert problem.with_gamma(1.0).data.evidence is found


@pytest.mark.parametrize("method", METHODS)
def test_a_design_that_stores_no_matrix_is_read_in_blocks(method):
    """Results and proofs are the same, and they can be checked against the data in memory or in blocks."""
    X, y = sample("squared", 20, 6, 4)
    usual, found = (best_subset(data, y, 2, gamma=0.1, method=method, standardize=True) for data in (X, Foreign(X)))
    assert np.array_equal(found.support, usual.support) and found.statement == usual.statement
    assert found.objective == pytest.approx(usual.objective, rel=1e-12)
    design = Foreign(X)
    for data in (X, ColumnBlocks(design.shape, design.columns)):
        assert found.certificate.verify(data, y)
    design.array = X + 1e-9
    assert not found.certificate.verify(ColumnBlocks(design.shape, design.columns), y)


def test_a_design_that_stores_no_matrix_is_read_by_one_thread_at_a_time():
    """The fingerprint was computed in a thread that read columns while the search did."""
    X, y = sample("squared", 20, 6, 4)
    reading, overlaps = threading.Lock(), []

    class Watched(Foreign):
        def columns(self, subset):
            alone = reading.acquire(blocking=False)
            overlaps.append(not alone)
            time.sleep(0.005)
            if alone:
                reading.release()
            return super().columns(subset)

    assert best_subset(Watched(X), y, 2, gamma=0.1).certificate.verify(X, y)
    assert overlaps and not any(overlaps)


@pytest.mark.parametrize("store", [np.asarray, Foreign])
def test_what_is_known_of_data_does_not_keep_them(store):
    X, y = sample("squared", 20, 5, 3)
    problem = make_problem(store(X), y, 2, gamma=0.1, fit_intercept=False)
    problem.data.evidence.fingerprint()
    before = weakref.ref(problem.design)
    del problem
    gc.collect()
    assert before() is None


def test_a_fingerprint_whose_thread_failed_is_computed_again():
    X, y = sample("squared", 20, 5, 1)
    problem = make_problem(X, y, 2, gamma=0.1)
    found = problem.data.evidence
    failed = OnCall(1, lambda: True)
    with injected("fingerprint", failed):
        found.begin_fingerprint()
        assert found.fingerprint() == fingerprint(found.data)
    assert failed.calls == 1


def _solve_again(queue, X, y, problem):
    result = best_subset(X, y, 2, gamma=0.1, method="local")
    queue.put((result.objective, statement_of(problem).fingerprint))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_solves_too():
    """It has none of the threads that its parent had."""
    X, y = sample("squared", 20, 5, 2)
    result = best_subset(X, y, 2, gamma=0.1, method="local")
    problem = make_problem(X, y, 2, gamma=0.1)
    problem.data.evidence.begin_fingerprint()
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=_solve_again, args=(queue, X, y, problem))
    process.start()
    objective, found = queue.get(timeout=120)
    process.join()
    assert np.isclose(objective, result.objective, rtol=1e-9) and found == result.certificate.statement.fingerprint


# Columns

STORAGES = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "single": lambda X: X.astype(np.float32),
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "sparse": sp.csc_array,
}


@pytest.mark.parametrize("storage", STORAGES)
@given(
    st.integers(0, 10**6),
    st.sampled_from([2, 3, 17, 60]),
    st.sampled_from([0.0, 1.0, 6.0, 1e4, 1e12]),
    st.sampled_from([1e-3, 1.0, 1e5]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_what_a_survey_tells_encloses_what_is_exact(storage, seed, n, mean, scale, center, standardize, weighted):
    """Variances, norms and products as fractions, of columns with zeros, outliers and large means."""
    rng = np.random.default_rng(seed)
    X = (rng.standard_normal((n, 6)) + mean * rng.standard_normal(6)) * scale
    X[rng.random((n, 6)) < 0.3] = 0.0
    X[0, 1] = 1000.0 * scale
    X[:, 2] = X[0, 2]
    X[:, 3] = 0.0
    y = rng.standard_normal(n)
    weights = 10.0 ** rng.uniform(-4, 4, n) if weighted else np.ones(n)
    stored = STORAGES[storage](X)
    problem = make_problem(
        stored, y, 2, gamma=1.0, fit_intercept=center, standardize=standardize, sample_weight=weights
    )
    columns = problem.data.evidence.columns()
    assert isinstance(columns, SurveyedColumns)
    alpha = feasible(columns.data.rule, columns.data.y, weights, rng.standard_normal((n, 2)), center)
    assert_enclosing(columns, stored.toarray() if sp.issparse(stored) else stored, weights, alpha)


def test_columns_that_a_survey_tells_little_of_are_read_by_the_checker():
    X, y = sample("squared", 20, 5, 3)
    assert isinstance(make_problem(Foreign(X), y, 2, gamma=0.1).data.evidence.columns(), AllColumns)
    assert isinstance(make_problem(X, y, 2, gamma=0.1).data.evidence.columns(), SurveyedColumns)


# Evidence belongs to the data


def test_data_with_evidence_can_be_sent_to_another_process():
    X, y = sample("squared", 20, 5, 6)
    data = make_problem(X, y, 2, gamma=0.1).data
    data.evidence.begin_fingerprint()
    again = pickle.loads(pickle.dumps(data))
    assert again.evidence.fingerprint() == data.evidence.fingerprint()


@pytest.mark.parametrize("method", METHODS)
def test_one_design_with_two_responses(method):
    """Sums of the first response are not used for the second."""
    X, y = sample("squared", 30, 6, 7)
    design, settings = as_design(X), {"gamma": 0.1, "method": method, "fit_intercept": False, "standardize": False}
    for response in (y, 0.1 * y[::-1], y):
        shared, own = (best_subset(data, response, 2, **settings) for data in (design, X))
        assert shared.statement == own.statement and shared.objective == own.objective
        assert shared.lower_bound == pytest.approx(own.lower_bound, rel=1e-9)


def test_a_view_that_is_given_is_not_taken_for_what_it_shows():
    X, y = sample("squared", 30, 6, 8)
    scale = np.linspace(0.5, 3.0, 6)
    nothing = np.empty(0, dtype=np.intp)
    view = Standardized(as_design(X), np.ones(6), scale, nothing, np.empty((30, 0)))
    for settings in ({"fit_intercept": False, "standardize": False}, {}):
        shown, explicit = (best_subset(data, y, 2, gamma=0.1, **settings) for data in (view, (X - 1.0) / scale))
        assert shown.objective == pytest.approx(explicit.objective, rel=1e-9)
        np.testing.assert_allclose(shown.coef, explicit.coef, rtol=1e-6, atol=1e-9)
