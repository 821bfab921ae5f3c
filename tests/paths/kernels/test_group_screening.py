"""Bounds of groups of gradients from earlier points, compiled and plain."""

import numpy as np

from paths.kernels.test_screening import POINTS, N, P, make_case
from sparsest.paths.kernels import screening
from sparsest.paths.kernels.group_screening import foreseen_groups, unsettled_groups
from sparsest.paths.kernels.screening import BothSides

STARTS = np.array([0, 4, 5, 12, 20, P])
GROUPS = np.repeat(np.arange(5), np.diff(STARTS))


def test_settled_groups_are_within_their_limits(run):
    rng, X, tau, memory = make_case()
    members = rng.permutation(P)
    numbers = np.empty(P, dtype=int)
    numbers[members] = GROUPS
    norms = np.array([np.linalg.norm(X[:, numbers == g], 2) for g in range(5)])[numbers]
    slope, out, skipped = np.sqrt(np.bincount(numbers))[numbers], np.empty(P, dtype=np.intp), 0
    for turn in range(3 * POINTS):
        tau = 0.95 * tau + 0.02 * rng.standard_normal(N)
        inner, square = run(screening.inner_products)(memory, tau)
        truth, outside = X.T @ tau, (rng.random(5) < 0.8)[numbers]
        sizes = np.sqrt(np.bincount(numbers, truth**2))[numbers]
        alpha = 1.05 * float(np.quantile(sizes / slope, 0.6))
        count = run(unsettled_groups)(
            memory, inner, square, norms, slope, BothSides(), alpha, outside, members, STARTS, out
        )
        found = out[:count].copy()
        assert (np.bincount(numbers[found], minlength=5) % np.bincount(numbers) == 0).all()
        settled = np.setdiff1d(np.flatnonzero(outside), found)
        assert (sizes[settled] <= alpha * slope[settled]).all()
        run(screening.remember)(memory, tau, inner, square, 0.5**turn, found, count, truth[found])
        skipped += settled.size
    assert skipped > P


def test_groups_whose_gradients_grow_are_foreseen(run):
    """By linear extrapolation in alpha."""
    _, _, tau, memory = make_case()
    members, slope, out = np.arange(P), np.ones(P), np.empty(P, dtype=np.intp)
    memory.value[:], memory.alphas[0] = 0.0, 2.0
    memory.value[GROUPS == 1], memory.value[GROUPS == 3] = 0.9, 0.1 / np.sqrt(8)
    inner, square = run(screening.inner_products)(memory, 0.9 * tau)
    now = np.zeros(P)
    now[GROUPS == 1], now[GROUPS == 3] = 0.95, 0.5 / np.sqrt(8)
    run(screening.remember)(memory, 0.9 * tau, inner, square, 1.0, members, P, now)
    everything = np.ones(P, dtype=bool)
    for alpha, expected in ((0.99, set()), (0.8, {1}), (0.55, {1, 3})):
        count = run(foreseen_groups)(memory, slope, BothSides(), alpha, everything, members, STARTS, out)
        assert set(GROUPS[out[:count]].tolist()) == expected
    assert run(foreseen_groups)(memory, slope, BothSides(), 0.55, ~everything, members, STARTS, out) == 0
