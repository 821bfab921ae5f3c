"""What can be done with a path: models between alphas, predictions, names, frames, and what is said of it."""

import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from sparsest import Stop, penalty_path

RNG = np.random.default_rng(0)
X = RNG.standard_normal((50, 8)) + 1.0
Y = X[:, :3] @ [2.0, -1.0, 0.5] + RNG.standard_normal(50)
LABELS = np.where(Y + 2.0 * RNG.standard_normal(50) > np.median(Y), "yes", "no")
NAMES = [f"x{j}" for j in range(8)]


@pytest.fixture(scope="module")
def path():
    return penalty_path(X, Y, alphas=[0.8, 0.4, 0.1], tol=1e-10)


def test_at_an_alpha_of_the_path(path):
    for i, alpha in enumerate(path.alphas):
        coef, intercept = path.at(alpha)
        assert np.array_equal(coef, path.coefs.toarray()[:, i]) and intercept == path.intercepts[i]


def test_between_two_alphas(path):
    model = path.at(0.2)
    coefs = path.coefs.toarray()
    np.testing.assert_allclose(model.coef, coefs[:, 1] / 3.0 + 2.0 * coefs[:, 2] / 3.0)
    assert model.intercept == pytest.approx(path.intercepts[1] / 3.0 + 2.0 * path.intercepts[2] / 3.0)


def test_the_lasso_is_linear_between_alphas_of_equal_support():
    fine = penalty_path(X, Y, alphas=[0.1, 0.09, 0.08], tol=1e-12)
    assert np.ptp(fine.n_nonzero) == 0
    ends = penalty_path(X, Y, alphas=[0.1, 0.08], tol=1e-12)
    np.testing.assert_allclose(ends.at(0.09).coef, fine.at(0.09).coef, atol=1e-6)


@pytest.mark.parametrize("alpha", [0.81, 0.09, 0.0, -1.0, np.nan, np.inf, "0.2", None, [0.2]])
def test_outside_the_range(path, alpha):
    with pytest.raises(ValueError, match=r"alpha must be a number >= 0.1 and <= 0.8"):
        path.at(alpha)


def test_alphas_that_were_not_solved_have_no_model():
    path = penalty_path(X, Y, alphas=[0.8, 0.1, 0.01], max_features=2)
    assert path.solved.tolist() == [True, False, False] and path.stopped is Stop.MAX_FEATURES
    with pytest.raises(ValueError, match=r"alpha must be a number >= 0.8 and <= 0.8"):
        path.at(0.1)
    assert np.array_equal(path.predict(X)[:, 0], path.predict(X)[:, 2])
    none = penalty_path(X, Y, alphas=[0.1], max_features=1)
    assert not none.solved.any() and none.n_nonzero.tolist() == [0] and none.intercepts[0] == pytest.approx(Y.mean())
    with pytest.raises(ValueError, match="no alpha of this path was solved"):
        none.at(0.1)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array, pd.DataFrame, lambda X: X.astype(np.float32)])
def test_predictions(path, storage):
    expected = X @ path.coefs.toarray() + path.intercepts
    np.testing.assert_allclose(path.predict(storage(X)), expected, atol=1e-5)
    np.testing.assert_allclose(path.predict(storage(X[:3]), 0.4), expected[:3, 1], atol=1e-5)


def test_labels():
    path = penalty_path(X, LABELS, loss="logistic", alphas=5)
    assert path.classes.tolist() == ["no", "yes"]
    values = path.decision_function(X)
    assert values.shape == (50, 5)
    assert np.array_equal(path.predict(X), np.where(values > 0.0, "yes", "no"))
    assert np.array_equal(path.predict(X, path.alphas[-1]), path.predict(X)[:, -1])
    assert np.mean(path.predict(X)[:, -1] == LABELS) > 0.6


@pytest.mark.parametrize(
    ("bad", "message"),
    [(X[:, :5], "X has 5 columns"), (X[0], "two dimensions"), (np.full((2, 8), np.nan), "NaN"), ("text", "X")],
)
def test_bad_rows(path, bad, message):
    with pytest.raises(ValueError, match=message):
        path.predict(bad)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_names_are_kept(frame):
    data = frame(dict(zip(NAMES, X.T, strict=True)))
    path = penalty_path(data, Y, alphas=4)
    assert path.feature_names == NAMES
    np.testing.assert_array_equal(path.predict(data), path.predict(X))
    with pytest.raises(ValueError, match="other names"):
        path.predict(frame(dict(zip(NAMES[::-1], X.T, strict=True))))
    table = path.to_frame()
    assert table.index.name == "alpha" and table.columns[0] == "(intercept)"
    assert set(table.columns[1:]) <= set(NAMES)
    np.testing.assert_array_equal(table["x0"], path.coefs.toarray()[0])


def test_frames_without_names(path, monkeypatch):
    table = path.to_frame()
    assert table.shape == (3, 1 + len(np.unique(path.coefs.indices)))
    np.testing.assert_array_equal(table["(intercept)"], path.intercepts)
    np.testing.assert_array_equal(table[0], path.coefs.toarray()[0])
    assert penalty_path(pd.DataFrame(X), Y, alphas=2).feature_names is None
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        path.to_frame()


def test_repr(path):
    assert repr(path).startswith("PathResult(COMPLETE, 3 alphas from 0.8 to 0.1, up to ")
    short = repr(penalty_path(X, Y, max_features=2))
    assert "MAX_FEATURES" in short and "not solved" in short and len(short) < 160
