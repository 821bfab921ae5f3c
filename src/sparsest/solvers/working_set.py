"""The Boolean relaxation restricted to a working set of packed columns.

    min_{w,b} Σ ω ℓ(y, Xw + b) + Ω(w)

Squared loss: one quadratic in Gram space.  Other losses: proximal Newton steps, each a quadratic in Gram space, with
a line search.  Piecewise linear losses: an interior-point method.  All compute the primal and dual values they stop
at.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsest.intercepts import best_intercept
from sparsest.kernels.relaxation import dual_gain, largest_eigenvalue, penalty_value, relax_quadratic
from sparsest.losses import PiecewiseLinear, Squared
from sparsest.problem import Cardinality, Problem
from sparsest.solvers.piecewise import InteriorPoint, stack

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

_MAX_INNER = 20_000
_MAX_STEPS = 150
# Multiplications of one call of the kernel: about a tenth of a second, after which the clock is asked.
_STRETCH = 1e8


class Shape(NamedTuple):
    """The regulariser Ω on a working set: ridge roots √δ, forced features, and a budget or a price."""

    root_delta: Array
    forced: Mask
    budget: int
    price: float

    def value(self, w: Array) -> tuple[float, float]:
        """Ω(w) and the σ at which it is attained."""
        sigma = 0.0 if self.budget >= 0 else (1.0 / np.sqrt(2.0 * self.price) if self.price > 0 else np.inf)
        return penalty_value(w, self.root_delta, self.forced, self.budget, self.price, sigma)

    def gain(self, u: Array) -> float:
        """What the dual bound loses for the products u."""
        return dual_gain(u, self.root_delta, self.forced, self.budget, self.price)


def make_shape(problem: Problem, forced: Mask) -> Shape:
    """Return Ω for a working set of which some features are forced in."""
    root = np.full(forced.size, np.sqrt(problem.ridge))
    if isinstance(problem.sparsity, Cardinality):
        return Shape(root, forced, problem.sparsity.k - int(forced.sum()), 0.0)
    return Shape(root, forced, -1, problem.sparsity.l0)


class Point(NamedTuple):
    """A relaxed solution on a working set, its dual point, and the values of both.

    ``source`` is the w and b whose derivative α is, where it comes from such.
    """

    w: Array
    b: float
    alpha: Array
    primal: float
    dual: float
    iterations: int
    source: tuple[Array, float] | None


def solve_working_set(
    problem: Problem,
    columns: Array,
    shape: Shape,
    w: Array,
    b: float,
    tolerance: float,
    cutoff: float,
    expired: Callable[[], bool] = lambda: False,
) -> Point:
    """Solve the relaxation on packed columns until primal - dual ≤ ``tolerance`` or the dual passes ``cutoff``.

    If ``expired`` says so, it ends before; the values are those of the point that it returns in any case.
    """
    if shape.budget == 0 and not shape.forced.all():
        # The forced features alone, where no other may enter: neither path nor step leads to exactly zero.
        inside = shape.forced
        alone = shape._replace(root_delta=shape.root_delta[inside], forced=inside[inside])
        point = solve_working_set(problem, columns[:, inside], alone, w[inside], b, tolerance, cutoff, expired)
        return _widened(point, inside)
    if isinstance(problem.loss, Squared):
        return _solve_squared(problem, columns, shape, w, tolerance, cutoff, expired)
    if isinstance(problem.loss, PiecewiseLinear):
        return _solve_piecewise(problem, problem.loss, columns, shape, tolerance, cutoff, expired)
    return _ProximalNewton(problem, columns, shape, expired).solve(w, b, tolerance, cutoff)


def _widened(point: Point, inside: Mask) -> Point:
    """The point of some of the features, with zeros for the others."""

    def widened(packed: Array) -> Array:
        whole = np.zeros(inside.size)
        whole[inside] = packed
        return whole

    source = None if point.source is None else (widened(point.source[0]), point.source[1])
    return point._replace(w=widened(point.w), source=source)


def _solve_squared(
    problem: Problem,
    columns: Array,
    shape: Shape,
    w: Array,
    tolerance: float,
    cutoff: float,
    expired: Callable[[], bool],
) -> Point:
    """Columns are centred under an intercept, so b is the mean of y and the Gram matrix needs no correction."""
    b = problem.intercept_for(np.zeros(problem.n))
    weighted = columns if (problem.weights == 1.0).all() else problem.weights[:, None] * columns
    target = problem.weights * (problem.y - b)
    H, c = weighted.T @ columns, columns.T @ target
    constant = 0.5 * float(target @ (problem.y - b))
    w = w.copy()
    primal, dual, iterations = _relax_quadratic(H, c, shape, w, tolerance, cutoff - constant, expired)
    alpha = problem.weights * (columns @ w + b - problem.y)
    return Point(w, b, alpha, primal + constant, dual + constant, iterations, (w, b))


def _relax_quadratic(
    H: Array, c: Array, shape: Shape, w: Array, tolerance: float, cutoff: float, expired: Callable[[], bool]
) -> tuple[float, float, int]:
    """Call the kernel in stretches; return the primal and the dual value and the number of iterations."""
    L = 1.02 * largest_eigenvalue(H, 12) + 1e-300
    stretch = int(_STRETCH / max(c.size, 1) ** 2) + 1
    best, iterations = -np.inf, 0
    while True:
        most = min(stretch, _MAX_INNER - iterations)
        primal, dual, count, L, _ = relax_quadratic(H, c, *shape, w, L, tolerance, cutoff, most)
        best, iterations = max(best, dual), iterations + count
        if count < most or iterations >= _MAX_INNER or primal - best <= tolerance or expired():
            return primal, best, iterations


def _solve_piecewise(
    problem: Problem,
    loss: PiecewiseLinear,
    columns: Array,
    shape: Shape,
    tolerance: float,
    cutoff: float,
    expired: Callable[[], bool],
) -> Point:
    """Interior-point steps until the true values, with the exact Ω and gain, are close enough."""
    rows = stack(columns, problem.weights, loss.pieces(problem.y), problem.fit_intercept)
    m = columns.shape[1]
    delta, free = np.zeros(rows.Z.shape[1]), np.zeros(rows.Z.shape[1], dtype=bool)
    delta[:m], free[:m] = shape.root_delta**2, ~shape.forced
    if shape.budget >= 0 and free.sum() <= shape.budget:
        free[:] = False
    method = InteriorPoint(rows, delta, free, shape.budget, shape.price)
    x = method.start()
    best: Point | None = None
    for iteration in range(_MAX_STEPS):
        w, b = x.z[:m], float(x.z[m]) if problem.fit_intercept else 0.0
        alpha = problem.feasible(rows.alpha(x.beta, problem.n))
        dual = -problem.conjugate_sum(alpha) - shape.gain(columns.T @ alpha)
        best = _better(best, Point(w, b, alpha, _primal(problem, columns, shape, w, b), dual, iteration, None))
        small = x.complementarity() * 2 * x.t.size <= 1e-13 * abs(best.primal)
        if best.primal - best.dual <= tolerance or best.dual >= cutoff or small or expired():
            break
        following = method.step(x)
        if following is None:
            break
        x = following
    assert best is not None
    return _cleaned(problem, columns, shape, best)._replace(iterations=iteration)


def _primal(problem: Problem, columns: Array, shape: Shape, w: Array, b: float) -> float:
    return float(problem.weights @ problem.loss.value(problem.y, columns @ w + b)) + shape.value(w)[0]


def _cleaned(problem: Problem, columns: Array, shape: Shape, point: Point) -> Point:
    """Set to zero what an interior point can only bring near it: as much as hardly changes the gap."""
    # σ is infinite where all have room; roots times coefficients do not depend on the columns' units.
    sigma = min(shape.value(point.w)[1], 1e200)
    size = np.where(shape.forced, np.inf, sigma * (shape.root_delta * np.abs(point.w)))
    for least in (0.3, 0.1, 1e-2, 1e-3, 1e-4, 1e-6):
        w = np.where(size < least, 0.0, point.w)
        primal = _primal(problem, columns, shape, w, point.b)
        if primal <= point.primal + 0.1 * (point.primal - point.dual):
            return point._replace(w=w, primal=primal)
    return point


class _State(NamedTuple):
    """A point with all that the next step needs of it."""

    w: Array
    b: float
    margin: Array
    alpha: Array
    omega: float
    value: float


class _ProximalNewton:
    """Proximal Newton steps for a smooth loss, with the dual value computed on the way."""

    def __init__(self, problem: Problem, columns: Array, shape: Shape, expired: Callable[[], bool]) -> None:
        self.problem, self.columns, self.shape, self.expired = problem, columns, shape, expired
        self.iterations = 0

    def solve(self, w: Array, b: float, tolerance: float, cutoff: float) -> Point:
        """Step until primal - dual ≤ ``tolerance``, the dual passes ``cutoff``, or rounding leaves no decrease."""
        state: _State | None = self._state(w, b)
        best: Point | None = None
        for _ in range(_MAX_STEPS):
            if state is None:
                break
            alpha = self.problem.feasible(state.alpha)
            dual = -self.problem.conjugate_sum(alpha) - self.shape.gain(self.columns.T @ alpha)
            best = _better(best, Point(state.w, state.b, alpha, state.value, dual, 0, (state.w, state.b)))
            if best.primal - best.dual <= tolerance or best.dual >= cutoff or self.expired():
                break
            state = self._step(state, 0.02 * max(state.value - dual, tolerance))
        assert best is not None
        return best._replace(iterations=self.iterations)

    def _state(self, w: Array, b: float) -> _State:
        problem, loss = self.problem, self.problem.loss
        margin = self.columns @ w
        if problem.fit_intercept:
            b = best_intercept(loss, problem.y, problem.weights, margin, b)
        margin = margin + b
        alpha = problem.weights * loss.derivative(problem.y, margin)
        omega = self.shape.value(w)[0]
        value = float(problem.weights @ loss.value(problem.y, margin)) + omega
        return _State(w, b, margin, alpha, omega, value)

    def _step(self, state: _State, tolerance: float) -> _State | None:
        """One proximal Newton step with a line search; None when rounding leaves no decrease."""
        problem, columns, loss = self.problem, self.columns, self.problem.loss
        # The floor keeps the model bounded where hardly any observation is curved.
        second = np.maximum(loss.second_derivative(problem.y, state.margin), 1e-4 * loss.smoothness)
        curvature = problem.weights * second
        scaled = np.sqrt(curvature)[:, None] * columns
        # One array times itself takes half the work of a product of two.
        H = scaled.T @ scaled
        gradient = columns.T @ state.alpha
        if problem.fit_intercept:
            sums, total = columns.T @ curvature, curvature.sum()
            H -= np.outer(sums, sums) / total
            gradient -= sums * (state.alpha.sum() / total)
        c = H @ state.w - gradient
        target = state.w.copy()
        self.iterations += _relax_quadratic(H, c, self.shape, target, tolerance, np.inf, self.expired)[2]
        direction = target - state.w
        expected = float(gradient @ direction) + self.shape.value(target)[0] - state.omega
        t = 1.0
        while expected < 0.0 and t > 1e-8:
            trial = self._state(state.w + t * direction, state.b)
            if trial.value <= state.value + 0.1 * t * expected:
                return trial
            t *= 0.5
        return None


def _better(best: Point | None, point: Point) -> Point:
    """Combine the smaller primal with the larger dual."""
    if best is None:
        return point
    if point.primal < best.primal:
        best = best._replace(w=point.w, b=point.b, primal=point.primal)
    if point.dual > best.dual:
        best = best._replace(alpha=point.alpha, dual=point.dual, source=point.source)
    return best
