"""Limits of coefficients in every form that users may give."""

import numpy as np
import pytest

from sparsest.core.limits import check_limits

P = 3


@pytest.mark.parametrize(
    ("lower", "upper", "low", "high"),
    [
        (0, None, [0.0] * 3, [np.inf] * 3),
        (None, 2.5, [-np.inf] * 3, [2.5] * 3),
        ([0, -1, -np.inf], np.array([1, 0, 2]), [0.0, -1.0, -np.inf], [1.0, 0.0, 2.0]),
        ({"b": 0.0}, {2: 4}, [-np.inf, 0.0, -np.inf], [np.inf, np.inf, 4.0]),
        ({}, None, [-np.inf] * 3, [np.inf] * 3),
    ],
)
def test_forms(lower, upper, low, high):
    found = check_limits(P, ("a", "b", "c"), lower, upper, False)
    np.testing.assert_array_equal(found, [low, high])


def test_positive_and_none():
    assert check_limits(P, None, None, None, False) == (None, None)
    np.testing.assert_array_equal(check_limits(P, None, None, None, True), [[0.0] * 3, [np.inf] * 3])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"lower": 1.0}, "must include zero"),
        ({"upper": [-1.0, 1.0, 1.0]}, "must include zero"),
        ({"lower": np.nan}, "lower contains NaN"),
        ({"lower": [0.0, 0.0]}, "lower must be a number, 3 numbers or a dictionary"),
        ({"lower": {"age": 0.0}}, "where X has no names"),
        ({"upper": {99: 0.0}}, "upper must hold column numbers"),
        ({"positive": True, "lower": -1.0}, "positive=True means lower=0"),
        ({"positive": "yes"}, "positive"),
    ],
)
def test_refusals(settings, message):
    with pytest.raises(ValueError, match=message):
        check_limits(P, None, **({"lower": None, "upper": None, "positive": False} | settings))
