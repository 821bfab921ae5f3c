"""Data: checked with complaints that say what to do, prepared in one pass, and the same for any rows."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from samples import DIFFERENCES, LOSS_NAMES, sample
from sparsest.core.data import encode_labels, make_data
from sparsest.core.designs import Dense, as_design

X9, Y9 = sample("squared", 9, 3)


def test_intercept_for_without_an_intercept():
    X, y = sample("squared", 9, 2)
    assert make_data(X, y, fit_intercept=False).intercept_for(np.zeros(9)) == 0.0
    assert make_data(X, y).intercept_for(np.ones(9)) == pytest.approx(y.mean() - 1.0)


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_original_coefficients_give_the_same_predictions(standardize, fit_intercept):
    X, y = sample("squared", 12, 4)
    data = make_data(X, y, fit_intercept=fit_intercept, standardize=standardize)
    w, b = np.array([1.0, 0.0, -2.0, 3.0]), 0.7 if fit_intercept else 0.0
    coef, intercept = data.original(w, b)
    np.testing.assert_allclose(X @ coef + intercept, data.design.dot(w) + b, rtol=1e-12, atol=1e-12)


def test_zero_weights_drop_their_rows():
    X, y = sample("logistic", 12, 3)
    weights = np.ones(12)
    weights[[0, 5]] = 0.0
    data = make_data(X, y, loss="logistic", sample_weight=weights)
    assert data.n == 10 and np.array_equal(data.y, np.delete(y, [0, 5]))


@pytest.mark.parametrize("make", [np.asarray, np.asfortranarray, sp.csr_array, pd.DataFrame, as_design])
def test_zero_weights_drop_the_rows_of_any_matrix(make):
    X, y = sample("squared", 12, 4, seed=0)
    weights = np.where(np.arange(12) % 5 == 0, 0.0, 1.0)
    data = make_data(make(X), y, sample_weight=weights, fit_intercept=False)
    assert data.n == 9
    np.testing.assert_array_equal(data.design.columns(np.arange(4)), X[weights > 0])


def test_preparing_passes_over_the_data_once():
    surveys = []

    class Counting(Dense):
        def survey(self, *args):
            surveys.append(self.shape)
            return super().survey(*args)

    X, y = sample("squared", 12, 4, seed=0)
    make_data(Counting(X), y, standardize=True)
    assert surveys == [(12, 4)]


def test_scalar_weight():
    assert np.array_equal(make_data(*sample("squared", 5, 2), sample_weight=2.0).weights, np.full(5, 2.0))


@pytest.mark.parametrize("y", [["no", "yes", "no"], [False, True, False], [3, 7, 3], pd.Series(["a", "b", "a"])])
def test_labels_are_encoded_in_sorted_order(y):
    codes, classes = encode_labels(y)
    assert codes.tolist() == [-1.0, 1.0, -1.0] and classes.size == 2
    assert np.array_equal(classes[(codes > 0).astype(int)], np.asarray(y))


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("factor", [1e160, 1e-170])
@pytest.mark.parametrize("make", [np.asarray, sp.csc_array])
def test_squares_out_of_range(make, factor, standardize, fit_intercept):
    """A ValueError says what to rescale; a column or a response of zeros is fine."""
    settings = {"fit_intercept": fit_intercept, "standardize": standardize}
    word = "large" if factor > 1 else "small"
    X = X9.copy()
    X[:, 1] *= factor
    with pytest.raises(ValueError, match=f"column 1 of X .*, too {word} .*rescale column 1 of X"):
        make_data(make(X), Y9, **settings)
    with pytest.raises(ValueError, match=f"squares of y .*, too {word} .*rescale y"):
        make_data(make(X9), factor * Y9, **settings)
    X[:, 1] = 0.0
    assert make_data(make(X), 0.0 * Y9, **settings).column_norms[1] == 0.0


def test_labels_are_never_out_of_range():
    assert make_data(X9, 1e200 * np.sign(Y9), loss="logistic").y_offset == 0.0


@pytest.mark.parametrize("factor", [1e-100, 1e100])
def test_units_of_standardised_columns_may_be_extreme(factor):
    usual, extreme = (make_data(X, Y9, standardize=True) for X in (X9, factor * X9))
    every = np.arange(3)
    np.testing.assert_allclose(extreme.design.columns(every), usual.design.columns(every), rtol=1e-12)
    with pytest.raises(ValueError, match=r"column 0 of X .*: rescale"):
        make_data(factor * X9, Y9)


@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_offset_of_the_response(loss, fit_intercept):
    """An intercept takes a large mean of y beforehand, and gives it back."""
    X, y = sample(loss, 12, 3)
    regression = loss in DIFFERENCES
    far = 1e12 + np.round(1024.0 * y) / 1024.0 if regression else y
    data = make_data(X, far, loss=loss, fit_intercept=fit_intercept)
    taken = regression and fit_intercept
    assert abs(data.y_offset - (1e12 if taken else 0.0)) < 10.0
    assert np.array_equal(data.y, far - data.y_offset)
    assert data.original(np.zeros(3), 0.5)[1] == 0.5 + data.y_offset
    assert make_data(X, y, loss=loss, fit_intercept=fit_intercept).y_offset == 0.0


BAD = [
    ({"sample_weight": np.ones(8)}, "sample_weight must have 9 entries"),
    ({"sample_weight": -np.ones(9)}, "sample_weight must be finite and not negative"),
    ({"sample_weight": np.full(9, np.nan)}, "sample_weight must be finite and not negative"),
    ({"sample_weight": np.zeros(9)}, "sample_weight is zero everywhere"),
    ({"sample_weight": ["a"] * 9}, "sample_weight must hold real numbers"),
    ({"loss": "cubic"}, "unknown loss 'cubic'"),
    ({"loss": "epsilon_insensitive", "epsilon": -1.0}, "epsilon must be a finite number >= 0"),
]


@pytest.mark.parametrize(("settings", "message"), BAD, ids=str)
def test_bad_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        make_data(X9, Y9, **settings)


@pytest.mark.parametrize(
    ("y", "loss", "message"),
    [
        (Y9[:8], "squared", "X has 9 rows but y has 8 entries"),
        (np.column_stack([Y9, Y9]), "squared", r"y must be one-dimensional, got shape \(9, 2\)"),
        (np.where(Y9 > 0, np.nan, Y9), "squared", "y contains NaN or infinity"),
        (np.where(Y9 > 0, np.inf, Y9), "squared", "y contains NaN or infinity"),
        (["a"] * 9, "squared", "y must hold real numbers"),
        (Y9 + 1j, "squared", "y must hold real numbers"),
        (np.ones(9), "logistic", r"exactly two classes, got 1 class\(es\)"),
        (np.arange(9), "hinge", r"exactly two classes, got 9 class\(es\)"),
        (np.where(Y9 > 0, np.nan, 1.0), "hinge", "y contains NaN or infinity"),
        (["a", None] + ["b"] * 7, "hinge", "labels of y cannot be sorted"),
    ],
)
def test_bad_response(y, loss, message):
    with pytest.raises(ValueError, match=message):
        make_data(X9, y, loss=loss)


def test_one_class_left_after_zero_weights():
    y = np.array([1.0, -1, 1, 1, 1, 1, 1, 1, 1])
    with pytest.raises(ValueError, match="with a positive weight belong to one class"):
        make_data(X9, y, loss="logistic", sample_weight=(y > 0).astype(float))


def test_a_column_of_responses_is_taken_as_a_vector():
    assert make_data(X9, Y9[:, None]).y.shape == (9,)


@pytest.mark.parametrize("make", [np.asarray, sp.csc_array, lambda X: X.astype(np.float32)])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_rows_are_prepared_as_if_they_were_given(make, loss, fit_intercept):
    """Rows are centred and scaled separately, from the response as given, not from the prepared data."""
    X, y = sample(loss, 30, 4)
    weights, keep = np.linspace(0.5, 2.0, 30), np.arange(29, 3, -2)
    settings = {"loss": loss, "fit_intercept": fit_intercept, "standardize": True}
    y = y + 1e9 * (loss == "squared")
    part = make_data(make(X), y, sample_weight=weights, **settings).rows(keep)
    alone = make_data(make(X[keep]), y[keep], sample_weight=weights[keep], **settings)
    assert (part.n, part.p) == (13, 4) and part.y_offset == alone.y_offset
    for name in ("y", "weights", "response", "column_norms"):
        np.testing.assert_allclose(getattr(part, name), getattr(alone, name), rtol=1e-12)
    np.testing.assert_allclose(part.design.columns(np.arange(4)), alone.design.columns(np.arange(4)), atol=1e-12)


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_norms_are_those_of_the_columns_that_are_fitted(standardize, fit_intercept):
    X, y = sample("squared", 12, 4)
    X[:, 1] = 3.0
    weights = np.linspace(0.5, 2.0, 12)
    data = make_data(X, y, fit_intercept=fit_intercept, standardize=standardize, sample_weight=weights)
    norms = np.sqrt(weights @ data.design.columns(np.arange(4)) ** 2)
    np.testing.assert_allclose(data.column_norms, norms, rtol=1e-12)
    assert (data.column_norms[1] == 0.0) == fit_intercept
