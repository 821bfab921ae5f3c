"""The inverse that follows a changing set of features, against one that is computed anew."""

import numpy as np
import pytest

from sparsest.paths.active_inverse import ActiveInverse

M = 160


def gram(seed=0):
    X = np.random.default_rng(seed).standard_normal((3 * M, M))
    return X.T @ X / (3 * M)


def assert_inverts(inverse, G, active, kappa, r, tol=1e-9):
    expected = np.zeros(r.size)
    expected[active] = np.linalg.solve(G[np.ix_(active, active)] + np.diag(kappa), r[active])
    np.testing.assert_allclose(inverse.solve(r), expected, atol=tol)


@pytest.mark.parametrize("kappa", [0.0, 0.3])
def test_follows_a_wandering_set(kappa):
    """Through entries, exits, more terms than are kept apart, and more features than there was room for."""
    G, rng, inverse = gram(), np.random.default_rng(1), ActiveInverse()
    member = rng.random(M) < 0.3
    for _ in range(30):
        member ^= rng.random(M) < 0.12
        active = np.flatnonzero(member)
        assert inverse.adapt(G, active, np.full(active.size, kappa)) and inverse.size == active.size
        assert_inverts(inverse, G, active, np.full(active.size, kappa), rng.standard_normal(M))


def test_follows_new_numbers():
    G, rng, inverse = gram(), np.random.default_rng(1), ActiveInverse()
    active = np.arange(0, M, 2)
    inverse.adapt(G, active, np.zeros(active.size))
    kept = np.sort(rng.permutation(M)[: M - 20])
    inverse.keep(kept, M)
    smaller, left = G[np.ix_(kept, kept)], np.flatnonzero(kept % 2 == 0)
    assert inverse.size == left.size
    assert_inverts(inverse, smaller, left, np.zeros(left.size), rng.standard_normal(kept.size))
    inverse.keep(np.arange(3), kept.size)
    assert inverse.size in (0, np.count_nonzero(left < 3))


def test_curvatures_may_lag_within_a_factor():
    G, inverse, active = gram(), ActiveInverse(), np.arange(50)
    inverse.adapt(G, active, np.full(50, 0.4))
    inverse.adapt(G, active, np.full(50, 0.2))
    assert_inverts(inverse, G, active, np.full(50, 0.4), np.ones(M))
    inverse.adapt(G, active, np.full(50, 0.05))
    assert_inverts(inverse, G, active, np.full(50, 0.05), np.ones(M))


def test_negative_curvatures_are_left_out_where_they_are_too_large():
    G, inverse, active = gram(), ActiveInverse(), np.arange(20)
    assert inverse.adapt(G, active, np.full(20, -0.05))
    assert_inverts(inverse, G, active, np.full(20, -0.05), np.ones(M))
    assert inverse.adapt(G, active, np.full(20, -5.0))
    assert_inverts(inverse, G, active, np.zeros(20), np.ones(M))


def test_a_singular_matrix_is_refused():
    G = gram()
    G[:, 7], G[7] = G[:, 3], G[3]
    G[7, 7] = G[3, 3]
    inverse = ActiveInverse()
    assert not inverse.adapt(G, np.array([3, 7]), np.zeros(2))
    assert inverse.adapt(G, np.arange(7), np.zeros(7))
    assert not inverse.adapt(G, np.arange(8), np.zeros(8))
    assert inverse.adapt(G, np.array([3, 7]), np.full(2, 0.1))
