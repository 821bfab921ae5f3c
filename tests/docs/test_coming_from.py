"""The factors between our parameters and those of other packages: both give the same numbers."""

import numpy as np
import pytest
import sklearn
import statsmodels.api as sm
from sklearn.datasets import load_diabetes
from sklearn.linear_model import ElasticNet, GammaRegressor, Lasso, LogisticRegression, PoissonRegressor, Ridge
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.fixes import parse_version

import sparsest

X, Y = load_diabetes(return_X_y=True)
N, P = X.shape
ILL = np.where(Y > 140, 1, -1)
COUNTS = np.round(Y / 20)
# All features, so that the ridge alone is compared.
EVERYTHING = {"k": P, "standardize": False}


def same(ours, theirs, rtol=1e-4):
    np.testing.assert_allclose(np.ravel(ours), np.ravel(theirs), rtol=rtol, atol=rtol * np.abs(theirs).max())


def test_ridge():
    ours = sparsest.best_subset(X, Y, gamma=1 / 0.5, **EVERYTHING)
    same(ours.coef, Ridge(alpha=0.5).fit(X, Y).coef_)


@pytest.mark.parametrize("l1_ratio", [1.0, 0.5])
def test_lasso_and_elastic_net(l1_ratio):
    theirs = ElasticNet(alpha=0.1, l1_ratio=l1_ratio, tol=1e-12, max_iter=100000).fit(X, Y).coef_
    path = sparsest.penalty_path(X, Y, "elastic_net", alphas=[0.1], l1_ratio=l1_ratio, standardize=False, tol=1e-10)
    same(path.coefs.toarray(), theirs)


def test_lasso_by_estimator():
    ours = sparsest.PenalizedRegressor("l1", alpha=0.5, standardize=False, tol=1e-10).fit(X, Y)
    same(ours.coef_, Lasso(alpha=0.5, tol=1e-12, max_iter=100000).fit(X, Y).coef_)


def test_logistic_ridge():
    ours = sparsest.best_subset(X, ILL, loss="logistic", gamma=3.0, **EVERYTHING)
    same(ours.coef, LogisticRegression(C=3.0, tol=1e-10, max_iter=10000).fit(X, ILL).coef_)


def test_logistic_lasso():
    # Its name changed in scikit-learn 1.8.
    penalty = {"l1_ratio": 1.0} if parse_version(sklearn.__version__) >= parse_version("1.8") else {"penalty": "l1"}
    theirs = LogisticRegression(C=0.5, **penalty, solver="saga", tol=1e-9, max_iter=100000).fit(X, ILL).coef_
    path = sparsest.penalty_path(X, ILL, loss="logistic", alphas=[1 / (N * 0.5)], standardize=False, tol=1e-10)
    same(path.coefs.toarray(), theirs, 1e-3)


def test_hinge():
    ours = sparsest.best_subset(X, ILL, loss="hinge", gamma=2.0, **EVERYTHING)
    same(ours.coef, SVC(kernel="linear", C=2.0, tol=1e-8).fit(X, ILL).coef_, 1e-3)


def test_squared_hinge_without_an_intercept():
    theirs = LinearSVC(C=1.5, fit_intercept=False, tol=1e-10, max_iter=100000).fit(X, ILL).coef_
    same(sparsest.best_subset(X, ILL, loss="squared_hinge", gamma=3.0, fit_intercept=False, **EVERYTHING).coef, theirs)


@pytest.mark.parametrize(("loss", "theirs"), [("poisson", PoissonRegressor), ("gamma", GammaRegressor)])
def test_logarithmic_links(loss, theirs):
    y = COUNTS + 1.0
    ours = sparsest.best_subset(X, y, loss=loss, gamma=1 / (N * 0.01), **EVERYTHING)
    same(ours.coef, theirs(alpha=0.01, tol=1e-10, max_iter=100000).fit(X, y).coef_)


def test_ordinary_least_squares_and_its_errors():
    result = sparsest.best_subset(X, Y, k=4, gamma=np.inf)
    theirs = sm.OLS(Y, sm.add_constant(X[:, result.support])).fit()
    ours = result.inference(X, Y)
    same(ours.coef[:-1], theirs.params[1:])
    same(ours.standard_error[:-1], theirs.bse[1:])
    same(ours.p_value[:-1], theirs.pvalues[1:], 1e-3)
    ours = sparsest.information_criterion(result, X, Y, "bic")
    assert ours - np.log(N) == pytest.approx(theirs.bic)


def test_counts_with_exposure():
    exposure = 1.0 + np.arange(N) % 3
    result = sparsest.best_subset(X, COUNTS, k=3, loss="poisson", exposure=exposure)
    design = sm.add_constant(X[:, result.support])
    theirs = sm.GLM(COUNTS, design, family=sm.families.Poisson(), exposure=exposure).fit(tol=1e-12)
    ours = result.inference(X, COUNTS, exposure=exposure)
    same(ours.coef, np.roll(theirs.params, -1))
    same(ours.standard_error, np.roll(theirs.bse, -1))


def test_elastic_net_of_statsmodels():
    centred = Y - Y.mean()
    theirs = sm.OLS(centred, X).fit_regularized(alpha=0.05, L1_wt=0.5, cnvrg_tol=1e-12, maxiter=5000).params
    path = sparsest.penalty_path(
        X, centred, "elastic_net", alphas=[0.05], l1_ratio=0.5, standardize=False, fit_intercept=False, tol=1e-10
    )
    same(path.coefs.toarray(), theirs)


def test_quantile_regression():
    theirs = sm.QuantReg(Y, sm.add_constant(X[:, [2, 8]])).fit(q=0.9, p_tol=1e-10, max_iter=5000)
    ours = sparsest.best_subset(X[:, [2, 8]], Y, k=2, loss="quantile", quantile=0.9, gamma=1e8, standardize=False)
    predicted = sm.add_constant(X[:, [2, 8]]) @ theirs.params

    def loss(values):
        return np.sum(np.maximum(0.9 * (Y - values), -0.1 * (Y - values)))

    assert loss(ours.predict(X[:, [2, 8]])) == pytest.approx(loss(predicted), rel=1e-4)
