"""Scores against loops of plain fits, means, standard errors and the choice among models."""

import numpy as np
import pytest

from injecting import press
from samples import sample, sample_weights
from sparsest.core.data import make_data
from sparsest.selection.cross_validation import Validation, cross_validate
from sparsest.selection.folds import make_folds
from sparsest.selection.models import Models
from sparsest.selection.scores import deviance

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
    # Within one standard error (1.0) of -2 are -2.5 and -2.25, both with two features: the higher score is chosen.
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


def test_ties_but_for_rounding_go_to_the_first():
    scores = np.array([[-1.0, -1.0], [-1.0 + 1e-14, -1.0], [-1.0, -1.0]])
    assert Validation(scores, np.ones((3, 2))).choose("best", np.zeros(3)) == 0


RIDGES = (0.1, 1.0, 10.0)


def ridge_models(data):
    """Ridge regressions on the columns as they were prepared."""
    Z, b = data.design.columns(np.arange(data.p)), data.intercept_for(np.zeros(data.n))
    G, c = Z.T @ (data.weights[:, None] * Z), Z.T @ (data.weights * (data.y - b))
    found = (data.original(np.linalg.solve(G + ridge * np.eye(data.p), c), b) for ridge in RIDGES)
    return Models.of(data.p, [(np.arange(data.p), coef, intercept) for coef, intercept in found])


def plain_score(X, y, weights, train, test, ridge):
    """The same by hand, with means and scales of the rows that are fitted to."""
    share = weights[train] / weights[train].sum()
    mean, level = share @ X[train], share @ y[train]
    scale = np.sqrt(share @ (X[train] - mean) ** 2)
    Z, inside = (X[train] - mean) / scale, weights[train, None]
    w = np.linalg.solve(Z.T @ (inside * Z) + ridge * np.eye(X.shape[1]), Z.T @ (inside[:, 0] * (y[train] - level)))
    return -np.average((y[test] - level - ((X[test] - mean) / scale) @ w) ** 2, weights=weights[test])


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_scores_are_those_of_a_loop(n_jobs):
    """Models do not depend on the test rows, not even on their means and scales."""
    X, y = sample("squared", 21, 3)
    X, y, weights = 5.0 + X * [1.0, 20.0, 0.1], y + 7.0, sample_weights(True, 21)
    folds = make_folds(4, X, y, classification=False)
    data = make_data(X, y, standardize=True, sample_weight=weights)
    found = cross_validate(ridge_models, data, folds, deviance, n_jobs)
    expected = [[plain_score(X, y, weights, *fold, ridge) for fold in folds] for ridge in RIDGES]
    np.testing.assert_allclose(found.scores, expected, rtol=1e-9)
    assert np.array_equal(found.n_features, np.full((3, 4), 3))


def pressing(at):
    """A listener that stops after a number of folds, and the events it has received."""
    heard = []

    def listen(event):
        heard.append(event)
        return event.n_done == at

    return listen, heard


# A thread of joblib may look for work that it has thrown away itself, when its workers are ended.
@pytest.mark.filterwarnings(
    "ignore:Exception in thread ExecutorManagerThread:pytest.PytestUnhandledThreadExceptionWarning"
)
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_listener_hears_of_every_fold_and_may_stop(n_jobs):
    X, y = sample("squared", 21, 3)
    folds, data = make_folds(4, X, y, classification=False), make_data(X, y, standardize=True)
    whole = cross_validate(ridge_models, data, folds, deviance)
    for at in (0, 1, 3):
        listen, heard = pressing(at)
        found = cross_validate(ridge_models, data, folds, deviance, n_jobs, listen)
        n_done = at or 4
        assert [event[1:] for event in heard] == [(i + 1, 4) for i in range(n_done)]
        assert found.n_missing == 4 - n_done
        np.testing.assert_array_equal(found.scores, whole.scores[:, :n_done])


def test_ctrl_c_before_a_fold_is_done_is_raised(keyboard):
    X, y = sample("squared", 21, 3)
    folds, data = make_folds(4, X, y, classification=False), make_data(X, y, standardize=True)

    def pressed(part):
        press()
        return ridge_models(part)

    with pytest.raises(KeyboardInterrupt):
        cross_validate(pressed, data, folds, deviance)


def test_one_fold_that_is_left_has_no_standard_error():
    left = Validation(SCORES[:5, :1], np.ones((5, 1)), n_missing=4)
    assert left.choose("one_se", np.arange(5)) == 2
