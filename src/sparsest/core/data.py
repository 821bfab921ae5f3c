"""The data of a problem, checked and prepared once: design, response, weights and loss."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsest.core.arrays import Array, Indices
from sparsest.core.checks import as_array, as_numbers, shown
from sparsest.core.designs import (
    Dense,
    Design,
    Moments,
    as_design,
    in_units_of_data,
    products_with_view,
    unstandardized,
    view_with,
)
from sparsest.core.designs.base import FAR
from sparsest.core.evidence import Evidence
from sparsest.core.intercepts import best_intercept
from sparsest.core.losses import Loss, dual_from_margin, make_loss, with_offset
from sparsest.core.losses.base import LARGEST_EXPONENT
from sparsest.core.settings import checked
from sparsest.runtime.faults import reach

# Limits of sums of squares: bounds multiply two of them, which must neither overflow nor underflow.  Data whose columns
# are standardised may be larger or smaller.
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

    ``design`` is centred when there is an intercept (which changes b alone), and scaled if ``standardize``.  An offset
    is a part of ``loss``, or of y for losses of ``y - u`` alone; ``stated_loss`` is the loss without it.
    """

    design: Design
    y: Array
    weights: Array
    loss: Loss
    stated_loss: Loss
    fit_intercept: bool
    standardize: bool
    # ``√(Σ_i ω_i x_ij²)`` of every column of the design.
    column_norms: Array
    null: NullModel
    moments: Moments
    # The response as given (labels as -1 and 1), offset and exposure.
    response: Array
    offset: Array | None
    exposure: Array | None
    # The two labels in sorted order, the second one the positive class; None for a regression.
    classes: NDArray[Any] | None
    # The constant that was subtracted from the response in addition to an offset; b is the intercept of the rest.
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
        """Some of the observations, centred and scaled without the others."""
        return _prepared(
            unstandardized(self.design).rows(keep),
            self.response[keep],
            self.weights[keep],
            self.stated_loss,
            self.fit_intercept,
            self.standardize,
            *(None if given is None else given[keep] for given in (self.offset, self.exposure)),
            classes=self.classes,
        )

    @property
    def added(self) -> Array | float:
        """The term added to predictions of the response as given: offset plus logarithm of the exposure."""
        added = _total_offset(self.offset, self.exposure, self.stated_loss)
        return 0.0 if added is None else added

    def __getstate__(self) -> dict[str, Any]:
        """The state without the evidence, which has a thread and is computed again when it is needed."""
        return {name: value for name, value in self.__dict__.items() if name != "evidence"}

    @cached_property
    def evidence(self) -> Evidence:
        """The data as the checker of proofs reads them."""
        return Evidence(
            unstandardized(self.design), self.moments, self.response, self.weights, self.stated_loss,
            self.fit_intercept, self.standardize, self.offset, self.exposure,
        )  # fmt: skip

    @cached_property
    def curvature(self) -> float:
        """A typical curvature of the losses: their mean at the model without features.

        Piecewise linear losses have no curvature.  They get that of the parabola with the smallest value zero that has
        the same mean value and mean square slope; for the squared loss this would be the exact curvature.
        """
        margin = np.full(self.n, self.null.b)
        weights = self.weights / self.weights.sum()
        second = float(weights @ self.loss.second_derivative(self.y, margin))
        if second > 0.0:
            return second
        value = float(weights @ self.loss.value(self.y, margin))
        slope = float(weights @ self.loss.derivative(self.y, margin) ** 2)
        return slope / (2.0 * value) if value > 0.0 and slope > 0.0 else 1.0

    def deviations(self, columns: Indices) -> Array:
        """Weighted standard deviations of some columns, for the data as given."""
        return np.sqrt(self.moments.variance[columns])

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
    fit_intercept: bool = True,
    standardize: bool = False,
    sample_weight: Any = None,
    offset: Any = None,
    exposure: Any = None,
    **parameters: Any,
) -> Data:
    """Check the user's data and prepare them in one pass; every error says what to do.

    ``parameters`` are those of the loss, see :func:`sparsest.core.losses.make_loss`.
    """
    chosen = make_loss(loss, **parameters)
    fit_intercept, standardize = checked("fit_intercept", fit_intercept), checked("standardize", standardize)
    design = as_design(X)
    n = design.shape[0]
    weights = _check_weights(sample_weight, n)
    target, classes = encode_labels(y) if chosen.classification else (_check_target(y, chosen), None)
    if target.shape != (n,):
        raise ValueError(f"X has {n} rows but y has {target.size} entries")
    added: list[Array | None] = [_check_offset(offset, n), _check_exposure(exposure, n, chosen)]
    if not weights.all():
        keep = np.flatnonzero(weights)
        design, target, weights = design.rows(keep), target[keep], weights[keep]
        added = [None if given is None else given[keep] for given in added]
    return _prepared(design, target, weights, chosen, fit_intercept, standardize, *added, classes=classes)


def _prepared(
    design: Design,
    target: Array,
    weights: Array,
    loss: Loss,
    fit_intercept: bool,
    standardize: bool,
    offset: Array | None,
    exposure: Array | None,
    *,
    classes: NDArray[Any] | None,
) -> Data:
    """Centre and scale checked data in one pass, which also computes the products of the model without features."""
    reach("data", design.shape)
    if loss.classification and np.ptp(target) == 0:
        raise ValueError("all observations with a positive weight belong to one class: give rows of both classes")
    if loss.log_link and not target.any():
        raise ValueError("y is zero for all observations with a positive weight: there is nothing to explain")
    added, of_differences = _total_offset(offset, exposure, loss), not (loss.classification or loss.log_link)
    y = target - added if added is not None and of_differences else target
    center = 0.0 if loss.classification else _center(y, weights, fit_intercept and of_differences)
    y = y - center
    whole = loss if added is None or of_differences else with_offset(loss, added)
    b = best_intercept(whole, y, weights, np.zeros(y.size)) if fit_intercept else 0.0
    # At a kink of the loss there are many dual points; the smoothed loss gives a better one.
    alpha = _feasible(dual_from_margin(whole, y, np.full(y.size, b), weights, 1.0), y, weights, whole, fit_intercept)
    moments, products = design.survey(weights, alpha)
    norms = _column_norms(moments, weights.sum(), fit_intercept, standardize)
    view = view_with(design, moments, center=fit_intercept, scale=standardize)
    null = NullModel(b, alpha, products_with_view(view, products, alpha))
    return Data(
        view,
        y,
        weights,
        whole,
        loss,
        fit_intercept,
        standardize,
        norms,
        null,
        moments,
        target,
        offset,
        exposure,
        classes,
        center,
    )


def _feasible(alpha: Array, y: Array, weights: Array, loss: Loss, fit_intercept: bool) -> Array:
    """Project onto the domain; if α has to sum to zero, scale down the entries of the sign with the larger total.

    That keeps every coordinate in its domain, which is star-shaped about zero for all losses.
    """
    alpha = weights * loss.project(y, alpha / weights)
    if not fit_intercept:
        return alpha
    up, down = np.maximum(alpha, 0.0).sum(), np.maximum(-alpha, 0.0).sum()
    if up > down:
        return np.where(alpha > 0, alpha * (down / up), alpha)
    return np.where(alpha < 0, alpha * (up / down), alpha) if down > up else alpha


def added_to_predictions(offset: Any, exposure: Any, n: int, loss: Loss) -> Array | float:
    """What an offset and an exposure of n new observations add to ``Xw + b``."""
    added = _total_offset(_check_offset(offset, n), _check_exposure(exposure, n, loss), loss)
    return 0.0 if added is None else added


def _total_offset(offset: Array | None, exposure: Array | None, loss: Loss) -> Array | None:
    """The term added to predictions: offset plus logarithm of the exposure; None if there is neither."""
    added = offset if exposure is None else np.log(exposure) + (0.0 if offset is None else offset)
    most = LARGEST_EXPONENT if loss.log_link else np.sqrt(_LARGEST_SQUARES)
    bad = np.flatnonzero(np.abs(added) > most) if added is not None else np.empty(0)
    if added is not None and bad.size:
        what, row = "logarithm of the mean" if loss.log_link else "linear predictor", int(bad[0])
        raise ValueError(
            f"offset must lie between {-most:.3g} and {most:.3g} for loss {loss.name!r}, got {added[row]:.3g} in row "
            f"{row}: it is added to the {what}, so give it in these units"
        )
    return added


def _column_norms(moments: Moments, total: float, centred: bool, standardize: bool) -> Array:
    """Return ``√(Σ ω x²)`` of the view's columns; refuse columns whose squares overflow or underflow."""
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


def _center(y: Array, weights: Array, movable: bool) -> float:
    """The mean of y if it is so large that products would lose digits, and an intercept can absorb it; else 0."""
    with np.errstate(over="ignore", invalid="ignore"):
        squares = float(weights @ y**2)
    if not _SMALLEST_SQUARES <= squares <= _LARGEST_SQUARES and y.any():
        _refuse("y", squares)
    total = weights.sum()
    mean = float(weights @ y) / total
    # A rough test first: below half of the threshold rounding errors cannot change the answer.
    if not movable or 4.0 * mean**2 <= FAR**2 * (squares / total - mean**2):
        return 0.0
    moments = Dense(y[:, None]).moments(weights)
    return float(moments.mean[0]) if moments.far().size else 0.0


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
        # A missing value of any type is not equal to itself.
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


def _check_target(y: Any, loss: Loss) -> Array:
    target = as_numbers(_one_dimensional(y), "y")
    if not np.isfinite(target).all():
        raise ValueError("y contains NaN or infinity")
    if loss.log_link:
        bad = np.flatnonzero(target <= 0.0 if loss.positive else target < 0.0)
        if bad.size:
            wanted, others = ("y > 0", "'tweedie' takes zeros, 'squared'") if loss.positive else ("y >= 0", "'squared'")
            raise ValueError(
                f"loss {loss.name!r} needs {wanted}, got {target[bad[0]]:g} in row {bad[0]}: "
                f"correct or drop such rows, or use another loss ({others} any y)"
            )
    return target


def _check_offset(offset: Any, n: int) -> Array | None:
    """Return an offset for n observations; raise a ValueError if it is not one."""
    return None if offset is None else _numbers_for(offset, "offset", n)


def _check_exposure(exposure: Any, n: int, loss: Loss) -> Array | None:
    """Return exposures of n observations; raise a ValueError if they are not."""
    if exposure is None:
        return None
    if not loss.log_link:
        raise ValueError(f"exposure needs a loss of counts or totals such as 'poisson', not {loss.name!r}: use offset")
    values = _numbers_for(exposure, "exposure", n)
    if not (values > 0.0).all():
        bad = int(np.flatnonzero(~(values > 0.0))[0])
        raise ValueError(f"exposure must be above zero, got {shown(float(values[bad]))} in row {bad}: drop such rows")
    return values


def _numbers_for(values: Any, name: str, n: int) -> Array:
    """One finite number for each of n observations; a single number is used for all of them."""
    array = as_numbers(as_array(values, name), name)
    if array.ndim == 0:
        array = np.full(n, float(array))
    if array.shape != (n,):
        raise ValueError(f"{name} must have {n} entries, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} contains NaN or infinity")
    return array


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
