"""Claims: fingerprints are found in the background, and in forked processes too."""

import gc
import multiprocessing
import weakref

import numpy as np
import pytest
import scipy.sparse as sp

from checks import best_subset
from samples import sample
from sparsest.problem import make_problem
from sparsest.proofs.data import fingerprint
from sparsest.solvers.shared import claims


@pytest.mark.parametrize("store", [np.ascontiguousarray, np.asfortranarray, np.float32, sp.csc_array])
def test_the_fingerprint_is_that_of_the_data(store):
    X, y = sample("squared", 20, 5, 0)
    X[3, 2] = -0.0
    problem = make_problem(store(X), y, 2, gamma=0.1)
    found = claims.evidence(problem)
    assert found.fingerprint() == fingerprint(found.data) == claims.statement_of(problem).fingerprint
    assert claims.evidence(problem.with_gamma(1.0)) is found


def test_what_is_known_of_data_does_not_keep_them():
    X, y = sample("squared", 20, 5, 3)
    problem = make_problem(X, y, 2, gamma=0.1, fit_intercept=False)
    claims.evidence(problem).fingerprint()
    before = weakref.ref(problem.design)
    del problem
    gc.collect()
    assert before() is None


def test_a_fingerprint_whose_thread_failed_is_computed_again(monkeypatch):
    X, y = sample("squared", 20, 5, 1)
    problem = make_problem(X, y, 2, gamma=0.1)
    compute = claims.Evidence._compute
    monkeypatch.setattr(claims.Evidence, "_compute", lambda self, *digests: None)
    found = claims.evidence(problem)
    monkeypatch.setattr(claims.Evidence, "_compute", compute)
    assert found.fingerprint() == fingerprint(found.data)


def _solve_again(queue, X, y, problem):
    result = best_subset(X, y, 2, gamma=0.1, method="local")
    queue.put((result.objective, claims.statement_of(problem).fingerprint))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_solves_too():
    """It has none of the threads that its parent had."""
    X, y = sample("squared", 20, 5, 2)
    result = best_subset(X, y, 2, gamma=0.1, method="local")
    problem = make_problem(X, y, 2, gamma=0.1)
    claims.evidence(problem)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=_solve_again, args=(queue, X, y, problem))
    process.start()
    objective, found = queue.get(timeout=120)
    process.join()
    assert np.isclose(objective, result.objective, rtol=1e-9) and found == result.certificate.statement.fingerprint
