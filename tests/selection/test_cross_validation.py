"""Means, standard errors and the choice among models."""

import numpy as np
import pytest

from sparsest.selection.cross_validation import Validation

SCORES = np.array([[-4.0, -6.0], [-2.0, -3.0], [-1.0, -3.5], [-1.0, -3.0], [-1.0, -3.0], [np.nan, 0.0]])
VALIDATION = Validation(SCORES, np.tile([1, 2, 3, 4, 5, 6], (2, 1)).T)


def test_table():
    table = VALIDATION.table(k=np.arange(6))
    np.testing.assert_array_equal(table["param_k"], np.arange(6))
    np.testing.assert_allclose(table["se_test_score"][:2], [1.0, 0.5])
    np.testing.assert_array_equal(table["split1_test_score"], SCORES[:, 1])
    assert table["rank_test_score"][:5].tolist() == [5, 4, 3, 1, 1]
    np.testing.assert_array_equal(table["mean_n_features"], np.arange(1, 7))


def test_choice():
    k = np.array([1, 2, 2, 3, 4, 5])
    assert VALIDATION.choose("best", k) == 3
    # Within one standard error (1.0) of -2 are -2.5 and -2.25, both of two features: the better one.
    assert VALIDATION.choose("one_se", k) == 2
    assert VALIDATION.choose("one_se", k, np.array([0, 0, 1, 1, 0, 0])) == 2
    assert VALIDATION.choose("one_se", k, np.array([0, 1, 0, 1, 0, 0])) == 1


def test_what_cannot_be_chosen():
    with pytest.raises(ValueError, match="no model has a finite score"):
        Validation(np.full((2, 2), np.nan), np.ones((2, 2))).choose("best", np.arange(2))
    with pytest.raises(ValueError, match="at least two folds"):
        Validation(np.ones((2, 1)), np.ones((2, 1))).choose("one_se", np.arange(2))
    with pytest.raises(ValueError, match="unknown selection"):
        VALIDATION.choose("luck", np.arange(6))
