"""Estimators with groups of columns and rules about which features go together."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from sparsest import (
    BestSubsetClassifier,
    BestSubsetRegressor,
    BestSubsetRegressorCV,
    Structure,
    best_subset,
)

LABELS = ["a", "a", "b", "b", "c", "d"]


@pytest.fixture
def grouped():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 6))
    return X, X[:, 0] + X[:, 1] - X[:, 4] + 0.5 * rng.standard_normal(100)


def encoded_as(name):
    """The column of a table that a feature of the transformer comes from."""
    return name.partition("__")[2].partition("_")[0]


def test_groups_and_rules_are_those_of_best_subset(grouped):
    X, y = grouped
    rules = Structure(limits=[(["a", "c"], 1)])
    model = BestSubsetRegressor(2, feature_groups=LABELS, structure=rules).fit(X, y)
    wanted = best_subset(X, y, 2, feature_groups=LABELS, structure=rules)
    assert model.support_.tolist() == wanted.support.tolist() and model.objective_ == wanted.objective
    assert model.result_.terms == wanted.terms and "a" in wanted.terms
    assert model.result_.certificate.verify(X, y, k=2)
    again = clone(model)
    assert again.feature_groups is LABELS or again.feature_groups == LABELS
    assert again.fit(X, y).support_.tolist() == wanted.support.tolist()


def test_classes_with_required_features(grouped):
    X, y = grouped
    rules = Structure(requires=[(0, [3])])
    model = BestSubsetClassifier(2, structure=rules).fit(X, y > 0)
    assert 0 not in model.support_ or 3 in model.support_
    assert model.result_.certificate.verify(X, y > 0)


def test_cross_validation_chooses_a_number_of_groups(grouped):
    X, y = grouped
    model = BestSubsetRegressorCV(feature_groups=LABELS, cv=4).fit(X, y)
    assert model.cv_results_["param_k"].max() == 4 and set(model.result_.terms) >= {"a", "c"}
    assert model.k_ == len(model.result_.terms)
    at_least = BestSubsetRegressorCV(feature_groups=LABELS, structure=Structure(limits=[(["b", "d"], 1, 2)]), cv=4)
    assert at_least.fit(X, y).cv_results_["param_k"].min() == 1
    assert {"b", "d"} & set(at_least.result_.terms)


def test_groups_of_a_column_transformer():
    """Levels of a table's columns of text are one term, known by the names that the encoder gives them."""
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"diet": rng.choice(["fish", "meat", "none"], 150), "age": rng.standard_normal(150)})
    table["weight"] = rng.standard_normal(150)
    y = table["diet"].map({"fish": 0.0, "meat": 3.0, "none": -3.0}) + 0.1 * table["age"]
    encoder = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["diet"]), ("passthrough", ["age", "weight"])
    ).set_output(transform="pandas")
    model = make_pipeline(encoder, BestSubsetRegressor(1, feature_groups=encoded_as)).fit(table, y)
    assert model[-1].result_.terms == ["diet"] and model[-1].support_.size == 3


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (encoded_as, "needs the names of columns"),
        ({"a": "b"}, "needs the names of columns"),
        (LABELS[:3], "must have 6 labels"),
        ([1.5] * 6, "must be texts or whole numbers"),
    ],
)
def test_groups_that_are_wrong(grouped, groups, message):
    X, y = grouped
    with pytest.raises(ValueError, match=message):
        BestSubsetRegressor(1, feature_groups=groups).fit(X, y)
    with pytest.raises(ValueError, match="which X does not have"):
        BestSubsetRegressor(1, feature_groups={"z": "b"}).fit(pd.DataFrame(X, columns=list("uvwxyt")), y)
