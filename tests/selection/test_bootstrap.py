"""The bootstrap of a selection against a plain loop over repeated rows, for every estimator."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso
from sklearn.neighbors import KNeighborsRegressor

from samples import responses_of, sample
from sparsest import (
    BestSubsetClassifier,
    BestSubsetClassifierCV,
    BestSubsetRegressor,
    BestSubsetRegressorCV,
    PenalizedClassifier,
    PenalizedClassifierCV,
    PenalizedRegressor,
    PenalizedRegressorCV,
    StabilitySelection,
    best_subset,
    bootstrap,
)
from sparsest.runtime.events import Repetition

N, P, K, B = 60, 6, 2, 20


def data(loss="squared"):
    return sample(loss, N, P, noise=1.5)


def draws(n, count, seed=0):
    """Row numbers as the bootstrap draws them."""
    rng = np.random.RandomState(seed)
    return [rng.randint(0, n, n) for _ in range(count)]


def test_ends_of_given_grids_are_told_once():
    X, _ = data()
    y = X.sum(axis=1)
    estimator = BestSubsetRegressorCV(ks=(1, 2, 3), gammas=(1.0,), cv=3, method="local")
    match = "in 5 of 5 resamples: the best number of features is the largest one that was tried, 3: give larger ks"
    with pytest.warns(UserWarning, match=match) as told:
        bootstrap(estimator, X, y, n_resamples=5, random_state=0)
    assert len(told) == 1


@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_a_loop_over_repeated_rows(weighted):
    X, y = data()
    weights = np.random.default_rng(1).uniform(0.5, 2.0, N) if weighted else None
    found = bootstrap(BestSubsetRegressor(K), X, y, sample_weight=weights, n_resamples=B, random_state=0)
    for i, rows in enumerate(draws(N, B)):
        plain = best_subset(X[rows], y[rows], K, sample_weight=None if weights is None else weights[rows])
        np.testing.assert_array_equal(found.chosen[[i]].toarray()[0], plain.coef != 0.0)
        np.testing.assert_allclose(found.coefs[[i]].toarray()[0], plain.coef, rtol=1e-6, atol=1e-9)
    whole = best_subset(X, y, K, sample_weight=weights)
    np.testing.assert_array_equal(found.support, whole.support)
    np.testing.assert_allclose(found.coef, whole.coef, rtol=1e-9)


def test_definitions():
    """All figures from the coefficients, by their definitions; the reference from least squares on all columns."""
    X, y = data()
    found = bootstrap(BestSubsetRegressor(K), X, y, n_resamples=B, random_state=0)
    coefs = found.coefs.toarray()
    chosen = coefs != 0.0
    np.testing.assert_allclose(found.inclusion, chosen.mean(axis=0))
    Z = np.column_stack([X, np.ones(N)])
    beta, rest, *_ = np.linalg.lstsq(Z, y, rcond=None)
    error = np.sqrt(np.diag(np.linalg.inv(Z.T @ Z)) * rest[0] / (N - P - 1))[:P]
    np.testing.assert_allclose(found.reference, beta[:P], rtol=1e-9)
    np.testing.assert_allclose(found.reference_error, error, rtol=1e-9)
    assert found.reference_kind == "all"
    ratio = np.sqrt(np.mean((coefs - beta[:P]) ** 2, axis=0)) / error
    np.testing.assert_allclose(found.rmsd_ratio, ratio, rtol=1e-9)
    for j in range(P):
        if chosen[:, j].any():
            bias = coefs[chosen[:, j], j].mean() / beta[j] - 1.0
            np.testing.assert_allclose(found.relative_conditional_bias[j], bias, rtol=1e-9)
        else:
            assert np.isnan(found.relative_conditional_bias[j])
    np.testing.assert_allclose(found.percentiles(), np.quantile(coefs, (0.025, 0.5, 0.975), axis=0), atol=1e-12)
    for a, i in enumerate(found.used):
        for b, j in enumerate(found.used):
            assert found.pairwise_inclusion[a, b] == pytest.approx((chosen[:, i] & chosen[:, j]).mean())
    for one in found.models:
        same = [tuple(np.flatnonzero(row)) == one.support for row in chosen]
        assert one.frequency == pytest.approx(np.mean(same)) and one.frequency > 0.0
    assert sum(one.frequency for one in found.models) == pytest.approx(1.0)
    own = [tuple(np.flatnonzero(row)) == tuple(found.support) for row in chosen]
    assert found.model_frequency == pytest.approx(np.mean(own))
    pair = found.pairs[0]
    assert pair.together == pytest.approx((chosen[:, pair.first] & chosen[:, pair.second]).mean())
    assert pair.expected == pytest.approx(chosen[:, pair.first].mean() * chosen[:, pair.second].mean())


REGRESSORS = [
    BestSubsetRegressor(K, method="local"),
    BestSubsetRegressor("bic"),
    BestSubsetRegressorCV(ks=[1, 2], cv=3),
    PenalizedRegressor(alpha=0.1),
    PenalizedRegressorCV(cv=3),
    StabilitySelection(BestSubsetRegressor(K, method="local"), n_pairs=2, random_state=0),
    Lasso(0.1),
]
CLASSIFIERS = [
    BestSubsetClassifier(K, method="local", class_weight="balanced"),
    BestSubsetClassifierCV(ks=[1, 2], cv=3),
    PenalizedClassifier(alpha=0.02),
    PenalizedClassifierCV(cv=3),
]


@pytest.mark.parametrize("estimator", [*REGRESSORS, *CLASSIFIERS], ids=lambda one: type(one).__name__)
@pytest.mark.filterwarnings("ignore:Objective did not converge")
def test_every_estimator(estimator):
    classes = estimator in CLASSIFIERS
    X, y = data("logistic" if classes else "squared")
    y = np.where(y > 0, "yes", "no") if classes else y
    found = bootstrap(estimator, X, y, n_resamples=4, stratify=classes, random_state=0)
    assert found.n_resamples == 4 and found.inclusion.shape == (P,) and found.inclusion.max() > 0
    assert (found.coefs is None) == isinstance(estimator, StabilitySelection)
    assert len(found.to_frame()) == found.used.size and found.summary()


def test_frames_sparse_matrices_and_jobs():
    X, y = data()
    settings = {"n_resamples": 6, "random_state": 3}
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = BestSubsetRegressor(K, include=["c"])
    found = bootstrap(model, frame, y, n_jobs=2, **settings)
    assert found.inclusion[2] == 1.0 and found.to_frame().loc["c", "inclusion"] == 1.0
    alone = bootstrap(BestSubsetRegressor(K, include=[2]), sp.coo_array(X), y, **settings)
    np.testing.assert_allclose(found.coefs.toarray(), alone.coefs.toarray(), rtol=1e-7)


def test_offset_and_exposure_are_resampled_too():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((N, P))
    exposure, offset = rng.uniform(0.2, 5.0, N), rng.standard_normal(N)
    y = responses_of("poisson", 0.8 * X[:, 0] + offset + np.log(exposure), rng)
    found = bootstrap(
        BestSubsetRegressor(1, loss="poisson"), X, y, offset=offset, exposure=exposure, n_resamples=5, random_state=0
    )
    assert found.inclusion[0] == 1.0
    for i, rows in enumerate(draws(N, 5)):
        given = {"offset": offset[rows], "exposure": exposure[rows]}
        plain = best_subset(X[rows], y[rows], 1, loss="poisson", **given)
        np.testing.assert_allclose(found.coefs[[i]].toarray()[0], plain.coef, rtol=1e-5)


def test_rare_classes():
    """Stratified resamples keep the numbers of the classes; others are drawn until both are there."""
    X, _ = data()
    y = np.arange(N) < 2
    found = bootstrap(BestSubsetClassifier(1, method="local"), X, y, n_resamples=30, random_state=0)
    assert found.n_resamples == 30
    counts = []
    model = _Counting()
    for stratify in (False, True):
        model.seen = counts = []
        bootstrap(model, X, y, n_resamples=10, stratify=stratify, random_state=0)
        assert (np.array(counts[1:]) > 0).all()
        assert stratify == (set(counts) == {2.0})
    with pytest.raises(ValueError, match="stratify is for classifiers"):
        bootstrap(BestSubsetRegressor(1), X, y * 1.0, stratify=True)


class _Counting(BestSubsetClassifier):
    """Notes how many positive observations it is given."""

    def __sklearn_clone__(self):
        return self

    def __init__(self):
        super().__init__(1, method="local")

    def fit(self, X, y, sample_weight=None):
        self.seen.append(float(np.sum(y if sample_weight is None else y * sample_weight)))
        return super().fit(X, y, sample_weight)


def test_without_a_model_of_all_features_the_chosen_ones_are_the_reference():
    X, y = sample("squared", 20, 40)
    found = bootstrap(BestSubsetRegressor(K, method="local"), X, y, n_resamples=5, random_state=0)
    assert found.reference_kind == "chosen"
    np.testing.assert_array_equal(np.flatnonzero(~np.isnan(found.reference)), found.support)
    kinks = bootstrap(BestSubsetRegressor(K, loss="quantile", method="local"), X, y, n_resamples=3, random_state=0)
    assert kinks.reference_kind is None and np.isnan(kinks.rmsd_ratio).all()
    assert "relative to nothing" in kinks.summary()


def test_it_can_be_interrupted_and_tells_its_progress():
    X, y = data()
    events = []

    def listen(event):
        events.append(event)
        return event.n_done == 3

    with pytest.warns(ConvergenceWarning, match="interrupted after 3 of 8 resamples: the result uses only these"):
        found = bootstrap(BestSubsetRegressor(K), X, y, n_resamples=8, random_state=0, callback=listen)
    assert found.n_resamples == 3 and found.n_requested == 8 and "3 resamples of 8" in found.summary()
    assert [(event.n_done, event.n_repetitions) for event in events] == [(1, 8), (2, 8), (3, 8)]
    assert all(isinstance(event, Repetition) for event in events)


def test_searches_without_a_proof_are_counted():
    X, y = sample("squared", 40, 30, noise=8.0)
    with pytest.warns(ConvergenceWarning, match=r"in \d+ of 4 resamples the search ended without a proof"):
        found = bootstrap(BestSubsetRegressor(8, node_limit=1, gap_tol=1e-9), X, y, n_resamples=4, random_state=0)
    assert found.n_unproved > 0


def test_the_tables():
    X, y = data()
    frame = pd.DataFrame(X, columns=[f"a feature with a rather long name, number {j}" for j in range(P)])
    found = bootstrap(BestSubsetRegressor(K), frame, y, n_resamples=B, random_state=0)
    table = found.to_frame()
    assert (np.diff(table["inclusion"]) <= 0).all() and table["in_model"].sum() == K
    assert set(table["column"]) >= set(found.support) and str(found) == found.summary()
    assert max(len(line) for line in found.summary().splitlines()) <= 80
    assert f"{found.model_frequency:.1%}" in found.summary()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"n_resamples": 0}, "n_resamples must be a whole number >= 1"),
        ({"callback": 3}, "callback must be a function or None"),
        ({"sample_weight": [1.0, 2.0]}, "sample_weight must have 60 entries"),
        ({"estimator": KNeighborsRegressor()}, "KNeighborsRegressor has neither get_support nor coef_"),
        ({"y": [1.0]}, "X has 60 rows but y has 1 entries"),
        ({"X": np.zeros(3)}, "X must be a matrix with two dimensions"),
    ],
)
def test_bad_arguments(settings, words):
    X, y = data()
    given = {"estimator": BestSubsetRegressor(1), "X": X, "y": y, **settings}
    with pytest.raises(ValueError, match=words):
        bootstrap(**given)
