"""Means through the inverse link, explained deviance, and metadata that scikit-learn routes."""

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.linear_model import PoissonRegressor, QuantileRegressor
from sklearn.metrics import d2_pinball_score, d2_tweedie_score, mean_poisson_deviance, r2_score
from sklearn.model_selection import KFold, cross_validate

from samples import LOSS_NAMES, sample, sample_weights
from sparsest import (
    BestSubsetClassifier,
    BestSubsetRegressor,
    BestSubsetRegressorCV,
    PenalizedRegressor,
    PenalizedRegressorCV,
)
from sparsest.losses import LOSSES, Poisson, make_loss

POWERS = {"squared": 0, "poisson": 1, "tweedie": 1.5, "gamma": 2}
REGRESSION = [name for name in LOSS_NAMES if not LOSSES[name].classification]


def small(loss, **settings):
    return BestSubsetRegressor(2, loss=loss, method="local", **settings)


def test_predictions_are_those_of_a_poisson_regression():
    X, y = sample("poisson", 60, 3)
    weights = sample_weights(True, 60)
    model = BestSubsetRegressor(3, loss="poisson", gamma=0.5, standardize=False, method="local").fit(X, y, weights)
    theirs = PoissonRegressor(alpha=1.0 / (0.5 * weights.sum()), solver="newton-cholesky", tol=1e-10)
    theirs.fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(model.predict(X), theirs.predict(X), rtol=1e-5)
    assert model.score(X, y, weights) == pytest.approx(theirs.score(X, y, weights), rel=1e-6)


@pytest.mark.parametrize("loss", POWERS)
@pytest.mark.parametrize("weighted", [False, True])
def test_scores_are_explained_deviances(loss, weighted):
    X, y = sample(loss, 50, 4)
    weights = sample_weights(weighted, 50)
    if weighted:
        weights[::5] = 0.0
    model = small(loss).fit(X, y)
    expected = d2_tweedie_score(y, model.predict(X), sample_weight=weights, power=POWERS[loss])
    assert model.score(X, y, weights) == pytest.approx(expected, rel=1e-9)


def test_a_quantile_is_predicted_and_scored():
    X, y = sample("quantile", 80, 2)
    model = small("quantile", quantile=0.8, gamma=1e6).fit(X, y)
    theirs = QuantileRegressor(quantile=0.8, alpha=0.0).fit(X, y)
    assert model.score(X, y) == pytest.approx(d2_pinball_score(y, model.predict(X), alpha=0.8), rel=1e-9)
    assert model.score(X, y) == pytest.approx(d2_pinball_score(y, theirs.predict(X), alpha=0.8), rel=1e-4)
    assert np.mean(y <= model.predict(X) + 1e-9) == pytest.approx(0.8, abs=0.05)


@pytest.mark.parametrize("loss", ["huber", "epsilon_insensitive"])
def test_other_losses_are_scored_by_squares(loss):
    X, y = sample(loss, 50, 4)
    model = small(loss).fit(X, y)
    assert model.score(X, y) == pytest.approx(r2_score(y, model.predict(X)), rel=1e-12)


@pytest.mark.parametrize("loss", REGRESSION)
def test_a_perfect_score_and_the_constant_one(loss):
    X, y = sample(loss, 30, 3)
    model = small(loss).fit(X, y)
    model.coef_, model.intercept_ = np.zeros(3), 0.0
    data_mean = {"quantile": np.median(y)}.get(loss, y.mean())
    model.intercept_ = np.log(data_mean) if LOSSES[loss].log_link else data_mean
    assert model.score(X, y) == pytest.approx(0.0, abs=1e-9)
    assert model.score(X, np.full(30, model.predict(X)[0])) in (0.0, 1.0)


@pytest.mark.parametrize("make", [small, lambda loss: PenalizedRegressor(loss=loss, alpha=0.1)])
@pytest.mark.parametrize("loss", ["poisson", "gamma", "negative_binomial"])
def test_exposures_in_predictions_and_scores(make, loss):
    X, y = sample(loss, 40, 4)
    exposure = np.random.default_rng(0).uniform(0.5, 2.0, 40)
    model = make(loss).fit(X, y, exposure=exposure)
    np.testing.assert_allclose(model.predict(X, exposure=exposure), exposure * model.predict(X), rtol=1e-12)
    offset = np.log(exposure)
    np.testing.assert_allclose(model.predict(X, offset=offset), exposure * model.predict(X), rtol=1e-12)
    other = make(loss).fit(X, y, offset=offset)
    np.testing.assert_allclose(other.coef_, model.coef_, atol=1e-6)
    assert model.score(X, y, exposure=exposure) == pytest.approx(model.score(X, y, offset=offset), rel=1e-12)
    # Known exposures explain more than none: the model was made for them.
    assert model.score(X, y, exposure=exposure) != pytest.approx(model.score(X, y), rel=1e-3)


def test_metadata_are_routed():
    X, y = sample("poisson", 60, 4)
    exposure = np.random.default_rng(0).uniform(0.5, 2.0, 60)
    with sklearn.config_context(enable_metadata_routing=True):
        model = small("poisson").set_fit_request(exposure=True).set_score_request(exposure=True)
        found = cross_validate(model, X, y, cv=KFold(3), params={"exposure": exposure})["test_score"]
    for score, (train, test) in zip(found, KFold(3).split(X), strict=True):
        alone = small("poisson").fit(X[train], y[train], exposure=exposure[train])
        assert score == pytest.approx(alone.score(X[test], y[test], exposure=exposure[test]), rel=1e-9)


def test_offsets_of_a_classifier():
    X, y = sample("logistic", 40, 4)
    offset = np.random.default_rng(0).standard_normal(40)
    model = BestSubsetClassifier(2, method="local").fit(X, y, offset=offset)
    np.testing.assert_allclose(model.decision_function(X, offset), model.decision_function(X) + offset)
    assert np.array_equal(model.predict(X, offset) > 0, model.decision_function(X, offset) > 0)
    assert model.result_.certificate.verify(X, y, offset=offset)
    np.testing.assert_allclose(model.predict_proba(X, offset), model.result_.predict_proba(X, offset=offset))


def test_a_loss_object_is_a_parameter():
    X, y = sample("poisson", 40, 4)
    model = clone(small(Poisson())).fit(X, y)
    np.testing.assert_allclose(model.predict(X), small("poisson").fit(X, y).predict(X))
    assert make_loss(model.loss) is model.loss
    with pytest.raises(ValueError, match="is for two classes"):
        small(make_loss("hinge")).fit(X, np.sign(y - y.mean()))


@pytest.mark.parametrize("make", [lambda **s: BestSubsetRegressorCV([1, 2], gammas=0.5, **s), PenalizedRegressorCV])
def test_cross_validation_scores_by_the_deviance(make):
    """Of the fold's rows with their exposures; a scorer of scikit-learn sees the means."""
    X, y = sample("poisson", 60, 4)
    exposure = np.random.default_rng(0).uniform(0.5, 2.0, 60)
    grid = {} if make is not PenalizedRegressorCV else {"alphas": [0.3, 0.1]}
    model = make(loss="poisson", cv=KFold(3), **grid).fit(X, y, exposure=exposure)
    named = make(loss="poisson", cv=KFold(3), scoring="neg_mean_poisson_deviance", **grid).fit(X, y, exposure=exposure)
    np.testing.assert_allclose(model.cv_results_["mean_test_score"], named.cv_results_["mean_test_score"], rtol=1e-9)
    assert model.best_score_ < 0.0
    train, test = next(KFold(3).split(X))
    if grid:
        alone = PenalizedRegressor(loss="poisson", alpha=0.1, tol=1e-4)
        row = np.flatnonzero(model.cv_results_["param_alpha"] == 0.1)[0]
    else:
        alone = BestSubsetRegressor(2, loss="poisson", gamma=0.5, method="relaxation")
        row = np.flatnonzero(model.cv_results_["param_k"] == 2)[0]
    alone.fit(X[train], y[train], exposure=exposure[train])
    expected = -mean_poisson_deviance(y[test], alone.predict(X[test], exposure=exposure[test]))
    assert model.cv_results_["split0_test_score"][row] == pytest.approx(expected, rel=1e-3)
    np.testing.assert_allclose(model.predict(X, exposure=exposure), exposure * model.predict(X), rtol=1e-12)
