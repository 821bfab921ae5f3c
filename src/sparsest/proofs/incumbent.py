"""The model of a certificate, and bounds of its objective computed from the data."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sparsest.proofs.data import Data
from sparsest.proofs.rounding import TINY, UNDERFLOW, UNIT, Array, Indices, growth, precise_product, two_sum
from sparsest.proofs.statement import Statement
from sparsest.proofs.steps import is_column_set

# The smallest positive number.
_SUBNORMAL = 2.0**-1074

_Margins = Callable[["Incumbent", Array, float], tuple[Array, Array]]


class Incumbent(NamedTuple):
    """The predictions ``Σ_j coef_j (x_j - center_j) + intercept + rest``, for columns as given.

    A ``center`` near the means of the columns and an ``intercept`` near the mean of the response preserve digits if
    the means are large.
    """

    support: Indices
    coef: Array
    center: Array
    intercept: float
    rest: float = 0.0

    def constant(self) -> float:
        """The intercept for columns that are not centred."""
        return math.fsum([self.intercept, self.rest, *(-self.coef * self.center).tolist()])

    def complaints(self, statement: Statement) -> list[str]:
        """The reasons why this model is not admissible."""
        if not is_column_set(self.support, statement.p):
            return ["the incumbent's support is not a set of columns"]
        if self.coef.shape != self.support.shape or self.center.shape != self.support.shape:
            return [f"the incumbent has {self.coef.size} coefficients for {self.support.size} columns"]
        if not all(np.isfinite(part).all() for part in self[1:]):
            return ["the incumbent's coefficients are not finite"]
        reasons = []
        chosen = set(self.support.tolist())
        if not set(statement.include) <= chosen or set(statement.exclude) & chosen:
            reasons.append("the incumbent does not respect include and exclude")
        size, unit = statement.units_of(self.support).size, "features" if statement.structure is None else "units"
        if statement.k is not None and size > statement.k:
            reasons.append(f"the incumbent has {size} {unit}, more than k = {statement.k}")
        if statement.structure is not None:
            reasons += statement.structure.complaints(self.support, statement.p)
        if statement.bounds_coefficients:
            reasons += self._outside(statement)
        if not statement.fit_intercept and (self.intercept or self.rest or self.center.any()):
            reasons.append("the incumbent has an intercept where none is allowed")
        return reasons

    def _outside(self, statement: Statement) -> list[str]:
        """A coefficient that is beyond its limits, which are for the data as given, like the coefficients."""
        low, high = statement.limits_below[self.support], statement.limits_above[self.support]
        beyond = np.flatnonzero(~((low <= self.coef) & (self.coef <= high)))
        if not beyond.size:
            return []
        i = int(beyond[0])
        limits = f"[{low[i]:g}, {high[i]:g}]"
        return [f"the incumbent's coefficient {float(self.coef[i])!r} of column {self.support[i]} is not in {limits}"]


def sizes_above(data: Data, statement: Statement, support: Indices, coef: Array) -> Array:
    """Upper bounds of ``√d_j |w_j|``, which ``max_coef`` limits; exact for columns as they are."""
    if not statement.standardize:
        return np.abs(coef)
    raw = data.raw(support)
    _, exponents = data.scale(raw)
    with np.errstate(over="ignore", invalid="ignore"):
        sizes = np.sqrt(data.prepare(raw).bounds.ridge_high) * np.abs(np.ldexp(coef, exponents)) * (1.0 + 8.0 * UNIT)
    return np.where(coef == 0.0, 0.0, sizes + UNDERFLOW)


def objective_bounds(data: Data, statement: Statement, model: Incumbent) -> tuple[float, float]:
    """A lower and an upper bound of the objective of an admissible model."""
    raw = data.raw(model.support)
    for margins in (_plain_margins, _precise_margins):
        bounds, precise = _bounds_by(margins, data, statement, model, raw)
        if precise:
            break
    return bounds


def _bounds_by(
    margins: _Margins, data: Data, statement: Statement, model: Incumbent, raw: Array
) -> tuple[tuple[float, float], bool]:
    """Bounds of the objective, and whether errors of the predictions widen them no more than the summation does."""
    with np.errstate(over="ignore", invalid="ignore"):
        margin, error = margins(model, raw, data.y_shift)
        # Zero response, predictions and coefficients involve no rounding.  Otherwise add the underflow of each product,
        # of their sum, and of the squares.
        zero = not (data.y.any() or margin.any() or model.coef.any())
        error = 1.01 * error + (0.0 if zero else 4.0 * (model.coef.size + 2) * _SUBNORMAL)
        if statement.rule.shifts:
            error = error + 2.0 * UNIT * np.abs(data.y)
        if data.offset.any():
            margin = margin + data.offset
            error = error + 2.0 * UNIT * np.abs(margin) + 1.01 * data.offset_error
        values, change = statement.rule.value(data.y, margin, error)
        change = change + (0.0 if zero else 32.0 * UNIT * TINY)
        ridge_low, ridge_high = _ridge(data, statement, model, raw)
        fit, spread = float(data.weights @ values), 1.01 * float(data.weights @ change)
    of_sum = growth(data.n + 4) * fit
    precise, spread = spread <= of_sum, spread + of_sum
    price = statement.price_of(model.support)
    rounding = growth(8) * (fit + ridge_high + price) + (0.0 if zero else UNDERFLOW)
    low, high = fit - spread + ridge_low + price - rounding, fit + spread + ridge_high + price + rounding
    return ((low, high) if np.isfinite(low) and np.isfinite(high) else (-np.inf, np.inf)), precise


def _plain_margins(model: Incumbent, raw: Array, y_shift: float) -> tuple[Array, Array]:
    """The predictions minus a shift of the response, and bounds of their errors."""
    columns, constants = raw - model.center, np.array([model.intercept, -y_shift, model.rest])
    sizes = np.abs(columns) @ np.abs(model.coef) + np.abs(constants).sum()
    return columns @ model.coef + constants.sum(), growth(model.coef.size + 8) * sizes


def _precise_margins(model: Incumbent, raw: Array, y_shift: float) -> tuple[Array, Array]:
    """The same in twice the precision: nearly dependent columns have large coefficients of opposite signs."""
    columns, rest = two_sum(raw, np.broadcast_to(-model.center, raw.shape))
    fitted, low = (part[:, 0] for part in precise_product(columns, rest, model.coef[:, None]))
    # The response is shifted by a number near its mean; shift the intercept by the same number.
    near, near_error = two_sum(np.array(model.intercept), np.array(-y_shift))
    constant, constant_error = two_sum(near, np.array(model.rest))
    total, total_error = two_sum(fitted, np.broadcast_to(constant, fitted.shape))
    corrections = low + total_error + (near_error + constant_error)
    margin = total + corrections
    sizes = (np.abs(columns) + np.abs(rest)) @ np.abs(model.coef)
    small = np.abs(low) + np.abs(total_error) + np.abs(near_error) + np.abs(constant_error)
    return margin, UNIT * np.abs(margin) + 8.0 * UNIT * small + 4.0 * ((model.coef.size + 6) * UNIT) ** 2 * sizes


def _ridge(data: Data, statement: Statement, model: Incumbent, raw: Array) -> tuple[float, float]:
    """Bounds of ``Σ d_j w_j²/(2γ)``."""
    if np.isinf(statement.gamma) or not model.support.size:
        return 0.0, 0.0
    w, low, high = model.coef, np.ones(model.coef.size), np.ones(model.coef.size)
    if statement.standardize:
        _, exponents = data.scale(raw)
        bounds = data.prepare(raw).bounds
        w, low, high = np.ldexp(w, exponents), bounds.ridge_low, bounds.ridge_high
    # Divide by γ before squaring: if the quotient underflows, the coefficient is small.
    squares = 0.5 * w / statement.gamma * w
    error = growth(w.size + 16)
    return float(low @ squares) * (1.0 - error), float((high * squares)[squares > 0.0].sum()) * (1.0 + error)
