"""Polished supports are ridge regressions that no single swap improves."""

import numpy as np
import pytest

from sparsest.data import make_data
from sparsest.solvers.grid.gram import Gram
from sparsest.solvers.grid.swaps import polish


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
