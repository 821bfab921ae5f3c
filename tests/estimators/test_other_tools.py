"""Estimators inside tools of scikit-learn and of other packages."""

import joblib
import numpy as np
import pysindy
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, BaggingRegressor, StackingClassifier, StackingRegressor
from sklearn.feature_selection import SelectFromModel
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import cross_val_predict
from sklearn.multioutput import MultiOutputRegressor
from sklearn.preprocessing import PolynomialFeatures

from samples import sample
from sparsest import BestSubsetClassifier, BestSubsetRegressor, PenalizedClassifier, PenalizedRegressor, best_subset

N, P, K = 80, 6, 2
REGRESSORS = [BestSubsetRegressor(K), PenalizedRegressor(alpha=0.05)]
CLASSIFIERS = [BestSubsetClassifier(K), PenalizedClassifier(alpha=0.01)]


def by_name(estimator):
    return type(estimator).__name__


def regression():
    return sample("squared", N, P)


def classes():
    X, y = sample("logistic", N, P)
    return X, np.where(y > 0, "ill", "well")


@pytest.mark.parametrize("estimator", REGRESSORS, ids=by_name)
def test_ensembles_of_regressors(estimator):
    X, y = regression()
    alone = estimator.fit(X, y).score(X, y)
    bag = BaggingRegressor(estimator, n_estimators=4, random_state=0).fit(X, y)
    stack = StackingRegressor([("few", estimator), ("ridge", Ridge())], cv=3).fit(X, y)
    several = MultiOutputRegressor(estimator).fit(X, np.column_stack([y, -y]))
    assert min(bag.score(X, y), stack.score(X, y)) > alone - 0.1
    np.testing.assert_allclose(several.predict(X)[:, 0], -several.predict(X)[:, 1], atol=1e-6)


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=by_name)
def test_ensembles_and_calibration_of_classifiers(estimator):
    X, labels = classes()
    alone = estimator.fit(X, labels).score(X, labels)
    bag = BaggingClassifier(estimator, n_estimators=4, random_state=0).fit(X, labels)
    stack = StackingClassifier([("few", estimator), ("all", LogisticRegression())], cv=3).fit(X, labels)
    calibrated = CalibratedClassifierCV(estimator, method="sigmoid", cv=3).fit(X, labels)
    for model in (bag, stack, calibrated):
        assert model.score(X, labels) > alone - 0.15
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.parametrize("estimator", [*REGRESSORS, *CLASSIFIERS], ids=by_name)
def test_selection_and_importance(estimator):
    X, y = classes() if estimator in CLASSIFIERS else regression()
    fitted = estimator.fit(X, y)
    kept = SelectFromModel(fitted, prefit=True, threshold=1e-12).transform(X)
    assert kept.shape[1] == fitted.support_.size
    importance = permutation_importance(fitted, X, y, n_repeats=3, random_state=0).importances_mean
    others = np.setdiff1d(np.arange(P), fitted.support_)
    assert (importance[others] == 0.0).all() and importance.max() > 0.0


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing", "sequential"])
def test_backends_of_joblib_give_the_same_predictions(backend):
    X, y = regression()
    here = cross_val_predict(BestSubsetRegressor(K, n_jobs=1), X, y, cv=3)
    with joblib.parallel_config(backend=backend, n_jobs=1 if backend == "sequential" else 2):
        there = cross_val_predict(BestSubsetRegressor(K, n_jobs=1), X, y, cv=3)
    np.testing.assert_allclose(there, here, rtol=1e-9)


def lorenz(n_steps=4000, step=0.002, sigma=10.0, rho=28.0, beta=8.0 / 3.0):
    """States of the Lorenz system, and their exact derivatives."""

    def slope(s):
        return np.array([sigma * (s[1] - s[0]), s[0] * (rho - s[2]) - s[1], s[0] * s[1] - beta * s[2]])

    states = [np.array([-8.0, 8.0, 27.0])]
    for _ in range(n_steps):
        s = states[-1]
        a = slope(s)
        b = slope(s + 0.5 * step * a)
        states.append(s + step * slope(s + 0.5 * step * b))
    states = np.array(states)
    return states, np.array([slope(s) for s in states])


def test_several_responses_are_fitted_one_by_one():
    states, slopes = lorenz()
    slopes = slopes + 0.01 * np.random.default_rng(0).standard_normal(slopes.shape)
    one = BestSubsetRegressor(3, gamma=np.inf)
    with pytest.raises(ValueError, match="y has 3 columns, but this estimator fits one response"):
        one.fit(states, slopes)
    each = MultiOutputRegressor(one).fit(states, slopes)
    assert each.predict(states).shape == slopes.shape
    alone = one.fit(states, slopes[:, 1]).coef_
    assert np.array_equal(each.estimators_[1].coef_, alone)
    # The same in pysindy, which looks for three equations at once.
    wrapped = pysindy.WrappedOptimizer(BestSubsetRegressor(3, gamma=np.inf, fit_intercept=False), unbias=False)
    library = pysindy.PolynomialLibrary(degree=2, include_bias=False)
    model = pysindy.SINDy(optimizer=wrapped, feature_library=library).fit(states, t=0.01, x_dot=slopes)
    assert model.coefficients().shape == (3, 9) and model.complexity == 9
    assert model.score(states, t=0.01, x_dot=slopes) > 1.0 - 1e-6
    np.testing.assert_allclose(model.coefficients()[1, [0, 1, 5]], [28.0, -1.0, -1.0], rtol=1e-3)


def test_lorenz_equations_with_three_terms_and_no_ridge():
    """Equations from data, as pysindy looks for them: of ten terms up to degree 2 the right ones, with a proof."""
    states, slopes = lorenz()
    terms = PolynomialFeatures(2, include_bias=False).fit(states)
    names = terms.get_feature_names_out(["x", "y", "z"])
    rng = np.random.default_rng(0)
    wanted = [{"x": -10.0, "y": 10.0}, {"x": 28.0, "y": -1.0, "x z": -1.0}, {"z": -8.0 / 3.0, "x y": 1.0}]
    for slope, equation in zip(slopes.T, wanted, strict=True):
        noisy = slope + 0.01 * rng.standard_normal(slope.size)
        found = best_subset(terms.transform(states), noisy, 3, gamma=np.inf, feature_names=names)
        assert found.status.name == "OPTIMAL" and set(equation) <= set(found.names)
        for name, coef in zip(found.names, found.coef[found.support], strict=True):
            assert coef == pytest.approx(equation.get(name, 0.0), abs=5e-3)
