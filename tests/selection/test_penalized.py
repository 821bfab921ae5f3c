"""Grids of penalties: each model is that of its path, and refits are least squares on its support."""

import numpy as np
import pytest

from samples import sample, sample_weights
from sparsest import penalty_path
from sparsest.core.data import make_data
from sparsest.core.penalties import make_penalty
from sparsest.paths.features import FeatureRules
from sparsest.selection.penalized import BLENDS, PenaltyGrid

N, P = 30, 6
ALPHAS = np.array([0.5, 0.2, 0.05])
PENALTIES = (("l1", ALPHAS), ("mcp", ALPHAS[:2]))


def grid_of(**settings):
    paths = tuple((make_penalty(name), alphas) for name, alphas in PENALTIES)
    return PenaltyGrid(paths, FeatureRules(np.ones(P)), tol=1e-9, **settings)


def test_the_order_of_the_cells():
    number, alphas, share = grid_of(blends=(0.0, 1.0)).cells()
    assert number.tolist() == [0] * 6 + [1] * 4
    assert alphas.tolist() == [0.5, 0.5, 0.2, 0.2, 0.05, 0.05, 0.5, 0.5, 0.2, 0.2]
    assert share.tolist() == [0.0, 1.0] * 5
    assert grid_of(blends=(0.0, 1.0)).families().tolist() == [0, 1] * 3 + [2, 3] * 2


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_models_are_those_of_their_paths(loss):
    X, y = sample(loss, N, P)
    weights = sample_weights(True, N)
    data = make_data(X, y, loss=loss, standardize=True, sample_weight=weights)
    models = grid_of()(data)
    paths = [
        penalty_path(X, y, name, loss=loss, alphas=alphas, sample_weight=weights, tol=1e-9)
        for name, alphas in PENALTIES
    ]
    expected = np.hstack([path.coefs.toarray() for path in paths])
    np.testing.assert_allclose(models.coefs.toarray(), expected, atol=1e-6)
    np.testing.assert_allclose(models.intercepts, np.concatenate([path.intercepts for path in paths]), atol=1e-6)
    assert models.n_features.tolist() == [count for path in paths for count in path.n_nonzero]


def test_blends_lie_between_the_model_and_least_squares_on_its_support():
    X, y = sample("squared", N, P)
    weights = sample_weights(True, N)
    data = make_data(X, y, standardize=True, sample_weight=weights)
    grid = grid_of(blends=BLENDS)
    models, alone = grid(data), grid_of()(data)
    number, alphas, shares = grid.cells()
    root = np.sqrt(weights)
    for i, (coef, intercept) in enumerate(models):
        which = int(np.flatnonzero((grid_of().cells()[0] == number[i]) & (grid_of().cells()[1] == alphas[i]))[0])
        base = alone.coefs.toarray()[:, which]
        support = np.flatnonzero(base)
        A = np.column_stack([X[:, support], np.ones(N)])
        *refit, b = np.linalg.lstsq(root[:, None] * A, root * y)[0]
        np.testing.assert_allclose(
            coef[support], shares[i] * base[support] + (1.0 - shares[i]) * np.array(refit), atol=1e-5
        )
        assert not np.delete(coef, support).any()
        assert intercept == pytest.approx(shares[i] * alone.intercepts[which] + (1.0 - shares[i]) * b, abs=1e-5)


def test_as_many_features_as_observations_are_not_refitted():
    X, y = sample("squared", 4, P)
    data = make_data(X, y, standardize=True)
    path = (make_penalty("elastic_net", 0.1), np.array([0.3, 1e-3]))
    models = PenaltyGrid((path,), FeatureRules(np.ones(P)), (0.0, 1.0))(data)
    coefs = models.coefs.toarray()
    counts = np.count_nonzero(coefs, axis=0)
    assert counts[-1] >= 4
    np.testing.assert_array_equal(coefs[:, 2], coefs[:, 3])


def test_factors_of_alpha():
    X, y = sample("squared", N, P)
    factor = np.array([0.0, 1.0, 1.0, 5.0, 1.0, 1.0])
    grid = PenaltyGrid(((make_penalty("l1"), ALPHAS),), FeatureRules(factor), tol=1e-9)
    expected = penalty_path(X, y, alphas=ALPHAS, penalty_factor=factor, tol=1e-9)
    found = grid(make_data(X, y, standardize=True)).coefs.toarray()
    np.testing.assert_allclose(found, expected.coefs.toarray(), atol=1e-6)
    assert found[0].all()
