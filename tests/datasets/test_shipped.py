"""Tables that come with scikit-learn: as published, and as scikit-learn loads them."""

import numpy as np
import pytest

from datasets.helpers import rms
from sparsest.datasets import load_breast_cancer, load_diabetes_quadratic, load_folder
from sparsest.runtime.faults import injected


def test_diabetes_columns():
    data = load_diabetes_quadratic()
    names = list(data.feature_names)
    assert data.X.shape == (442, 64) and data.X.flags.f_contiguous
    assert len(set(names)) == 64
    assert {"bmi", "bmi^2", "bmi:bp"} <= set(names) and "sex^2" not in names
    assert sum(":" in name for name in names) == 45 and sum("^" in name for name in names) == 9
    np.testing.assert_allclose(data.X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(rms(data.X), 1, rtol=1e-12)
    assert data.y.mean() == pytest.approx(152.133, abs=1e-3)
    product = data.X[:, names.index("bmi")] * data.X[:, names.index("bp")]
    assert np.corrcoef(product, data.X[:, names.index("bmi:bp")])[0, 1] == pytest.approx(1)


@pytest.mark.shared_data
def test_diabetes_agrees_with_the_published_columns(shared_data):
    ours, published = load_diabetes_quadratic(), load_folder(shared_data / "diabetes64")
    aliases = {"bp": "map", "s1": "tc", "s2": "ldl", "s3": "hdl", "s4": "tch", "s5": "ltg", "s6": "glu"}
    names = [name.replace("^", ":^") for name in ours.feature_names]
    renamed = [":".join(aliases.get(part, part) for part in name.split(":")).replace(":^", "^") for name in names]
    assert renamed == list(published.feature_names)
    # Two of the published main effects were rounded before they were scaled.
    np.testing.assert_allclose(ours.X, published.X / rms(published.X), atol=2e-3)
    np.testing.assert_array_equal(ours.y, published.y)


def test_breast_cancer():
    data = load_breast_cancer()
    assert data.X.shape == (569, 30) and data.X.dtype == np.float64 and data.X.flags.f_contiguous
    assert data.feature_names.shape == (30,)
    assert list(data.target_names) == ["malignant", "benign"]
    np.testing.assert_array_equal(np.bincount(data.y), [212, 357])
    assert data.coef is None and data.support is None


@pytest.mark.parametrize("load", [load_diabetes_quadratic, load_breast_cancer])
def test_the_tables_are_those_of_the_loaders_of_scikit_learn(load):
    data, missing = load(), []
    with injected("shipped table", lambda file: missing.append(file) or True):
        again = load()
    assert missing
    np.testing.assert_allclose(data.X, again.X, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(data.y, again.y)


def test_names_are_those_of_scikit_learn():
    from sklearn import datasets as peer

    assert list(load_diabetes_quadratic().feature_names[:10]) == list(peer.load_diabetes().feature_names)
    assert list(load_breast_cancer().feature_names) == list(peer.load_breast_cancer().feature_names)
    assert list(load_breast_cancer().target_names) == list(peer.load_breast_cancer().target_names)
