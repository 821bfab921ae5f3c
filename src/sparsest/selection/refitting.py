"""Refits of an estimator on other rows, and the features it selects."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from sparsest.core.arrays import Array, Indices
from sparsest.core.checks import as_array, as_numbers, column_names
from sparsest.core.designs import Design, as_design
from sparsest.core.losses import Loss, make_loss

_Drawn = TypeVar("_Drawn")
# A draw that misses a class is repeated, at most this many times.
_MOST_DRAWS = 1000


class Choice(NamedTuple):
    """The selection of a fitted estimator; ``coef`` has an entry for each selected feature, None without coefficients.

    ``unproved`` is True if a search ended without the proof it was meant to find, and ``at_an_end`` is a sentence if
    the best value of the estimator's own cross-validation is at an end of its grid.
    """

    support: Indices
    coef: Array | None
    intercept: float
    unproved: bool
    at_an_end: str


@dataclass(frozen=True, eq=False)
class Observations:
    """Data as given by the user, so that column names are kept.

    ``given`` holds those of ``sample_weight``, ``offset`` and ``exposure`` that were given, one number for each row.
    """

    X: Any
    y: NDArray[Any]
    given: dict[str, Array] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.y.size)

    @property
    def design(self) -> Design:
        """X as a design."""
        return as_design(self.X)

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the columns, if X has them."""
        return column_names(self.X)

    def take(self, rows: Indices) -> Observations:
        """Some rows, possibly several times."""
        given = {name: values[rows] for name, values in self.given.items()}
        return Observations(_safe_indexing(self.X, rows), self.y[rows], given)

    def times(self, counts: NDArray[np.intp]) -> Observations:
        """Rows repeated ``counts`` times by multiplying their weights; rows with a count of zero are dropped."""
        rows = np.flatnonzero(counts)
        kept = self.take(rows)
        kept.given["sample_weight"] = kept.given.get("sample_weight", np.ones(rows.size)) * counts[rows]
        return kept


def make_observations(X: Any, y: Any, **given: Any) -> Observations:
    """Check the lengths of the user's data; the estimator checks everything else."""
    matrix = X.tocsr() if hasattr(X, "tocsr") else X if hasattr(X, "columns") else as_array(X, "X")
    if len(getattr(matrix, "shape", ())) != 2:
        raise ValueError("X must be a matrix with two dimensions")
    n, target = matrix.shape[0], np.ravel(as_array(y, "y"))
    if target.size != n:
        raise ValueError(f"X has {n} rows but y has {target.size} entries")
    rows = {name: as_numbers(as_array(values, name), name) for name, values in given.items() if values is not None}
    for name, values in rows.items():
        if values.ndim > 0 and values.shape != (n,):
            raise ValueError(f"{name} must have {n} entries, got shape {values.shape}")
    return Observations(matrix, target, {name: np.broadcast_to(values, n) for name, values in rows.items()})


def fit_to(estimator: Any, data: Observations, counts: NDArray[np.intp] | None = None) -> tuple[Any, Choice]:
    """Fit a clone of the estimator; return it with its selection.

    Parameters
    ----------
    counts : how often each row occurs.  A row that occurs twice gets twice the weight, so that cross-validation inside
        the estimator never has the same row in training and in test data.  Rows are repeated only if the estimator
        takes no weights
    """
    fresh = clone(estimator)
    if counts is not None:
        weighted = has_fit_parameter(fresh, "sample_weight")
        data = data.times(counts) if weighted else data.take(np.repeat(np.arange(data.n), counts))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        fresh.fit(data.X, data.y, **data.given)
    unproved = any(issubclass(one.category, ConvergenceWarning) for one in caught)
    at_an_end = getattr(fresh, "at_an_end_", "")
    for one in caught:
        # The caller warns of these, once for all fits.
        if not issubclass(one.category, ConvergenceWarning) and str(one.message) != at_an_end:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    return fresh, _choice(fresh, unproved, at_an_end)


def chosen_by(estimator: Any) -> NDArray[np.bool_]:
    """Which features a fitted estimator has chosen."""
    if hasattr(estimator, "get_support"):
        return np.asarray(estimator.get_support())
    if not hasattr(estimator, "coef_"):
        raise ValueError(f"{type(estimator).__name__} has neither get_support nor coef_: it does not choose features")
    return np.any(np.atleast_2d(estimator.coef_) != 0.0, axis=0)


def _choice(estimator: Any, unproved: bool, at_an_end: str) -> Choice:
    support = np.flatnonzero(chosen_by(estimator))
    coef = np.ravel(estimator.coef_)[support].astype(float) if hasattr(estimator, "coef_") else None
    intercept = float(np.ravel(getattr(estimator, "intercept_", 0.0))[0])
    return Choice(support, coef, intercept, unproved, at_an_end)


def loss_of(estimator: Any) -> Loss:
    """The loss of an estimator of this package; for others the logistic loss for classifiers, else the squared loss."""
    own = getattr(estimator, "_loss", None)
    return own if isinstance(own, Loss) else make_loss("logistic" if is_classifier(estimator) else "squared")


def has_intercept(estimator: Any) -> bool:
    """Whether an estimator fits an intercept."""
    return bool(getattr(estimator, "fit_intercept", True))


def two_classes(estimator: Any, y: NDArray[Any], stratify: bool) -> NDArray[Any] | None:
    """The labels of y if the estimator is a classifier, which needs rows of all classes; None for a regression.

    ValueError is raised if ``stratify`` is true for a regression.
    """
    if is_classifier(estimator) or loss_of(estimator).classification:
        return np.unique(y)
    if stratify:
        raise ValueError("stratify is for classifiers: y of a regression has no classes")
    return None


def drawn_with_all_classes(
    draw: Callable[[], _Drawn], parts: Callable[[_Drawn], list[Indices]], y: NDArray[Any], classes: NDArray[Any] | None
) -> _Drawn:
    """Repeat a random draw until each of its parts has rows of every class.

    Parameters
    ----------
    draw : makes a random draw
    parts : returns the rows of each part of a draw
    classes : the labels; None for a regression
    """
    for _ in range(_MOST_DRAWS):
        drawn = draw()
        if classes is None or all(np.unique(y[rows]).size == classes.size for rows in parts(drawn)):
            return drawn
    raise ValueError("one of the classes is so rare that random draws miss it: give stratify=True")
