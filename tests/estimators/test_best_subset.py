"""The estimators are good citizens of scikit-learn and give the models of ``best_subset``."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from checks import best_subset, check_certificate
from samples import LOSS_NAMES, sample, sample_weights, unusual
from sparsest import BestSubsetClassifier, BestSubsetRegressor, PenalizedClassifier
from sparsest.losses import LOSSES

P = 6
NAMES = [f"x{j}" for j in range(P)]


def estimator_of(loss, **settings):
    kind = BestSubsetClassifier if LOSSES[loss].classification else BestSubsetRegressor
    return kind(loss=loss, **{"k": 2, "method": "local", **settings})


def same_coefficients(model, other):
    """Two fits of the same data agree to the precision of a fit: a gap of 1e-8 leaves 1e-4 in the coefficients."""
    np.testing.assert_allclose(np.ravel(model.coef_), np.ravel(other.coef_), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(np.ravel(model.intercept_), np.ravel(other.intercept_), rtol=1e-4, atol=1e-6)
    assert np.array_equal(model.support_, other.support_)


losses = pytest.mark.parametrize("loss", LOSS_NAMES)
# scikit-learn gives transformers responses of zero, which no loss of positive ones takes.
CHECKED = [loss for loss in LOSS_NAMES if not LOSSES[loss].positive]
ESTIMATORS = [BestSubsetRegressor(), BestSubsetClassifier(), *(estimator_of(loss, k=3) for loss in CHECKED)]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@losses
@pytest.mark.parametrize("form", [{"k": 2}, {"k": 99}, {"l0_penalty": 0.5}], ids=str)
@pytest.mark.parametrize("standardize", [True, False])
def test_equals_best_subset(loss, form, standardize):
    X, y = sample(loss, 40, P)
    weights = sample_weights(True, 40)
    model = estimator_of(loss, **form, gamma=0.2, standardize=standardize).fit(X, y, sample_weight=weights)
    asked = {"gamma": 0.2, "loss": loss, "standardize": standardize, "sample_weight": weights, "method": "local"}
    result = best_subset(X, y, **form, **asked)
    assert model.objective_ == pytest.approx(result.objective, rel=1e-8)
    assert model.lower_bound_ == pytest.approx(result.lower_bound, rel=1e-6)
    assert model.gap_ == pytest.approx(result.gap, abs=1e-6)
    assert np.array_equal(model.support_, result.support)
    assert model.status_ is result.status
    np.testing.assert_allclose(np.ravel(model.coef_), result.coef, rtol=1e-4, atol=1e-6)
    check_certificate(model.result_, X, y, weights)


@losses
def test_fitted_attributes_are_those_of_the_result(loss):
    X, y = sample(loss, 40, P)
    model = estimator_of(loss).fit(X, y)
    result = model.result_
    assert np.array_equal(np.ravel(model.coef_), result.coef)
    assert np.array_equal(np.ravel(model.intercept_), [result.intercept])
    assert np.array_equal(model.support_, result.support)
    assert np.array_equal(model.get_support(indices=True), result.support)
    assert (model.objective_, model.lower_bound_, model.gap_) == (result.objective, result.lower_bound, result.gap)
    assert model.status_ is result.status
    score = X @ result.coef + result.intercept
    if LOSSES[loss].classification:
        np.testing.assert_allclose(model.decision_function(X), score)
        assert np.array_equal(model.predict(X), np.where(model.decision_function(X) > 0, 1.0, -1.0))
        assert model.coef_.shape == (1, P) and model.intercept_.shape == (1,)
    else:
        np.testing.assert_allclose(model.predict(X), np.exp(score) if LOSSES[loss].log_link else score)
        assert model.coef_.shape == (P,)


@losses
def test_parameters_reach_the_solver(loss):
    X, y = sample(loss, 40, P)
    forced = estimator_of(loss, include=[5], exclude=[0, 1], fit_intercept=False, gap_tol=0.5).fit(X, y)
    assert 5 in forced.support_ and not {0, 1} & set(forced.support_)
    assert np.ravel(forced.intercept_)[0] == 0.0
    given = unusual(loss)
    for model in (estimator_of(loss, **given), estimator_of(loss).set_params(loss=LOSSES[loss](**given))):
        statement = model.fit(X, y).result_.certificate.statement
        assert statement.parameters == given
        assert statement.loss == loss and statement.k == 2


def test_default_losses():
    X, y = sample("squared", 40, P)
    assert BestSubsetRegressor(2).fit(X, y).result_.certificate.statement.loss == "squared"
    assert BestSubsetClassifier(2).fit(X, y > 0).result_.certificate.statement.loss == "logistic"


def test_gamma_auto():
    X, y = sample("squared", 40, P)
    model = BestSubsetRegressor(2, gamma="auto").fit(X, y)
    assert model.result_.certificate.statement.gamma == pytest.approx(10.0 / 40.0, rel=1e-12)
    with pytest.raises(ValueError, match="gamma must be a number > 0 or inf or 'auto' or 'loo', got 'large'"):
        BestSubsetRegressor(gamma="large").fit(X, y)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"loss": "cubic"}, "unknown loss"),
        ({"method": "magic"}, "unknown method"),
        ({"k": -1}, "k must be a whole number >= 0"),
        ({"l0_penalty": -1.0}, "l0_penalty must be"),
        ({"loss": "logistic"}, "loss 'logistic' is for two classes: use the classifier"),
    ],
)
def test_bad_parameters(settings, message):
    X, y = sample("squared", 20, P)
    with pytest.raises(ValueError, match=message):
        BestSubsetRegressor(**settings).fit(X, y)


def test_classifier_of_one_or_three_classes():
    X, _ = sample("squared", 20, P)
    with pytest.raises(ValueError, match="only one class"):
        BestSubsetClassifier().fit(X, np.ones(20))
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        BestSubsetClassifier().fit(X, np.arange(20) % 3)


@losses
def test_pipeline_and_grid_search(loss):
    X, y = sample(loss, 45, P)
    search = GridSearchCV(make_pipeline(StandardScaler(), estimator_of(loss)), {_step(loss) + "__k": [1, 2, 4]}, cv=3)
    search.fit(X, y)
    best = search.best_estimator_[-1]
    assert best.support_.size <= search.best_params_[_step(loss) + "__k"]
    # Noise of counts and costs is a part of their deviance.
    assert search.score(X, y) > (0.2 if LOSSES[loss].log_link else 0.3)
    folds = list(KFold(3, shuffle=True, random_state=0).split(X))
    scores = cross_validate(estimator_of(loss), X, y, cv=folds)["test_score"]
    expected = [estimator_of(loss).fit(X[train], y[train]).score(X[test], y[test]) for train, test in folds]
    np.testing.assert_allclose(scores, expected, rtol=1e-4)


def _step(loss):
    return type(estimator_of(loss)).__name__.lower()


@losses
def test_clone(loss):
    estimator = estimator_of(loss, gamma=0.3, include=[1], l0_penalty=None)
    assert clone(estimator).get_params() == estimator.get_params()
    X, y = sample(loss, 30, P)
    first, second = estimator.fit(X, y), clone(estimator).fit(X, y)
    assert first is not second
    same_coefficients(first, second)


def score(model, X):
    """What a model makes of its data before any class is named."""
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


@losses
@pytest.mark.parametrize("make", [lambda X: pd.DataFrame(X, columns=NAMES), lambda X: pl.DataFrame(X, schema=NAMES)])
def test_data_frames(loss, make):
    X, y = sample(loss, 30, P)
    frame = make(X)
    model = estimator_of(loss).fit(frame, y)
    assert model.feature_names_in_.tolist() == NAMES and model.n_features_in_ == P
    chosen = [NAMES[j] for j in model.support_]
    assert model.get_feature_names_out().tolist() == chosen
    plain = estimator_of(loss).fit(X, y)
    same_coefficients(model, plain)
    np.testing.assert_allclose(score(model, frame), score(plain, X), rtol=1e-4, atol=1e-5)
    assert np.array_equal(model.transform(frame), X[:, model.support_])
    output = clone(model).set_output(transform="pandas").fit(frame, y).transform(frame)
    assert isinstance(output, pd.DataFrame) and output.columns.tolist() == chosen
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[NAMES[::-1]])


@losses
def test_sparse_input(loss):
    X, y = sample(loss, 30, P)
    X = np.where(np.abs(X) < 0.7, 0.0, X)
    dense = estimator_of(loss).fit(X, y)
    for make in (sp.csc_array, sp.csr_matrix):
        model = estimator_of(loss).fit(make(X), y)
        same_coefficients(model, dense)
        np.testing.assert_allclose(score(model, make(X)), score(dense, X), rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(model.transform(make(X)).toarray(), X[:, dense.support_])


def test_metadata_routing_of_weights():
    X, y = sample("squared", 45, P)
    weights = np.where(np.arange(45) % 2 == 0, 1.0, 1e-6)
    plain = estimator_of("squared")
    with sklearn.config_context(enable_metadata_routing=True):
        model = clone(plain).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearchCV(model, {"k": [2]}, cv=3).fit(X, y, sample_weight=weights)
    direct = clone(plain).fit(X, y, sample_weight=weights)
    same_coefficients(search.best_estimator_, direct)
    assert not np.allclose(direct.coef_, plain.fit(X, y).coef_)


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


def test_documentation_has_the_parameters():
    for estimator in (BestSubsetRegressor, BestSubsetClassifier):
        assert all(name in estimator.__doc__ for name in estimator().get_params())


@losses
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
