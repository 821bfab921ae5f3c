"""The kernels of leaps and bounds, compiled and uncompiled, against NumPy and enumeration."""

from itertools import combinations

import numpy as np
import pytest

from sparsest.proofs.steps import LEAF
from sparsest.subset.tree.kernels import leaps as kernels

M = 7


def quadratic(seed=0, m=M):
    """``½w'Gw - r'w + constant`` of a regression."""
    rng = np.random.default_rng([seed, m])
    X = rng.standard_normal((25, m)) + rng.standard_normal((25, 1))
    y = X[:, :3].sum(axis=1) + 3.0 * rng.standard_normal(25)
    return X.T @ X, X.T @ y, 0.5 * y @ y


def gain(G, r, chosen):
    chosen = list(chosen)
    return 0.5 * r[chosen] @ np.linalg.solve(G[np.ix_(chosen, chosen)], r[chosen]) if chosen else 0.0


def mask(*features, m=M):
    return np.isin(np.arange(m), features)


def test_sweeping_in_projects_off_a_feature(run):
    G, r, _ = quadratic()
    alive, inside = ~mask(5), mask()
    G_new, r_new = np.full((M, M), np.nan), np.full(M, np.nan)
    assert run(kernels.sweep_in)(G, r, alive, inside, 2, G_new, r_new) == pytest.approx(gain(G, r, [2]))
    rest = [0, 1, 3, 4, 6]
    for j in rest:
        more = 0.5 * r_new[j] ** 2 / G_new[j, j]
        assert more == pytest.approx(gain(G, r, [2, j]) - gain(G, r, [2]))
    for pair in combinations(rest, 2):
        assert gain(G_new, r_new, pair) == pytest.approx(gain(G, r, [2, *pair]) - gain(G, r, [2]))


def test_sweeping_out_is_the_inverse_of_the_others(run):
    G, r, _ = quadratic(1)
    N, alive = np.linalg.inv(G), np.ones(M, dtype=bool)
    w = N @ r
    N_new, w_new = np.full((M, M), np.nan), np.full(M, np.nan)
    rest = [0, 1, 2, 3, 5, 6]
    cost = run(kernels.sweep_out)(N, w, alive, 4, N_new, w_new)
    assert cost == pytest.approx(gain(G, r, range(M)) - gain(G, r, rest))
    inverse = np.linalg.inv(G[np.ix_(rest, rest)])
    np.testing.assert_allclose(N_new[np.ix_(rest, rest)], inverse, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(w_new[rest], inverse @ r[rest], rtol=1e-8)


@pytest.mark.parametrize("left", [0, 1, 2])
def test_the_best_completion_is_the_best_of_all(run, left):
    G, r, _ = quadratic(2)
    free = [0, 1, 3, 4, 6]
    choices = [choice for size in range(left + 1) for choice in combinations(free, size)]
    best = max(choices, key=lambda choice: gain(G, r, choice))
    found, first, second = run(kernels.best_completion)(G, r, ~mask(5), mask(2), left, 0.0)
    assert {first, second} - {-1} == set(best)
    assert found == pytest.approx(gain(G, r, best))
    # If no completion gains more than ``need``, none is returned.
    assert run(kernels.best_completion)(G, r, ~mask(5), mask(2), left, 1.01 * found + 1.0) == (
        1.01 * found + 1.0,
        -1,
        -1,
    )


def test_dependent_pairs_complete_nothing(run):
    G, r, _ = quadratic(3)
    G[:, 1], G[1, :], r[1] = G[:, 0], G[0, :], r[0]
    G[1, 1] = G[0, 0]
    found, first, second = run(kernels.best_completion)(G, r, mask(0, 1), mask(), 2, 0.0)
    assert (first, second) == (0, -1)
    assert found == pytest.approx(gain(G, r, [0]))


@pytest.mark.parametrize("drop", [1, 2, 4])
def test_the_branching_feature_costs_most_to_leave_out(run, drop):
    G, r, _ = quadratic(4)
    N = np.linalg.inv(G)
    w, free = N @ r, [0, 1, 3, 4, 6]
    costs = {j: 0.5 * w[j] ** 2 / N[j, j] for j in free}
    feature, least = run(kernels.branch_feature)(N, w, ~mask(5), mask(2), drop, np.empty(M))
    assert feature == max(costs, key=costs.get)
    assert least == pytest.approx(sorted(costs.values())[drop - 1])


def search(run, k, exhaust, seed, m=M, slices=10**9):
    G, r, constant = quadratic(seed, m)
    N, levels = np.linalg.inv(G), kernels.make_levels(m + 1, m)
    levels.N[0], levels.w[0], levels.f[0] = N, N @ r, constant - gain(G, r, range(m))
    levels.G[0], levels.r[0], levels.g[0] = G, r, constant
    levels.alive[0] = True
    best, log = np.zeros(m, dtype=bool), np.empty(50, dtype=np.int32)
    depth, upper, total, entries = 0, np.inf, 0, []
    while depth >= 0:
        depth, upper, nodes, logged = run(kernels.leap)(levels, depth, k, exhaust, upper, 0.0, best, log, slices)
        total += nodes
        entries += log[:logged].tolist()
    return upper, np.flatnonzero(best).tolist(), total, entries


@pytest.mark.parametrize("exhaust", [0, 1, 2])
@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_leaps_find_the_best_of_all_supports(run, k, exhaust):
    G, r, constant = quadratic(5)
    expected = max(combinations(range(M), k), key=lambda chosen: gain(G, r, chosen))
    upper, best, nodes, entries = search(run, k, exhaust, 5)
    assert best == list(expected)
    assert upper == pytest.approx(constant - gain(G, r, expected))
    # A complete binary tree in preorder.
    assert entries.count(LEAF) == len(entries) // 2 + 1
    assert nodes == len(entries)


def test_slices_and_uncompiled_search_visit_the_same_nodes():
    whole = search(lambda kernel: kernel, 3, 2, 6)
    for other in (search(lambda kernel: kernel, 3, 2, 6, slices=2), search(lambda kernel: kernel.py_func, 3, 2, 6)):
        assert other[1:] == whole[1:]
        assert other[0] == pytest.approx(whole[0])
