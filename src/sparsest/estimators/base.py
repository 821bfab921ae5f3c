"""Base classes of the estimators: input checks, linear predictions, and selection of the chosen columns.

A subclass defines ``_fit_linear(X, y, **data)``, which fits checked data and sets ``support_`` and, as vectors for one
response, ``coef_`` and ``intercept_``.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.metrics import r2_score
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from sparsest.core.arrays import Array
from sparsest.core.checks import as_array, as_numbers, check_entries
from sparsest.core.data import added_to_predictions, make_data
from sparsest.core.designs import Design, on_demand
from sparsest.core.losses import LOSSES, PARAMETERS, Loss, make_loss, mean_of
from sparsest.core.settings import Setting, documented
from sparsest.results.result import probabilities

_Class = TypeVar("_Class")


# Settings whose default or description differs from that of the functions.
ESTIMATOR_SETTINGS = {
    "loss": Setting(
        'the loss; by default "squared" for regression, "logistic" for classification',
        more="A name, or an object of :mod:`sparsest.core.losses`; see :func:`sparsest.best_subset` for the names",
    ),
}


def with_parameters(shared: type) -> Callable[[type[_Class]], type[_Class]]:
    """Add the documentation of a base class and of all parameters to a docstring, before its examples."""

    def complete(cls: type[_Class]) -> type[_Class]:
        # python -OO removes docstrings.
        if cls.__doc__ is None or shared.__doc__ is None:
            return cls
        own, head, examples = cls.__doc__.partition("\n    Examples\n")
        text = f"{own.rstrip()}\n{shared.__doc__.partition(chr(10))[2]}{head}{examples}"
        return documented(cls, text, ESTIMATOR_SETTINGS)

    return complete


class SparseLinearModel(SelectorMixin, BaseEstimator):
    """A sparse linear model that is also a transformer: it selects the columns of its support."""

    loss: str | Loss | None
    coef_: Array
    intercept_: float | Array
    support_: NDArray[np.intp]
    _default_loss: str

    @property
    def _chosen_loss(self) -> str | Loss:
        return self._default_loss if self.loss is None else self.loss

    @property
    def _loss(self) -> Loss:
        """The loss, with its parameters among those of the estimator."""
        given = {name: getattr(self, name, None) for name in PARAMETERS}
        return make_loss(self._chosen_loss, **given)

    @abstractmethod
    def _fit_linear(self, X: Any, y: Any, sample_weight: Any, **routed: Any) -> None:
        """Fit checked data; set ``coef_``, ``intercept_`` and ``support_``."""

    @abstractmethod
    def _fit(self, X: Any, y: Any, sample_weight: Any, **routed: Any) -> Any:
        """Check the data, fit, and return self; ``routed`` has offset, exposure and the arguments of splitters."""

    def _check_fit(self, X: Any, y: Any) -> tuple[Any, Any]:
        design = on_demand(X)
        if design is not None:
            return self._check_design(design), column_or_1d(as_array(y, "y"), warn=True)
        check_entries(X, "X")
        # scikit-learn handles a missing y and a y with a single column.
        shape = (0,) if y is None else as_array(y, "y").shape
        if len(shape) not in (1, 2):
            raise ValueError(f"y must be one-dimensional, got shape {shape}")
        if shape[1:] > (1,):
            raise ValueError(
                f"y has {shape[1]} columns, but this estimator fits one response: fit one for each column with "
                "sklearn.multioutput.MultiOutputRegressor or MultiOutputClassifier (in pysindy with WrappedOptimizer)"
            )
        return validate_data(self, X, y, accept_sparse="csc", dtype=[np.float64, np.float32], order=None)

    def _check_design(self, design: Design) -> Design:
        """Set the number and names of features from a design, which scikit-learn cannot check."""
        self.n_features_in_ = design.shape[1]
        self.__dict__.pop("feature_names_in_", None)
        if design.names is not None:
            self.feature_names_in_ = np.array(design.names, dtype=object)
        return design

    def _linear(self, X: Any, offset: Any = None, exposure: Any = None) -> Array:
        check_is_fitted(self)
        design = on_demand(X)
        if design is not None:
            added = added_to_predictions(offset, exposure, design.shape[0], self._loss)
            margin = self._chosen(design) @ np.ravel(self.coef_)[self.support_]
            return np.asarray(margin + np.ravel(self.intercept_)[0] + added)
        check_entries(X, "X")
        X = validate_data(
            self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False, ensure_min_samples=1
        )
        added = added_to_predictions(offset, exposure, X.shape[0], self._loss)
        return np.asarray(X @ np.ravel(self.coef_)) + np.ravel(self.intercept_)[0] + added

    def _chosen(self, design: Design) -> Array:
        """The chosen columns of a design."""
        if design.shape[1] != self.coef_.size:
            raise ValueError(f"X has {design.shape[1]} features, but the model was fitted to {self.coef_.size}")
        chosen = design.columns(self.support_)
        if not np.isfinite(chosen).all():
            raise ValueError("X contains NaN or infinity in the columns of the model: impute or drop these rows first")
        return chosen

    def transform(self, X: Any) -> Any:
        """The chosen columns of X.

        Parameters
        ----------
        X : matrix, sparse matrix or design that is read on demand, of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        design = on_demand(X)
        return super().transform(X) if design is None else self._chosen(design)

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        mask = np.zeros(self.coef_.size, dtype=bool)
        mask[self.support_] = True
        return mask

    def __sklearn_tags__(self) -> Any:
        """Declare sparse input."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class SparseRegressor(RegressorMixin, SparseLinearModel):
    """A sparse linear regression."""

    _default_loss = "squared"

    def fit(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None, exposure: Any = None) -> Any:
        """Fit the model.

        Parameters
        ----------
        X : matrix or sparse matrix of shape (n_samples, n_features)
        y : n_samples responses
        sample_weight : n_samples nonnegative weights
        offset : n_samples numbers that are added to the linear predictor
        exposure : n_samples positive numbers that the mean is proportional to (losses with a logarithmic link)

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight, offset=offset, exposure=exposure)

    def _fit(self, X: Any, y: Any, sample_weight: Any, **routed: Any) -> Any:
        X, y = self._check_fit(X, y)
        if self._loss.classification:
            raise ValueError(f"loss {self._loss.name!r} is for two classes: use the classifier, or another loss")
        self._fit_linear(X, as_numbers(y, "y"), sample_weight, **routed)
        return self

    def predict(self, X: Any, offset: Any = None, exposure: Any = None) -> Array:
        """Predict the mean of every row, through the inverse link of the loss; for the quantile loss, the quantile.

        Parameters
        ----------
        X : matrix or sparse matrix of shape (n_samples, n_features)
        offset, exposure : those of the rows of X, as in the fit; without an exposure the prediction is a rate
        """
        return mean_of(self._loss, self._linear(X, offset, exposure))

    def score(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None, exposure: Any = None) -> float:
        """The explained share of the deviance: 1 for a perfect fit, 0 for the best constant.

        This is R² for the squared loss.  Huber's and the epsilon-insensitive losses, which are not deviances, are also
        scored by R².

        Parameters
        ----------
        X : matrix or sparse matrix of shape (n_samples, n_features)
        y : n_samples responses
        sample_weight, offset, exposure : those of the rows of X, as in the fit
        """
        loss = self._loss
        if not loss.deviance:
            predictions = self.predict(X, offset, exposure)
            return float(r2_score(y, predictions, sample_weight=sample_weight))
        u = self._linear(X, offset, exposure)
        settings = {"sample_weight": sample_weight, "offset": offset, "exposure": exposure, "loss": loss}
        data = make_data(np.zeros((u.size, 1)), y, **settings)
        kept = u if sample_weight is None else u[np.flatnonzero(np.broadcast_to(sample_weight, u.shape))]
        left = float(data.weights @ loss.value(data.response, kept))
        constant = data.intercept_for(np.zeros(data.n))
        whole = float(data.weights @ data.loss.value(data.y, np.full(data.n, constant)))
        if whole == 0.0:
            return float(left == 0.0)
        return 1.0 - left / whole

    def __sklearn_tags__(self) -> Any:
        """Declare which responses the loss accepts."""
        tags = super().__sklearn_tags__()
        name = getattr(self._chosen_loss, "name", self._chosen_loss)
        tags.target_tags.positive_only = isinstance(name, str) and name in LOSSES and LOSSES[name].log_link
        return tags


def _is_logistic(estimator: Any) -> bool:
    if getattr(estimator._chosen_loss, "name", estimator._chosen_loss) != "logistic":
        raise AttributeError(f"probabilities need loss='logistic', not {estimator.loss!r}")
    return True


class SparseClassifier(ClassifierMixin, SparseLinearModel):
    """A sparse linear classifier of two classes; ``coef_`` has the shape (1, n_features)."""

    class_weight: dict[Any, float] | str | None
    classes_: NDArray[Any]
    _default_loss = "logistic"

    def fit(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> Any:
        """Fit the model.

        Parameters
        ----------
        X : matrix or sparse matrix of shape (n_samples, n_features)
        y : n_samples labels of two classes
        sample_weight : n_samples nonnegative weights
        offset : n_samples numbers that are added to the score

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight, offset=offset)

    def _fit(self, X: Any, y: Any, sample_weight: Any, **routed: Any) -> Any:
        X, y = self._check_fit(X, y)
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        if self.classes_.size > 2:
            raise ValueError(f"Only binary classification is supported. The type of the target is {type_of_target(y)}.")
        if self.classes_.size < 2:
            raise ValueError("Classifier can't train when only one class is present.")
        self._fit_linear(X, y, self._weights(y, sample_weight), **routed)
        self.coef_ = np.atleast_2d(self.coef_)
        self.intercept_ = np.atleast_1d(self.intercept_)
        return self

    def _weights(self, y: NDArray[Any], sample_weight: Any) -> Any:
        """The weights of the observations, times those of their classes."""
        if self.class_weight is None:
            return sample_weight
        of_classes = compute_sample_weight(self.class_weight, y)
        if sample_weight is None:
            return of_classes
        return as_numbers(as_array(sample_weight, "sample_weight"), "sample_weight") * of_classes

    def decision_function(self, X: Any, offset: Any = None) -> Array:
        """Signed score of every row: positive for the second class."""
        return self._linear(X, offset)

    def predict(self, X: Any, offset: Any = None) -> NDArray[Any]:
        """Predict the class of every row."""
        positive = self.decision_function(X, offset) > 0
        return self.classes_[positive.astype(int)]

    @available_if(_is_logistic)
    def predict_proba(self, X: Any, offset: Any = None) -> Array:
        """Probabilities of the two classes (logistic loss)."""
        return probabilities(self.decision_function(X, offset))

    def __sklearn_tags__(self) -> Any:
        """Declare that there are two classes."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
