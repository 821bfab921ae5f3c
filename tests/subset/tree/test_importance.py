"""Ranges of coefficients over all models near the optimum, against enumeration and plain ridge regression."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from samples import sample
from sparsest import best_subset, near_optimal
from sparsest.subset.tree.importance import importance_of

N, P, K, GAMMA = 40, 7, 3, 0.05


def ridge(X, y, support, weights):
    """Coefficients in units of the data, and the objective, of ridge regression on standardised columns."""
    w = weights / weights.sum()
    centred = X - w @ X
    scale = np.sqrt(w @ centred**2)
    Z, target = (centred / scale)[:, support], y - w @ y
    beta = np.linalg.solve(Z.T @ (weights[:, None] * Z) + np.eye(len(support)) / GAMMA, Z.T @ (weights * target))
    value = 0.5 * weights @ (target - Z @ beta) ** 2 + beta @ beta / (2.0 * GAMMA)
    return beta / scale[support], value


@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_the_range_over_an_enumeration(weighted):
    X, y = sample("squared", N, P, 3, noise=2.0)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, N) if weighted else np.ones(N)
    names = [f"x{j}" for j in range(P)]
    frame = pd.DataFrame(X, columns=names)
    result = best_subset(frame, y, K, gamma=GAMMA, sample_weight=weights, gap_tol=1e-8)
    near = near_optimal(result, frame, y, within=0.1, sample_weight=weights, limit=1000)
    found = near.importance()
    every = [list(s) for size in range(K + 1) for s in combinations(range(P), size)]
    models = {tuple(s): ridge(X, y, s, weights) for s in every}
    inside = {s: coef for s, (coef, value) in models.items() if value <= near.threshold * (1 + 1e-12)}
    assert found.n_models == len(inside) > 3 and found.complete
    for j, share, low, high in zip(found.features, found.share, found.lower, found.upper, strict=True):
        values = [coef[s.index(j)] for s, coef in inside.items() if j in s]
        assert share == pytest.approx(len(values) / len(inside))
        np.testing.assert_allclose([low, high], [min(values), max(values)], rtol=1e-6)
    assert set(found.features) == {j for s in inside for j in s}
    mean = np.average(X, axis=0, weights=weights)
    deviations = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weights))
    np.testing.assert_allclose(found.deviations, deviations[found.features])
    assert (np.diff(found.share) <= 0).all() and found.names == [names[j] for j in found.features]


def test_the_tables():
    supports = [np.array([0, 2]), np.array([2, 3]), np.array([2])]
    coefs = [np.array([1.0, -2.0]), np.array([-3.0, 0.5]), np.array([4.0])]
    found = importance_of(supports, coefs, {0: 2.0, 2: 1.0, 3: 10.0}, False, ("a", "b", "c", "d"))
    assert found.names == ["c", "d", "a"]
    table = found.to_frame()
    assert table.loc["c", ["lower", "upper", "share"]].tolist() == [-3.0, 4.0, 1.0]
    assert table.loc["d", "upper_per_deviation"] == 5.0
    text = found.summary()
    assert text.startswith("3 models (more may exist); in each of them: c\n") and "-3 … 4" in text
    whole = importance_of(supports[:2], [np.zeros(2)] * 2, {0: 2, 2: 1, 3: 1}, True)
    assert str(found) == text and whole.summary().startswith("All 2 models; in each of them: 2\n")
    none = importance_of([supports[0], np.array([3])], [np.zeros(2), np.zeros(1)], {0: 2, 2: 1, 3: 1}, True)
    assert none.summary().startswith("All 2 models; in each of them: no feature\n")


def test_without_models():
    found = importance_of([np.empty(0, dtype=np.intp)], [np.empty(0)], {}, True)
    assert found.features.size == 0 and found.n_models == 1
