"""Limits of coefficients in every form that users may give."""

import numpy as np
import pandas as pd
import pytest

from sparsest.core.limits import check_limits

P, NAMES = 3, ("age", "sex", "bmi")


@pytest.mark.parametrize(
    ("lower", "upper", "low", "high"),
    [
        (0, None, [0.0] * 3, [np.inf] * 3),
        (None, 2.5, [-np.inf] * 3, [2.5] * 3),
        (np.float32(-0.5), np.array(1), [-0.5] * 3, [1.0] * 3),
        ([0, -1, -np.inf], np.array([1, 0, 2]), [0.0, -1.0, -np.inf], [1.0, 0.0, 2.0]),
        (pd.Series([0.0, -1.0, -2.0], index=NAMES), None, [0.0, -1.0, -2.0], [np.inf] * 3),
        ({"sex": 0.0}, {2: 4}, [-np.inf, 0.0, -np.inf], [np.inf, np.inf, 4.0]),
        ({0: -3, "sex": -0.0}, {}, [-3.0, 0.0, -np.inf], [np.inf] * 3),
    ],
    ids=str,
)
def test_forms(lower, upper, low, high):
    found = check_limits(P, NAMES, lower, upper, False)
    np.testing.assert_array_equal(found, [low, high])


@pytest.mark.parametrize("nothing", [None, np.inf, [np.inf] * 3, {}, {"age": np.inf}], ids=str)
def test_no_limits(nothing):
    assert check_limits(P, NAMES, None, nothing, False) == (None, None)


def test_positive():
    np.testing.assert_array_equal(check_limits(P, None, None, None, True), [[0.0] * 3, [np.inf] * 3])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"lower": 0.5}, "lower must be at most 0 for every column, because .* got 0.5 for column 'age'; use -inf"),
        ({"upper": [0.0, 1.0, -2.0]}, "upper must be at least 0 for every column.* got -2.0 for column 'bmi'; use inf"),
        ({"upper": np.nan}, "upper must be at least 0 for every column.* got nan"),
        ({"lower": [0.0, 0.0]}, "lower must be a number, 3 numbers or a dictionary"),
        ({"upper": [[0.0, 1.0, 2.0]]}, "upper must be a number, 3 numbers or a dictionary"),
        ({"lower": "free"}, "lower must hold real numbers"),
        ({"lower": {"weight": 0.0}}, "lower names the column 'weight', which X does not have"),
        ({"upper": {"age": "high"}}, "upper of column 'age' must be a number"),
        ({"upper": {"age": 1.0, 0: 2.0}}, "upper has a column twice"),
        ({"upper": {99: 0.0}}, "upper must hold column numbers"),
        ({"upper": 1e-200}, "upper must be 0, infinite or between 1e-150 and .* got 1e-200 for column 'age'"),
        ({"lower": {"bmi": -1e200}}, "lower must be 0, infinite or .* for column 'bmi'"),
        ({"positive": True, "lower": -1.0}, "positive=True means lower=0"),
        ({"positive": "yes"}, "positive"),
    ],
    ids=str,
)
def test_refusals(settings, message):
    with pytest.raises(ValueError, match=message):
        check_limits(P, NAMES, **({"lower": None, "upper": None, "positive": False} | settings))


def test_columns_without_names():
    with pytest.raises(ValueError, match="where X has no names"):
        check_limits(P, None, {"age": 0.0}, None)
    with pytest.raises(ValueError, match=r"got -1\.0 for column 2"):
        check_limits(P, None, None, [0.0, 1.0, -1.0])
