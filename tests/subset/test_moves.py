"""Scores of moves: exact for least squares with a ridge, against refits of every support."""

import numpy as np
import pytest

from sparsest.subset.moves import (
    LocalModel,
    addition_gains,
    most_promising,
    remainder,
    removal_losses,
    swap_gains,
    variances,
)

RIDGE, SUPPORT, OUTSIDE = 0.7, [1, 4], [0, 2, 3]


def problem():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 5))
    return X, X @ [1.0, -2.0, 0.5, 0.0, 1.0] + rng.standard_normal(20)


def value(X, y, support):
    Z = X[:, support]
    w = np.linalg.solve(Z.T @ Z + RIDGE * np.eye(len(support)), Z.T @ y)
    return 0.5 * ((y - Z @ w) ** 2).sum() + 0.5 * RIDGE * w @ w, w


def local_model(X, y):
    _, w = value(X, y, SUPPORT)
    G = X.T @ X
    inverse = np.linalg.inv(G[np.ix_(SUPPORT, SUPPORT)] + RIDGE * np.eye(2))
    gradient = X[:, OUTSIDE].T @ (X[:, SUPPORT] @ w - y)
    return LocalModel(inverse, G[np.ix_(OUTSIDE, SUPPORT)], np.diagonal(G)[OUTSIDE] + RIDGE, gradient, w)


def test_scores_are_the_changes_of_the_objective():
    X, y = problem()
    model, (now, _) = local_model(X, y), value(X, y, SUPPORT)
    rest, variance = remainder(model), variances(model.inverse)
    added = [now - value(X, y, [*SUPPORT, i])[0] for i in OUTSIDE]
    np.testing.assert_allclose(addition_gains(rest), added, rtol=1e-10)
    removed = [value(X, y, [keep])[0] - now for keep in SUPPORT[::-1]]
    np.testing.assert_allclose(removal_losses(model.w, variance), removed, rtol=1e-10)
    swapped = [[now - value(X, y, [keep, i])[0] for keep in SUPPORT[::-1]] for i in OUTSIDE]
    np.testing.assert_allclose(swap_gains(rest, model.w, variance), swapped, rtol=1e-10)
    one = swap_gains(rest, model.w, variance, np.array([1]))
    np.testing.assert_allclose(one[:, 0], np.array(swapped)[:, 1], rtol=1e-10)


@pytest.mark.parametrize(("n_support", "expected"), [(0, [3, 8]), (1, [3, 5, 6, 8]), (2, [3, 5, 6, 8, 9])])
def test_the_most_promising_features(n_support, expected):
    """At least four times the size of the support."""
    promise = np.zeros(10)
    promise[[3, 5, 6, 8, 9]] = [5.0, 3.0, 3.5, 4.0, 1.0]
    assert most_promising(np.array([3, 5, 6, 8, 9]), promise, n_support, 2).tolist() == expected
