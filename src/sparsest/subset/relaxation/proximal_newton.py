"""Proximal Newton method for the relaxation of a smooth loss on a working set; each step solves a quadratic model."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sparsest.core.arrays import Array
from sparsest.core.intercepts import best_intercept
from sparsest.subset.relaxation.memory import CurvedGram
from sparsest.subset.relaxation.quadratic import solve_quadratic
from sparsest.subset.relaxation.regularisers import value_of
from sparsest.subset.relaxation.working_solution import Stop, WorkingSet, WorkingSolution, better

# Largest number of proximal Newton steps.
_MOST_STEPS = 150
# Number of steps with a given matrix, which converge linearly, before those with the matrices of the iterates.
_STEPS_WITH_REFERENCE = 5
# Tolerances of a step's quadratic model, as shares of the given tolerance.  The next one is tried if a step fails: the
# gap of the model may be small while that of the loss is not.
_MODEL_TOLERANCES = (1.0, 1e-3, 1e-6)


class _State(NamedTuple):
    """An iterate: the primal point, its margins ``Xw + b``, its loss gradient α, its penalty, and its objective."""

    w: Array
    b: float
    margin: Array
    alpha: Array
    penalty: float
    value: float


class ProximalNewton:
    """Proximal Newton steps for a smooth loss; every iterate gives a dual value.

    ``models`` are options for the quadratic models: see :func:`solve_quadratic`.  The first models have the matrix and
    the curvatures of ``reference``, if there is one, until they have taken too many steps or a step fails.
    """

    def __init__(
        self, part: WorkingSet, gram: CurvedGram | None = None, reference: CurvedGram | None = None, **models: Any
    ) -> None:
        self.part, self.models = part, models
        self.problem, self.columns, self.omega = part
        self.iterations = 0
        # The Gram matrix of the last step, and one that replaces it in the first steps.
        self.gram, self.reference = gram, reference

    def solve(self, w: Array, b: float, stop: Stop) -> WorkingSolution:
        """Step until the solution is good enough, or rounding errors prevent a decrease."""
        state: _State | None = self._state(w, b)
        best: WorkingSolution | None = None
        for step in range(_MOST_STEPS):
            if state is None:
                break
            if step == _STEPS_WITH_REFERENCE:
                self.reference = None
            alpha = self.problem.feasible(state.alpha)
            dual = self.part.dual(alpha)
            best = better(best, WorkingSolution(state.w, state.b, alpha, state.value, dual, 0, (state.w, state.b)))
            if stop.is_reached(best.primal, best.dual):
                break
            near = 0.02 * max(state.value - dual, stop.tolerance)
            state = self._next(state, stop._replace(tolerance=near, cutoff=np.inf))
        assert best is not None
        return best._replace(iterations=self.iterations)

    def _state(self, w: Array, b: float) -> _State:
        problem, loss = self.problem, self.problem.loss
        margin = self.columns @ w
        if problem.fit_intercept:
            b = best_intercept(loss, problem.y, problem.weights, margin, b)
        margin = margin + b
        alpha = problem.weights * loss.derivative(problem.y, margin)
        penalty = value_of(w, self.omega)
        value = float(problem.weights @ loss.value(problem.y, margin)) + penalty
        return _State(w, b, margin, alpha, penalty, value)

    def _next(self, state: _State, stop: Stop) -> _State | None:
        """The next iterate; if the model already has its minimum here up to the tolerance, solve it more precisely."""
        if self.reference is not None:
            following = self._step(state, stop)
            if following is not None:
                return following
            self.reference = None
        for share in _MODEL_TOLERANCES:
            following = self._step(state, stop._replace(tolerance=share * stop.tolerance))
            if following is not None or stop.expired():
                return following
        return None

    def _step(self, state: _State, stop: Stop) -> _State | None:
        """One proximal Newton step with a line search; None if rounding errors prevent a decrease."""
        problem, columns = self.problem, self.columns
        H, curvature = self.reference or self._curved(state)
        gradient = columns.T @ state.alpha
        if problem.fit_intercept:
            sums, total = columns.T @ curvature, float(curvature.sum())
            excess = float(state.alpha.sum()) / total
            centring = np.outer(sums, sums / -total)
            centring += H
            H = centring
            gradient -= sums * excess
        c = H @ state.w - gradient
        target = state.w.copy()
        self.iterations += solve_quadratic(H, c, self.omega, target, stop, **self.models)[2]
        if not np.isfinite(target).all():
            return None
        direction = target - state.w
        step_b = -(excess + float(sums @ direction) / total) if problem.fit_intercept else 0.0
        expected = float(gradient @ direction) + value_of(target, self.omega) - state.penalty
        t = 1.0
        while expected < 0.0 and t > 1e-8:
            trial = self._state(state.w + t * direction, state.b + t * step_b)
            if trial.value <= state.value + 0.1 * t * expected:
                return trial
            t *= 0.5
        return None

    def _curved(self, state: _State) -> CurvedGram:
        """The Gram matrix with the curvatures of the loss at an iterate."""
        problem = self.problem
        # The floor keeps the step bounded if the loss has almost no curvature at most observations.
        second = np.maximum(problem.loss.second_derivative(problem.y, state.margin), 1e-4 * problem.data.curvature)
        curvature = problem.weights * second
        return CurvedGram(self._gram(curvature), curvature)

    def _gram(self, curvature: Array) -> Array:
        """``X'diag(curvature)X``, updated from the previous one if few curvatures have changed."""
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
    """``X'diag(weights)X`` for nonnegative weights."""
    scaled = np.sqrt(weights)[:, None] * columns
    # A symmetric product A'A takes half the operations of a general product.
    return scaled.T @ scaled
