"""Grids of subsets: the same models at once, one by one, and by trying all supports."""

import numpy as np
import pytest

from oracles import best_of, squared_values
from samples import sample, sample_weights
from sparsest.core.data import make_data
from sparsest.selection.subsets import SubsetGrid
from sparsest.subset.relaxation.method import Relaxation
from sparsest.subset.tree.method import Tree

N, P = 24, 6
KS, GAMMAS = (1, 3), (0.02, 1.0)


def scaled(seed=0):
    """Columns of several units with weights, and the same standardised by hand."""
    X, y = sample("squared", N, P, seed)
    X, weights = 3.0 + X * 10.0 ** np.arange(-2, 4), sample_weights(True, N)
    share = weights / weights.sum()
    Z = X - share @ X
    return X, y + 50.0, weights, Z / np.sqrt(share @ Z**2)


def test_the_order_of_the_models():
    ks, gammas = SubsetGrid(KS, GAMMAS, Tree()).pairs()
    assert ks.tolist() == [1, 1, 3, 3] and gammas.tolist() == [0.02, 1.0, 0.02, 1.0]


@pytest.mark.parametrize("solver", [Relaxation(), Tree(n_jobs=1)], ids=["at once", "one by one"])
@pytest.mark.parametrize(("include", "exclude"), [([], []), ([5], [0])], ids=str)
def test_models_are_the_best_ones_in_units_of_the_data(solver, include, exclude):
    X, y, weights, Z = scaled()
    data = make_data(X, y, standardize=True, sample_weight=weights)
    grid = SubsetGrid(KS, GAMMAS, solver, {"include": include, "exclude": exclude})
    share = weights / weights.sum()
    for k, gamma, (coef, intercept) in zip(*grid.pairs(), grid(data), strict=True):
        _, best = best_of(squared_values(Z, y, gamma, weights), k, include=include, exclude=exclude)
        A = Z[:, list(best)]
        H = A.T @ (weights[:, None] * A) + np.eye(len(best)) / gamma
        w = np.linalg.solve(H, A.T @ (weights * (y - share @ y)))
        assert tuple(np.flatnonzero(coef)) == best
        np.testing.assert_allclose(X @ coef + intercept, A @ w + share @ y, rtol=1e-6)


@pytest.mark.parametrize("solver", [Relaxation(), Tree(n_jobs=1)], ids=["at once", "one by one"])
def test_gammas_beyond_one_that_changes_nothing_repeat_its_models(solver):
    X, y, weights, _ = scaled(1)
    data = make_data(X, y, standardize=True, sample_weight=weights)
    gammas = (1e5, 2e5, 4e5, 1e-3)
    rising = tuple(sorted(gammas))
    repeated, every = (
        SubsetGrid(KS, rising, solver, repeat_unchanged=doubled)(data).coefs.toarray() for doubled in (True, False)
    )
    # The last of each k is that of the γ before, and differs from its own by little.
    for last in (3, 7):
        np.testing.assert_array_equal(repeated[:, last], repeated[:, last - 1])
        assert not np.array_equal(every[:, last], every[:, last - 1])
    np.testing.assert_allclose(repeated, every, rtol=1e-2, atol=1e-12)


@pytest.mark.parametrize("loss", ["logistic", "hinge", "poisson", "huber"])
def test_other_losses_at_once_and_one_by_one(loss):
    X, y = sample(loss, 30, 4)
    data = make_data(X, y, loss=loss, standardize=True)
    best, other = (SubsetGrid((1, 2), (0.1,), solver)(data) for solver in (Tree(n_jobs=1), Relaxation()))
    assert other.n_features.tolist() == [1, 2]
    np.testing.assert_allclose(best.coefs.toarray(), other.coefs.toarray(), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(best.intercepts, other.intercepts, rtol=1e-3, atol=1e-4)
