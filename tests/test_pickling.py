"""Results, problems and estimators survive a pickle, with all that they can do."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import skops.io

from samples import LOSS_NAMES, sample
from sparsest import (
    BestSubsetClassifier,
    BestSubsetClassifierCV,
    BestSubsetRegressor,
    BestSubsetRegressorCV,
    PenalizedClassifier,
    PenalizedRegressor,
    PenalizedRegressorCV,
    StabilitySelection,
    best_subset,
    best_subset_path,
)
from sparsest.core.problem import make_problem
from sparsest.subset.fits.support import fit_support


def copied(thing):
    return pickle.loads(pickle.dumps(thing))


@pytest.mark.parametrize("method", ["tree", "cuts", "relaxation", "subgradient", "local"])
@pytest.mark.parametrize("loss", ["squared", "hinge"])
def test_results(loss, method):
    X, y = sample(loss, 30, 8, 1)
    result = best_subset(X, y, 3, loss=loss, gamma=0.2, method=method)
    again = copied(result)
    for name in ("coef", "intercept", "support", "objective", "lower_bound", "status", "gap", "n_nodes", "seconds"):
        np.testing.assert_array_equal(getattr(again, name), getattr(result, name), err_msg=name)
    assert again.to_dict() == result.to_dict()
    assert again.certificate.verify(X, y)
    assert not again.certificate.verify(X, y[::-1])
    # It serves as a start as well.
    warm = best_subset(X, y, 3, loss=loss, gamma=0.2, method=method, start=again)
    assert warm.objective == pytest.approx(result.objective, rel=1e-3)


def test_a_path_of_results():
    X, y = sample("squared", 30, 8, 1)
    path = best_subset_path(X, y, [1, 3], gamma=0.2)
    for again, result in zip(copied(list(path)), path, strict=True):
        assert again.to_dict() == result.to_dict()


@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("stored", [np.asarray, np.asfortranarray, sp.csc_array])
def test_problems(loss, stored):
    X, y = sample(loss, 20, 6)
    weights = np.linspace(0.5, 2.0, 20)
    problem = make_problem(
        stored(X), y, 3, loss=loss, gamma=0.4, sample_weight=weights, include=[2], exclude=[5], standardize=True
    )
    again = copied(problem)
    support = np.array([0, 2])
    assert fit_support(again, support).primal == fit_support(problem, support).primal
    assert again.include.tolist() == [2] and again.exclude.tolist() == [5]
    assert type(again.loss) is type(problem.loss) and again.gamma == problem.gamma
    np.testing.assert_array_equal(again.column_norms, problem.column_norms)
    np.testing.assert_array_equal(again.design.columns(np.arange(6)), problem.design.columns(np.arange(6)))


@pytest.mark.parametrize(
    "estimator",
    [
        BestSubsetRegressor(k=3, gamma=0.2),
        BestSubsetClassifier(k=3, gamma=0.2),
        PenalizedRegressor(),
        PenalizedClassifier(),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_estimators(estimator):
    classifies = hasattr(type(estimator), "predict_proba") or "Classifier" in type(estimator).__name__
    X, y = sample("logistic" if classifies else "squared", 40, 6, 2)
    assert copied(estimator).get_params() == estimator.get_params()
    estimator.fit(X, y)
    again = copied(estimator)
    np.testing.assert_array_equal(again.coef_, estimator.coef_)
    np.testing.assert_array_equal(again.predict(X), estimator.predict(X))
    assert again.score(X, y) == estimator.score(X, y)


@pytest.mark.parametrize(
    "estimator",
    [
        BestSubsetRegressor(2),
        BestSubsetClassifier(2),
        BestSubsetRegressorCV((1, 2), gammas=(0.1,)),
        BestSubsetClassifierCV((1, 2), gammas=(0.1,)),
        PenalizedRegressor(alpha=0.1),
        PenalizedClassifier(alpha=0.1),
        PenalizedRegressorCV(alphas=5),
        StabilitySelection(n_pairs=2),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_skops(estimator):
    """Its files name the types that a reader has to trust: all of them are ours or SciPy's."""
    X, y = sample("squared", 40, 5)
    y = y > 0 if "Classifier" in type(estimator).__name__ else y
    written = skops.io.dumps(estimator.fit(X, y))
    types = skops.io.get_untrusted_types(data=written)
    assert all(name.startswith(("sparsest.", "scipy.sparse.")) for name in types)
    again = skops.io.loads(written, trusted=types)
    np.testing.assert_array_equal(again.get_support(), estimator.get_support())
    if hasattr(estimator, "predict"):
        np.testing.assert_array_equal(again.predict(X), estimator.predict(X))
    if hasattr(estimator, "status_"):
        assert again.status_ is estimator.status_ and again.result_.certificate.verify(X, y)
