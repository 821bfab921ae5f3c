"""Results: predictions, sentences, tables, and that they do not hold the data."""

import pickle
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from checks import best_subset
from samples import sample
from sparsest import BestSubsetClassifier, BestSubsetRegressor, Result
from sparsest.subset.api import METHODS

P = 6
NAMES = [f"<x{j}>" for j in range(P)]


def fitted(loss="squared", names=True, **settings):
    X, y = sample(loss, 40, P)
    frame = pd.DataFrame(X, columns=NAMES) if names else X
    return best_subset(frame, y, 2, loss=loss, gamma=0.3, **settings), frame, y


@pytest.mark.parametrize("method", METHODS)
def test_a_result_does_not_hold_the_data(method):
    """Neither the data nor anything of their size, for every kind of fit; the certificate is counted separately."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 5000))
    y = 3.0 * X[:, :3].sum(axis=1) + rng.standard_normal(500)
    result = best_subset(
        X, y, 3, gamma=10 / 500, method=method, options={"max_iterations": 5} if method == "subgradient" else None
    )
    size = len(pickle.dumps(result)) - len(pickle.dumps(result.certificate))
    assert size < 0.02 * X.nbytes
    assert not any(isinstance(value, np.ndarray) and value.size > 10_000 for value in arrays_of(result))


def arrays_of(thing, depth=6):
    """All values that can be reached from an object."""
    yield thing
    if depth and not isinstance(thing, (str, bytes, int, float)):
        inner = thing.values() if isinstance(thing, dict) else thing if isinstance(thing, (list, tuple)) else ()
        inner = [*inner, *vars(thing).values()] if hasattr(thing, "__dict__") else inner
        for value in inner:
            yield from arrays_of(value, depth - 1)


@pytest.mark.parametrize("make", [BestSubsetRegressor, BestSubsetClassifier])
def test_a_pickled_estimator_is_small_and_the_same(make):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((400, 6000))
    y = 3.0 * X[:, :3].sum(axis=1) + rng.standard_normal(400)
    y = y if make is BestSubsetRegressor else np.where(y > 0, "yes", "no")
    model = make(3, method="local").fit(X, y)
    text = pickle.dumps(model)
    assert len(text) < 1e6 + len(pickle.dumps(model.result_.certificate))
    again = pickle.loads(text)
    assert np.array_equal(again.predict(X), model.predict(X))
    assert again.result_.certificate.verify(X, y) if make is BestSubsetRegressor else again.result_.classes[1] == "yes"


def test_predictions():
    result, X, _ = fitted()
    wanted = X.to_numpy() @ result.coef + result.intercept
    for form in (X, X.to_numpy(), sp.csr_array(X.to_numpy()), pl.DataFrame(X.to_numpy(), schema=NAMES)):
        np.testing.assert_allclose(result.predict(form), wanted)
    with pytest.raises(ValueError, match="X has 5 columns, but the model is for 6"):
        result.predict(X.to_numpy()[:, 1:])
    with pytest.raises(ValueError, match="other names, or another order"):
        result.predict(X[NAMES[::-1]])
    with pytest.raises(ValueError, match="NaN or infinity in the columns of the model"):
        result.predict(np.full((2, P), np.nan))
    with pytest.raises(ValueError, match="probabilities need loss='logistic', this model has loss='squared'"):
        result.predict_proba(X)


@pytest.mark.parametrize("labels", [("no", "yes"), (0, 1), (False, True), (-1.0, 3.0)], ids=str)
def test_predictions_of_labels(labels):
    X, y = sample("logistic", 40, P)
    named = np.where(y > 0, labels[1], labels[0])
    result = best_subset(X, named, 2, loss="logistic", gamma=0.3)
    model = BestSubsetClassifier(2, gamma=0.3, standardize=False).fit(X, named)
    assert result.classes.tolist() == model.result_.classes.tolist() == list(labels)
    for one in (result, model.result_):
        assert np.array_equal(one.predict(X), model.predict(X))
        np.testing.assert_allclose(one.predict_proba(X), model.predict_proba(X), rtol=1e-4)


def test_names_come_from_frames_or_are_given():
    result, X, y = fitted()
    assert result.feature_names == tuple(NAMES) and result.names == [NAMES[j] for j in result.support]
    given = best_subset(X.to_numpy(), y, 2, gamma=0.3, feature_names=np.array(NAMES))
    assert given.names == result.names
    assert best_subset(pd.DataFrame(X.to_numpy()), y, 2, gamma=0.3).feature_names is None
    assert fitted(names=False)[0].names == [str(j) for j in result.support]
    assert BestSubsetRegressor(2, standardize=False, gamma=0.3).fit(X, y).result_.names == result.names


def test_columns_by_name():
    X, y = sample("squared", 40, P)
    frame = pd.DataFrame(X, columns=NAMES)
    by_number = best_subset(X, y, 3, gamma=0.3, include=[5], exclude=[0, 1])
    by_name = best_subset(frame, y, 3, gamma=0.3, include=[NAMES[5]], exclude=(NAMES[0], 1), start=[NAMES[3]])
    model = BestSubsetRegressor(3, gamma=0.3, standardize=False, include=[NAMES[5]], exclude=NAMES[:2]).fit(frame, y)
    assert by_name.support.tolist() == by_number.support.tolist() == model.support_.tolist()
    with pytest.raises(ValueError, match="include names the column 'age', which X does not have"):
        best_subset(frame, y, 3, include=["age"])
    with pytest.raises(ValueError, match="exclude names the column 'a', which X has 6 times"):
        best_subset(X, y, 3, exclude=["a"], feature_names=["a"] * P)


def unwrapped(result):
    return " ".join(result.summary().splitlines())


def test_words():
    result, *_ = fitted()
    text, table = result.summary(), result._repr_html_()
    assert "40 × 6 data" in text and "(intercept)" in text and "OPTIMAL: proved optimal" in text
    assert all(name in text for name in result.names)
    assert max(map(len, text.splitlines())) <= 80 and max(map(len, result.summary(width=60).splitlines())) <= 60
    assert "&lt;x" in table and "<x" not in table and "No other choice of up to 2 features can fit better" in table


def test_forced_features_are_named_in_words():
    X, y = sample("squared", 40, P)
    names = ["age", "dose", "sex", "bmi", "bp", "<x"]
    result = best_subset(X, y, 2, include=["dose"], exclude=["<x"], feature_names=names)
    assert "at most 2 features, with [dose], without [<x]: squared loss" in unwrapped(result)
    assert "without [&lt;x]" in result._repr_html_()
    numbered = best_subset(X, y, 2, include=[1], exclude=[5])
    assert "with [1], without [5]: squared loss" in unwrapped(numbered)


def test_frame(monkeypatch):
    result, *_ = fitted()
    frame = result.to_frame()
    assert frame.index.tolist() == result.names and frame["column"].tolist() == result.support.tolist()
    assert frame["coefficient"].tolist() == result.coef[result.support].tolist()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="a data frame needs pandas"):
        result.to_frame()


def test_rows_are_sorted_by_effects_per_standard_deviation(tmp_path):
    """The units of a column do not decide how far up it is."""
    X, y = sample("squared", 40, P)
    units = np.logspace(-3, 3, P)
    plain = best_subset(X, y, 3, gamma=0.3, standardize=True)
    scaled = best_subset(X * units, y, 3, gamma=0.3, standardize=True)
    assert [row[0] for row in plain.rows()] == [row[0] for row in scaled.rows()]
    effects = [float(row[2]) for row in scaled.rows()[:-1]]
    assert np.abs(effects).tolist() == sorted(np.abs(effects), reverse=True)
    np.testing.assert_allclose(scaled.deviations, (X * units)[:, scaled.support].std(axis=0))
    assert "per standard deviation" in scaled.summary() and "per standard deviation" in scaled._repr_html_()
    scaled.save(tmp_path / "model.json")
    assert Result.load(tmp_path / "model.json").rows() == scaled.rows()
    unknown = replace(scaled, deviations=None).rows()
    coefs = [abs(float(row[1])) for row in unknown[:-1]]
    assert coefs == sorted(coefs, reverse=True) and {row[2] for row in unknown} == {""}
