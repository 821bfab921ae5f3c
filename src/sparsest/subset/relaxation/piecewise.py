"""The relaxation of a piecewise linear loss on a working set.

The solver is an interior-point method, which treats bounds of 0 as further pieces of the loss.  Other bounds limit the
indicators too; with these, or with a structure, proximal Newton steps for smoothed losses are used instead.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sparsest.core.arrays import Array
from sparsest.core.bounds import Bounds
from sparsest.core.losses import PiecewiseLinear
from sparsest.runtime.faults import reach
from sparsest.subset.fits.boxed import with_bounds
from sparsest.subset.fits.interior_point import InteriorPoint, Iterate, stack
from sparsest.subset.relaxation.kernels.regulariser import Regulariser
from sparsest.subset.relaxation.memory import History, Memory
from sparsest.subset.relaxation.proximal_newton import ProximalNewton
from sparsest.subset.relaxation.regularisers import sigma_of
from sparsest.subset.relaxation.working_solution import Stop, WorkingSet, WorkingSolution, better

# Largest number of interior-point steps from a cold start.
_MOST_STEPS = 150
# Largest number of interior-point steps from a warm start, after which a cold start follows; 3 to 8 steps are usual.
_MOST_STEPS_RESUMED = 40
# Widths of the interval in which losses are smoothed, relative to a typical offset.
_WIDTHS = tuple(10.0**-i for i in range(10))


def solve_piecewise(
    part: WorkingSet, loss: PiecewiseLinear, omega: Regulariser, stop: Stop, memory: Memory
) -> WorkingSolution:
    """Take interior-point steps until primal and dual value, computed with the exact Ω and gain, are close enough."""
    problem, columns = part.problem, part.columns
    rows = stack(columns, problem.weights, loss.pieces(problem.y), problem.fit_intercept)
    bounded = omega.low.size > 0
    rows = with_bounds(rows, Bounds(omega.low, omega.high)) if bounded else rows
    m = columns.shape[1]
    delta, free = np.zeros(rows.Z.shape[1]), np.zeros(rows.Z.shape[1], dtype=bool)
    delta[:m], free[:m] = omega.root_delta**2, ~omega.forced
    if omega.price == 0.0 and free.sum() <= omega.budget:
        free[:] = False
    method = InteriorPoint(rows, delta, free, omega.budget, omega.price)
    run = _InteriorPointRun(part, omega, method, stop)
    # The pieces that stand for bounds depend on the working set.
    resumed = None if bounded else memory.resume(method)
    if resumed is None or not run.follow(resumed, _MOST_STEPS_RESUMED):
        run.follow(method.start(), _MOST_STEPS)
    memory.history = None if bounded else History(method, run.iterates)
    assert run.best is not None
    return _cleaned(part, omega, run.best)._replace(iterations=run.steps)


class _InteriorPointRun:
    """A run of interior-point steps on a working set, with the best primal and dual values so far."""

    def __init__(self, part: WorkingSet, omega: Regulariser, method: InteriorPoint, stop: Stop) -> None:
        self.part, self.omega, self.method, self.stop = part, omega, method, stop
        self.best: WorkingSolution | None = None
        self.steps = 0
        self.iterates: list[tuple[float, Iterate]] = []

    def follow(self, x: Iterate, most: int) -> bool:
        """Take steps until the gap is small enough; return False if a step fails or ``most`` steps do not suffice."""
        self.iterates = []
        for _ in range(most):
            best = self._evaluate(x)
            complementarity = self.method.complementarity(x)
            self.iterates.append((complementarity, x))
            small = complementarity * 2 * x.t.size <= 1e-13 * abs(best.primal)
            if small or self.stop.is_reached(best.primal, best.dual):
                return True
            following = self.method.step(x)
            if following is None:
                return False
            x, self.steps = following, self.steps + 1
        return False

    def _evaluate(self, x: Iterate) -> WorkingSolution:
        """Evaluate an iterate; return the best primal and dual point so far."""
        problem, omega, m = self.part.problem, self.omega, self.part.columns.shape[1]
        w, b = x.z[:m], float(x.z[m]) if problem.fit_intercept else 0.0
        w = np.clip(w, omega.low, omega.high) if omega.low.size else w
        alpha = problem.feasible(self.method.rows.alpha(x.beta)[: problem.n])
        reach("dual value")
        point = WorkingSolution(w, b, alpha, self.part.primal(w, b), self.part.dual(alpha), 0, None)
        self.best = better(self.best, point)
        return self.best


def solve_smoothed(part: WorkingSet, loss: PiecewiseLinear, w: Array, b: float, stop: Stop) -> WorkingSolution:
    """Smooth the loss with decreasing widths until primal and dual value of the original loss are close enough."""
    problem = part.problem
    offsets = np.abs(np.concatenate([a for a, _ in loss.pieces(problem.y)]))
    unit = float(offsets.mean()) or 1.0
    best: WorkingSolution | None = None
    iterations = 0
    for width in _WIDTHS:
        data = replace(problem.data, loss=loss.smoothed(width * unit))
        # Solve as precisely as the smoothed loss approximates the loss.
        near = max(0.1 * stop.tolerance, min(0.1 * width * abs(best.primal), best.primal - best.dual) if best else 0.0)
        smoothed = part._replace(problem=replace(problem, data=data))
        point = ProximalNewton(smoothed).solve(w, b, stop._replace(tolerance=near, cutoff=np.inf))
        w, b, iterations = point.w, point.b, iterations + point.iterations
        alpha = problem.feasible(point.alpha)
        best = better(best, WorkingSolution(w, b, alpha, part.primal(w, b), part.dual(alpha), 0, None))
        if stop.is_reached(best.primal, best.dual):
            break
    assert best is not None
    return best._replace(iterations=iterations)


def _cleaned(part: WorkingSet, omega: Regulariser, point: WorkingSolution) -> WorkingSolution:
    """Set small coefficients to zero, as many as possible without increasing the gap by more than a tenth.

    Interior-point iterates approach zero but never reach it.
    """
    # σ is infinite if the budget restricts nothing.  The product √δ|w| does not depend on the columns' units.
    sigma = min(sigma_of(point.w, omega)[0], 1e200)
    size = np.where(omega.forced, np.inf, sigma * (omega.root_delta * np.abs(point.w)))
    for least in (0.3, 0.1, 1e-2, 1e-3, 1e-4, 1e-6):
        w = np.where(size < least, 0.0, point.w)
        primal = part.primal(w, point.b)
        if primal <= point.primal + 0.1 * (point.primal - point.dual):
            return point._replace(w=w, primal=primal)
    return point
