"""Scores of models on held-out rows; larger is better."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import get_scorer
from sklearn.utils import _safe_indexing

from sparsest.core.arrays import Array, Indices
from sparsest.core.data import Data
from sparsest.core.designs import stored_matrix, stores_matrix, unstandardized
from sparsest.selection.models import Classification, Models, Regression

Score = Callable[[Models, Data, Indices], Array]


def deviance(models: Models, data: Data, rows: Indices) -> Array:
    """The negative deviance ``-2 Σ ω ℓ / Σ ω`` of each model.

    That is the mean squared error for the squared loss, and twice the log loss for the logistic one.
    """
    design, y, weights = unstandardized(data.design).rows(rows), data.response[rows], data.weights[rows]
    share, added = weights / weights.sum(), _added(data, rows)
    with np.errstate(over="ignore"):
        losses = [share @ data.stated_loss.value(y[:, None], margin + added) for margin in models.margins(design)]
    return -2.0 * np.concatenate(losses)


def _added(data: Data, rows: Indices) -> Array:
    """The offsets (with log exposures) of some rows, as a column."""
    return np.broadcast_to(data.added, data.n)[rows, None]


@dataclass(frozen=True, eq=False)
class ScorerScore:
    """The score by one of scikit-learn's scorers.

    Attributes
    ----------
    scorer : called with an estimator, X, y and ``params``
    params : further arguments of the scorer, such as weights; those with an entry for each row are restricted to the
        fold
    classes : the two labels; None for a regression
    """

    scorer: Any
    params: dict[str, Any] = field(default_factory=dict)
    classes: NDArray[Any] | None = None

    def __call__(self, models: Models, data: Data, rows: Indices) -> Array:
        """Score each model."""
        X, y = unstandardized(data.design).rows(rows), data.response[rows]
        if not stores_matrix(X):
            raise ValueError("scorers of scikit-learn need X in memory: use scoring=None, or load X as an array")
        matrix = stored_matrix(X)
        if self.classes is not None:
            y = self.classes[(y > 0.0).astype(np.intp)]
        params = {name: self._cut(value, data.n, rows) for name, value in self.params.items()}
        added = _added(data, rows)[:, 0]
        scores = [self.scorer(self._estimator(data, added, *model), matrix, y, **params) for model in models]
        return np.array(scores, dtype=np.float64)

    def _cut(self, value: Any, n: int, rows: Indices) -> Any:
        return _safe_indexing(value, rows) if np.shape(value)[:1] == (n,) else value

    def _estimator(self, data: Data, added: Array, coef: Array, intercept: float) -> Any:
        """The model, with the offsets of these rows added to its intercept."""
        if self.classes is None:
            return Regression(coef, intercept + added, data.stated_loss)
        return Classification(coef, intercept + added, self.classes, data.loss.name == "logistic")


def make_score(scoring: Any, params: dict[str, Any], classes: NDArray[Any] | None) -> Score:
    """The score by scikit-learn's conventions for ``scoring``; None is the deviance."""
    return deviance if scoring is None else ScorerScore(get_scorer(scoring), params, classes)
