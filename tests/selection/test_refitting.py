"""Rows taken several times, and what an estimator has chosen."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Lasso, LogisticRegression

from samples import sample
from sparsest import BestSubsetClassifier, BestSubsetRegressor, StabilitySelection
from sparsest.selection.refitting import (
    drawn_with_all_classes,
    fit_to,
    has_intercept,
    loss_of,
    make_observations,
    two_classes,
)

N, P = 30, 4
X, Y = sample("squared", N, P)


def test_rows_by_weights_are_rows_that_are_repeated():
    counts = np.random.default_rng(0).integers(0, 3, N)
    data = make_observations(pd.DataFrame(X, columns=list("abcd")), Y, sample_weight=2.0, offset=np.arange(N))
    kept = data.times(counts)
    assert kept.n == (counts > 0).sum() and kept.names == tuple("abcd")
    np.testing.assert_array_equal(kept.given["sample_weight"], 2.0 * counts[counts > 0])
    np.testing.assert_array_equal(kept.given["offset"], np.flatnonzero(counts))
    np.testing.assert_array_equal(data.given["sample_weight"], 2.0)
    rows = np.repeat(np.arange(N), counts)
    _, weighted = fit_to(BestSubsetRegressor(2), data, counts)
    _, repeated = fit_to(BestSubsetRegressor(2), data.take(rows))
    np.testing.assert_array_equal(weighted.support, repeated.support)
    np.testing.assert_allclose(weighted.coef, repeated.coef, rtol=1e-7)


def test_an_estimator_without_weights_gets_repeated_rows():
    counts = np.ones(N, dtype=int)
    model = StabilitySelection(BestSubsetRegressor(1, method="local"), n_pairs=2, random_state=0)
    fitted, choice = fit_to(model, make_observations(X, Y), 2 * counts)
    assert choice.coef is None and fitted.n_features_in_ == P
    np.testing.assert_array_equal(choice.support, fitted.support_)


def test_what_an_estimator_is():
    assert loss_of(BestSubsetRegressor(1, loss="negative_binomial", theta=3.0)).theta == 3.0
    assert loss_of(Lasso()).name == "squared" and loss_of(LogisticRegression()).name == "logistic"
    assert has_intercept(Lasso()) and not has_intercept(BestSubsetRegressor(fit_intercept=False))
    assert two_classes(BestSubsetClassifier(), np.array(["b", "a", "b"]), True).tolist() == ["a", "b"]
    assert two_classes(BestSubsetRegressor(), Y, False) is None
    with pytest.raises(ValueError, match="stratify is for classifiers"):
        two_classes(BestSubsetRegressor(), Y, True)


def test_draws_have_all_classes():
    y = np.arange(6) < 1
    rng = np.random.default_rng(0)
    for _ in range(20):
        rows = drawn_with_all_classes(lambda: rng.integers(0, 6, 6), lambda drawn: [drawn], y, np.unique(y))
        assert y[rows].any() and not y[rows].all()
    with pytest.raises(ValueError, match="one of the classes is so rare that random draws miss it: give stratify=True"):
        drawn_with_all_classes(lambda: np.arange(1, 6), lambda drawn: [drawn], y, np.unique(y))


def test_what_was_chosen():
    fitted, choice = fit_to(BestSubsetRegressor(2), make_observations(X, Y))
    np.testing.assert_array_equal(choice.support, fitted.support_)
    np.testing.assert_array_equal(choice.coef, fitted.coef_[fitted.support_])
    assert choice.intercept == fitted.intercept_ and not choice.unproved
    with pytest.raises(ValueError, match="exposure must have 30 entries"):
        make_observations(X, Y, exposure=np.ones(3))
