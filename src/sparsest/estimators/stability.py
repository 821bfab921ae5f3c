"""Stability selection over any of the estimators."""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from sparsest.core.arrays import Array
from sparsest.core.checks import check_entries, number, optional, whole_number
from sparsest.estimators.best_subset import BestSubsetClassifier, BestSubsetRegressor
from sparsest.selection.refitting import chosen_by
from sparsest.selection.stability import (
    complementary_pairs,
    expected_false,
    expected_false_unimodal,
    size_for,
    threshold_for,
)

# The largest number of features that the default estimator chooses in a half.
_MOST_FEATURES = 10


class StabilitySelection(SelectorMixin, MetaEstimatorMixin, BaseEstimator):
    """Keep the features that an estimator chooses in most random halves of the data (complementary pairs).

    Parameters
    ----------
    estimator : an estimator that chooses features, with ``get_support`` or ``coef_``.  By default a best subset by the
        method "relaxation", a classifier if y has two values, with at most 10 features, and with ``max_false`` no more
        than the bound allows at ``threshold``
    n_pairs : number of pairs of halves; there are two fits for each
    threshold : smallest frequency of a feature that is kept, above 1/2
    max_false : largest expected number of features that are kept by chance: the threshold is then computed from the
        bound of Meinshausen and Bühlmann and the number of features that the halves choose
    n_jobs : number of parallel fits, by joblib and its backend
    random_state : seed of the halves

    Attributes
    ----------
    frequencies_ : share of the halves in which each feature was chosen
    support_ : the features that are kept
    threshold_ : the smallest frequency of a feature that is kept
    n_selected_ : mean number of features chosen in a half
    expected_false_ : bound of Meinshausen and Bühlmann (2010) on the expected number of features kept by chance
    expected_false_unimodal_ : the tighter bound of Shah and Samworth (2013), for unimodal frequencies

    See Also
    --------
    sparsest.selection.stability : the bounds and their assumptions

    Examples
    --------
    >>> import sparsest
    >>> data = sparsest.datasets.make_toeplitz(n=200, p=50, k=3, snr=5.0, rng=0)
    >>> stable = sparsest.StabilitySelection(max_false=1.0, n_pairs=10, random_state=0).fit(data.X, data.y)
    >>> stable.support_.tolist(), data.support.tolist()
    ([2, 12, 15], [2, 12, 15])
    """

    frequencies_: Array
    support_: NDArray[np.intp]

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_pairs: int = 50,
        threshold: float = 0.75,
        max_false: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_pairs = n_pairs
        self.threshold = threshold
        self.max_false = max_false
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> StabilitySelection:
        """Choose features in all halves, and keep the stable ones.

        Parameters
        ----------
        X : matrix or sparse matrix of shape (n_samples, n_features)
        y : n_samples responses or labels

        Returns
        -------
        self
        """
        n_pairs = whole_number(self.n_pairs, "n_pairs", least=1)
        threshold = number(self.threshold, "threshold", above=0.5, most=1)
        max_false = optional(number, above=0)(self.max_false, "max_false")
        check_entries(X, "X")
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], order=None, ensure_min_samples=4
        )
        base = self._base(y, _MOST_FEATURES if max_false is None else size_for(max_false, threshold, X.shape[1]))
        seed = check_random_state(self.random_state)
        pairs = complementary_pairs(X.shape[0], n_pairs, seed, y if is_classifier(base) else None)
        chosen = Parallel(n_jobs=self.n_jobs)(
            delayed(_selected)(clone(base), X[half], y[half]) for pair in pairs for half in pair
        )
        p = X.shape[1]
        self.frequencies_ = np.mean(chosen, axis=0)
        self.n_selected_ = float(np.sum(self.frequencies_))
        self.threshold_ = threshold if max_false is None else threshold_for(max_false, self.n_selected_, p)
        # Frequencies are fractions: the tolerance prevents a rounding error from dropping a feature.
        self.support_ = np.flatnonzero(self.frequencies_ >= self.threshold_ - 1e-12)
        self.expected_false_ = expected_false(self.n_selected_, p, max(self.threshold_, 0.5 + 0.5 / n_pairs))
        self.expected_false_unimodal_ = expected_false_unimodal(self.n_selected_, p, self.threshold_, n_pairs)
        return self

    def _base(self, y: Any, k: int) -> Any:
        """The estimator, by default one with at most k features."""
        if self.estimator is not None:
            return self.estimator
        make = BestSubsetClassifier if type_of_target(y) == "binary" else BestSubsetRegressor
        return make(min(k, _MOST_FEATURES), method="relaxation")

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        mask = np.zeros(self.frequencies_.size, dtype=bool)
        mask[self.support_] = True
        return mask

    def __sklearn_tags__(self) -> Any:
        """Declare that sparse input is accepted and that y is required."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


def _selected(estimator: Any, X: Any, y: Any) -> NDArray[np.bool_]:
    """Which features an estimator chooses."""
    return chosen_by(estimator.fit(X, y))
