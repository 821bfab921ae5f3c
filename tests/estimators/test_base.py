"""What all estimators share: checks of what they are given, predictions, scores, labels, weights, routed metadata."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, PoissonRegressor, QuantileRegressor
from sklearn.metrics import d2_pinball_score, d2_tweedie_score, mean_poisson_deviance, r2_score
from sklearn.model_selection import KFold, cross_validate

from estimators.helpers import estimator_of, same_coefficients
from samples import LOSS_NAMES, sample, sample_weights
from sparsest import (
    BestSubsetClassifier,
    BestSubsetRegressor,
    BestSubsetRegressorCV,
    PenalizedClassifier,
    PenalizedRegressor,
    PenalizedRegressorCV,
)
from sparsest.core.losses import LOSSES, Poisson, make_loss
from sparsest.estimators.base import SparseClassifier, SparseRegressor

P = 6
POWERS = {"squared": 0, "poisson": 1, "tweedie": 1.5, "gamma": 2}
REGRESSION = [name for name in LOSS_NAMES if not LOSSES[name].classification]


class Given(SparseRegressor):
    """A regressor whose model is known, and which notes what it is fitted to."""

    def __init__(self, loss=None):
        self.loss = loss

    def _fit_linear(self, X, y, sample_weight, **routed):
        self.given_ = X, y, sample_weight, routed
        self.coef_, self.intercept_, self.support_ = np.array([0.0, 2.0, 0.0, -1.0]), 0.5, np.array([1, 2, 3])


class GivenClasses(SparseClassifier):
    """The same for two classes."""

    def __init__(self, loss=None, class_weight=None):
        self.loss, self.class_weight = loss, class_weight

    _fit_linear = Given._fit_linear


X4, Y4 = sample("squared", 12, 4)


@pytest.mark.parametrize("storage", [np.asarray, np.asfortranarray, sp.csr_array, lambda X: X.astype(np.float32)])
def test_predictions_are_those_of_the_coefficients(storage):
    model = Given().fit(storage(X4), Y4)
    X, y, weights, routed = model.given_
    assert X.dtype == storage(X4).dtype and y.dtype == np.float64 and weights is None
    assert routed == {"offset": None, "exposure": None}
    np.testing.assert_allclose(model.predict(storage(X4)), 2.0 * X4[:, 1] - X4[:, 3] + 0.5, rtol=1e-5, atol=1e-5)
    assert np.array_equal(model.get_support(), [False, True, True, True])
    assert model.transform(X4).shape == (12, 3)


def test_a_classifier_fits_and_predicts_labels():
    labels = np.where(Y4.mean() < Y4, "high", "low")
    model = GivenClasses(class_weight={"high": 2.0, "low": 3.0}).fit(X4, labels, sample_weight=np.arange(1.0, 13.0))
    _, y, weights, routed = model.given_
    assert np.array_equal(y, labels)
    assert routed == {"offset": None}
    assert np.array_equal(weights, np.arange(1.0, 13.0) * np.where(labels == "low", 3.0, 2.0))
    assert model.coef_.shape == (1, 4) and model.intercept_.shape == (1,)
    score = 2.0 * X4[:, 1] - X4[:, 3] + 0.5
    np.testing.assert_allclose(model.decision_function(X4), score)
    assert np.array_equal(model.predict(X4), np.where(score > 0, "low", "high"))
    np.testing.assert_allclose(model.predict_proba(X4)[:, 1], 1.0 / (1.0 + np.exp(-score)))


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (X4, Y4.reshape(3, 2, 2), r"y must be one-dimensional, got shape \(3, 2, 2\)"),
        (X4.astype(str), Y4, "X must hold real numbers"),
        (np.where(X4 > 1.0, np.nan, X4), Y4, "NaN"),
        (X4[:5], Y4, "inconsistent numbers of samples"),
        (X4, Y4.astype(str), "y must hold real numbers|could not convert"),
    ],
)
def test_bad_data(X, y, message):
    with pytest.raises(ValueError, match=message):
        Given().fit(X, y)


def test_losses_and_numbers_of_classes():
    with pytest.raises(ValueError, match="loss 'hinge' is for two classes: use the classifier"):
        Given("hinge").fit(X4, Y4)
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        GivenClasses().fit(X4, np.arange(12) % 3)
    with pytest.raises(ValueError, match="only one class is present"):
        GivenClasses().fit(X4, np.ones(12))
    assert hasattr(GivenClasses(), "predict_proba") and not hasattr(GivenClasses("hinge"), "predict_proba")


@pytest.mark.parametrize("method", ["predict", "get_support", "transform"])
def test_nothing_is_known_before_a_fit(method):
    with pytest.raises(NotFittedError):
        getattr(Given(), method)(*[X4] * (method != "get_support"))


def test_probabilities_only_for_the_logistic_loss():
    X, y = sample("logistic", 40, P)
    model = estimator_of("logistic", k=P, gamma=3.0, standardize=False).fit(X, y)
    theirs = LogisticRegression(C=3.0, tol=1e-10, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), theirs.predict_proba(X), atol=1e-5)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    for loss in ("hinge", "squared_hinge"):
        other = estimator_of(loss).fit(X, y)
        assert not hasattr(other, "predict_proba")
        with pytest.raises(AttributeError, match="predict_proba"):
            other.predict_proba(X)


def test_probabilities_at_extreme_scores():
    X, y = sample("logistic", 40, P)
    model = estimator_of("logistic").fit(X, y)
    probabilities = model.predict_proba(1e6 * X)
    assert np.isfinite(probabilities).all() and probabilities.max() == 1.0


@pytest.mark.parametrize("loss", [name for name in LOSS_NAMES if LOSSES[name].classification])
@pytest.mark.parametrize("labels", [("benign", "malignant"), (3, 7), (False, True)], ids=str)
def test_labels(loss, labels):
    X, y = sample(loss, 40, P)
    named = np.where(y > 0, labels[1], labels[0])
    model = estimator_of(loss).fit(X, named)
    assert model.classes_.tolist() == list(labels)
    plain = estimator_of(loss).fit(X, y)
    same_coefficients(model, plain)
    assert np.array_equal(model.predict(X) == labels[1], model.decision_function(X) > 0)


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_support_and_mask_agree(loss):
    """Also where a column that is forced in has no effect."""
    X, y = sample(loss, 40, P)
    X[:, 5] = 1.0
    model = estimator_of(loss, include=[5]).fit(X, y)
    assert 5 in model.support_ and np.array_equal(model.get_support(indices=True), model.support_)
    assert model.transform(X).shape == (40, model.support_.size)


@pytest.mark.parametrize("make", [estimator_of, lambda loss, **settings: PenalizedClassifier(loss=loss, **settings)])
def test_weights_of_classes(make):
    X, y = sample("logistic", 40, P)
    y[:8] = 1.0
    weights = sample_weights(True, 40)
    factors = {-1.0: 3.0, 1.0: 0.5}
    model = make("logistic", class_weight=factors).fit(X, y, sample_weight=weights)
    direct = make("logistic").fit(X, y, sample_weight=weights * np.where(y > 0, 0.5, 3.0))
    same_coefficients(model, direct)
    alone = make("logistic", class_weight=factors).fit(X, y)
    same_coefficients(alone, make("logistic").fit(X, y, sample_weight=np.where(y > 0, 0.5, 3.0)))
    share = {label: 20.0 / (y == label).sum() for label in (-1.0, 1.0)}
    same_coefficients(
        make("logistic", class_weight="balanced").fit(X, y), make("logistic", class_weight=share).fit(X, y)
    )


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
    model = estimator_of(loss).fit(X, y)
    expected = d2_tweedie_score(y, model.predict(X), sample_weight=weights, power=POWERS[loss])
    assert model.score(X, y, weights) == pytest.approx(expected, rel=1e-9)


def test_a_quantile_is_predicted_and_scored():
    X, y = sample("quantile", 80, 2)
    model = estimator_of("quantile", quantile=0.8, gamma=1e6).fit(X, y)
    theirs = QuantileRegressor(quantile=0.8, alpha=0.0).fit(X, y)
    assert model.score(X, y) == pytest.approx(d2_pinball_score(y, model.predict(X), alpha=0.8), rel=1e-9)
    assert model.score(X, y) == pytest.approx(d2_pinball_score(y, theirs.predict(X), alpha=0.8), rel=1e-4)
    assert np.mean(y <= model.predict(X) + 1e-9) == pytest.approx(0.8, abs=0.05)


@pytest.mark.parametrize("loss", ["huber", "epsilon_insensitive"])
def test_other_losses_are_scored_by_squares(loss):
    X, y = sample(loss, 50, 4)
    model = estimator_of(loss).fit(X, y)
    assert model.score(X, y) == pytest.approx(r2_score(y, model.predict(X)), rel=1e-12)


@pytest.mark.parametrize("loss", REGRESSION)
def test_a_perfect_score_and_the_constant_one(loss):
    X, y = sample(loss, 30, 3)
    model = estimator_of(loss).fit(X, y)
    model.coef_, model.intercept_ = np.zeros(3), 0.0
    data_mean = {"quantile": np.median(y)}.get(loss, y.mean())
    model.intercept_ = np.log(data_mean) if LOSSES[loss].log_link else data_mean
    assert model.score(X, y) == pytest.approx(0.0, abs=1e-9)
    assert model.score(X, np.full(30, model.predict(X)[0])) in (0.0, 1.0)


@pytest.mark.parametrize("make", [estimator_of, lambda loss: PenalizedRegressor(loss=loss, alpha=0.1)])
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
        model = estimator_of("poisson").set_fit_request(exposure=True).set_score_request(exposure=True)
        found = cross_validate(model, X, y, cv=KFold(3), params={"exposure": exposure})["test_score"]
    for score, (train, test) in zip(found, KFold(3).split(X), strict=True):
        alone = estimator_of("poisson").fit(X[train], y[train], exposure=exposure[train])
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
    model = clone(estimator_of("poisson").set_params(loss=Poisson())).fit(X, y)
    np.testing.assert_allclose(model.predict(X), estimator_of("poisson").fit(X, y).predict(X))
    assert make_loss(model.loss) is model.loss
    with pytest.raises(ValueError, match="is for two classes"):
        estimator_of("squared").set_params(loss=make_loss("hinge")).fit(X, np.sign(y - y.mean()))


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
