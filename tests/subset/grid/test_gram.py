"""Cached columns of the Gram matrix equal those of the complete matrix."""

import numpy as np
import pytest

from sparsest.core.data import make_data
from sparsest.core.designs import Dense
from sparsest.subset.grid.gram import Gram


@pytest.mark.parametrize("most_bytes", [1e9, 8 * 12 * 5])
def test_columns_of_the_whole_matrix(most_bytes):
    rng = np.random.default_rng(0)
    X, y, weights = rng.standard_normal((30, 12)) + 3.0, rng.standard_normal(30), rng.uniform(0.5, 2.0, 30)
    gram = Gram(make_data(X, y, standardize=True, sample_weight=weights), most_bytes)
    mean = np.average(X, axis=0, weights=weights)
    Z = (X - mean) / np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weights))
    G, target = Z.T @ (weights[:, None] * Z), y - np.average(y, weights=weights)
    for _ in range(20):
        chosen = rng.permutation(12)[: rng.integers(1, 7)]
        np.testing.assert_allclose(gram.entries(chosen, np.arange(G.shape[0])), G[chosen], atol=1e-10)
        np.testing.assert_allclose(gram.between(chosen), G[np.ix_(chosen, chosen)], atol=1e-10)
        w = rng.standard_normal(chosen.size)
        np.testing.assert_allclose(gram.residual(chosen, w), Z.T @ (weights * target) - G[:, chosen] @ w, atol=1e-10)
    np.testing.assert_allclose(gram.diagonal, np.diag(G))
    assert gram.square == pytest.approx(weights @ target**2)


def test_columns_are_computed_when_they_are_first_needed():
    rng, asked = np.random.default_rng(0), []

    class Noting(Dense):
        def columns(self, subset):
            asked.append(list(subset))
            return super().columns(subset)

    gram = Gram(make_data(Noting(rng.standard_normal((9, 7))), rng.standard_normal(9)))
    asked.clear()
    gram.between(np.array([3, 1]))
    gram.between(np.array([1, 3]))
    gram.residual(np.array([1, 4, 5]), np.array([1.0, 0.0, 2.0]))
    gram.between(np.array([5, 2, 3]))
    assert asked == [[3, 1], [5], [2]]
