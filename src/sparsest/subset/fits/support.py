"""The value of a support: the best ridge-regularised model on given features, with its dual point.

    c(s) = min_{w on s, b} Σ ω ℓ(y, Xw + b) + (1/2γ)‖w‖²  =  max_α -Σ ω ℓ*(y, α/ω) - (γ/2)‖X_s'α‖²

Squared loss: one linear system.  Other smooth losses: Newton's method with a line search.  Piecewise linear losses: an
interior-point method.  All stop at a computed relative primal-dual gap, and work in coordinates in which neither the
columns' units nor near dependence matter.  More features than observations are rotated into the row space first, so
no method ever sees more columns than rows.

Where coefficients have a box, they are the coordinates, in units of their columns: least squares and the steps of
Newton's method are quadratics over it, and the interior-point method has it as further pieces of the loss.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sparsest.core.arrays import Array, Indices
from sparsest.core.intercepts import best_intercept
from sparsest.core.losses import Loss, PiecewiseLinear, Squared
from sparsest.core.problem import Problem
from sparsest.runtime.faults import reach
from sparsest.runtime.threads import single_threaded
from sparsest.subset.fits.boxed import minimise_in_box, with_box
from sparsest.subset.fits.interior_point import minimise, stack
from sparsest.subset.fits.linear_algebra import (
    Coordinates,
    Orthogonal,
    Scaled,
    coordinates,
    factor_positive,
    row_space,
    solve_positive,
)

GAP = 1e-8
_NEWTON_STEPS = 200
# Steps that are cut to less than this come from models that are hardly curved; and the share of a typical curvature
# that observations get where this happens.  Huber's loss without a ridge, 8 × 12 with most residuals beyond δ, then
# takes some 20 steps.
_SHORT_STEP, _LEAST_CURVATURE = 1e-3, 1e-2


class SupportFit(NamedTuple):
    """A model on a support; ``primal`` is its objective, ``dual`` a lower bound of every model's on that support."""

    support: Indices
    w: Array
    b: float
    alpha: Array
    primal: float
    dual: float


class _Model(NamedTuple):
    """A regularised generalised linear model in coordinates that keep digits; each has a ridge of its own.

    ``curvature`` is a typical one of the losses, ``box`` what coordinates may be, None where that is anything.
    """

    coordinates: Coordinates
    y: Array
    weights: Array
    loss: Loss
    fit_intercept: bool
    curvature: float
    box: Array | None = None

    @property
    def columns(self) -> Array:
        return self.coordinates.columns

    @property
    def ridge(self) -> Array:
        return self.coordinates.ridge

    def objective(self, t: Array, margin: Array) -> float:
        # Without a ridge coefficients may be so large that their squares are no numbers.
        with np.errstate(over="ignore", invalid="ignore"):
            return float(self.weights @ self.loss.value(self.y, margin)) + 0.5 * float((self.ridge * t) @ t)


def fit_support(
    problem: Problem,
    support: Indices,
    start: tuple[Array, float] | None = None,
    columns: Array | None = None,
    expired: Callable[[], bool] = lambda: False,
    cutoff: float = np.inf,
) -> SupportFit:
    """Fit the model on a support to a relative gap of 1e-8, beginning from ``start``: coefficients and an intercept.

    If ``expired`` says so, it is fitted less precisely, as it may be where its objective turns out to be above
    ``cutoff``.
    """
    support = np.asarray(support, dtype=np.intp)
    if not support.size and isinstance(problem.loss, Squared):
        return _null_fit(problem)
    block = problem.design.columns(support) if columns is None else columns
    n, m = block.shape
    with single_threaded():
        if problem.max_coef is not None:
            return _fit_in(problem, support, block, None, _units(block, problem), start, expired, cutoff)
        packed, rotation = (block, None) if m <= n else row_space(block, scale=np.isinf(problem.gamma))
        if rotation is not None:
            start = None
        fits = [
            _fit_in(problem, support, block, rotation, basis, start, expired, cutoff)
            for basis in coordinates(packed, problem.weights, problem.ridge)
        ]
    return min(fits, key=lambda fit: fit.primal)


def _null_fit(problem: Problem) -> SupportFit:
    """The model without features, where its intercept is a mean: it is known with the data."""
    b, alpha, _ = problem.data.null
    nothing = np.empty(0)
    primal, dual = problem.primal(np.full(problem.n, b), nothing, 0), -problem.conjugate_sum(alpha)
    return SupportFit(np.empty(0, dtype=np.intp), nothing, b, alpha.copy(), primal, min(dual, primal))


def _units(block: Array, problem: Problem) -> Scaled:
    """Coefficients in units of their columns, however near these are to being dependent."""
    squares = problem.weights @ block**2 + problem.ridge
    scale = np.sqrt(np.where(squares > 0.0, squares, 1.0))
    return Scaled(Coordinates(block / scale, problem.ridge / scale**2, None), scale)


def _fit_in(
    problem: Problem,
    support: Indices,
    block: Array,
    rotation: Array | None,
    basis: Scaled | Orthogonal,
    start: tuple[Array, float] | None,
    expired: Callable[[], bool],
    cutoff: float,
) -> SupportFit:
    """Fit the model in given coordinates of the columns, or of their rotation."""
    begin = None if start is None else (basis.inverse(start[0]), start[1])
    data = problem.data
    model = _Model(basis.coordinates, data.y, data.weights, data.loss, data.fit_intercept, data.curvature)
    if problem.max_coef is not None:
        model = model._replace(box=basis.inverse(np.full(support.size, problem.box)))
    t, b, alpha = _minimise(model, begin, expired, cutoff - problem.sparsity.cost(support.size))
    w = np.clip(basis.coefficients(t), -problem.box, problem.box)
    if rotation is not None:
        w = rotation @ w
    primal = problem.primal(basis.margin(block, w, b), w, w.size)
    alpha = problem.feasible(alpha)
    products = block.T @ alpha
    gain = float(problem.gains_from(products).sum()) if problem.has_dual_bounds else 0.0
    dual = -problem.conjugate_sum(alpha) - gain + problem.sparsity.cost(w.size)
    return SupportFit(support, w, b, alpha, primal, min(dual, primal))


def _minimise(
    model: _Model, start: tuple[Array, float] | None, expired: Callable[[], bool], cutoff: float
) -> tuple[Array, float, Array]:
    reach("fit")
    if isinstance(model.loss, Squared):
        return _ridge(model)
    if isinstance(model.loss, PiecewiseLinear):
        rows = stack(model.columns, model.weights, model.loss.pieces(model.y), model.fit_intercept)
        rows = rows if model.box is None else with_box(rows, model.box)
        t, b, alpha = minimise(rows, model.ridge, model.fit_intercept, 0.1 * GAP, expired, cutoff)
        return t, b, alpha[: model.y.size]
    return _newton(model, start, expired)


def _ridge(model: _Model) -> tuple[Array, float, Array]:
    """Least squares with a ridge; the columns are centred, so the intercept is the mean of y."""
    A, weights = model.columns, model.weights
    b = float(weights @ model.y) / float(weights.sum()) if model.fit_intercept else 0.0
    target = model.y - b
    if model.box is not None:
        H = A.T @ (weights[:, None] * A)
        H.flat[:: H.shape[0] + 1] += model.ridge
        t = minimise_in_box(H, A.T @ (weights * target), -model.box, model.box)
        t = np.zeros(model.box.size) if t is None else t
        return t, b, weights * (A @ t - target)
    t = model.coordinates.solve(A.T @ (weights * target))
    # One step of refinement: normal equations lose digits when columns are nearly dependent.
    alpha = weights * (A @ t - target)
    t -= model.coordinates.solve(A.T @ alpha + model.ridge * t)
    return t, b, weights * (A @ t - target)


def _newton(
    model: _Model, start: tuple[Array, float] | None, expired: Callable[[], bool]
) -> tuple[Array, float, Array]:
    """Newton's method with backtracking; the dual point is that of the linearised derivative."""
    A, y, weights, loss = model.columns, model.y, model.weights, model.loss
    m = A.shape[1]
    w, b = (np.zeros(m), 0.0) if start is None else (start[0].copy(), start[1])
    if model.fit_intercept and (start is None or m == 0):
        b = best_intercept(loss, y, weights, A @ w, b)
    margin = A @ w + b
    value = model.objective(w, margin)
    alpha = weights * loss.derivative(y, margin)
    # -slope is the Newton decrement squared, twice the distance to the optimum near it.
    least = 1e-12 * float(weights @ loss.value(y, 0.0))
    step_w, step_b, move, t = np.zeros(m), 0.0, np.zeros(y.size), 0.0
    for _ in range(_NEWTON_STEPS):
        second = loss.second_derivative(y, margin)
        step = _newton_step(model, w, margin, alpha, second, value)
        if (step is None or step.t < _SHORT_STEP) and not second.all():
            # Too few observations are curved, as where most are outliers: a floor keeps the model bounded.
            floor = np.maximum(second, _LEAST_CURVATURE * model.curvature)
            step = _newton_step(model, w, margin, alpha, floor, value) or step
        # The last step has been made: none is left to make where there is no further one.
        step_w, step_b, move, t = np.zeros(m), 0.0, np.zeros(y.size), 0.0
        if step is None:
            break
        step_w, step_b, move, slope, t = step
        if t == 0.0 or -slope <= 1e-3 * GAP * max(abs(value), least) or expired():
            break
        w, b, margin = w + t * step_w, b + t * step_b, margin + t * move
        value = model.objective(w, margin)
        alpha = weights * loss.derivative(y, margin)
    corrected = alpha + weights * loss.second_derivative(y, margin) * move
    inside = weights * loss.project(y, corrected / weights)
    if not np.allclose(inside, corrected, rtol=1e-9, atol=0.0):
        corrected = alpha
    return w + t * step_w, b + t * step_b, corrected


def _step_length(
    model: _Model, w: Array, margin: Array, step_w: Array, move: Array, value: float, slope: float
) -> float:
    """Backtrack from 1 to a step that decreases the objective enough; 0 when rounding leaves none."""
    t = 1.0
    while t > 1e-12:
        if model.objective(w + t * step_w, margin + t * move) <= value + 1e-4 * t * slope:
            return t
        t *= 0.5
    return 0.0


class _Step(NamedTuple):
    """A step, what it does to the predictions, the slope of the objective along it, and how much of it to take."""

    w: Array
    b: float
    move: Array
    slope: float
    t: float


def _newton_step(model: _Model, w: Array, margin: Array, alpha: Array, second: Array, value: float) -> _Step | None:
    """The step to the minimiser of the model with these curvatures; None where that is no number."""
    direction = _newton_direction(model, w, alpha, model.weights * second)
    if direction is None:
        return None
    step_w, step_b = direction
    # Separated classes without a ridge have no minimum: their steps grow until they are no numbers.
    with np.errstate(over="ignore", invalid="ignore"):
        move = model.columns @ step_w + step_b
        slope = float(alpha @ move) + float((model.ridge * w) @ step_w)
    if not np.isfinite(slope):
        return None
    return _Step(step_w, step_b, move, slope, _step_length(model, w, margin, step_w, move, value, slope))


def _newton_direction(model: _Model, w: Array, alpha: Array, curvature: Array) -> tuple[Array, float] | None:
    """The minimiser of the quadratic model at w; None where there is no finite one."""
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
    # Few observations may be curved: a shift that units do not change keeps what they leave open where it is.
    H.flat[:: size + 1] *= 1.0 + 1e-13
    if model.box is not None:
        room = np.full(size, np.inf)
        room[:m] = model.box
        held = np.append(w, np.zeros(size - m))
        boxed = minimise_in_box(H, -g, -room - held, room - held)
        return None if boxed is None else (boxed[:m], float(boxed[m:].sum()))
    factor = factor_positive(H)
    if factor is None:
        return None
    step = -solve_positive(factor, g)
    return (step[:m], float(step[m])) if model.fit_intercept else (step, 0.0)
