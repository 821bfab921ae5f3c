"""Folds: the rows that a model is fitted to, and the rows that it is scored on."""

from __future__ import annotations

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold, check_cv

from sparsest.core.arrays import Array, Indices
from sparsest.core.designs import Design

# Number of folds by default, and the seed of their random order.
_FOLDS, _SEED = 5, 0


class Fold(NamedTuple):
    """Numbers of rows."""

    train: Indices
    test: Indices


def random_folds(number: Any, *, classification: bool, seed: int = _SEED) -> KFold | StratifiedKFold:
    """The splitter for a number of folds.  Rows are shuffled, because files are often sorted.

    Classes are divided evenly.  The order depends on the number of rows, the labels and the seed alone.
    """
    return (StratifiedKFold if classification else KFold)(number, shuffle=True, random_state=seed)


def make_folds(
    cv: Any, X: Any, y: Any, *, classification: bool, weights: Array | None = None, **split: Any
) -> list[Fold]:
    """Folds without the rows of weight zero.

    Parameters
    ----------
    cv : None for five random folds, their number, a splitter, or pairs of row numbers; one pair is one validation set
    classification : whether a number means stratified folds
    weights : the weights of all rows
    **split : further arguments of the splitter, such as ``groups``

    Returns
    -------
    list of Fold
        Row numbers among those with a positive weight.
    """
    if isinstance(X, Design):
        # Splitters expect an array; a broadcast zero of the right shape needs no memory.
        X = np.broadcast_to(0.0, X.shape)
    n = X.shape[0]
    counts = np.ones(n, dtype=bool) if weights is None else np.asarray(weights) > 0.0
    place = np.cumsum(counts) - 1
    number = _FOLDS if cv is None else cv
    if isinstance(number, Integral):
        splitter = random_folds(number, classification=classification)
    else:
        splitter = check_cv(cv, y, classifier=classification)
    folds: list[Fold] = []
    for train, test in splitter.split(X, y, **split):
        train, test = (_row_numbers(rows, n) for rows in (train, test))
        fold = Fold(place[train[counts[train]]], place[test[counts[test]]])
        if not (fold.train.size and fold.test.size):
            raise ValueError(f"fold {len(folds)} of cv has no rows of positive weight to train or to test on")
        folds.append(fold)
    if not folds:
        raise ValueError("cv gives no folds: give at least one pair of rows to train and to test on")
    return folds


def _row_numbers(rows: Any, n: int) -> Indices:
    """Row numbers, also from a mask."""
    found = np.asarray(rows)
    if found.dtype == bool and found.shape == (n,):
        return np.flatnonzero(found)
    if found.ndim != 1 or (found.size and (found.dtype.kind not in "iu" or found.min() < 0 or found.max() >= n)):
        raise ValueError(f"folds must be pairs of row numbers from 0 to {n - 1}, or of masks of {n} rows")
    return found.astype(np.intp)
