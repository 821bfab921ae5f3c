"""The data of a problem, checked and prepared once: design, response, weights and loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsest.arrays import Array, Indices
from sparsest.checks import as_array, as_numbers, flag
from sparsest.designs import (
    Dense,
    Design,
    Moments,
    as_design,
    in_units_of_data,
    products_with_view,
    unstandardized,
    view_with,
)
from sparsest.intercepts import best_intercept
from sparsest.losses import Loss, dual_from_margin, make_loss

# Sums of squares that computations may start from: bounds multiply two of them, and neither overflow nor lost digits
# must result.  The data may be larger or smaller where columns are standardised.
_SMALLEST_SQUARES, _LARGEST_SQUARES = 1e-150, 1e150
_SMALLEST_RAW_SQUARES, _LARGEST_RAW_SQUARES = 1e-290, 1e300


class NullModel(NamedTuple):
    """The model without features: its intercept, its dual point α, and ``X_j'α`` of every column of the design."""

    b: float
    alpha: Array
    products: Array


@dataclass(frozen=True, eq=False)
class Data:
    """Observations and the loss they are fitted by: what folds, grids and paths share.

    ``design`` is centred when there is an intercept (which changes b alone), and scaled if ``standardize``.
    """

    design: Design
    y: Array
    weights: Array
    loss: Loss
    fit_intercept: bool
    standardize: bool
    # ``√(Σ_i ω_i x_ij²)`` of every column of the design.
    column_norms: Array
    null: NullModel
    # The response as given (labels as -1 and 1), and what was subtracted from it: b is the intercept of the rest.
    response: Array
    y_offset: float = 0.0

    @property
    def n(self) -> int:
        """Number of observations."""
        return self.design.shape[0]

    @property
    def p(self) -> int:
        """Number of features."""
        return self.design.shape[1]

    def rows(self, keep: Indices) -> Data:
        """These observations alone, centred and scaled by themselves."""
        return _prepared(
            unstandardized(self.design).rows(keep),
            self.response[keep],
            self.weights[keep],
            self.loss,
            self.fit_intercept,
            self.standardize,
        )

    def intercept_for(self, margin: Array, start: float = 0.0) -> float:
        """The b that minimises ``Σ ω ℓ(y, margin + b)``: 0 without an intercept."""
        if not self.fit_intercept:
            return 0.0
        return best_intercept(self.loss, self.y, self.weights, margin, start)

    def feasible(self, alpha: Array) -> Array:
        """Return a dual point near ``alpha`` that is in the domain and, under an intercept, sums to zero."""
        return _feasible(alpha, self.y, self.weights, self.loss, self.fit_intercept)

    def original(self, w: Array, b: float) -> tuple[Array, float]:
        """Coefficients and intercept for the data as given, from those for the design."""
        coef, constant = in_units_of_data(self.design, slice(None), w)
        return coef, b + constant + self.y_offset if self.fit_intercept else b


def make_data(
    X: Any,
    y: Any,
    *,
    loss: str | Loss = "squared",
    epsilon: float = 0.1,
    fit_intercept: bool = True,
    standardize: bool = False,
    sample_weight: Any = None,
) -> Data:
    """Check the user's data and prepare them in one pass; every complaint says what to do."""
    chosen = make_loss(loss, epsilon)
    fit_intercept, standardize = flag(fit_intercept, "fit_intercept"), flag(standardize, "standardize")
    design = as_design(X)
    n = design.shape[0]
    weights = _check_weights(sample_weight, n)
    target = encode_labels(y)[0] if chosen.classification else _check_target(y)
    if target.shape != (n,):
        raise ValueError(f"X has {n} rows but y has {target.size} entries")
    if not weights.all():
        keep = np.flatnonzero(weights)
        design, target, weights = design.rows(keep), target[keep], weights[keep]
    return _prepared(design, target, weights, chosen, fit_intercept, standardize)


def _prepared(
    design: Design, target: Array, weights: Array, loss: Loss, fit_intercept: bool, standardize: bool
) -> Data:
    """Centre and scale what has been checked, by one pass that takes the products of the model without features too."""
    if loss.classification and np.ptp(target) == 0:
        raise ValueError("all observations with a positive weight belong to one class")
    offset = 0.0 if loss.classification else _offset(target, weights, fit_intercept)
    y = target - offset
    b = best_intercept(loss, y, weights, np.zeros(y.size)) if fit_intercept else 0.0
    # The smoothed loss has the better one of the dual points where the loss has a kink.
    alpha = _feasible(dual_from_margin(loss, y, np.full(y.size, b), weights, 1.0), y, weights, loss, fit_intercept)
    moments, products = design.survey(weights, alpha)
    norms = _column_norms(moments, weights.sum(), fit_intercept, standardize)
    view = view_with(design, moments, center=fit_intercept, scale=standardize)
    null = NullModel(b, alpha, products_with_view(view, products, alpha))
    return Data(view, y, weights, loss, fit_intercept, standardize, norms, null, target, offset)


def _feasible(alpha: Array, y: Array, weights: Array, loss: Loss, fit_intercept: bool) -> Array:
    """Project onto the domain, then scale down the sign whose total is larger where α has to sum to zero.

    That keeps every coordinate in its domain, which is star-shaped about zero for all losses.
    """
    alpha = weights * loss.project(y, alpha / weights)
    if not fit_intercept:
        return alpha
    up, down = np.maximum(alpha, 0.0).sum(), np.maximum(-alpha, 0.0).sum()
    if up > down:
        return np.where(alpha > 0, alpha * (down / up), alpha)
    return np.where(alpha < 0, alpha * (up / down), alpha) if down > up else alpha


def _column_norms(moments: Moments, total: float, centred: bool, standardize: bool) -> Array:
    """Return ``√(Σ ω x²)`` of the view's columns; refuse columns whose squares are no floating-point numbers."""
    mean, variance = moments.mean, moments.variance
    present = variance != 0.0 if centred else (variance != 0.0) | (mean != 0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        squares = total * (variance + mean**2)
        own = total * variance if centred else squares
    inside = np.where(present, total, 0.0) if standardize else own
    for values, least, most in (
        (squares, 0.0, _LARGEST_RAW_SQUARES),
        (own, _SMALLEST_RAW_SQUARES, _LARGEST_RAW_SQUARES),
        (inside, _SMALLEST_SQUARES, _LARGEST_SQUARES),
    ):
        bad = np.flatnonzero(~((values >= least) & (values <= most)) & present)
        if bad.size:
            _refuse(f"column {bad[0]} of X", float(values[bad[0]]))
    return np.sqrt(inside)


def _offset(y: Array, weights: Array, fit_intercept: bool) -> float:
    """What an intercept may take from y beforehand: its mean where that is so large that products lose digits to it."""
    moments = Dense(y[:, None]).moments(weights)
    with np.errstate(over="ignore", invalid="ignore"):
        squares = float(weights @ y**2)
    if not _SMALLEST_SQUARES <= squares <= _LARGEST_SQUARES and y.any():
        _refuse("y", squares)
    return float(moments.mean[0]) if fit_intercept and moments.far().size else 0.0


def _refuse(name: str, squares: float) -> None:
    raise ValueError(
        f"the weighted squares of {name} sum to {squares:.3g}, too {'small' if squares < 1.0 else 'large'} to be "
        f"computed with: rescale {name} (or sample_weight) to numbers nearer to 1"
    )


def encode_labels(y: Any) -> tuple[Array, NDArray[Any]]:
    """Return y as -1/1 and the two labels in sorted order; the larger label is 1."""
    labels = _one_dimensional(y)
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError("y contains NaN or infinity")
    try:
        # A missing value, of whatever type, is not equal to itself.
        missing = bool(np.any(labels != labels))
        classes, codes = np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise ValueError(f"the labels of y cannot be sorted: {error}") from error
    if missing:
        raise ValueError("y contains missing labels: drop those rows first")
    if classes.size != 2:
        raise ValueError(
            f"a classification loss needs y with exactly two classes, got {classes.size} class(es); "
            "recode y, or use a regression loss"
        )
    return np.where(codes == 1, 1.0, -1.0), classes


def _one_dimensional(y: Any) -> NDArray[Any]:
    array = as_array(y, "y")
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"y must be one-dimensional, got shape {array.shape}")
    return array


def _check_target(y: Any) -> Array:
    target = as_numbers(_one_dimensional(y), "y")
    if not np.isfinite(target).all():
        raise ValueError("y contains NaN or infinity")
    return target


def _check_weights(sample_weight: Any, n: int) -> Array:
    if sample_weight is None:
        return np.ones(n)
    weights = as_numbers(as_array(sample_weight, "sample_weight"), "sample_weight")
    if weights.ndim == 0:
        weights = np.full(n, float(weights))
    if weights.shape != (n,):
        raise ValueError(f"sample_weight must have {n} entries, got shape {weights.shape}")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError("sample_weight must be finite and not negative")
    if not weights.any():
        raise ValueError("sample_weight is zero everywhere: no observation is left")
    return weights
