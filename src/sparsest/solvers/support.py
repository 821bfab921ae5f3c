"""The value of a support: the best ridge-regularised model on given features, with its dual point.

    c(s) = min_{w on s, b} Σ ω ℓ(y, Xw + b) + (1/2γ)‖w‖²  =  max_α -Σ ω ℓ*(y, α/ω) - (γ/2)‖X_s'α‖²

Squared loss: Cholesky of the smaller of the |s| × |s| and n × n systems.  Other smooth losses: Newton's method with a
line search.  Piecewise linear losses: an interior-point method.  All stop at a computed relative primal-dual gap.
More features than observations are rotated into the row space first, so no method ever sees more columns than rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray

from sparsest.losses import Loss, PiecewiseLinear, Squared
from sparsest.problem import Problem, best_intercept
from sparsest.solvers.piecewise import minimise, stack
from sparsest.solvers.threads import single_threaded

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

GAP = 1e-8


class SupportFit(NamedTuple):
    """A model on a support; ``primal`` is its objective, ``dual`` a lower bound of every model's on that support."""

    support: Indices
    w: Array
    b: float
    alpha: Array
    primal: float
    dual: float


class _Model(NamedTuple):
    """A regularised generalised linear model on packed columns."""

    columns: Array
    y: Array
    weights: Array
    loss: Loss
    ridge: float
    fit_intercept: bool

    def objective(self, w: Array, margin: Array) -> float:
        return float(self.weights @ self.loss.value(self.y, margin)) + 0.5 * self.ridge * float(w @ w)


def fit_support(
    problem: Problem,
    support: Indices,
    start: tuple[Array, float] | None = None,
    columns: Array | None = None,
    expired: Callable[[], bool] = lambda: False,
) -> SupportFit:
    """Fit the model on a support to a relative gap of 1e-8, beginning from ``start``: coefficients and an intercept.

    If ``expired`` says so, it is fitted less precisely.
    """
    support = np.asarray(support, dtype=np.intp)
    block = problem.design.columns(support) if columns is None else columns
    n, m = block.shape
    rotation = None
    packed = block
    if m > n:
        rotation, triangle = la.qr(block.T, mode="economic")
        packed = np.asfortranarray(triangle.T)
        start = None
    model = _Model(packed, problem.y, problem.weights, problem.loss, problem.ridge, problem.fit_intercept)
    with single_threaded():
        w, b, alpha = _minimise(model, start, expired)
    if rotation is not None:
        w = rotation @ w
    margin = block @ w + b
    primal = problem.primal(margin, w, m)
    alpha = problem.feasible(alpha)
    products = block.T @ alpha
    quadratic = 0.0 if np.isinf(problem.gamma) else 0.5 * problem.gamma * float(products @ products)
    dual = -problem.conjugate_sum(alpha) - quadratic + problem.sparsity.cost(m)
    return SupportFit(support, w, b, alpha, primal, min(dual, primal))


def _minimise(
    model: _Model, start: tuple[Array, float] | None, expired: Callable[[], bool]
) -> tuple[Array, float, Array]:
    if isinstance(model.loss, Squared):
        return _ridge(model)
    if isinstance(model.loss, PiecewiseLinear):
        rows = stack(model.columns, model.weights, model.loss.pieces(model.y), model.fit_intercept)
        return minimise(rows, model.y.size, model.ridge, model.fit_intercept, 0.1 * GAP, expired)
    return _newton(model, start, expired)


def _ridge(model: _Model) -> tuple[Array, float, Array]:
    """Least squares with a ridge; the columns are centred, so the intercept is the mean of y."""
    b = float(np.average(model.y, weights=model.weights)) if model.fit_intercept else 0.0
    root = np.sqrt(model.weights)
    scaled, target = root[:, None] * model.columns, root * (model.y - b)
    w = ridge_solve(scaled, target, model.ridge)
    residual = target - scaled @ w
    # One step of refinement: the normal equations lose half of the digits when the ridge is weak.
    w += ridge_solve(scaled, residual, model.ridge, shift=model.ridge * w)
    residual = target - scaled @ w
    return w, b, -root * residual


def ridge_solve(A: Array, z: Array, ridge: float, shift: Array | None = None) -> Array:
    """Solve ``(A'A + λI) w = A'z - shift``; the minimum-norm solution when that is singular."""
    m = A.shape[1]
    if m == 0:
        return np.empty(0)
    right = A.T @ z
    if shift is not None:
        right -= shift
    gram = A.T @ A
    gram.flat[:: m + 1] += ridge
    try:
        factor = la.cho_factor(gram, lower=True, check_finite=False)
        diagonal = np.abs(np.diagonal(factor[0]))
        if diagonal.min() > 1e-7 * diagonal.max():
            return la.cho_solve(factor, right, check_finite=False)
    except la.LinAlgError:
        pass
    eigenvalues, vectors = la.eigh(gram, check_finite=False)
    keep = eigenvalues > max(eigenvalues[-1], 1e-300) * 1e-13
    return vectors[:, keep] @ ((vectors[:, keep].T @ right) / eigenvalues[keep])


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
    enough = 1e-3 * GAP * max(abs(value), 1e-12 * weights.sum())
    for _ in range(200):
        step_w, step_b = _newton_step(model, w, margin, alpha)
        move = A @ step_w + step_b
        slope = float(alpha @ move) + model.ridge * float(w @ step_w)
        t = _step_length(model, w, margin, step_w, move, value, slope)
        if t == 0.0 or -slope <= enough or expired():
            break
        w, b, margin = w + t * step_w, b + t * step_b, margin + t * move
        value = model.objective(w, margin)
        alpha = weights * loss.derivative(y, margin)
        enough = 1e-3 * GAP * max(abs(value), 1e-12 * weights.sum())
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


def _solve_positive(H: Array, g: Array, floor: float) -> Array:
    """Solve ``Hx = g`` by Cholesky; shift the diagonal where H is singular, as where no observation is curved."""
    size = H.shape[0]
    shift = floor
    while True:
        try:
            return la.cho_solve(la.cho_factor(H, lower=True, check_finite=False), g, check_finite=False)
        except la.LinAlgError:
            shift = 100.0 * max(shift, 1e-16 * float(np.trace(H)) / size)
            H = H + shift * np.eye(size)


def _newton_step(model: _Model, w: Array, margin: Array, alpha: Array) -> tuple[Array, float]:
    A = model.columns
    curvature = model.weights * model.loss.second_derivative(model.y, margin)
    weighted = curvature[:, None] * A
    m = A.shape[1]
    size = m + int(model.fit_intercept)
    if size == 0:
        return np.empty(0), 0.0
    H, g = np.empty((size, size)), np.empty(size)
    H[:m, :m] = A.T @ weighted
    g[:m] = A.T @ alpha + model.ridge * w
    H[range(m), range(m)] += model.ridge
    if model.fit_intercept:
        H[m, :m] = H[:m, m] = weighted.sum(axis=0)
        H[m, m] = curvature.sum()
        g[m] = alpha.sum()
    if model.ridge == 0.0:
        H[range(size), range(size)] += 1e-13 * max(float(np.trace(H)) / size, 1e-300)
    step = -_solve_positive(H, g, floor=1e-16 * model.weights.sum())
    return (step[:m], float(step[m])) if model.fit_intercept else (step, 0.0)
