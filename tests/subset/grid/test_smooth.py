"""Models of smooth losses equal those of fit_support, and no swap improves a polished model."""

import numpy as np
import pytest

from samples import SMOOTH_NAMES, sample, sample_weights, unusual
from sparsest.core.data import make_data
from sparsest.core.problem import pose
from sparsest.subset.fits.support import fit_support
from sparsest.subset.grid.polish import polish
from sparsest.subset.grid.smooth import SmoothSpace
from sparsest.subset.grid.space import RidgeModel

SUPPORT = np.array([0, 2, 3])
every = pytest.mark.parametrize("loss", SMOOTH_NAMES)


def data_of(loss, n=40, p=8, seed=0, fit_intercept=True):
    X, y = sample(loss, n, p, seed)
    settings = {"fit_intercept": fit_intercept, "sample_weight": sample_weights(True, n), **unusual(loss)}
    return make_data(X, y, loss=loss, standardize=True, **settings)


def value_of(data, gamma, support):
    return fit_support(pose(data, data.p, gamma=gamma), np.array(sorted(support), dtype=np.intp))


@every
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("gamma", [0.01, 1.0, 1e4])
def test_the_model_of_a_support(loss, fit_intercept, gamma):
    data = data_of(loss, fit_intercept=fit_intercept)
    expected = value_of(data, gamma, SUPPORT)
    far = np.array([3.0, -2.0, 0.5])
    for w, b in ((np.zeros(3), 0.0), (far, 1.0)):
        model, margin = SmoothSpace(data).fit(SUPPORT, 1.0 / gamma, w, b if fit_intercept else 0.0)
        assert model.value == pytest.approx(expected.primal, rel=1e-8)
        np.testing.assert_allclose(model.w, expected.w, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(margin, data.design.columns(SUPPORT) @ model.w + model.b, atol=1e-9)
        assert fit_intercept or model.b == 0.0


def test_no_features():
    for fit_intercept in (True, False):
        data = data_of("logistic", fit_intercept=fit_intercept)
        empty = np.empty(0, dtype=np.intp)
        model, _ = SmoothSpace(data).fit(empty, 1.0, np.empty(0), 0.0)
        assert model.value == pytest.approx(value_of(data, 1.0, []).primal)


def test_fits_that_cannot_improve_end_early():
    data, ridge = data_of("logistic"), 1.0
    smooth = SmoothSpace(data)
    least = smooth.fit(SUPPORT, ridge, np.zeros(3), 0.0).model.value
    assert smooth.fit(SUPPORT, ridge, np.zeros(3), 0.0, 0.5 * least) is None
    assert smooth.fit(SUPPORT, ridge, np.zeros(3), 0.0, 1.0001 * least).model.value == pytest.approx(least)


@every
def test_no_swap_improves(loss):
    """Feature 0 may not move.  Few swaps are fitted, so a neighbouring support may be slightly better."""
    movable = np.arange(8) != 0
    n_best = 0
    for seed in range(3):
        data, gamma = data_of(loss, seed=seed), 0.5
        start = RidgeModel(np.array([0]), np.zeros(1), data.null.b, np.inf)
        model = polish(SmoothSpace(data), [start], 1.0 / gamma, 3, movable)
        assert model.support.size == 3 and 0 in model.support
        assert model.value == pytest.approx(value_of(data, gamma, model.support).primal, rel=1e-7)
        inside, others = set(model.support.tolist()), set(range(1, 8)) - set(model.support.tolist())
        swapped = [value_of(data, gamma, inside - {out} | {into}).primal for out in inside - {0} for into in others]
        assert model.value <= min(swapped) * 1.01
        n_best += model.value <= min(swapped) * (1.0 + 1e-6)
    assert n_best >= 2


def test_more_features_than_a_pool():
    """With 600 features, the two relevant ones are found."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 600))
    y = np.where(3.0 * X[:, 5] - 3.0 * X[:, 590] + 0.3 * rng.standard_normal(80) > 0, 1, -1)
    data = make_data(X, y, loss="logistic", standardize=True)
    start = RidgeModel(np.array([7, 8]), np.zeros(2), 0.0, np.inf)
    assert polish(SmoothSpace(data), [start], 1.0, 2, np.ones(600, dtype=bool)).support.tolist() == [5, 590]


def test_columns_that_cannot_move_or_help():
    data = data_of("poisson")
    model = RidgeModel(SUPPORT, np.zeros(3), 0.0, np.inf)
    stay = polish(SmoothSpace(data), [model], 1.0, 3, np.zeros(8, dtype=bool))
    assert stay.support.tolist() == SUPPORT.tolist()


def test_large_supports_are_completed_but_not_swapped():
    X, y = sample("logistic", 80, 30)
    data = make_data(X, y, loss="logistic")
    space = SmoothSpace(data)
    worst = np.argsort(np.abs(X.T @ (y > 0)), kind="stable")[:24]
    start = RidgeModel(np.sort(worst), np.zeros(24), 0.0, np.inf)
    found = polish(space, [start], 1.0, 25, np.ones(30, dtype=bool)).support
    assert found.size == 25 and set(worst.tolist()) < set(found.tolist())


class Counting(SmoothSpace):
    """Remembers the supports that it fits."""

    def __init__(self, data):
        super().__init__(data)
        self.fitted = []

    def fit(self, support, *rest):
        self.fitted.append(support.tolist())
        return super().fit(support, *rest)


def test_supports_that_are_not_swapped_grow_by_several_features_at_a_time():
    X, y = sample("logistic", 120, 60)
    data = make_data(X, y, loss="logistic")
    space = Counting(data)
    start = RidgeModel(np.arange(24), np.zeros(24), 0.0, np.inf)
    found = polish(space, [start], 1.0, 40, np.ones(60, dtype=bool))
    assert [len(support) for support in space.fitted] == [24, 30, 37, 40] and found.support.size == 40
    assert found.value == pytest.approx(value_of(data, 1.0, found.support).primal, rel=1e-6)


def test_a_second_start_ends_where_it_meets_the_first():
    data, movable = data_of("logistic"), np.ones(8, dtype=bool)
    one, two = Counting(data), Counting(data)
    start = RidgeModel(SUPPORT, np.zeros(3), 0.0, np.inf)
    once = polish(one, [start], 1.0, 3, movable)
    twice = polish(two, [start, start], 1.0, 3, movable)
    assert two.fitted == [*one.fitted, SUPPORT.tolist()]
    assert twice.support.tolist() == once.support.tolist() and twice.value == once.value
