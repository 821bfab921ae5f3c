"""The problem: data, loss, ridge, sparsity and forced features, frozen; and its primal and dual values.

    min_w  Σ_i ω_i ℓ(y_i, x_i'w + b) + (1/2γ)‖w‖²  [+ λ0 ‖w‖_0]      s.t. [‖w‖_0 ≤ k,]  w_j = 0 for j excluded

For every dual point α (in the conjugate's domain, and with Σα = 0 under an intercept) and every region of the
search, given by features forced in (S1) and out (S0),

    D(α) = -Σ_i ω_i ℓ*(y_i, α_i/ω_i) - gain(q),     q_j = (γ/2)(X_j'α)²

is a lower bound, where ``gain`` adds q over S1 and over the best free choice that the sparsity admits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsest.arrays import Array, Indices
from sparsest.checks import as_array, as_numbers, column_numbers, flag, number, whole_number
from sparsest.designs import Dense, Design, Moments, as_design, in_units_of_data, view_with
from sparsest.intercepts import best_intercept
from sparsest.losses import Loss, make_loss

# Sums of squares that computations may start from: bounds multiply two of them, and neither overflow nor lost digits
# must result.  The data may be larger or smaller where columns are standardised.
_SMALLEST_SQUARES, _LARGEST_SQUARES = 1e-150, 1e150
_SMALLEST_RAW_SQUARES, _LARGEST_RAW_SQUARES = 1e-290, 1e300


class Region(NamedTuple):
    """The supports that contain ``forced_in`` and avoid ``forced_out``."""

    forced_in: Indices
    forced_out: Indices

    def free(self, p: int) -> Indices:
        """The features that are neither forced in nor out."""
        mask = np.ones(p, dtype=bool)
        mask[self.forced_in] = False
        mask[self.forced_out] = False
        return np.flatnonzero(mask)


class Cardinality(NamedTuple):
    """At most ``k`` features."""

    k: int

    def budget(self, n_forced_in: int, n_free: int) -> int:
        """How many free features may still be chosen."""
        return max(0, min(self.k - n_forced_in, n_free))

    def cost(self, n_selected: int) -> float:
        """What choosing that many features costs."""
        return 0.0

    def choose(self, q: Array, n_forced_in: int) -> Indices:
        """Positions of the free gains ``q`` that the best choice takes: exactly the budget, ties broken."""
        budget = self.budget(n_forced_in, q.size)
        if budget == 0:
            return np.empty(0, dtype=np.intp)
        return np.argpartition(-q, budget - 1)[:budget]

    def gain(self, q_in: Array, q_free: Array) -> float:
        """What the dual bound loses to the forced and the best free features."""
        return float(q_in.sum() + q_free[self.choose(q_free, q_in.size)].sum())

    def forcing_costs(self, q_in: Array, q_free: Array) -> tuple[Array, Array]:
        """How much the dual bound rises when each free feature is forced in, and forced out.

        With k' the budget, forcing in a feature outside the best choice costs ``q_(k') - q_j``; forcing out
        one of the choice costs ``q_j - q_(k'+1)``.
        """
        m, budget = q_free.size, self.budget(q_in.size, q_free.size)
        if budget == 0:
            return np.full(m, np.inf), np.zeros(m)
        if budget == m:
            return np.zeros(m), q_free.copy()
        order = np.argpartition(-q_free, (budget - 1, budget))
        last, following = q_free[order[budget - 1]], q_free[order[budget]]
        return np.maximum(last - q_free, 0.0), np.maximum(q_free - following, 0.0)


class Penalty(NamedTuple):
    """A price ``l0`` for every feature."""

    l0: float

    def budget(self, n_forced_in: int, n_free: int) -> int:
        """How many free features may still be chosen."""
        return n_free

    def cost(self, n_selected: int) -> float:
        """What choosing that many features costs."""
        return self.l0 * n_selected

    def choose(self, q: Array, n_forced_in: int) -> Indices:
        """Positions of the free gains ``q`` worth their price."""
        return np.flatnonzero(q > self.l0)

    def gain(self, q_in: Array, q_free: Array) -> float:
        """What the dual bound loses to the forced and the best free features."""
        return float((q_in - self.l0).sum() + np.maximum(q_free - self.l0, 0.0).sum())

    def forcing_costs(self, q_in: Array, q_free: Array) -> tuple[Array, Array]:
        """How much the dual bound rises when each free feature is forced in, and forced out."""
        return np.maximum(self.l0 - q_free, 0.0), np.maximum(q_free - self.l0, 0.0)


Sparsity = Cardinality | Penalty


@dataclass(frozen=True, eq=False)
class Problem:
    """A best-subset problem; ``design`` is centred when there is an intercept (which changes b alone)."""

    design: Design
    y: Array
    weights: Array
    loss: Loss
    gamma: float
    sparsity: Sparsity
    include: Indices
    exclude: Indices
    fit_intercept: bool
    standardize: bool
    # ``√(Σ_i ω_i x_ij²)`` of every column of the design.
    column_norms: Array
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

    @property
    def ridge(self) -> float:
        """``λ = 1/γ``."""
        return 1.0 / self.gamma

    @property
    def root(self) -> Region:
        """The region of all admissible supports."""
        return Region(self.include, self.exclude)

    def with_sparsity(self, sparsity: Sparsity) -> Problem:
        """Return the same problem with another k or λ0."""
        return replace(self, sparsity=sparsity)

    def with_gamma(self, gamma: float) -> Problem:
        """Return the same problem with another γ."""
        return replace(self, gamma=check_gamma(gamma))

    def primal(self, margin: Array, w: Array, n_selected: int) -> float:
        """The objective of coefficients ``w`` (packed or whole) whose predictions are ``margin``."""
        fit = float(self.weights @ self.loss.value(self.y, margin))
        return fit + 0.5 * self.ridge * float(w @ w) + self.sparsity.cost(n_selected)

    def conjugate_sum(self, alpha: Array) -> float:
        """``Σ ω ℓ*(y, α/ω)``."""
        return float(self.weights @ self.loss.conjugate(self.y, alpha / self.weights))

    def feasible(self, alpha: Array) -> Array:
        """Return a dual point near ``alpha`` that is in the domain and, under an intercept, sums to zero.

        Scaling down the sign whose total is larger keeps every coordinate in its domain, which is
        star-shaped about zero for all losses.
        """
        alpha = self.weights * self.loss.project(self.y, alpha / self.weights)
        if not self.fit_intercept:
            return alpha
        up, down = np.maximum(alpha, 0.0).sum(), np.maximum(-alpha, 0.0).sum()
        if up > down:
            return np.where(alpha > 0, alpha * (down / up), alpha)
        return np.where(alpha < 0, alpha * (up / down), alpha) if down > up else alpha

    def gains(self, alpha: Array) -> Array:
        """``q_j = (γ/2)(X_j'α)²`` for every feature."""
        return self.gains_from(self.design.tdot(alpha))

    def gains_from(self, products: Array) -> Array:
        """``(γ/2)u²`` for the products ``u = X_j'α`` of the chosen features.

        Without a ridge only features that are exactly orthogonal to α gain nothing; all others gain infinity.
        """
        if np.isfinite(self.gamma):
            return 0.5 * self.gamma * products**2
        return np.where(products == 0.0, 0.0, np.inf)

    def intercept_for(self, margin: Array, start: float = 0.0) -> float:
        """The b that minimises ``Σ ω ℓ(y, margin + b)``: 0 without an intercept."""
        if not self.fit_intercept:
            return 0.0
        return best_intercept(self.loss, self.y, self.weights, margin, start)

    def original(self, w: Array, b: float) -> tuple[Array, float]:
        """Coefficients and intercept for the data as given, from those for the view."""
        coef, constant = in_units_of_data(self.design, slice(None), w)
        return coef, b + constant + self.y_offset if self.fit_intercept else b


def check_gamma(gamma: Any) -> float:
    """Return γ as a float, or say what is wrong with it; squares of γ and of 1/γ must be numbers."""
    value = number(gamma, "gamma", above=0, finite=False)
    if not (1e-150 <= value <= 1e150 or np.isinf(value)):
        raise ValueError(f"gamma must be between 1e-150 and 1e150, or inf for no ridge, got {value!r}")
    return value


def make_problem(
    X: Any,
    y: Any,
    k: int | None = None,
    *,
    l0_penalty: float | None = None,
    gamma: float = np.inf,
    loss: str | Loss = "squared",
    epsilon: float = 0.1,
    fit_intercept: bool = True,
    standardize: bool = False,
    sample_weight: Any = None,
    include: Sequence[int] = (),
    exclude: Sequence[int] = (),
) -> Problem:
    """Check the user's data and build the problem; every complaint says what to do."""
    chosen = make_loss(loss, epsilon)
    fit_intercept, standardize = flag(fit_intercept, "fit_intercept"), flag(standardize, "standardize")
    design = as_design(X)
    n, p = design.shape
    weights = _check_weights(sample_weight, n)
    target = encode_labels(y)[0] if chosen.classification else _check_target(y)
    if target.shape != (n,):
        raise ValueError(f"X has {n} rows but y has {target.size} entries")
    if not weights.all():
        keep = np.flatnonzero(weights)
        design, target, weights = design.rows(keep), target[keep], weights[keep]
        if chosen.classification and np.ptp(target) == 0:
            raise ValueError("all observations with a positive weight belong to one class")
    inside, outside = _check_forced(include, exclude, p)
    sparsity = check_sparsity(k, l0_penalty, inside.size, p - outside.size)
    moments = design.moments(weights)
    norms = _column_norms(moments, weights.sum(), fit_intercept, standardize)
    view = view_with(design, moments, center=fit_intercept, scale=standardize)
    offset = 0.0 if chosen.classification else _offset(target, weights, fit_intercept)
    return Problem(
        view,
        target - offset,
        weights,
        chosen,
        check_gamma(gamma),
        sparsity,
        inside,
        outside,
        fit_intercept,
        standardize,
        norms,
        target,
        offset,
    )


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


def _check_forced(include: Sequence[int], exclude: Sequence[int], p: int) -> tuple[Indices, Indices]:
    inside = np.unique(column_numbers(include, "include", p))
    outside = np.unique(column_numbers(exclude, "exclude", p))
    both = np.intersect1d(inside, outside)
    if both.size:
        raise ValueError(f"columns {both.tolist()} are both in include and in exclude")
    return inside, outside


def check_sparsity(k: Any, l0_penalty: Any, n_include: int, n_allowed: int) -> Sparsity:
    """Return the constraint or the price, or say what is wrong with them."""
    if (k is None) == (l0_penalty is None):
        raise ValueError("give exactly one of k (a number of features) and l0_penalty (a price per feature)")
    if k is None:
        return Penalty(number(l0_penalty, "l0_penalty", least=0))
    most = whole_number(k, "k", least=0)
    if most < n_include:
        raise ValueError(f"k = {most} is less than the {n_include} features that include forces in")
    return Cardinality(min(most, n_allowed))
