"""The penalised estimators: scikit-learn's own checks, and agreement with the path and with scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from sparsest.estimators.penalized import PenalizedClassifier, PenalizedRegressor
from sparsest.paths.api import penalty_path


@parametrize_with_checks(
    [
        PenalizedRegressor(),
        PenalizedRegressor("mcp"),
        PenalizedClassifier(),
        PenalizedClassifier("scad", loss="squared_hinge"),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def regression(n=80, p=30, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * rng.uniform(0.5, 2.0, p) + 1.0
    return X, X[:, :3] @ [1.0, -2.0, 1.5] + rng.standard_normal(n)


def test_lasso_equals_scikit_learn():
    X, y = regression()
    ours = PenalizedRegressor("l1", 0.1, tol=1e-10).fit(X, y)
    theirs = make_pipeline(StandardScaler(), Lasso(0.1, tol=1e-10, max_iter=100_000)).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-5)
    assert ours.gap_ <= 1e-10 and ours.kkt_violation_ < 1e-4
    assert (ours.get_support() == (theirs[-1].coef_ != 0)).all()


@pytest.mark.parametrize("penalty", ["mcp", "scad"])
def test_concave_penalties_find_the_truth(penalty):
    X, y = regression(300)
    y = y + 4.0 * X[:, :3] @ [1.0, -1.0, 1.0]
    model = PenalizedRegressor(penalty, 0.4).fit(X, y)
    assert model.support_.tolist() == [0, 1, 2] and model.gap_ is None
    least_squares = np.linalg.lstsq(np.c_[X[:, :3], np.ones(len(y))], y, rcond=None)[0]
    np.testing.assert_allclose(model.coef_[:3], least_squares[:3], atol=1e-6)
    assert model.transform(X).shape == (300, 3)


def test_classifier_follows_the_path():
    X, u = regression(200)
    y = np.where(u + 2 * np.random.default_rng(1).standard_normal(200) > u.mean(), "yes", "no")
    model = PenalizedClassifier("elastic_net", 0.05, l1_ratio=0.7).fit(X, y)
    path = penalty_path(X, y, "elastic_net", loss="logistic", alphas=[0.05], l1_ratio=0.7)
    np.testing.assert_allclose(model.coef_[0], path.coefs.toarray()[:, 0])
    assert model.score(X, y) > 0.7 and set(model.predict(X)) == {"yes", "no"}
    odds = np.exp(model.decision_function(X))
    np.testing.assert_allclose(model.predict_proba(X), np.column_stack([np.ones(200), odds]) / (1.0 + odds)[:, None])


def test_an_unreached_tolerance_warns():
    X, y = regression()
    with pytest.warns(ConvergenceWarning, match="above tol"):
        PenalizedRegressor("l1", 0.1, tol=1e-30).fit(X, y)


@pytest.mark.parametrize("change", [{"alpha": 0.0}, {"alpha": -1.0}, {"penalty": "l2"}, {"concavity": 3.0}])
def test_bad_parameters(change):
    X, y = regression()
    with pytest.raises(ValueError):
        PenalizedRegressor(**change).fit(X, y)
