"""Estimators of data that are read on demand: the same models as of the matrix in memory, names, and predictions."""

import numpy as np
import pytest
from sklearn.base import clone

from core.designs.storages import NAMES
from samples import sample
from sparsest import (
    BestSubsetClassifier,
    BestSubsetRegressor,
    BestSubsetRegressorCV,
    PenalizedRegressor,
    PenalizedRegressorCV,
    interactions,
)
from sparsest.core.designs import as_design
from sparsest.runtime.sizes import resized


@pytest.fixture
def stored(tmp_path):
    """The path of a matrix that is read in blocks, the matrix, and a response."""
    X, y = sample("squared", 60, 7)
    np.save(tmp_path / "x.npy", X)
    with resized(large_matrix=1):
        yield tmp_path / "x.npy", X, y


@pytest.mark.parametrize(
    "model",
    [
        BestSubsetRegressor(k=2),
        PenalizedRegressor(alpha=0.1, tol=1e-10),
        BestSubsetRegressorCV(ks=[1, 2]),
        PenalizedRegressorCV(tol=1e-10),
    ],
)
@pytest.mark.parametrize("kind", [str, lambda path: np.load(path, mmap_mode="r"), as_design])
def test_regressors(stored, model, kind):
    path, X, y = stored
    found, known = clone(model).fit(kind(path), y), clone(model).fit(X, y)
    assert found.n_features_in_ == 7 and not hasattr(found, "feature_names_in_")
    np.testing.assert_allclose(found.coef_, known.coef_, atol=1e-6)
    np.testing.assert_allclose(found.predict(kind(path)), known.predict(X), atol=1e-5)
    assert found.score(kind(path), y) == pytest.approx(known.score(X, y), abs=1e-6)
    assert np.array_equal(found.transform(kind(path)), X[:, found.support_])


def test_classifiers(stored):
    path, X, _ = stored
    labels = np.where(X[:, 2] > 0.0, "yes", "no")
    labels[:5] = "no"
    found, known = (BestSubsetClassifier(k=2).fit(x, labels) for x in (path, X))
    assert np.array_equal(found.predict(path), known.predict(X))
    np.testing.assert_allclose(found.predict_proba(path), known.predict_proba(X), atol=1e-9)


def test_names_of_a_design(stored):
    _, X, y = stored
    design = interactions(X, feature_names=NAMES)
    model = BestSubsetRegressor(k=2).fit(design, y)
    assert model.feature_names_in_.tolist() == list(design.names)
    assert model.get_feature_names_out().tolist() == [design.names[j] for j in model.support_]
    again = model.fit(X, y)
    assert not hasattr(again, "feature_names_in_")


def test_bad_data(stored):
    path, X, y = stored
    model = BestSubsetRegressor(k=2).fit(path, y)
    with pytest.raises(ValueError, match="X has 6 features, but the model was fitted to 7"):
        model.predict(as_design(X[:, :6]))
    with pytest.raises(ValueError, match="X has 60 rows but y has 59"):
        BestSubsetRegressor(k=2).fit(path, y[1:])
    with pytest.raises(ValueError, match="need X in memory"):
        BestSubsetRegressorCV(ks=[1, 2], scoring="r2").fit(path, y)
    X[0, model.support_[0]] = np.nan
    np.save(path, X)
    with pytest.raises(ValueError, match="NaN or infinity in the columns of the model"):
        model.predict(path)
