"""Refits without shrinkage on a few columns, as needed for standard errors, and the reasons why they may not exist.

The columns are centred and scaled as in every fit, and the coordinates are those of the scaled columns with the
intercept last.  Newton's method with a line search serves all smooth losses; for the squared loss it takes one step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg as la

from sparsest.core.arrays import Array
from sparsest.core.data import Data, make_data
from sparsest.core.designs import shift_and_scale
from sparsest.core.losses import Loss, PiecewiseLinear, mean_of

_STEPS = 100
# Steps up to this size, in units of the scaled columns, are rounding errors.
_SMALLEST_STEP = 1e-12
# Relative decreases of the objective below this are rounding errors: the full step is taken.
_NO_DECREASE = 1e-10
# Singular values of the scaled columns below this share of the largest are rounding errors.
_NO_DIRECTION = 1e-9
# If the curvature in some direction falls to this share of that without features, the fit may be infinite.
_FLAT = 1e-4
# If too few observations have curvature (many outliers), all get at least this share of a typical one.
_LEAST_CURVATURE = 1e-2
# Predictions this large are infinite for every loss, and slopes this small are zero.
_FAR, _NO_SLOPE = 300.0, 1e-12
# Smallest margin, for rows of size about 1, at which observations count as separated.
_SEPARATED = 1e-6


class NoRefit(ValueError):
    """These rows have no fit without a ridge, or its standard errors do not exist."""


class Refit(NamedTuple):
    """A model without shrinkage at its optimum.

    Attributes
    ----------
    coef : coefficients for the data as given, the intercept last if there is one
    rows : n × m matrix of the scaled columns, with ones for the intercept
    to_data : matrix that turns coordinates of ``rows`` into coefficients for the data, up to a constant
    slope, curvature : derivatives of each observation's loss, without its weight
    expected_curvature : its expectation under the model; None where the loss has no model of the response
    data : the observations with a positive weight
    """

    coef: Array
    rows: Array
    to_data: Array
    slope: Array
    curvature: Array
    expected_curvature: Array | None
    data: Data


def refit(columns: Array, y: Any, names: Sequence[str], *, loss: Loss, fit_intercept: bool, **given: Any) -> Refit:
    """Fit the columns without a ridge, or raise an error that says why the fit does not exist.

    Parameters
    ----------
    columns : n × m, finite
    names : the names of the columns, for error messages
    loss : must be smooth
    **given : ``sample_weight``, ``offset`` and ``exposure``

    Raises
    ------
    NoRefit
        If the rows have no unique or no finite coefficients.
    """
    if isinstance(loss, PiecewiseLinear):
        raise ValueError(
            f"the {loss.name} loss has no curvature, so there are no standard errors of this kind: repeat the "
            "selection on resampled rows with sparsest.bootstrap"
        )
    settings = {"loss": loss, "fit_intercept": fit_intercept, "standardize": True, **given}
    # Data need at least one column: without features, use a column of zeros.
    data = make_data(columns if columns.shape[1] else np.zeros((columns.shape[0], 1)), y, **settings)
    index = np.arange(columns.shape[1])
    shift, scale = shift_and_scale(data.design, index)
    rows = data.design.columns(index)
    to_data = np.diag(1.0 / scale)
    if fit_intercept:
        rows = np.column_stack([rows, np.ones(data.n)])
        to_data = np.block([[to_data, np.zeros((index.size, 1))], [-(shift / scale)[None, :], np.ones((1, 1))]])
    _check_rank(rows, data, names)
    t = _minimise(rows, data, names)
    coef = to_data @ t
    if fit_intercept:
        coef[-1] += data.y_offset
    margin = rows @ t
    expected = None
    if loss.dispersion is not None:
        # Second derivatives of these losses are linear in y, or do not depend on it.
        expected = data.loss.second_derivative(mean_of(loss, margin + _inside(data)), margin)
    slope, curvature = data.loss.derivative(data.y, margin), data.loss.second_derivative(data.y, margin)
    return Refit(coef, rows, to_data, slope, curvature, expected, data)


def _inside(data: Data) -> Array | float:
    """The offset that the loss adds to its argument; losses of ``y - u`` subtract it from y instead."""
    return data.added if data.loss.classification or data.loss.log_link else 0.0


def _check_rank(rows: Array, data: Data, names: Sequence[str]) -> None:
    """Raise an error if coefficients are not unique, or no degrees of freedom are left."""
    n, m = rows.shape
    if n <= m:
        raise NoRefit(
            f"{n} observations leave no degrees of freedom for {m} coefficients: standard errors need more "
            "observations, or fewer features"
        )
    if not m:
        return
    weighted = np.sqrt(data.weights)[:, None] * rows
    size = np.linalg.norm(weighted, axis=0)
    for j in np.flatnonzero(size[: len(names)] == 0.0).tolist():
        raise NoRefit(f"the feature {names[j]} is constant in these rows, so it has no coefficient: leave it out")
    _, values, directions = la.svd(weighted / size, full_matrices=False)
    free = np.abs(directions[values <= _NO_DIRECTION * values[0]])
    if free.size:
        involved = _named(free.max(axis=0) > 1e-6, names)
        raise NoRefit(
            f"the features {involved} depend on each other linearly in these rows, so the refit has no unique "
            "coefficients: leave one of them out (exclude=)"
        )


def _named(which: Array, names: Sequence[str], most: int = 8) -> str:
    chosen = [name for name, involved in zip(names, which[: len(names)], strict=True) if involved]
    more = f" and {len(chosen) - most} more" if len(chosen) > most else ""
    return ", ".join(chosen[:most]) + more


def _minimise(rows: Array, data: Data, names: Sequence[str]) -> Array:
    """Newton's method from the model without features."""
    t = np.zeros(rows.shape[1])
    if data.fit_intercept:
        t[-1] = data.null.b
    flat = _FLAT * _smallest_curvature(rows, data, t)
    converged = False
    for _ in range(_STEPS):
        step = _step(rows, data, t)
        if step is None:
            break
        t = t + step
        converged = float(np.abs(step).max(initial=0.0)) <= _SMALLEST_STEP * max(1.0, float(np.abs(t).max(initial=0.0)))
        if converged:
            break
    if not converged or _smallest_curvature(rows, data, t) < flat:
        _check_separation(rows, data, names)
        if not converged:
            raise NoRefit("the refit without a ridge did not converge: rescale the response, or use a ridge")
    return t


def _smallest_curvature(rows: Array, data: Data, t: Array) -> float:
    curved = np.sqrt(data.weights * data.loss.second_derivative(data.y, rows @ t))[:, None] * rows
    return float(la.svdvals(curved)[-1]) ** 2 if t.size else np.inf


def _step(rows: Array, data: Data, t: Array) -> Array | None:
    """The Newton step, shortened until it decreases the objective; None if no step does."""
    margin = rows @ t
    gradient = rows.T @ (data.weights * data.loss.derivative(data.y, margin))
    curvature = data.loss.second_derivative(data.y, margin)
    for least in (0.0, _LEAST_CURVATURE * data.curvature):
        hessian = rows.T @ ((data.weights * np.maximum(curvature, least))[:, None] * rows)
        try:
            direction = -la.cho_solve(la.cho_factor(hessian), gradient)
        except la.LinAlgError:
            continue
        length = _length(rows, data, margin, direction, float(gradient @ direction))
        if np.isfinite(direction).all() and length > 0.0:
            return np.asarray(length * direction)
    return None


def _length(rows: Array, data: Data, margin: Array, direction: Array, slope: float) -> float:
    """The step length; 0 if no part of the step decreases the objective."""
    move = rows @ direction
    value = float(data.weights @ data.loss.value(data.y, margin))
    if -slope <= _NO_DECREASE * abs(value):
        return 1.0
    length = 1.0
    while length > 1e-10:
        if float(data.weights @ data.loss.value(data.y, margin + length * move)) <= value + 1e-4 * length * slope:
            return length
        length *= 0.5
    return 0.0


def _check_separation(rows: Array, data: Data, names: Sequence[str]) -> None:
    """Raise an error if the loss decreases forever along some direction, so that no minimum exists.

    The loss of an observation stays bounded on the side where its slope tends to zero: for the logistic loss the side
    of its label, for counts of zero that of small means.  Linear programming finds a direction along which every
    observation that moves goes to such a side (Konis 2007 for the logistic loss).
    """
    from scipy.optimize import linprog

    up = data.loss.derivative(data.y, np.full(data.n, _FAR)) <= _NO_SLOPE
    down = data.loss.derivative(data.y, np.full(data.n, -_FAR)) >= -_NO_SLOPE
    sign = np.where(up, 1.0, -1.0)[up != down]
    basis = la.null_space(rows[~(up | down)]) if (~(up | down)).any() else np.eye(rows.shape[1])
    if not sign.size or not basis.shape[1]:
        return
    ahead = sign[:, None] * (rows[up != down] @ basis)
    found = linprog(-ahead.mean(axis=0), A_ub=-ahead, b_ub=np.zeros(sign.size), bounds=(-1.0, 1.0), method="highs")
    if found.x is None or float(ahead.mean(axis=0) @ found.x) <= _SEPARATED:
        return
    involved = _named(np.abs(basis @ found.x) > _SEPARATED, names)
    what = "separate the two classes" if data.loss.classification else "determine which responses are zero"
    raise NoRefit(
        f"the features {involved} {what} in these rows, so coefficients without a ridge are infinite and have no "
        "standard errors: use the coefficients of the model, which a ridge keeps finite, and sparsest.bootstrap"
    )
