"""Folds, numbered among the rows that count."""

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

from sparsest.selection.folds import make_folds

X, Y = np.zeros((12, 2)), np.arange(12) % 2


def same(folds, pairs):
    pairs = list(pairs)
    assert len(folds) == len(pairs)
    for fold, (train, test) in zip(folds, pairs, strict=True):
        assert np.array_equal(fold.train, train) and np.array_equal(fold.test, test)


def test_conventions():
    same(make_folds(None, X, Y, classification=False), KFold(5, shuffle=True, random_state=0).split(X))
    shuffled = StratifiedKFold(3, shuffle=True, random_state=0)
    same(make_folds(np.int64(3), X, Y, classification=True), shuffled.split(X, Y))
    same(make_folds(KFold(3), X, Y, classification=True), KFold(3).split(X))
    groups = np.arange(12) // 4
    same(make_folds(GroupKFold(3), X, Y, classification=False, groups=groups), GroupKFold(3).split(X, Y, groups))
    masks = [(np.arange(12) < 8, np.arange(12) >= 8)]
    same(make_folds(masks, X, Y, classification=False), [(np.arange(8), np.arange(8, 12))])


def test_rows_without_weight_are_left_out():
    weights = np.array([0, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 0.0])
    [fold] = make_folds([(np.arange(6), np.arange(6, 12))], X, Y, classification=False, weights=weights)
    assert fold.train.tolist() == [0, 1, 2, 3] and fold.test.tolist() == [4, 5, 6, 7, 8]
    with pytest.raises(ValueError, match="no rows of positive weight"):
        make_folds([([1], [0, 3])], X, Y, classification=False, weights=weights)


@pytest.mark.parametrize("classification", [True, False])
def test_sorted_rows_are_mixed(classification):
    y = np.repeat([-1.0, 1.0], 30)
    for fold in make_folds(5, np.zeros((60, 1)), y, classification=classification):
        assert 2 <= np.count_nonzero(y[fold.test] > 0) <= 10


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        ([], "cv gives no folds"),
        (1, "n_splits=1"),
        ([([0, 1], [])], "fold 0 of cv has no rows of positive weight"),
        ([([0, 1], [2]), ([], [2])], "fold 1 of cv has no rows of positive weight"),
        ([([0, 1], [12])], "row numbers from 0 to 11"),
        ([([0, -1], [2])], "folds must be pairs of row numbers"),
        ([([0.0, 1.0], [2])], "folds must be pairs of row numbers"),
        ([(np.ones(11, dtype=bool), [2])], "masks of 12 rows"),
        ([([[0, 1]], [2])], "folds must be pairs of row numbers"),
    ],
    ids=str,
)
def test_bad_folds(cv, message):
    with pytest.raises(ValueError, match=message):
        make_folds(cv, X, Y, classification=False)
