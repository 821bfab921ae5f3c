"""Incumbents of tiny problems without a proof: the best of all supports, each fitted by SciPy's linear programming."""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import linprog

from samples import sample_weights
from sparsest import Status, best_subset

N, P = 11, 4
PRICE = 0.6


def least_loss(X, y, weights, quantile):
    """The smallest weighted quantile loss of a linear model with an intercept, by a linear program."""
    n, m = X.shape
    A = np.column_stack([X, np.ones(n), np.eye(n), -np.eye(n)])
    costs = np.concatenate([np.zeros(m + 1), quantile * weights, (1.0 - quantile) * weights])
    bounds = [(None, None)] * (m + 1) + [(0.0, None)] * (2 * n)
    solved = linprog(costs, A_eq=A, b_eq=y, bounds=bounds, method="highs")
    assert solved.status == 0
    return solved.fun


@pytest.mark.parametrize("quantile", [0.02, 0.5, 0.99])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_quantiles_without_a_ridge(quantile, weighted, seed):
    """Without a ridge no bound can be proved, so all supports are tried."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((N, P)), 2.0 * rng.standard_normal(N)
    weights = sample_weights(weighted, N)
    omega = np.ones(N) if weights is None else weights
    supports = [list(S) for size in range(P + 1) for S in combinations(range(P), size)]
    wanted = min(least_loss(X[:, S], y, omega, quantile) + PRICE * len(S) for S in supports)
    with pytest.warns(UserWarning):
        result = best_subset(
            X, y, l0_penalty=PRICE, gamma=np.inf, loss="quantile", quantile=quantile, sample_weight=weights
        )
    assert result.status is not Status.OPTIMAL
    assert result.objective == pytest.approx(wanted, rel=1e-7)
