"""Claims: fingerprints are found in the background, in forked processes too; bounds are what a check can prove."""

import gc
import multiprocessing
import weakref

import numpy as np
import pytest
import scipy.sparse as sp

from checks import best_subset
from designs.storages import Foreign
from samples import sample
from sparsest.api import METHODS
from sparsest.problem import make_problem
from sparsest.proofs.check import prove
from sparsest.proofs.fingerprint import fingerprint
from sparsest.proofs.reading import ColumnBlocks
from sparsest.proofs.steps import Leaf, Split
from sparsest.solvers.shared import claims
from sparsest.solvers.shared.support import fit_support


@pytest.mark.parametrize("store", [np.ascontiguousarray, np.asfortranarray, np.float32, sp.csc_array])
def test_the_fingerprint_is_that_of_the_data(store):
    X, y = sample("squared", 20, 5, 0)
    X[3, 2] = -0.0
    problem = make_problem(store(X), y, 2, gamma=0.1)
    found = claims.evidence(problem)
    assert found.fingerprint() == fingerprint(found.data) == claims.statement_of(problem).fingerprint
    assert claims.evidence(problem.with_gamma(1.0)) is found


@pytest.mark.parametrize("method", METHODS)
def test_a_design_that_stores_no_matrix_is_read_in_blocks(method):
    """What is found and proved is the same, and anybody can check it against the data, in memory or in blocks."""
    X, y = sample("squared", 20, 6, 4)
    usual, found = (best_subset(data, y, 2, gamma=0.1, method=method, standardize=True) for data in (X, Foreign(X)))
    assert np.array_equal(found.support, usual.support) and found.statement == usual.statement
    assert found.objective == pytest.approx(usual.objective, rel=1e-12)
    design = Foreign(X)
    for data in (X, ColumnBlocks(design.shape, design.columns)):
        assert found.certificate.verify(data, y)
    design.array = X + 1e-9
    assert not found.certificate.verify(ColumnBlocks(design.shape, design.columns), y)


@pytest.mark.parametrize("store", [np.asarray, Foreign])
def test_what_is_known_of_data_does_not_keep_them(store):
    X, y = sample("squared", 20, 5, 3)
    problem = make_problem(store(X), y, 2, gamma=0.1, fit_intercept=False)
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


@pytest.fixture
def solved():
    """A problem with a price and a forced feature, the fit of a support, and a proof that holds."""
    X, y = sample("squared", 20, 6, 5)
    problem = make_problem(X, y, 3, l0_penalty=0.2, gamma=0.1, include=[1])
    fit = fit_support(problem, np.array([0, 1]))
    return problem, fit, claims.single_leaf(fit.alpha)


def test_a_bound_is_neither_below_the_price_of_forced_features_nor_above_the_objective(solved):
    problem, fit, proof = solved
    objective = claims.certify(problem, fit, proof, 0.0).objective
    assert claims.certify(problem, fit, proof, 2.0 * objective).lower_bound == objective
    assert claims.certify(problem, fit, proof, -1.0).lower_bound == pytest.approx(0.2, rel=1e-12)
    assert claims.certify(problem, fit, proof, 0.5 * objective).lower_bound == 0.5 * objective


def test_bounds_of_long_proofs_are_lowered_by_an_allowance(solved, monkeypatch):
    """By a part of the objectives, and by more where splits amplify rounding errors."""
    problem, _, proof = solved
    monkeypatch.setattr(claims, "_MOST_ENTRIES", 1)
    for asked in (None, proof):
        kept, bound = claims.settle(problem, asked, 3.0, 5.0)
        assert kept is asked and bound == 3.0 - claims.allowance(5.0, 3.0) < 3.0
    thin = proof._replace(splits=[Split(np.array([0, 2]), 1e-6 * problem.column_norms[[0, 2]] ** 2)])
    amplified = claims.settle(problem, thin, 3.0, 5.0)[1]
    assert 3.0 - amplified == pytest.approx(8.0 * (1e-9 + 4e-13 * 1e6), rel=1e-6)


def test_a_short_proof_has_the_bound_that_its_check_finds(solved):
    problem, _, proof = solved
    kept, bound = claims.settle(problem, proof, 1e9, 1.0)
    assert (
        kept is proof and bound == prove(claims.evidence(problem).data, claims.statement_of(problem), proof, 0.0).bound
    )
    refused, floor = claims.settle(problem, proof._replace(steps=(Leaf(7),)), 1e9, 1.0)
    assert refused.steps == (Leaf(0),) and not refused.points[0].values.any()
    assert floor == pytest.approx(0.2, rel=1e-12)
