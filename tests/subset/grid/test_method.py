"""Models of a grid: as good as those of the tree for all settings, and repeated if γ no longer changes them."""

import numpy as np
import pytest

from checks import best_subset
from samples import LOSS_NAMES, sample, sample_weights
from sparsest.core.data import make_data
from sparsest.datasets import make_toeplitz
from sparsest.subset.grid.method import Grid
from sparsest.subset.local import Local
from sparsest.subset.relaxation.method import Relaxation

NONE = np.empty(0, dtype=np.intp)
KS, GAMMAS = [0, 1, 3, 5], [0.005, 0.05, 0.5]


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(("include", "exclude"), [((), ()), ((7,), (0, 1))])
def test_as_good_as_the_tree(fit_intercept, include, exclude):
    data = make_toeplitz(60, 40, 4, rho=0.6, snr=3.0, rng=1)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 60)
    settings = {"fit_intercept": fit_intercept, "standardize": True, "sample_weight": weights}
    grid = Grid(np.array(include, dtype=np.intp), np.array(exclude, dtype=np.intp))
    ks = [k for k in KS if k >= len(include)]
    found = grid.solve(make_data(data.X, data.y, **settings), ks, GAMMAS)
    assert set(found) == {(gamma, k) for gamma in GAMMAS for k in ks}
    n_same = 0
    for (gamma, k), model in found.items():
        tree = best_subset(data.X, data.y, k, gamma=gamma, include=include, exclude=exclude, **settings)
        assert tree.lower_bound <= model.value * (1.0 + 1e-9) and model.value <= tree.objective * 1.01
        assert model.support.size <= k and set(include) <= set(model.support) and not set(exclude) & set(model.support)
        n_same += np.array_equal(model.support, tree.support)
    assert n_same >= len(found) - 1


def test_large_gammas_share_models():
    data = make_toeplitz(60, 8, 3, rho=0.2, snr=5.0, rng=0)
    gammas = 0.01 * 2.0 ** np.arange(16)
    checked = make_data(data.X, data.y, standardize=True)
    every = Grid(NONE, NONE).solve(checked, [2, 4], gammas)
    some = Grid(NONE, NONE, repeat_unchanged=True).solve(checked, [2, 4], gammas)
    assert some[gammas[-1], 4] is some[gammas[-2], 4] and every[gammas[-1], 4] is not every[gammas[-2], 4]
    for cell, model in some.items():
        assert np.array_equal(model.support, every[cell].support)
        assert np.linalg.norm(model.w - every[cell].w) <= 0.03 * np.linalg.norm(model.w)


def test_awful_columns():
    """Constant, equal and opposite columns, and more features than observations."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 30))
    X[:, 3], X[:, 4], X[:, 5] = 1.0, X[:, 0], -X[:, 0]
    y = X[:, 0] + 0.1 * rng.standard_normal(12)
    found = Grid(NONE, NONE).solve(make_data(X, y, standardize=True), [1, 5, 30], [1e-3, 1.0, 1e6])
    assert all(np.isfinite(model.w).all() and 3 not in model.support for model in found.values())
    assert found[1.0, 1].support[0] in (0, 4, 5) and found[1e6, 5].value >= 0.0


def test_without_a_ridge_there_is_no_relaxation():
    with pytest.raises(ValueError, match="needs a ridge: give finite gammas"):
        Grid(NONE, NONE).solve(make_data(*sample("squared", 20, 3)), [1], [1.0, np.inf])


def test_the_grid_replaces_only_the_relaxation_with_polishing():
    assert Grid.suits(Relaxation())
    assert not Grid.suits(Relaxation(polish=False))
    assert not Grid.suits(Local(60.0, 1e-4))


@pytest.mark.parametrize("loss", [name for name in LOSS_NAMES if name != "squared"])
@pytest.mark.parametrize(("include", "exclude"), [((), ()), ((7,), (0, 1))])
def test_other_losses_are_as_good_as_the_relaxation(loss, include, exclude):
    """With weights, an offset and forced features, objectives are nearly those of the method "relaxation"."""
    X, y = sample(loss, 50, 12)
    weights, offset = sample_weights(True, 50), 0.3 * np.random.default_rng(0).standard_normal(50)
    settings = {"loss": loss, "standardize": True, "sample_weight": weights, "offset": offset}
    data = make_data(X, y, **settings)
    grid = Grid(np.array(include, dtype=np.intp), np.array(exclude, dtype=np.intp))
    ks, gammas = [1, 3, 6], [0.02, 0.5]
    found, n_same = grid.solve(data, ks, gammas), 0
    for (gamma, k), model in found.items():
        known = best_subset(X, y, k, gamma=gamma, include=include, exclude=exclude, method="relaxation", **settings)
        assert known.lower_bound <= model.value * (1.0 + 1e-7) and model.value <= known.objective * 1.02
        assert model.support.size <= k and set(include) <= set(model.support) and not set(exclude) & set(model.support)
        margin = data.design.columns(model.support) @ model.w + model.b
        value = data.weights @ data.loss.value(data.y, margin) + model.w @ model.w / (2.0 * gamma)
        assert model.value == pytest.approx(value, rel=1e-9)
        n_same += np.array_equal(model.support, known.support)
    assert n_same >= len(found) - 2
