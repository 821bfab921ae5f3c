"""Estimators with data that scikit-learn cannot read: on a cluster, in row chunks, and given as designs."""

import dask
import dask.array as da
import numpy as np
import pytest
from sklearn.base import clone

import sparsest
from sparsest.core.designs import as_design

N, P = 80, 6
MODELS = [
    sparsest.BestSubsetRegressor(k=2),
    sparsest.BestSubsetRegressorCV(ks=[1, 2], cv=3),
    sparsest.PenalizedRegressor(alpha=0.1),
    sparsest.BestSubsetClassifier(k=2),
    sparsest.PenalizedClassifierCV(alphas=5, cv=3),
]
STORES = {
    "dask": lambda X: da.from_array(X, chunks=(30, 4)),
    "row chunks": lambda X: np.array_split(X, 3),
    "design": as_design,
}


@pytest.fixture(autouse=True)
def local():
    with dask.config.set(scheduler="synchronous"):
        yield


def data(model):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, P))
    u = X[:, 1] - X[:, 4] + 0.4 * rng.standard_normal(N)
    return X, np.where(u > 0.0, "yes", "no") if hasattr(model, "predict_proba") or "Classifier" in repr(model) else u


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_as_in_memory(model, store):
    X, y = data(model)
    usual, found = clone(model).fit(X, y), clone(model).fit(STORES[store](X), y)
    np.testing.assert_allclose(found.coef_, usual.coef_, rtol=1e-4, atol=1e-5)
    assert found.n_features_in_ == P and np.array_equal(found.support_, usual.support_)
    score = found.decision_function if hasattr(found, "decision_function") else found.predict
    np.testing.assert_allclose(score(STORES[store](X)), score(X), rtol=1e-10, atol=1e-10)
    assert found.score(STORES[store](X), y) == pytest.approx(found.score(X, y), rel=1e-9)


def test_what_does_not_fit():
    X, y = data(MODELS[0])
    array = STORES["dask"](X)
    model = clone(MODELS[0]).fit(array, y)
    with pytest.raises(ValueError, match="X has 5 features, but the model was fitted to 6"):
        model.predict(array[:, :5])
    with pytest.raises(ValueError, match="80 rows but y has 79"):
        clone(model).fit(array, y[1:])


def test_names_of_an_earlier_fit_are_forgotten():
    import pandas as pd

    X, y = data(MODELS[0])
    model = clone(MODELS[0]).fit(pd.DataFrame(X, columns=list("abcdef")), y)
    assert hasattr(model, "feature_names_in_")
    assert not hasattr(model.fit(STORES["row chunks"](X), y), "feature_names_in_")
