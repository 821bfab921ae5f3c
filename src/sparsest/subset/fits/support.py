"""The objective of a support: the best ridge-regularised model on given features, with its dual point.

    c(s) = min_{w on s, b} Σ ω ℓ(y, Xw + b) + (1/2γ)‖w‖²  =  max_α -Σ ω ℓ*(y, α/ω) - (γ/2)‖X_s'α‖²

Squared loss: one linear system.  Other smooth losses: Newton's method with a line search.  Piecewise linear losses: an
interior-point method.  All stop at a computed relative duality gap, and work in coordinates that depend neither on the
columns' units nor on near dependence.  If there are more features than observations, the columns are rotated into their
row space first, so no method has more columns than rows.

With bounds on coefficients, the coordinates are the coefficients in units of their columns.  Least squares and Newton
steps then minimise quadratics within the bounds, and the interior-point method treats bounds as further pieces of the
loss.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sparsest.core.arrays import Array, Indices
from sparsest.core.losses import PiecewiseLinear, Squared
from sparsest.core.problem import Problem
from sparsest.runtime.faults import reach
from sparsest.runtime.threads import single_threaded
from sparsest.subset.fits.boxed import minimise_in_box, with_bounds
from sparsest.subset.fits.interior_point import minimise, stack
from sparsest.subset.fits.linear_algebra import (
    Coordinates,
    Orthogonal,
    Scaled,
    coordinates,
    row_space,
)
from sparsest.subset.fits.newton import Model, newton

# Relative duality gap of a fit.
GAP = 1e-8
# Squared Newton decrement, relative to the objective, at which Newton's method ends.
_DECREMENT = 1e-3 * GAP


class SupportFit(NamedTuple):
    """A model on a support; ``primal`` is its objective, ``dual`` a lower bound for every model on that support."""

    support: Indices
    w: Array
    b: float
    alpha: Array
    primal: float
    dual: float


def fit_support(
    problem: Problem,
    support: Indices,
    start: tuple[Array, float] | None = None,
    columns: Array | None = None,
    expired: Callable[[], bool] = lambda: False,
    cutoff: float = np.inf,
) -> SupportFit:
    """Fit the model on a support to a relative gap of 1e-8; ``start`` is a warm start (coefficients, intercept).

    The fit may end early, with a larger gap, once ``expired()`` is true or the objective is known to be above
    ``cutoff``.
    """
    support = np.asarray(support, dtype=np.intp)
    if not support.size and isinstance(problem.loss, Squared):
        return _null_fit(problem)
    block = problem.design.columns(support) if columns is None else columns
    n, m = block.shape
    with single_threaded():
        if problem.bounds.exist:
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
    """The model without features for the squared loss; its intercept, the mean, is stored with the data."""
    b, alpha, _ = problem.data.null
    nothing, support = np.empty(0), np.empty(0, dtype=np.intp)
    primal, dual = problem.primal(np.full(problem.n, b), nothing, support), -problem.conjugate_sum(alpha)
    return SupportFit(support, nothing, b, alpha.copy(), primal, min(dual, primal))


def _units(block: Array, problem: Problem) -> Scaled:
    """The coefficients in units of their columns as coordinates, also for nearly dependent columns."""
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
    """Fit the model in the given coordinates of the columns or of their rotation."""
    begin = None if start is None else (basis.inverse(start[0]), start[1])
    data = problem.data
    model = Model(basis.coordinates, data.y, data.weights, data.loss, data.fit_intercept, data.curvature)
    bounds = problem.bounds.of(support)
    if bounds.exist:
        assert isinstance(basis, Scaled)
        model = model._replace(bounds=bounds.times(basis.scale))
    t, b, alpha = _minimise(model, begin, expired, cutoff - problem.sparsity.cost(support))
    w = bounds.clip(basis.coefficients(t))
    if rotation is not None:
        w = rotation @ w
    primal = problem.primal(basis.margin(block, w, b), w, support)
    alpha = problem.feasible(alpha)
    products = block.T @ alpha
    gain = float(problem.gains_from(products, support).sum()) if problem.has_dual_bounds else 0.0
    dual = -problem.conjugate_sum(alpha) - gain + problem.sparsity.cost(support)
    return SupportFit(support, w, b, alpha, primal, min(dual, primal))


def _minimise(
    model: Model, start: tuple[Array, float] | None, expired: Callable[[], bool], cutoff: float
) -> tuple[Array, float, Array]:
    reach("fit")
    if isinstance(model.loss, Squared):
        return _ridge(model)
    if isinstance(model.loss, PiecewiseLinear):
        rows = stack(model.columns, model.weights, model.loss.pieces(model.y), model.fit_intercept)
        rows = with_bounds(rows, model.bounds) if model.bounds.exist else rows
        t, b, alpha = minimise(rows, model.ridge, model.fit_intercept, 0.1 * GAP, expired, cutoff)
        return t, b, alpha[: model.y.size]
    found = newton(model, start, _DECREMENT, expired)
    assert found is not None
    return found.t, found.b, found.alpha


def _ridge(model: Model) -> tuple[Array, float, Array]:
    """Least squares with a ridge; the columns are centred, so the intercept is the mean of y."""
    A, weights = model.columns, model.weights
    b = float(weights @ model.y) / float(weights.sum()) if model.fit_intercept else 0.0
    target = model.y - b
    if model.bounds.exist:
        H = A.T @ (weights[:, None] * A)
        H.flat[:: H.shape[0] + 1] += model.ridge
        t = minimise_in_box(H, A.T @ (weights * target), model.bounds.low, model.bounds.high)
        t = np.zeros(A.shape[1]) if t is None else t
        return t, b, weights * (A @ t - target)
    t = model.coordinates.solve(A.T @ (weights * target))
    # One step of refinement, because normal equations lose digits if columns are nearly dependent.
    alpha = weights * (A @ t - target)
    t -= model.coordinates.solve(A.T @ alpha + model.ridge * t)
    return t, b, weights * (A @ t - target)
