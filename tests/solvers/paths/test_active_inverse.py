"""What a path carries along, against NumPy: the inverse under a changing set, and the gradients it bounds."""

import numpy as np
import pytest
import scipy.sparse as sp

from sparsest.designs import as_design, standardized
from sparsest.solvers.paths.active_inverse import ActiveInverse
from sparsest.solvers.paths.gradients import Gradients
from sparsest.solvers.shared.threads import single_threaded

# More features than one block, more changes than low-rank terms are kept apart.
M, N = 140, 300


@pytest.fixture(autouse=True)
def one_thread():
    with single_threaded():
        yield


def gram_matrix(seed=0, m=M, n=N):
    X = np.random.default_rng(seed).standard_normal((n, m)) + 0.3
    return X.T @ X / n


def solved_anew(gram, active, kappa, r):
    out = np.zeros(r.size)
    out[active] = np.linalg.solve(gram[np.ix_(active, active)] + np.diag(kappa), r[active])
    return out


@pytest.mark.parametrize("curved", ["none", "positive", "negative"])
@pytest.mark.parametrize("pace", [3, 30])
def test_the_inverse_follows_a_changing_set(curved, pace):
    rng = np.random.default_rng([pace, len(curved)])
    gram, every = gram_matrix(), np.arange(M)
    curvature = {"none": np.zeros(M), "positive": rng.uniform(0.1, 2.0, M), "negative": np.full(M, -0.02)}[curved]
    inverse, active = ActiveInverse(), rng.permutation(M)[:80]
    for _ in range(25):
        assert inverse.adapt(gram, active, curvature[active])
        assert inverse.size == active.size
        r = rng.standard_normal(M)
        np.testing.assert_allclose(
            inverse.solve(r), solved_anew(gram, active, curvature[active], r), rtol=1e-8, atol=1e-9
        )
        # Most stay, some leave, others enter; the order is another one each time.
        stay = rng.permutation(active)[rng.integers(pace + 1) :]
        enter = rng.permutation(np.setdiff1d(every, active))[: rng.integers(pace + 1)]
        active = rng.permutation(np.concatenate([stay, enter]))


def test_small_changes_of_curvature_lag_and_large_ones_do_not():
    gram, active, r = gram_matrix(m=20), np.arange(20), np.ones(20)
    first = np.full(20, 0.5)
    inverse = ActiveInverse()
    assert inverse.adapt(gram, active, first)
    assert inverse.adapt(gram, active, 1.5 * first)
    np.testing.assert_allclose(inverse.solve(r), solved_anew(gram, active, first, r), rtol=1e-9)
    assert inverse.adapt(gram, active, 10.0 * first)
    np.testing.assert_allclose(inverse.solve(r), solved_anew(gram, active, 10.0 * first, r), rtol=1e-9)


def test_dependent_features_are_told_unless_a_curvature_helps():
    gram = gram_matrix(m=12)
    gram[:, 7], gram[7, :] = gram[:, 3], gram[3, :]
    gram[7, 7] = gram[3, 3]
    apart = np.setdiff1d(np.arange(12), [7])
    inverse = ActiveInverse()
    assert inverse.adapt(gram, apart, np.zeros(11))
    assert not inverse.adapt(gram, np.arange(12), np.zeros(12))
    assert not ActiveInverse().adapt(gram, np.arange(12), np.zeros(12))
    curved, r = np.full(12, 0.3), np.arange(12.0)
    inverse = ActiveInverse()
    assert inverse.adapt(gram, np.arange(12), curved)
    np.testing.assert_allclose(inverse.solve(r), solved_anew(gram, np.arange(12), curved, r), rtol=1e-8)


def test_a_negative_curvature_that_spoils_the_matrix_is_left_out():
    gram, active, r = gram_matrix(m=10), np.arange(10), np.ones(10)
    kappa = np.where(active < 2, -100.0, 0.2)
    inverse = ActiveInverse()
    assert inverse.adapt(gram, active, kappa)
    np.testing.assert_allclose(inverse.solve(r), solved_anew(gram, active, np.maximum(kappa, 0.0), r), rtol=1e-9)


@pytest.mark.parametrize("dropped", [2, 60])
def test_the_inverse_follows_new_numbers(dropped):
    rng = np.random.default_rng(dropped)
    gram, active, none = gram_matrix(), rng.permutation(M)[:100], np.zeros(100)
    inverse = ActiveInverse()
    assert inverse.adapt(gram, active, none)
    kept = np.sort(np.setdiff1d(np.arange(M), active[:dropped]))
    numbers = np.full(M, -1)
    numbers[kept] = np.arange(kept.size)
    inverse.renumber(numbers)
    # Many at a time are forgotten with all the rest.
    assert inverse.size == (100 - dropped if dropped == 2 else 0)
    smaller, left = gram[np.ix_(kept, kept)], np.flatnonzero(np.isin(kept, active))
    assert inverse.adapt(smaller, left, np.zeros(left.size))
    r = rng.standard_normal(kept.size)
    np.testing.assert_allclose(inverse.solve(r), solved_anew(smaller, left, np.zeros(left.size), r), rtol=1e-8)


STORAGES = {
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "float32": lambda X: np.asfortranarray(X, dtype=np.float32),
    "sparse": sp.csc_array,
}


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("weighted", [False, True])
def test_gradients_are_exact_where_they_may_exceed_their_limits(storage, weighted):
    rng = np.random.default_rng(3)
    n, p = 40, 150
    X = (rng.standard_normal((n, p)) * (rng.random((n, p)) < 0.4)).astype(np.float32).astype(np.float64)
    X[:, 5] = 0.0
    weights = rng.uniform(0.2, 3.0, n) if weighted else np.ones(n)
    view = standardized(as_design(STORAGES[storage](X)), weights, center=True, scale=True)
    dense = view.columns(np.arange(p))
    norms = np.sqrt(weights @ dense**2)
    theta = weights * rng.standard_normal(n)
    gradients = Gradients(view, norms, weights, theta)
    np.testing.assert_allclose(gradients.value, dense.T @ theta, atol=1e-9)
    looked_at, allowed = 0, 0
    for step in range(40):
        theta = 0.9 * theta + 0.02 * weights * rng.standard_normal(n)
        limit = np.full(p, 0.7 * np.abs(dense.T @ theta).max())
        open_ = rng.random(p) < 0.9
        needed = gradients.renew(theta, limit, open_)
        true = dense.T @ theta
        np.testing.assert_allclose(gradients.value[needed], true[needed], atol=1e-9)
        np.testing.assert_allclose(gradients.guess[needed], np.abs(true[needed]), atol=1e-9)
        spared = np.setdiff1d(np.flatnonzero(open_), needed)
        assert open_[needed].all(), step
        assert (np.abs(true[spared]) <= limit[spared] * (1.0 + 1e-9)).all(), step
        looked_at, allowed = looked_at + needed.size, allowed + open_.sum()
    # Otherwise nothing would be gained by it.
    assert looked_at < 0.7 * allowed


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("count", [0, 1, 7, 60, 110])
def test_gradients_of_named_features(storage, count):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((30, 120)).astype(np.float32).astype(np.float64)
    view = standardized(as_design(STORAGES[storage](X)), np.ones(30), center=True, scale=True)
    theta, index = rng.standard_normal(30), rng.permutation(120)[:count]
    gradients = Gradients(view, np.ones(120), np.ones(30), theta)
    centred = X - X.mean(axis=0)
    expected = (centred / np.sqrt((centred**2).mean(axis=0))).T @ theta
    np.testing.assert_allclose(gradients.at(index, theta), expected[index], atol=1e-9)
