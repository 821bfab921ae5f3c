"""Gradients that are computed only where bounds from earlier ones do not settle the matter."""

import numpy as np
import pytest
import scipy.sparse as sp

from sparsest.designs import as_design, standardized
from sparsest.solvers.paths.gradients import Gradients

N, P = 25, 40
WEIGHTS = np.random.default_rng(1).dirichlet(np.full(N, 5.0))


@pytest.fixture(params=[np.asarray, np.asfortranarray, sp.csc_array, lambda X: X.astype(np.float32)])
def view(request):
    X = np.random.default_rng(0).standard_normal((N, P))
    X[:, 7] = 0.0
    return standardized(as_design(request.param(X)), WEIGHTS, center=True, scale=True)


def test_all_are_known_at_first(view):
    theta = np.random.default_rng(2).standard_normal(N)
    norms = np.sqrt(WEIGHTS @ view.columns(np.arange(P)) ** 2)
    known = Gradients(view, norms, WEIGHTS, theta)
    np.testing.assert_allclose(known.value, view.tdot(theta), atol=1e-12)
    np.testing.assert_allclose(known.at(np.array([5, 3]), 2.0 * theta), 2.0 * known.value[[5, 3]], atol=1e-12)


def test_what_is_not_computed_is_within_its_limit(view):
    """Also after more renewals than there are references, and for columns that were left out meanwhile."""
    rng = np.random.default_rng(2)
    theta, norms = rng.standard_normal(N), np.sqrt(WEIGHTS @ view.columns(np.arange(P)) ** 2)
    known, skipped = Gradients(view, norms, WEIGHTS, theta), 0
    for turn in range(40):
        theta = 0.95 * theta + 0.02 * rng.standard_normal(N)
        candidates = rng.random(P) < 0.8
        limit = np.full(P, np.quantile(np.abs(view.tdot(theta)), 0.5 if turn % 2 else 0.9))
        needed = known.renew(theta, limit, candidates)
        truth = view.tdot(theta)
        np.testing.assert_allclose(known.value[needed], truth[needed], atol=1e-12)
        assert candidates[needed].all()
        left = np.setdiff1d(np.flatnonzero(candidates), needed)
        assert (np.abs(truth[left]) <= limit[left]).all()
        skipped += left.size
    assert skipped > 100


def test_a_guess_follows_the_scale(view):
    theta = np.random.default_rng(2).standard_normal(N)
    known = Gradients(view, np.ones(P), WEIGHTS, theta)
    needed = known.renew(0.25 * theta, np.full(P, np.inf), np.ones(P, dtype=bool))
    assert needed.size == 0
    np.testing.assert_allclose(known.guess, 0.25 * np.abs(view.tdot(theta)), atol=1e-12)
