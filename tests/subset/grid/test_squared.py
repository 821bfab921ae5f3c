"""The squared loss in Gram space: polished supports are ridge regressions that no single swap improves."""

import numpy as np
import pytest

from sparsest.core.data import make_data
from sparsest.subset.grid.polish import _moves, polish
from sparsest.subset.grid.space import RidgeModel
from sparsest.subset.grid.squared import SquaredSpace


def value(X, y, support, ridge):
    Z, target = X[:, support] - X[:, support].mean(axis=0), y - y.mean()
    w = np.linalg.solve(Z.T @ Z + ridge * np.eye(len(support)), Z.T @ target)
    return 0.5 * ((target - Z @ w) ** 2).sum() + 0.5 * ridge * w @ w, w


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("begin", [[], [0], [4, 5, 6]])
def test_no_swap_improves(seed, begin):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((25, 10)) + 2.0 * rng.standard_normal((25, 1))
    y, ridge = X[:, :4].sum(axis=1) + rng.standard_normal(25), 0.5
    movable = np.ones(10, dtype=bool)
    movable[0] = False
    start = RidgeModel(np.array(begin, dtype=np.intp), np.zeros(len(begin)), 0.0, np.inf)
    model = polish(SquaredSpace(make_data(X, y)), [start], ridge, 3, movable)
    expected, w = value(X, y, model.support, ridge)
    assert model.support.size == 3 and (0 in model.support) == (0 in begin)
    assert model.value == pytest.approx(expected, rel=1e-9)
    np.testing.assert_allclose(model.w, w, rtol=1e-8)
    for out in set(model.support) - {0}:
        for into in set(range(1, 10)) - set(model.support):
            swapped = sorted(set(model.support) - {out} | {into})
            assert value(X, y, swapped, ridge)[0] >= expected * (1.0 - 1e-9)


@pytest.mark.parametrize("ridge", [1e-3, 1.0, 30.0])
@pytest.mark.parametrize("grows", [False, True])
def test_the_best_move_is_that_of_all_that_are_tried(ridge, grows):
    """The move with the best score gives the smallest objective of all moves; feature 2 may not move."""
    movable = np.arange(7) != 2
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((25, 7))
        y, support = X[:, :4].sum(axis=1) + rng.standard_normal(25), [2, 4, 6]
        space = SquaredSpace(make_data(X, y))
        found = space.fit(np.array(support), ridge, np.zeros(3), 0.0)
        moves = list(_moves(space, found, ridge, grows, movable, 1))
        moved = [tuple(sorted([*(s for at, s in enumerate(support) if at != out), into])) for out, into in moves]
        into = [i for i in range(7) if i not in support]
        tried = [[*support, i] for i in into] if grows else [[2, keep, i] for keep in (4, 6) for i in into]
        values = {tuple(sorted(other)): value(X, y, sorted(other), ridge)[0] for other in tried}
        best = min(values, key=values.get)
        assert moved == ([best] if values[best] < found.model.value else [])
