"""Stability selection: scikit-learn's checks, what it keeps, and how many features it keeps by chance."""

import numpy as np
import pytest
import scipy.sparse as sp
from joblib import parallel_config
from sklearn.base import clone
from sklearn.linear_model import Lasso, LogisticRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from sparsest import BestSubsetClassifier, BestSubsetRegressor, PenalizedRegressor, StabilitySelection

FAST = BestSubsetRegressor(k=2, method="local")


@parametrize_with_checks([StabilitySelection(n_pairs=4)])
def test_scikit_learn(estimator, check):
    check(estimator)


def signal(n=80, p=20, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, 2.0 * X[:, 3] - 2.0 * X[:, 7] + 0.5 * rng.standard_normal(n)


@pytest.mark.parametrize("base", [None, PenalizedRegressor(alpha=0.5), Lasso(alpha=0.5), FAST])
def test_true_features_are_kept(base):
    X, y = signal()
    model = StabilitySelection(base, n_pairs=8, random_state=0).fit(X, y)
    assert {3, 7} <= set(model.support_) and np.array_equal(model.support_, model.get_support(indices=True))
    assert model.frequencies_.shape == (20,) and model.frequencies_[3] == 1.0
    assert model.n_selected_ == pytest.approx(model.frequencies_.sum())
    assert model.expected_false_ == pytest.approx(model.n_selected_**2 / (0.5 * 20))
    assert np.array_equal(model.transform(X), X[:, model.support_])


def test_seed_jobs_and_storage_do_not_matter():
    X, y = signal()
    model = StabilitySelection(clone(FAST).set_params(k=4), n_pairs=6, random_state=3)
    found = clone(model).fit(X, y).frequencies_
    with parallel_config(backend="threading"):
        for n_jobs, data in ((None, X), (2, X), (2, sp.csc_array(X))):
            assert np.array_equal(clone(model).set_params(n_jobs=n_jobs).fit(data, y).frequencies_, found)
    assert not np.array_equal(clone(model).set_params(random_state=4).fit(X, y).frequencies_, found)


def test_labels():
    X, y = signal()
    labels = np.where(y > 0, "sick", "well")
    for base in (None, BestSubsetClassifier(k=2, method="local"), LogisticRegression(C=1.0)):
        model = StabilitySelection(base, n_pairs=4, random_state=0).fit(X, labels)
        assert {3, 7} <= set(model.support_)
    pipe = make_pipeline(StabilitySelection(n_pairs=4, random_state=0), LogisticRegression())
    assert pipe.fit(X, labels).score(X, labels) > 0.9


def test_noise_keeps_no_more_than_the_bound():
    """Nothing matters: the mean number of kept features is below both bounds."""
    kept, bounds = [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((40, 30)), rng.standard_normal(40)
        model = StabilitySelection(FAST, n_pairs=10, threshold=0.6, random_state=seed).fit(X, y)
        kept.append(model.support_.size)
        bounds.append(min(model.expected_false_, model.expected_false_unimodal_))
    assert np.mean(kept) <= np.mean(bounds)


def test_few_false_features_raise_the_threshold():
    X, y = signal()
    model = StabilitySelection(FAST, n_pairs=6, max_false=0.25, random_state=0).fit(X, y)
    assert model.threshold_ == pytest.approx(0.5 * (1 + 4 / (0.25 * 20))) and model.expected_false_ <= 0.25 + 1e-12


def test_refusals():
    X, y = signal()
    with pytest.raises(ValueError, match=r"threshold must be a number > 0.5 and <= 1"):
        StabilitySelection(threshold=0.5).fit(X, y)
    with pytest.raises(ValueError, match="n_pairs must be a whole number"):
        StabilitySelection(n_pairs=0).fit(X, y)
    with pytest.raises(ValueError, match="neither get_support nor coef_"):
        StabilitySelection(KNeighborsRegressor(), n_pairs=1).fit(X, y)


@pytest.mark.parametrize("p", [5, 20, 200])
def test_few_false_features_are_reached_by_small_subsets(p):
    """With ten features of twenty in every half the threshold would have to be 1, and nothing would be kept."""
    X, y = signal(200, max(p, 20))
    X = X[:, :p] if p < 20 else X
    y = y if p >= 20 else X[:, 0] - X[:, 1] + 0.1 * y
    model = StabilitySelection(max_false=1.0, n_pairs=10, random_state=0).fit(X, y)
    assert model.threshold_ <= 0.75 and model.expected_false_ <= 1.0 + 1e-12
    assert set(model.support_) == ({0, 1} if p < 20 else {3, 7}) & set(model.support_) and model.support_.size >= 1
    assert model.n_selected_ <= np.sqrt(0.5 * p)
