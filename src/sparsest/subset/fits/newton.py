"""Newton's method for a ridge-regularised generalised linear model on few columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sparsest.core.arrays import Array
from sparsest.core.bounds import UNBOUNDED, Bounds
from sparsest.core.intercepts import best_intercept
from sparsest.core.losses import Loss
from sparsest.subset.fits.boxed import minimise_in_box
from sparsest.subset.fits.linear_algebra import Coordinates, factor_positive, solve_positive

# Largest number of Newton steps.
_MOST_STEPS = 200
# Step length below which the quadratic model has too little curvature, and smallest curvature of an observation in the
# model that is then used instead, as a share of a typical curvature.  With these values the Huber loss without a ridge,
# 8 × 12 with most residuals beyond δ, takes about 20 steps.
_SHORT_STEP, _LEAST_CURVATURE = 1e-3, 1e-2


class Model(NamedTuple):
    """A regularised generalised linear model in well-conditioned coordinates, each with its own ridge.

    ``curvature`` is a typical second derivative of the loss.  ``bounds`` are those of the coordinates.
    """

    coordinates: Coordinates
    y: Array
    weights: Array
    loss: Loss
    fit_intercept: bool
    curvature: float
    bounds: Bounds = UNBOUNDED

    @property
    def columns(self) -> Array:
        """The columns in these coordinates."""
        return self.coordinates.columns

    @property
    def ridge(self) -> Array:
        """The ridge of each coordinate."""
        return self.coordinates.ridge

    def objective(self, t: Array, margin: Array) -> float:
        """The objective of coordinates whose predictions are ``margin``."""
        # Without a ridge, coefficients may be so large that their squares overflow.
        with np.errstate(over="ignore", invalid="ignore"):
            return float(self.weights @ self.loss.value(self.y, margin)) + 0.5 * float((self.ridge * t) @ t)


class Minimum(NamedTuple):
    """Coordinates and intercept of a model, its predictions, its dual point and its objective."""

    t: Array
    b: float
    margin: Array
    alpha: Array
    value: float


def newton(
    model: Model,
    start: tuple[Array, float] | None,
    precision: float,
    expired: Callable[[], bool] = lambda: False,
    unless: float = np.inf,
) -> Minimum | None:
    """Newton's method with backtracking; the dual point is the linearised derivative of the loss.

    The method ends with a step whose squared Newton decrement is at most ``precision`` times the objective.  It returns
    None as soon as the objective minus the squared decrement is above ``unless``; near the minimum a step decreases the
    objective by half of the squared decrement.
    """
    A, y, weights, loss = model.columns, model.y, model.weights, model.loss
    m = A.shape[1]
    w, b = (np.zeros(m), 0.0) if start is None else (start[0].copy(), start[1])
    if model.fit_intercept and (start is None or m == 0):
        b = best_intercept(loss, y, weights, A @ w, b)
    margin = A @ w + b
    value = model.objective(w, margin)
    alpha = weights * loss.derivative(y, margin)
    # -slope is the squared Newton decrement; near the optimum it is twice the distance of the objective to its minimum.
    least = 1e-12 * float(weights @ loss.value(y, 0.0))
    last: _Step | None = None
    for _ in range(_MOST_STEPS):
        last = _bounded_step(model, w, margin, alpha, value)
        if last is None:
            break
        if value + last.slope > unless:
            return None
        if last.t == 0.0 or -last.slope <= precision * max(abs(value), least) or expired():
            break
        w, b, margin = w + last.t * last.w, b + last.t * last.b, margin + last.t * last.move
        value = model.objective(w, margin)
        alpha = weights * loss.derivative(y, margin)
        last = None
    if last is None:
        return Minimum(w, b, margin, alpha, value)
    dual = _linearised(model, margin, alpha, last.move)
    w, b, margin = w + last.t * last.w, b + last.t * last.b, margin + last.t * last.move
    return Minimum(w, b, margin, dual, model.objective(w, margin))


def _linearised(model: Model, margin: Array, alpha: Array, move: Array) -> Array:
    """The derivative after a step by the quadratic model, if it is in the conjugate's domain; otherwise α itself."""
    y, weights, loss = model.y, model.weights, model.loss
    corrected = alpha + weights * loss.second_derivative(y, margin) * move
    inside = weights * loss.project(y, corrected / weights)
    return corrected if np.allclose(inside, corrected, rtol=1e-9, atol=0.0) else alpha


def _step_length(
    model: Model, w: Array, margin: Array, step_w: Array, move: Array, value: float, slope: float
) -> float:
    """Backtrack from 1 to a step that decreases the objective enough; 0 if rounding errors prevent a decrease."""
    t = 1.0
    while t > 1e-12:
        if model.objective(w + t * step_w, margin + t * move) <= value + 1e-4 * t * slope:
            return t
        t *= 0.5
    return 0.0


class _Step(NamedTuple):
    """A step in w and b, the change ``move`` of the predictions, the slope of the objective, and the step length t."""

    w: Array
    b: float
    move: Array
    slope: float
    t: float


def _bounded_step(model: Model, w: Array, margin: Array, alpha: Array, value: float) -> _Step | None:
    """A Newton step; a floor on the curvatures keeps it bounded if most observations are outliers."""
    second = model.loss.second_derivative(model.y, margin)
    step = _newton_step(model, w, margin, alpha, second, value)
    if (step is None or step.t < _SHORT_STEP) and not second.all():
        floor = np.maximum(second, _LEAST_CURVATURE * model.curvature)
        step = _newton_step(model, w, margin, alpha, floor, value) or step
    return step


def _newton_step(model: Model, w: Array, margin: Array, alpha: Array, second: Array, value: float) -> _Step | None:
    """The step to the minimiser of the quadratic model with these curvatures; None if it is not finite."""
    direction = _newton_direction(model, w, alpha, model.weights * second)
    if direction is None:
        return None
    step_w, step_b = direction
    # Separable classes without a ridge have no minimum: the steps grow until they overflow.
    with np.errstate(over="ignore", invalid="ignore"):
        move = model.columns @ step_w + step_b
        slope = float(alpha @ move) + float((model.ridge * w) @ step_w)
    if not np.isfinite(slope):
        return None
    return _Step(step_w, step_b, move, slope, _step_length(model, w, margin, step_w, move, value, slope))


def _newton_direction(model: Model, w: Array, alpha: Array, curvature: Array) -> tuple[Array, float] | None:
    """The step from w to the minimiser of the quadratic model; None if it is not finite."""
    A = model.columns
    weighted = curvature[:, None] * A
    m = A.shape[1]
    size = m + int(model.fit_intercept)
    H, g = np.empty((size, size)), np.empty(size)
    H[:m, :m] = A.T @ weighted
    g[:m] = A.T @ alpha + model.ridge * w
    H.flat[: m * (size + 1) : size + 1] += model.ridge
    if model.fit_intercept:
        H[m, :m] = H[:m, m] = weighted.sum(axis=0)
        H[m, m] = curvature.sum()
        g[m] = alpha.sum()
    # If the loss has curvature at few observations, H may be singular: a relative shift, which does not depend on
    # units, keeps the undetermined directions unchanged.
    H.flat[:: size + 1] *= 1.0 + 1e-13
    if model.bounds.exist:
        low, high = np.full(size, -np.inf), np.full(size, np.inf)
        # Rounding errors may have moved w beyond its bounds.
        low[:m], high[:m] = np.minimum(model.bounds.low - w, 0.0), np.maximum(model.bounds.high - w, 0.0)
        boxed = minimise_in_box(H, -g, low, high)
        return None if boxed is None else (boxed[:m], float(boxed[m:].sum()))
    factor = factor_positive(H)
    if factor is None:
        return None
    step = -solve_positive(factor, g)
    return (step[:m], float(step[m])) if model.fit_intercept else (step, 0.0)
