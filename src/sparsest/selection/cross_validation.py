"""Cross-validation of all models of a grid at once, and the choice of one.

In each fold all steps, centring and scaling included, use the training rows only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from joblib import delayed
from numpy.typing import NDArray

from sparsest.core.arrays import Array, Indices, Mask
from sparsest.core.data import Data
from sparsest.core.settings import checked
from sparsest.runtime.clock import Callback
from sparsest.runtime.events import Fold as FoldDone
from sparsest.runtime.threads import single_threaded
from sparsest.selection.folds import Fold
from sparsest.selection.models import Models
from sparsest.selection.repeating import collect
from sparsest.selection.scores import Score

# Relative difference below which two scores are equal up to rounding errors.
_EQUAL = 1e-12


def check_selection(selection: Any, n_folds: int) -> None:
    """Raise ValueError for an unknown selection rule, and for one that needs more folds."""
    if checked("selection", selection) == "one_se" and n_folds < 2:
        raise ValueError("selection='one_se' needs at least two folds: give another cv, or selection='best'")


class Validation(NamedTuple):
    """Scores and numbers of features, with a row for each model of the grid and a column for each fold.

    ``n_missing`` is the number of folds that were left out because Ctrl-C or the callback stopped the validation.
    """

    scores: Array
    n_features: NDArray[np.intp]
    n_missing: int = 0

    @property
    def mean(self) -> Array:
        """The mean score of each model."""
        return self.scores.mean(axis=1)

    @property
    def standard_error(self) -> Array:
        """The standard error of the mean; NaN for a single fold."""
        n_folds = self.scores.shape[1]
        if n_folds == 1:
            return np.full(self.scores.shape[0], np.nan)
        with np.errstate(invalid="ignore"):
            return self.scores.std(axis=1, ddof=1) / np.sqrt(n_folds)

    def best(self, among: Mask | None = None) -> int:
        """The index of the model with the largest mean score, the first of equal ones; ``among`` restricts it."""
        mean = np.where(np.isnan(self.mean), -np.inf, self.mean)
        if not np.isfinite(mean).any():
            raise ValueError("no model has a finite score: look at the folds (cv) and at scoring")
        if among is not None:
            mean = np.where(among, mean, -np.inf)
        top = mean.max()
        return int(np.flatnonzero(mean >= top - _EQUAL * abs(top))[0])

    def difference(self, one: int, other: int) -> float:
        """The mean difference between the scores of two models, in standard errors of that difference.

        With a single fold there is no standard error, and any difference is infinite.
        """
        with np.errstate(invalid="ignore"):
            apart = self.scores[one] - self.scores[other]
        mean, n_folds = float(apart.mean()), apart.size
        if not np.isfinite(mean):
            return float(np.sign(self.mean[one] - self.mean[other]) * np.inf) if one != other else 0.0
        if abs(mean) <= _EQUAL * abs(float(self.mean[other])):
            return 0.0
        error = float(apart.std(ddof=1)) / np.sqrt(n_folds) if n_folds > 1 else 0.0
        return mean / error if error > 0.0 else float(np.sign(mean) * np.inf)

    def with_rows(self, other: Validation, order: Indices) -> Validation:
        """The models of both validations, in the given order."""
        scores, counts = (np.vstack(pair)[order] for pair in zip(self[:2], other[:2], strict=True))
        return self._replace(scores=scores, n_features=counts)

    def choose(self, selection: str, complexity: Array, family: Indices | None = None) -> int:
        """The index of the chosen model.

        Parameters
        ----------
        selection : "best" chooses the largest mean score, the first of equal ones; "one_se" the simplest model whose
            mean is within one standard error of the largest, and of equally simple ones the best
        complexity : the complexity of each model
        family : the family of each model; "one_se" chooses within the family of the best model.  None means one family
        """
        best, mean = self.best(), np.where(np.isnan(self.mean), -np.inf, self.mean)
        only_one_is_left = self.n_missing > 0 and self.scores.shape[1] == 1
        if checked("selection", selection) == "best" or only_one_is_left:
            return best
        error = self.standard_error[best]
        if not np.isfinite(error):
            raise ValueError("selection='one_se' needs at least two folds with finite scores")
        near = mean >= mean[best] - error
        if family is not None:
            near &= family == family[best]
        simplest = near & (complexity == complexity[near].min())
        return int(np.flatnonzero(simplest & (mean >= mean[simplest].max()))[0])

    def table(self, **params: Any) -> dict[str, NDArray[Any]]:
        """The models and their scores as columns of a data frame, with a row for each model.

        ``params`` become columns ``param_…``; then come ``mean_test_score``, ``se_test_score`` (the standard error),
        ``rank_test_score``, ``split0_test_score`` and so on, and ``mean_n_features``.
        """
        mean = self.mean
        columns = {f"param_{name}": np.asarray(values) for name, values in params.items()}
        columns["mean_test_score"], columns["se_test_score"] = mean, self.standard_error
        columns["rank_test_score"] = 1 + np.searchsorted(np.sort(-mean), -mean)
        columns |= {f"split{i}_test_score": scores for i, scores in enumerate(self.scores.T)}
        columns["mean_n_features"] = self.n_features.mean(axis=1)
        return columns


def cross_validate(
    fit: Callable[[Data], Models],
    data: Data,
    folds: list[Fold],
    score: Score,
    n_jobs: int | None = None,
    callback: Callback | None = None,
) -> Validation:
    """Fit all models to the training rows of each fold, and score them on its test rows.

    The first Ctrl-C stops with the folds that are finished.  If there are none yet, KeyboardInterrupt is raised.

    Parameters
    ----------
    fit : fits models to data, the same number for all data
    n_jobs : number of parallel folds, with joblib's conventions and its backend
    callback : called with an event after every fold; it stops the validation by returning True
    """
    calls = (delayed(_validate)(fit, data, fold, score) for fold in folds)
    found = collect(calls, n_jobs, callback, lambda seconds, n_done: FoldDone(seconds, n_done, len(folds)))
    scores, counts = zip(*found, strict=True)
    return Validation(np.column_stack(scores), np.column_stack(counts), len(folds) - len(found))


def _validate(fit: Callable[[Data], Models], data: Data, fold: Fold, score: Score) -> tuple[Array, NDArray[np.intp]]:
    # Always one thread, so that scores do not depend on the number of jobs.
    with single_threaded():
        models = fit(data.rows(fold.train))
        return score(models, data, fold.test), models.n_features
