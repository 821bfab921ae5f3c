"""Polished supports are ridge regressions that no single swap improves."""

import numpy as np
import pytest

from sparsest.core.data import make_data
from sparsest.subset.grid.gram import Gram
from sparsest.subset.grid.swaps import _best_move, _factored, polish


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
    model = polish(Gram(make_data(X, y)), np.array(begin, dtype=np.intp), ridge, 3, movable)
    expected, w = value(X, y, model.support, ridge)
    assert model.support.size == 3 and (0 in model.support) == (0 in begin)
    assert model.value == pytest.approx(expected, rel=1e-9)
    np.testing.assert_allclose(model.w, w, rtol=1e-8)
    for out in set(model.support) - {0}:
        for into in set(range(1, 10)) - set(model.support):
            swapped = sorted(set(model.support) - {out} | {into})
            assert value(X, y, swapped, ridge)[0] >= expected * (1.0 - 1e-9)


@pytest.mark.parametrize("ridge", [1e-3, 1.0, 30.0])
@pytest.mark.parametrize("grow", [False, True])
def test_the_best_move_is_that_of_all_that_are_tried(ridge, grow):
    """The changes of the objective by the formula lead to the least one; feature 2 may not move."""
    movable = np.arange(7) != 2
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((25, 7))
        y, support = X[:, :4].sum(axis=1) + rng.standard_normal(25), [2, 4, 6]
        gram = Gram(make_data(X, y))
        model, inverse = _factored(gram, np.array(support), ridge)
        moved = _best_move(gram, model, inverse, ridge, grow, movable)
        into = [i for i in range(7) if i not in support]
        tried = [[*support, i] for i in into] if grow else [[2, keep, i] for keep in (4, 6) for i in into]
        values = {tuple(sorted(other)): value(X, y, sorted(other), ridge)[0] for other in tried}
        best = min(values, key=values.get)
        assert (None if moved is None else tuple(moved.tolist())) == (best if values[best] < model.value else None)
