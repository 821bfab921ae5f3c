"""The Boolean relaxation restricted to a working set of packed columns.

    min_{w,b} Σ ω ℓ(y, Xw + b) + Ω(w)

Squared loss: one quadratic in Gram space.  Other losses: proximal Newton steps, each a quadratic in Gram space, with
a line search.  Piecewise linear losses: an interior-point method or, where coefficients have a box, proximal Newton
steps for smoothed losses.  All compute the primal and dual values they stop at.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sparsest.core.arrays import Array, Mask
from sparsest.core.intercepts import best_intercept
from sparsest.core.losses import PiecewiseLinear, Squared
from sparsest.core.problem import Problem
from sparsest.runtime.faults import reach
from sparsest.subset.fits.interior_point import InteriorPoint, Iterate, stack
from sparsest.subset.relaxation.kernels.fista import Regulariser, dual_gain, penalty_value
from sparsest.subset.relaxation.memory import CurvedGram, Memory, Trail
from sparsest.subset.relaxation.quadratic import solve_quadratic

_MAX_STEPS = 150
# Interior-point steps from an iterate of another working set, after which it is better to begin anew: 3 to 8 is usual.
_MAX_STEPS_RESUMED = 40
# Shares of the tolerance to which the quadratic model of a proximal Newton step is solved, one after the other as long
# as there is no step: its own gap may be small where that of the loss is not yet.
_MODEL_TOLERANCES = (1.0, 1e-3, 1e-6)
# Multiplications of one call of the kernel: about a tenth of a second, after which the clock is asked.
_STRETCH = 1e8
# Widths of the zone in which losses are smoothed, as parts of a typical offset.
_WIDTHS = tuple(10.0**-i for i in range(10))


def make_regulariser(problem: Problem, forced: Mask) -> Regulariser:
    """Return Ω for a working set of which some features are forced in."""
    root = np.full(forced.size, np.sqrt(problem.ridge))
    budget = problem.sparsity.most(problem.p) - int(forced.sum())
    return Regulariser(root, forced, budget, problem.sparsity.price, problem.box)


class WorkingSolution(NamedTuple):
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
    omega: Regulariser,
    w: Array,
    b: float,
    tolerance: float,
    cutoff: float,
    expired: Callable[[], bool] = lambda: False,
    stretch: float = _STRETCH,
    memory: Memory | None = None,
) -> WorkingSolution:
    """Solve the relaxation on packed columns until primal - dual ≤ ``tolerance`` or the dual passes ``cutoff``.

    If ``expired`` says so, it ends before; the values are those of the point that it returns in any case.  It is asked
    after so many multiplications as a ``stretch`` has.  With a ``memory`` it goes on from the last working set.
    """
    memory = Memory() if memory is None else memory
    if omega.budget == 0 and not omega.forced.all():
        # The forced features alone, where no other may enter: neither path nor step leads to exactly zero.
        inside = omega.forced
        memory.forget()
        alone = omega._replace(root_delta=omega.root_delta[inside], forced=inside[inside])
        point = solve_working_set(problem, columns[:, inside], alone, w[inside], b, tolerance, cutoff, expired, stretch)
        return _widened(point, inside)
    w = _within_box(w, omega)
    if isinstance(problem.loss, Squared):
        return _solve_squared(problem, columns, omega, w, tolerance, cutoff, expired, stretch)
    if isinstance(problem.loss, PiecewiseLinear) and omega.box < np.inf:
        return _solve_smoothed(problem, problem.loss, columns, omega, w, b, tolerance, cutoff, expired, stretch)
    if isinstance(problem.loss, PiecewiseLinear):
        return _solve_piecewise(problem, problem.loss, columns, omega, tolerance, cutoff, expired, memory)
    newton = _ProximalNewton(problem, columns, omega, expired, stretch, memory.gram_of(columns))
    point = newton.solve(w, b, tolerance, cutoff)
    memory.gram = newton.gram
    return point


def _within_box(w: Array, omega: Regulariser) -> Array:
    """Coefficients of which a part leaves the box, or its budget, moved inside."""
    if omega.box == np.inf:
        return w
    w = np.clip(w, -omega.box, omega.box)
    shares = float(np.abs(w[~omega.forced]).sum()) / omega.box
    return np.where(omega.forced, w, w * (omega.budget / shares)) if shares > omega.budget else w


def _widened(point: WorkingSolution, inside: Mask) -> WorkingSolution:
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
    omega: Regulariser,
    w: Array,
    tolerance: float,
    cutoff: float,
    expired: Callable[[], bool],
    stretch: float,
) -> WorkingSolution:
    """Columns are centred under an intercept, so b is the mean of y and the Gram matrix needs no correction."""
    b = problem.data.null.b
    weighted = columns if (problem.weights == 1.0).all() else problem.weights[:, None] * columns
    target = problem.weights * (problem.y - b)
    H, c = weighted.T @ columns, columns.T @ target
    constant = 0.5 * float(target @ (problem.y - b))
    w = w.copy()
    primal, dual, iterations = solve_quadratic(H, c, omega, w, tolerance, cutoff - constant, expired, stretch)
    alpha = problem.weights * (columns @ w + b - problem.y)
    return WorkingSolution(w, b, alpha, primal + constant, dual + constant, iterations, (w, b))


def _solve_piecewise(
    problem: Problem,
    loss: PiecewiseLinear,
    columns: Array,
    omega: Regulariser,
    tolerance: float,
    cutoff: float,
    expired: Callable[[], bool],
    memory: Memory,
) -> WorkingSolution:
    """Interior-point steps until the true values, with the exact Ω and gain, are close enough."""
    rows = stack(columns, problem.weights, loss.pieces(problem.y), problem.fit_intercept)
    m = columns.shape[1]
    delta, free = np.zeros(rows.Z.shape[1]), np.zeros(rows.Z.shape[1], dtype=bool)
    delta[:m], free[:m] = omega.root_delta**2, ~omega.forced
    if omega.price == 0.0 and free.sum() <= omega.budget:
        free[:] = False
    method = InteriorPoint(rows, delta, free, omega.budget, omega.price)
    way = _Way(problem, columns, omega, method, tolerance, cutoff, expired)
    resumed = memory.resume(method)
    if resumed is None or not way.follow(resumed, _MAX_STEPS_RESUMED):
        way.follow(method.start(), _MAX_STEPS)
    memory.trail = Trail(method, way.iterates)
    assert way.best is not None
    return _cleaned(problem, columns, omega, way.best)._replace(iterations=way.steps)


class _Way:
    """Interior-point steps on a working set, and the best values on the way."""

    def __init__(
        self,
        problem: Problem,
        columns: Array,
        omega: Regulariser,
        method: InteriorPoint,
        tolerance: float,
        cutoff: float,
        expired: Callable[[], bool],
    ) -> None:
        self.problem, self.columns, self.omega, self.method = problem, columns, omega, method
        self.tolerance, self.cutoff, self.expired = tolerance, cutoff, expired
        self.best: WorkingSolution | None = None
        self.steps = 0
        self.iterates: list[tuple[float, Iterate]] = []

    def follow(self, x: Iterate, most: int) -> bool:
        """Make steps until the values are close enough; False where there is no step, or too many are needed."""
        self.iterates = []
        for _ in range(most):
            best = self._look(x)
            complementarity = self.method.complementarity(x)
            self.iterates.append((complementarity, x))
            small = complementarity * 2 * x.t.size <= 1e-13 * abs(best.primal)
            if best.primal - best.dual <= self.tolerance or best.dual >= self.cutoff or small or self.expired():
                return True
            following = self.method.step(x)
            if following is None:
                return False
            x, self.steps = following, self.steps + 1
        return False

    def _look(self, x: Iterate) -> WorkingSolution:
        """The best values so far, with those of an iterate."""
        problem, columns, omega, m = self.problem, self.columns, self.omega, self.columns.shape[1]
        w, b = x.z[:m], float(x.z[m]) if problem.fit_intercept else 0.0
        alpha = problem.feasible(self.method.rows.alpha(x.beta))
        reach("dual value")
        dual = -problem.conjugate_sum(alpha) - dual_gain(columns.T @ alpha, omega)
        point = WorkingSolution(w, b, alpha, _primal(problem, columns, omega, w, b), dual, 0, None)
        self.best = _better(self.best, point)
        return self.best


def _solve_smoothed(
    problem: Problem,
    loss: PiecewiseLinear,
    columns: Array,
    omega: Regulariser,
    w: Array,
    b: float,
    tolerance: float,
    cutoff: float,
    expired: Callable[[], bool],
    stretch: float,
) -> WorkingSolution:
    """Smooth the loss less and less, until the values of the loss itself are close enough."""
    offsets = np.abs(np.concatenate([a for a, _ in loss.pieces(problem.y)]))
    unit = float(offsets.mean()) or 1.0
    best: WorkingSolution | None = None
    iterations = 0
    for width in _WIDTHS:
        data = replace(problem.data, loss=loss.smoothed(width * unit))
        # As near to its solution as the smoothed loss is to the loss.
        near = max(0.1 * tolerance, min(0.1 * width * abs(best.primal), best.primal - best.dual) if best else 0.0)
        method = _ProximalNewton(replace(problem, data=data), columns, omega, expired, stretch)
        point = method.solve(w, b, near, np.inf)
        w, b, iterations = point.w, point.b, iterations + point.iterations
        alpha = problem.feasible(point.alpha)
        dual = -problem.conjugate_sum(alpha) - dual_gain(columns.T @ alpha, omega)
        primal = _primal(problem, columns, omega, w, b)
        best = _better(best, WorkingSolution(w, b, alpha, primal, dual, 0, None))
        if best.primal - best.dual <= tolerance or best.dual >= cutoff or expired():
            break
    assert best is not None
    return best._replace(iterations=iterations)


def _primal(problem: Problem, columns: Array, omega: Regulariser, w: Array, b: float) -> float:
    return float(problem.weights @ problem.loss.value(problem.y, columns @ w + b)) + penalty_value(w, omega, 0.0)[0]


def _cleaned(problem: Problem, columns: Array, omega: Regulariser, point: WorkingSolution) -> WorkingSolution:
    """Set to zero what an interior point can only bring near it: as much as hardly changes the gap."""
    # σ is infinite where all have room; roots times coefficients do not depend on the columns' units.
    sigma = min(penalty_value(point.w, omega, 0.0)[1], 1e200)
    size = np.where(omega.forced, np.inf, sigma * (omega.root_delta * np.abs(point.w)))
    for least in (0.3, 0.1, 1e-2, 1e-3, 1e-4, 1e-6):
        w = np.where(size < least, 0.0, point.w)
        primal = _primal(problem, columns, omega, w, point.b)
        if primal <= point.primal + 0.1 * (point.primal - point.dual):
            return point._replace(w=w, primal=primal)
    return point


class _State(NamedTuple):
    """A point with all that the next step needs of it."""

    w: Array
    b: float
    margin: Array
    alpha: Array
    penalty: float
    value: float


class _ProximalNewton:
    """Proximal Newton steps for a smooth loss, with the dual value computed on the way."""

    def __init__(
        self,
        problem: Problem,
        columns: Array,
        omega: Regulariser,
        expired: Callable[[], bool],
        stretch: float,
        gram: CurvedGram | None = None,
    ) -> None:
        self.problem, self.columns, self.omega = problem, columns, omega
        self.expired, self.stretch = expired, stretch
        self.iterations = 0
        # That of the last step.
        self.gram = gram

    def solve(self, w: Array, b: float, tolerance: float, cutoff: float) -> WorkingSolution:
        """Step until primal - dual ≤ ``tolerance``, the dual passes ``cutoff``, or rounding leaves no decrease."""
        state: _State | None = self._state(w, b)
        best: WorkingSolution | None = None
        for _ in range(_MAX_STEPS):
            if state is None:
                break
            alpha = self.problem.feasible(state.alpha)
            dual = -self.problem.conjugate_sum(alpha) - dual_gain(self.columns.T @ alpha, self.omega)
            best = _better(best, WorkingSolution(state.w, state.b, alpha, state.value, dual, 0, (state.w, state.b)))
            if best.primal - best.dual <= tolerance or best.dual >= cutoff or self.expired():
                break
            state = self._next(state, 0.02 * max(state.value - dual, tolerance))
        assert best is not None
        return best._replace(iterations=self.iterations)

    def _state(self, w: Array, b: float) -> _State:
        problem, loss = self.problem, self.problem.loss
        margin = self.columns @ w
        if problem.fit_intercept:
            b = best_intercept(loss, problem.y, problem.weights, margin, b)
        margin = margin + b
        alpha = problem.weights * loss.derivative(problem.y, margin)
        penalty = penalty_value(w, self.omega, 0.0)[0]
        value = float(problem.weights @ loss.value(problem.y, margin)) + penalty
        return _State(w, b, margin, alpha, penalty, value)

    def _next(self, state: _State, tolerance: float) -> _State | None:
        """Step; where the model has its minimum here already, to that tolerance, ask more of it."""
        for share in _MODEL_TOLERANCES:
            following = self._step(state, share * tolerance)
            if following is not None or self.expired():
                return following
        return None

    def _step(self, state: _State, tolerance: float) -> _State | None:
        """One proximal Newton step with a line search; None when rounding leaves no decrease."""
        problem, columns, loss = self.problem, self.columns, self.problem.loss
        # The floor keeps the model bounded where hardly any observation is curved.
        second = np.maximum(loss.second_derivative(problem.y, state.margin), 1e-4 * problem.data.curvature)
        curvature = problem.weights * second
        H = self._gram(curvature)
        gradient = columns.T @ state.alpha
        if problem.fit_intercept:
            sums, total = columns.T @ curvature, curvature.sum()
            centring = np.outer(sums, sums / -total)
            centring += H
            H = centring
            gradient -= sums * (state.alpha.sum() / total)
        c = H @ state.w - gradient
        target = state.w.copy()
        self.iterations += solve_quadratic(H, c, self.omega, target, tolerance, np.inf, self.expired, self.stretch)[2]
        direction = target - state.w
        expected = float(gradient @ direction) + penalty_value(target, self.omega, 0.0)[0] - state.penalty
        t = 1.0
        while expected < 0.0 and t > 1e-8:
            trial = self._state(state.w + t * direction, state.b)
            if trial.value <= state.value + 0.1 * t * expected:
                return trial
            t *= 0.5
        return None

    def _gram(self, curvature: Array) -> Array:
        """``X'diag(curvature)X``, from the one before where few observations have another curvature."""
        change = np.full(curvature.size, np.inf) if self.gram is None else curvature - self.gram.curvature
        if self.gram is not None and 2 * np.count_nonzero(change) < curvature.size:
            matrix = self.gram.matrix
            for sign in (1.0, -1.0):
                some = sign * change > 0.0
                if some.any():
                    matrix += sign * _squared(self.columns[some], sign * change[some])
        else:
            matrix = _squared(self.columns, curvature)
        self.gram = CurvedGram(matrix, curvature)
        return matrix


def _squared(columns: Array, weights: Array) -> Array:
    """``X'diag(weights)X`` for weights that are not negative."""
    scaled = np.sqrt(weights)[:, None] * columns
    # One array times itself takes half the work of a product of two.
    return scaled.T @ scaled


def _better(best: WorkingSolution | None, point: WorkingSolution) -> WorkingSolution:
    """Combine the smaller primal with the larger dual."""
    if best is None:
        return point
    if point.primal < best.primal:
        best = best._replace(w=point.w, b=point.b, primal=point.primal)
    if point.dual > best.dual:
        best = best._replace(alpha=point.alpha, dual=point.dual, source=point.source)
    return best
