"""What all estimators share: checks of what they are given, predictions, labels, weights of classes, the columns."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from estimators.helpers import estimator_of, same_coefficients
from samples import LOSS_NAMES, sample, sample_weights
from sparsest import PenalizedClassifier
from sparsest.estimators.base import SparseClassifier, SparseRegressor
from sparsest.losses import LOSSES

P = 6


class Given(SparseRegressor):
    """A regressor whose model is known, and which notes what it is fitted to."""

    def __init__(self, loss=None):
        self.loss = loss

    def _fit_linear(self, X, y, sample_weight):
        self.given_ = X, y, sample_weight
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
    X, y, weights = model.given_
    assert X.dtype == storage(X4).dtype and y.dtype == np.float64 and weights is None
    np.testing.assert_allclose(model.predict(storage(X4)), 2.0 * X4[:, 1] - X4[:, 3] + 0.5, rtol=1e-5, atol=1e-5)
    assert np.array_equal(model.get_support(), [False, True, True, True])
    assert model.transform(X4).shape == (12, 3)


def test_a_classifier_fits_signs_and_predicts_labels():
    labels = np.where(Y4.mean() < Y4, "high", "low")
    model = GivenClasses(class_weight={"high": 2.0, "low": 3.0}).fit(X4, labels, sample_weight=np.arange(1.0, 13.0))
    _, y, weights = model.given_
    assert np.array_equal(y, np.where(labels == "low", 1.0, -1.0))
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
