"""The function ``penalty_path``: what it asks of its arguments, what it returns with the path, and its one warning."""

import time
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from samples import sample
from sparsest import PathResult, Stop, penalty_path

X, Y = sample("squared", 50, 8)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"alphas": 0}, "alphas must be a whole number >= 1 and <= 1000000 or an array of alphas, got 0"),
        ({"alphas": 10**7}, "alphas must be a whole number >= 1 and <= 1000000"),
        ({"alphas": 2.5}, "alphas must be a whole number"),
        ({"alphas": []}, "one-dimensional array of finite numbers > 0"),
        ({"alphas": [[0.1]]}, "one-dimensional array of finite numbers > 0"),
        ({"alphas": [0.1, 0.0]}, "one-dimensional array of finite numbers > 0"),
        ({"alphas": [0.1, np.inf]}, "one-dimensional array of finite numbers > 0"),
        ({"alphas": ["small"]}, "alphas must hold real numbers"),
        ({"penalty_factor": np.ones(7)}, r"penalty_factor must have 8 entries, got shape \(7,\)"),
        ({"penalty_factor": np.full(8, -1.0)}, "penalty_factor must be finite and not negative"),
        ({"penalty_factor": np.full(8, np.inf)}, "penalty_factor must be finite and not negative"),
        ({"max_features": -1}, "max_features must be a whole number >= 0 or None"),
        ({"max_iter": 0}, "max_iter must be a whole number >= 1"),
        ({"tol": 1.0}, "tol must be a number > 0 and < 1"),
        ({"time_limit": 0.0}, "time_limit must be a number > 0 or inf"),
        ({"penalty": "l2"}, "unknown penalty 'l2'"),
        ({"loss": "hinge"}, "loss"),
    ],
    ids=str,
)
def test_bad_arguments(given, message):
    with pytest.raises(ValueError, match=message):
        penalty_path(X, Y, **given)


def test_alphas_in_any_order_fall():
    alphas = np.array([0.02, 0.5, 0.1])
    path = penalty_path(X, Y, alphas=alphas)
    assert path.alphas.tolist() == [0.5, 0.1, 0.02] and alphas.tolist() == [0.02, 0.5, 0.1]
    fallen = penalty_path(X, Y, alphas=np.array([0.5, 0.1, 0.02]))
    assert np.array_equal(path.coefs.toarray(), fallen.coefs.toarray())


def test_factors_are_used_as_they_are():
    """A feature of factor 2 is penalised as if alpha were twice as large, and one of factor 0 not at all."""
    alone = penalty_path(X[:, :1], Y, alphas=[0.4]).at(0.4)
    doubled = penalty_path(X[:, :1], Y, alphas=[0.2], penalty_factor=[2.0]).at(0.2)
    np.testing.assert_allclose(doubled.coef, alone.coef, rtol=1e-6)
    free = penalty_path(X[:, :1], Y, alphas=[0.4], penalty_factor=[0.0]).at(0.4)
    slope, intercept = np.polyfit(X[:, 0], Y, 1)
    assert free.coef[0] == pytest.approx(slope, rel=1e-6) and free.intercept == pytest.approx(intercept, rel=1e-6)


def test_names_and_labels_come_with_the_path():
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(8)])
    labels = np.where(np.median(Y) < Y, "high", "low")
    path = penalty_path(frame, labels, loss="logistic", alphas=3)
    assert path.feature_names == list(frame.columns) and path.classes.tolist() == ["high", "low"]
    plain = penalty_path(X, Y, alphas=3)
    assert plain.feature_names is None and plain.classes is None


class _SlowToRead:
    """A matrix that takes some time to be read."""

    shape = X.shape

    def __array__(self, dtype=None, copy=None):
        time.sleep(0.05)
        return np.asarray(X)


def test_the_time_that_reading_takes_is_part_of_the_limit():
    assert penalty_path(X, Y, time_limit=1e6).stopped is Stop.COMPLETE
    path = penalty_path(_SlowToRead(), Y, time_limit=0.05)
    assert path.stopped is Stop.TIME_LIMIT and path.solved.sum() == 1 and path.seconds >= 0.05


def test_one_warning_for_all_alphas():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        path = penalty_path(X, Y, alphas=[0.1, 0.01, 0.001], max_iter=1, tol=1e-12)
    assert isinstance(path, PathResult) and [entry.category for entry in caught] == [ConvergenceWarning]
    failed, message = np.count_nonzero(~path.converged), str(caught[0].message)
    assert f"{failed} of 3 alphas did not converge: the duality gap is up to {path.dual_gaps.max():.1e}" in message
    assert "raise max_iter=1 or tol" in message and caught[0].filename == __file__
    assert f"{failed} not converged" in repr(path)


def test_the_warning_names_the_measure_of_concave_penalties():
    with pytest.warns(ConvergenceWarning, match=r"the violation is up to .*, above tol=1e-12"):
        penalty_path(X, Y, "mcp", alphas=[0.1, 0.01, 0.001], max_iter=1, tol=1e-12)


@pytest.mark.parametrize("loss", ["squared", "logistic", "huber"])
@pytest.mark.parametrize("penalty", ["l1", "mcp"])
def test_extreme_alphas(loss, penalty):
    """Above the largest alpha of a grid models are empty; the smallest alphas leave no penalty to speak of."""
    y = np.where(np.median(Y) < Y, 1, -1) if loss == "logistic" else Y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        path = penalty_path(X, y, penalty, loss=loss, alphas=[1e300, 1e-300])
        free = penalty_path(X, y, loss=loss, alphas=[1.0], penalty_factor=np.zeros(8), tol=1e-12)
    assert path.alphas.tolist() == [1e300, 1e-300] and path.n_nonzero.tolist() == [0, 8]
    np.testing.assert_allclose(path.coefs.toarray()[:, 1], free.coefs.toarray()[:, 0], rtol=1e-5)
    assert path.converged[0]


@pytest.mark.parametrize("unit", [1e-300, 1e-9, 1e9, 1e300])
@pytest.mark.parametrize("penalty", ["l1", "scad"])
def test_the_unit_of_penalty_factors_does_not_matter(unit, penalty):
    plain = penalty_path(X, Y, penalty, alphas=5)
    scaled = penalty_path(X, Y, penalty, alphas=5, penalty_factor=np.full(8, unit))
    np.testing.assert_allclose(scaled.alphas * unit, plain.alphas, rtol=1e-12)
    np.testing.assert_allclose(scaled.coefs.toarray(), plain.coefs.toarray(), rtol=1e-6, atol=1e-9)
    assert scaled.converged.all()
    given = penalty_path(X, Y, penalty, alphas=scaled.alphas, penalty_factor=np.full(8, unit))
    np.testing.assert_allclose(given.coefs.toarray(), plain.coefs.toarray(), rtol=1e-6, atol=1e-9)


def test_a_penalty_factor_that_is_as_good_as_none():
    with pytest.raises(ValueError, match="below 1e-08 times the median: use 0"):
        penalty_path(X, Y, penalty_factor=[1e-9, *[1.0] * 7])
