"""An estimator fitted again to other rows, and what it has chosen."""

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
# What lacks a class is drawn anew, at most so often.
_MOST_DRAWS = 1000


class Choice(NamedTuple):
    """What a fitted estimator has chosen; ``coef`` has an entry for each chosen feature, None without coefficients.

    ``unproved`` says whether a search for a proof has ended without it.
    """

    support: Indices
    coef: Array | None
    intercept: float
    unproved: bool


@dataclass(frozen=True, eq=False)
class Observations:
    """Data in the form in which the user gave them, so that names of columns are kept.

    ``given`` are ``sample_weight``, ``offset`` and ``exposure``, as far as there are any, one number for each row.
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
        """Every row so many times, by its weight; without the rows that do not occur."""
        rows = np.flatnonzero(counts)
        kept = self.take(rows)
        kept.given["sample_weight"] = kept.given.get("sample_weight", np.ones(rows.size)) * counts[rows]
        return kept


def make_observations(X: Any, y: Any, **given: Any) -> Observations:
    """Check the lengths of the user's data; everything else is checked by the estimator."""
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
    """A clone of the estimator, fitted, and what it has chosen.

    Parameters
    ----------
    counts : how often each row occurs.  A row that occurs twice has twice the weight: so a cross-validation inside of
        the estimator never has the same row in a fold and outside of it.  Where the estimator takes no weights, rows
        are repeated
    """
    fresh = clone(estimator)
    if counts is not None:
        weighted = has_fit_parameter(fresh, "sample_weight")
        data = data.times(counts) if weighted else data.take(np.repeat(np.arange(data.n), counts))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        fresh.fit(data.X, data.y, **data.given)
    unproved = any(issubclass(one.category, ConvergenceWarning) for one in caught)
    for one in caught:
        if not issubclass(one.category, ConvergenceWarning):
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    return fresh, _choice(fresh, unproved)


def chosen_by(estimator: Any) -> NDArray[np.bool_]:
    """Which features a fitted estimator has chosen."""
    if hasattr(estimator, "get_support"):
        return np.asarray(estimator.get_support())
    if not hasattr(estimator, "coef_"):
        raise ValueError(f"{type(estimator).__name__} has neither get_support nor coef_: it does not choose features")
    return np.any(np.atleast_2d(estimator.coef_) != 0.0, axis=0)


def _choice(estimator: Any, unproved: bool) -> Choice:
    support = np.flatnonzero(chosen_by(estimator))
    coef = np.ravel(estimator.coef_)[support].astype(float) if hasattr(estimator, "coef_") else None
    intercept = float(np.ravel(getattr(estimator, "intercept_", 0.0))[0])
    return Choice(support, coef, intercept, unproved)


def loss_of(estimator: Any) -> Loss:
    """The loss of one of our estimators; for others the logistic loss of a classifier, and the squared one else."""
    own = getattr(estimator, "_loss", None)
    return own if isinstance(own, Loss) else make_loss("logistic" if is_classifier(estimator) else "squared")


def has_intercept(estimator: Any) -> bool:
    """Whether an estimator fits an intercept."""
    return bool(getattr(estimator, "fit_intercept", True))


def two_classes(estimator: Any, y: NDArray[Any], stratify: bool) -> NDArray[Any] | None:
    """The labels of y where an estimator needs both of two classes to be there; None for a regression.

    ``stratify`` says whether somebody wants as many rows of each class as the data have, which a regression has not.
    """
    if is_classifier(estimator) or loss_of(estimator).classification:
        return np.unique(y)
    if stratify:
        raise ValueError("stratify is for classifiers: y of a regression has no classes")
    return None


def drawn_with_all_classes(
    draw: Callable[[], _Drawn], parts: Callable[[_Drawn], list[Indices]], y: NDArray[Any], classes: NDArray[Any] | None
) -> _Drawn:
    """Draw until all parts of what is drawn have rows of every class.

    Parameters
    ----------
    draw : from nothing to what is drawn
    parts : rows of the parts of it
    classes : the labels; None for a regression, which has none
    """
    for _ in range(_MOST_DRAWS):
        drawn = draw()
        if classes is None or all(np.unique(y[rows]).size == classes.size for rows in parts(drawn)):
            return drawn
    raise ValueError("one of the classes is so rare that draws miss it: give stratify=True")
