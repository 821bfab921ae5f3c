"""The estimators pass scikit-learn's checks and give the models of ``best_subset``."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from checks import best_subset, check_certificate
from covering import every_pair
from estimators.helpers import estimator_of, same_coefficients
from samples import LOSS_NAMES, sample, sample_weights, unusual
from sparsest import BestSubsetClassifier, BestSubsetRegressor, Structure, certified_choice
from sparsest.core.losses import LOSSES

P = 6
NAMES = [f"x{j}" for j in range(P)]


losses = pytest.mark.parametrize("loss", LOSS_NAMES)
# One loss of each kind beside the defaults.  Where responses are tied the intercept of a quantile or of an insensitive
# zone is any of an interval, so models with weights and with rows given twice may differ; and the checks of
# transformers give responses of zero, which the gamma loss refuses.
KINDS = ("hinge", "squared_hinge", "huber", "poisson", "squared_epsilon_insensitive")
ESTIMATORS = [BestSubsetRegressor(), BestSubsetClassifier(), *(estimator_of(loss, k=3) for loss in KINDS)]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@every_pair(loss=LOSS_NAMES, form=[{"k": 2}, {"k": 99}, {"l0_penalty": 0.5}], standardize=[True, False])
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
    alone = make_pipeline(StandardScaler(), estimator_of(loss, k=search.best_params_[_step(loss) + "__k"])).fit(X, y)
    assert search.score(X, y) == pytest.approx(alone.score(X, y), rel=1e-4)
    assert search.score(X, y) > estimator_of(loss, k=0).fit(X, y).score(X, y)
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


def test_documentation_has_the_parameters():
    for estimator in (BestSubsetRegressor, BestSubsetClassifier):
        assert all(name in estimator.__doc__ for name in estimator().get_params())


@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson"])
def test_a_criterion_chooses_k(loss):
    X, y = sample(loss, 40, P)
    weights, offset = sample_weights(True, 40), np.linspace(-0.2, 0.2, 40)
    added = {"sample_weight": weights, "offset": offset}
    model = estimator_of(loss, k="bic", gamma=0.3, method="tree").fit(X, y, **added)
    choice = certified_choice(X, y, "bic", loss=loss, gamma=0.3, **added)
    assert np.array_equal(model.support_, choice.result.support) and model.choice_.k == model.support_.size
    assert model.choice_.value == pytest.approx(choice.value) and model.choice_.not_excluded == ()
    assert model.choice_.verify(X, y, weights, offset=offset)
    assert estimator_of(loss, k=2).fit(X, y).choice_ is None
    weak, strong = (estimator_of(loss, k=name, method="tree").fit(X, y) for name in ("aic", "ebic"))
    assert weak.support_.size >= strong.support_.size


def test_labels_and_names_of_a_choice():
    X, y = sample("logistic", 40, P)
    labels = np.where(y > 0, "sick", "well")
    model = BestSubsetClassifier(k="ebic").fit(pd.DataFrame(X, columns=NAMES), labels)
    assert set(model.predict(pd.DataFrame(X, columns=NAMES))) <= {"sick", "well"}
    assert model.choice_.result.classes.tolist() == ["sick", "well"] and model.choice_.verify(X, labels)
    assert model.get_feature_names_out().tolist() == [NAMES[j] for j in model.support_]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"k": "cp"}, "k must be a whole number >= 0 or one of aic, aicc, bic, ebic, gic, mbic, got .cp."),
        ({"method": "local"}, "method must not be given if a criterion chooses k"),
        ({"screen": 3}, "screen must not be given"),
        ({"start": np.array([1])}, "start must not be given"),
        ({"gamma": "loo"}, "the same for all sizes"),
        ({"loss": "huber"}, "no likelihood"),
    ],
)
def test_what_a_criterion_cannot_choose_with(settings, message):
    X, y = sample("squared", 20, 3)
    with pytest.raises(ValueError, match=message):
        BestSubsetRegressor(**{"k": "bic", **settings}).fit(X, y)


def test_the_cheap_way_to_search_over_settings():
    """As the documentation says: the relaxation in the search, the tree for the best settings alone."""
    X, y = sample("squared", 60, P)
    search = GridSearchCV(BestSubsetRegressor(method="relaxation"), {"k": [1, 2, 3], "gamma": [0.05, 0.5]}, cv=3)
    best = search.fit(X, y).best_params_
    proved = BestSubsetRegressor(**best).fit(X, y)
    assert proved.status_.name == "OPTIMAL" and proved.objective_ <= search.best_estimator_.objective_ * (1.0 + 1e-8)
    assert "GridSearchCV" in BestSubsetRegressor.__doc__ and 'method="relaxation"' in BestSubsetRegressor.__doc__


def test_limits_of_coefficients_survive_clone():
    X, y = sample("squared", 40, P)
    frame = pd.DataFrame(X, columns=NAMES)
    settings = {"lower": {"x0": 0.0, "x3": -0.1}, "upper": {"x1": 0.2}}
    model = clone(BestSubsetRegressor(3, gamma=0.3, **settings)).fit(frame, y)
    assert model.get_params()["lower"] == settings["lower"] and model.get_params()["positive"] is False
    wanted = best_subset(X, y, 3, gamma=0.3, lower={0: 0.0, 3: -0.1}, upper={1: 0.2}, standardize=True)
    np.testing.assert_allclose(model.coef_, wanted.coef, rtol=1e-7)
    assert model.result_.statement.upper[1] == 0.2
    check_certificate(model.result_, X, y)
    positive = clone(BestSubsetRegressor(3, gamma=0.3, positive=True)).fit(frame, y)
    assert (positive.coef_ >= 0.0).all() and positive.result_.statement.lower == (0.0,) * P
    with pytest.raises(ValueError, match="positive=True means lower=0: give one of them"):
        BestSubsetRegressor(3, positive=True, lower=0.0).fit(X, y)
    with pytest.raises(ValueError, match="positive must be True or False"):
        BestSubsetRegressor(3, positive="yes").fit(X, y)


def test_limits_of_a_classifier_and_of_a_choice_by_a_criterion():
    X, labels = sample("logistic", 60, P)
    model = BestSubsetClassifier(3, positive=True, upper=0.4).fit(X, labels)
    assert (model.coef_ >= 0.0).all() and (model.coef_ <= 0.4).all()
    chosen = BestSubsetClassifier("bic", positive=True).fit(X, labels)
    assert (chosen.coef_ >= 0.0).all() and chosen.choice_.verify(X, labels)


def test_a_criterion_chooses_among_groups_with_a_structure():
    X, y = sample("squared", 60, P)
    labels = [0, 0, *range(1, P - 1)]
    settings = {"feature_groups": labels, "structure": Structure(limits=[([3, 4], 1)])}
    model = clone(BestSubsetRegressor("bic", **settings)).fit(X, y)
    choice = certified_choice(X, y, "bic", **settings)
    assert np.array_equal(model.support_, choice.result.support) and model.choice_.verify(X, y)
    assert (0 in model.support_) == (1 in model.support_) and len({3, 4} & set(model.support_)) < 2
