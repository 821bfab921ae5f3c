"""Gradients are computed only if bounds from earlier ones are not sufficient."""

import numpy as np
import pytest
import scipy.sparse as sp

from core.designs.storages import standardized
from sparsest.core.designs import as_design
from sparsest.paths.gradients import Gradients, GroupGradients
from sparsest.paths.kernels.screening import BothSides

N, P = 25, 40
WEIGHTS = np.random.default_rng(1).dirichlet(np.full(N, 5.0))


@pytest.fixture(params=[np.asarray, np.asfortranarray, sp.csc_array, lambda X: X.astype(np.float32)])
def view(request):
    X = np.random.default_rng(0).standard_normal((N, P))
    X[:, 7] = 0.0
    return standardized(as_design(request.param(X)), WEIGHTS, center=True, scale=True)


def make_gradients(view, theta):
    norms = np.sqrt(WEIGHTS @ view.columns(np.arange(P)) ** 2)
    return Gradients(view, norms, WEIGHTS, np.linspace(1.0, 2.0, P), BothSides(), theta, view.tdot(theta))


def test_all_are_known_at_first(view):
    theta = np.random.default_rng(2).standard_normal(N)
    np.testing.assert_allclose(make_gradients(view, theta).value, view.tdot(theta), atol=1e-12)


def test_what_is_not_computed_is_within_its_limit(view):
    """Also after more renewals than points are kept, and for columns that were left out meanwhile."""
    rng = np.random.default_rng(2)
    theta = rng.standard_normal(N)
    known, skipped = make_gradients(view, theta), 0
    for turn in range(60):
        theta = 0.95 * theta + 0.02 * rng.standard_normal(N)
        outside = rng.random(P) < 0.8
        slope, truth = np.linspace(1.0, 2.0, P), view.tdot(theta)
        alpha = float(np.quantile(np.abs(truth) / slope, 0.5 if turn % 2 else 0.9))
        needed = known.renew(theta, alpha, outside)
        np.testing.assert_allclose(known.value[needed], truth[needed], atol=1e-12)
        assert outside[needed].all()
        left = np.setdiff1d(np.flatnonzero(outside), needed)
        assert (np.abs(truth[left]) <= alpha * slope[left]).all()
        skipped += left.size
    assert skipped > 100


def test_two_points_settle_all_between_them(view):
    rng = np.random.default_rng(2)
    first, second, outside = rng.standard_normal(N), rng.standard_normal(N), np.ones(P, dtype=bool)
    known = make_gradients(view, first)
    assert known.renew(second, 1e-9, outside).size > P // 2
    theta = 0.3 * first + 0.7 * second
    beyond = np.abs(view.tdot(theta)) > 0.1 * np.linspace(1.0, 2.0, P)
    assert set(known.renew(theta, 0.1, outside)) == set(np.flatnonzero(beyond))


def test_gradients_that_grow_are_foreseen(view):
    rng = np.random.default_rng(2)
    start, change, outside = rng.standard_normal(N), rng.standard_normal(N), np.ones(P, dtype=bool)
    known = make_gradients(view, start)
    assert known.renew(start + 0.01 * change, 1e-3, outside).size > P // 2
    assert known.renew(start + 0.02 * change, 9e-4, outside).size > P // 2
    guess = np.abs(view.tdot(start + 0.03 * change))
    wanted = np.flatnonzero(guess > 0.99 * 8e-4 * np.linspace(1.0, 2.0, P))
    assert set(wanted) <= set(known.foresee(8e-4, outside))
    outside[wanted[0]] = False
    assert wanted[0] not in known.foresee(8e-4, outside)


def test_groups_that_are_not_computed_are_within_their_limits(view):
    """Before and after the norms of the groups' matrices are known."""
    rng = np.random.default_rng(5)
    theta = WEIGHTS * rng.standard_normal(N)
    members = np.setdiff1d(np.arange(P), [7])[rng.permutation(P - 1)]
    starts = np.array([0, 1, 5, 9, 13, 20, 30, P - 1])
    numbers = np.zeros(P, dtype=int)
    numbers[members] = np.repeat(np.arange(7), np.diff(starts))
    columns = view.columns(np.arange(P))
    norms = np.sqrt(np.bincount(numbers, WEIGHTS @ columns**2))[numbers]
    gradients = GroupGradients(view, norms, WEIGHTS, np.ones(P), BothSides(), members, starts, theta, view.tdot(theta))
    skipped, outside = 0, np.ones(P, dtype=bool)
    outside[7] = False
    for _ in range(40):
        theta = theta + 0.03 * WEIGHTS * rng.standard_normal(N)
        truth = columns.T @ theta
        sizes = np.sqrt(np.bincount(numbers, truth**2))[numbers]
        alpha = 1.1 * float(np.median(sizes))
        computed = gradients.renew(theta, alpha, outside)
        np.testing.assert_allclose(gradients.value[computed], truth[computed], atol=1e-12)
        left = np.setdiff1d(members, computed)
        assert (sizes[left] <= alpha).all()
        skipped += left.size
    assert skipped > 100
    largest = np.array([np.linalg.norm(np.sqrt(WEIGHTS)[:, None] * columns[:, numbers == g], 2) for g in range(7)])
    sharper = GroupGradients(
        view, norms, WEIGHTS, np.ones(P), BothSides(), members, starts, theta, view.tdot(theta)
    )._spectral_norms()
    np.testing.assert_allclose(sharper[members], largest[numbers[members]], rtol=1e-6)
    assert (sharper[members] >= largest[numbers[members]] * (1.0 - 1e-12)).all()
