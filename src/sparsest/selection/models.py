"""Many linear models of the same features, and single ones in the form that scikit-learn's scorers expect."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if

from sparsest.core.arrays import Array, Indices
from sparsest.core.designs import Design
from sparsest.core.losses import Loss, mean_of
from sparsest.results.result import probabilities

# Number of models whose predictions are computed at a time.
_MODELS_AT_A_TIME = 64


class Models(NamedTuple):
    """Coefficients, a column for each of m models, and intercepts, for the data as given."""

    coefs: Any
    intercepts: Array

    @classmethod
    def of(cls, p: int, models: Iterable[tuple[Indices, Array, float]]) -> Models:
        """Collect models, each given by its features, their coefficients and the intercept."""
        features, entries, intercepts = zip(*models, strict=True)
        ends = np.append(0, np.cumsum([index.size for index in features]))
        coefs = sp.csc_array((np.concatenate(entries), np.concatenate(features), ends), shape=(p, len(features)))
        return cls(coefs, np.array(intercepts))

    @property
    def n_features(self) -> NDArray[np.intp]:
        """The number of features of each model."""
        return np.diff(self.coefs.indptr).astype(np.intp)

    def margins(self, design: Design) -> Iterator[Array]:
        """``Xw + b``, n rows, for a block of models at a time."""
        for first in range(0, self.intercepts.size, _MODELS_AT_A_TIME):
            block = self.coefs[:, first : first + _MODELS_AT_A_TIME]
            used = np.unique(block.indices)
            intercepts = self.intercepts[first : first + _MODELS_AT_A_TIME]
            yield design.dot(block[used].toarray(), used) + intercepts

    def __iter__(self) -> Iterator[Any]:
        """Coefficients and intercept of one model after the other."""
        for i in range(self.intercepts.size):
            yield self.coefs[:, [i]].toarray()[:, 0], float(self.intercepts[i])


class Regression(RegressorMixin, BaseEstimator):
    """A regression with given coefficients; ``intercept`` is one number, or one for each row to predict."""

    def __init__(self, coef: Array, intercept: float | Array, loss: Loss) -> None:
        self.coef_, self.intercept_, self._loss = coef, intercept, loss

    def predict(self, X: Any) -> Array:
        """The mean, through the inverse link of the loss."""
        return mean_of(self._loss, np.asarray(X @ self.coef_) + self.intercept_)


class Classification(ClassifierMixin, BaseEstimator):
    """A linear classifier with given coefficients; it has probabilities for the logistic loss only."""

    def __init__(self, coef: Array, intercept: float | Array, classes: NDArray[Any], logistic: bool) -> None:
        self.coef_, self.intercept_ = coef[None, :], intercept
        self.classes_, self._logistic = classes, logistic

    def decision_function(self, X: Any) -> Array:
        """``Xw + b``: positive for the second class."""
        return np.asarray(X @ self.coef_[0]) + self.intercept_

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of every row."""
        return self.classes_[(self.decision_function(X) > 0.0).astype(np.intp)]

    @available_if(lambda self: self._logistic)
    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the two classes."""
        return probabilities(self.decision_function(X))
