"""Penalised fits on a working set of columns: outer Newton models, inner coordinate descent.

    min_w  F(w) = min_b Σ_i ω_i ℓ(y_i, x_i'w + b) + Σ_j φ(w_j; λ_j)        Σω = 1

The intercept is always at its best value, so the gradient is ``X'θ`` with ``θ = ω ℓ'(y, Xw + b)``, ``Σθ = 0``,
and the Hessian is the Gram matrix of the columns centred with the weights ``h = ω ℓ''``.  These weights are
kept while they serve (for ever under the squared loss) and recomputed when progress slows.  Each model is
minimised by sweeps of coordinate descent, which find the active features, and Newton steps on those, which
make the solution precise; every step must lower the objective.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from sparsest.arrays import Array, Indices
from sparsest.designs import Design, Sparse, take_apart
from sparsest.intercepts import best_intercept
from sparsest.kernels.descent import descend, step_change, stored_solve, violation
from sparsest.losses import Loss
from sparsest.penalties import Penalty, make_penalty
from sparsest.solvers.paths.active_inverse import ActiveInverse
from sparsest.solvers.paths.packs import DensePack, Pack, SparsePack

_ROUNDS = 200
_MODELS = 100
_REFINEMENTS = 12
_ITERATIONS = 100
_DIGITS = 0.01
_SLOW = 0.3
_CROWD = 1.3
# The price of a Newton step in sweeps: its work on large sets, and what its calls cost over the work of one sweep.
_CHEAP = 4.0
_CALLS = 8e5
_DEAR = 50.0
_STRETCHES = 8
_PATIENCE = 3
# A model without curvature has no minimum: observations keep at least this share of the loss's smoothness.
_LEAST_CURVATURE = 1e-4


class Effort(NamedTuple):
    """How a working set is minimised: sweeps before each Newton step, and whether to begin with such a step.

    Beginning with a Newton step predicts the solution when only λ has changed; ``reluctance`` multiplies its price.
    """

    sweeps: int = 5
    predict: bool = False
    reluctance: float = 1.0


class Quadratic(ABC):
    """The model ``g'(w - w0) + (w - w0)'G(w - w0)/2 + Σφ``, minimised from w0; ``w`` and ``grad`` follow."""

    def __init__(self, pack: Pack) -> None:
        self.pack = pack
        self.model: Any = None

    @abstractmethod
    def _price(self, w: Array) -> float:
        """What a Newton step costs, in sweeps."""

    @abstractmethod
    def _solve(self, goal: Array, active: Indices, kappa: Array, tol: float) -> tuple[Array, Array] | None:
        """Solve ``(G_AA + diag κ) d = goal``; returns d and Gd, or None if that is singular."""

    def keep(self, positions: Indices, size: int) -> None:
        """Drop all of so many columns but those at these positions."""
        self.pack.keep(positions)

    def weigh(self, h: Array) -> None:
        """Take these weights of the observations."""
        self.pack.weigh(h)

    def minimise(
        self, w: Array, theta: Array, grad: Array, lam: Array, penalty: Penalty, tol: float, effort: Effort, most: int
    ) -> int:
        """Sweep and step until the violation is at most ``tol``; returns the sweeps, at most ``most``."""
        self.model = self.pack.model(theta)
        total, budget = 0, effort.sweeps
        if effort.predict and self._price(w) <= _DEAR:
            self._newton(w, grad, lam, penalty, tol)
        worst = violation(grad, w, lam, w.size, penalty)
        for _ in range(_ROUNDS):
            # What is not a number ends it too.
            if not worst > tol or total >= most:
                break
            before = worst
            sweeps, worst = descend(self.model, w, grad, lam, penalty, tol, min(budget, most - total))
            total += sweeps
            if not worst > tol:
                break
            left = np.log(worst / tol) / max(np.log(before / worst) / sweeps, 1e-9)
            if left <= effort.reluctance * self._price(w):
                budget = int(left) + 1
            else:
                # Sweeps alone have to do where the active matrix is singular.
                budget = effort.sweeps if self._newton(w, grad, lam, penalty, tol) else 50
                worst = violation(grad, w, lam, w.size, penalty)
        return total

    def _newton(self, w: Array, grad: Array, lam: Array, penalty: Penalty, tol: float) -> bool:
        """One Newton step on the active features, no coordinate beyond zero; False if it would not descend."""
        active = np.flatnonzero((w != 0.0) | (lam == 0.0))
        kappa, goal = np.zeros(w.size), np.zeros(w.size)
        kappa[active] = penalty.second_derivative(w[active], lam[active])
        goal[active] = -grad[active] - penalty.derivative(w[active], lam[active])
        # The set of active features is seldom right yet: more digits would be wasted.
        enough = max(0.1 * tol, _DIGITS * float(np.abs(goal).max(initial=0.0)))
        solution = self._solve(goal, active, kappa, enough) if active.size else None
        if solution is None:
            return False
        step, product = solution
        crossing = (w * (w + step) < 0.0) & (lam > 0.0)
        if not crossing.any():
            return self._move(w, grad, lam, penalty, step, product)
        for share in (1.0, 0.5, 0.25, 0.125):
            beyond = crossing & (w * (w + share * step) < 0.0)
            clipped = np.where(beyond, -w, share * step)
            image = share * product + self.pack.image(self.model, np.where(beyond, -w - share * step, 0.0))
            if self._move(w, grad, lam, penalty, clipped, image):
                return True
        reach = np.full(w.size, np.inf)
        reach[crossing] = -w[crossing] / step[crossing]
        share = reach.min()
        return self._move(w, grad, lam, penalty, np.where(reach <= share, -w, share * step), share * product)

    def _move(self, w: Array, grad: Array, lam: Array, penalty: Penalty, step: Array, product: Array) -> bool:
        """Take the step if it lowers the model; ``product`` is G times it."""
        if not step_change(grad, product, step, w, lam, penalty) < 0.0:
            return False
        w += step
        grad += product
        self.pack.step(self.model, step)
        return True


class Direct(Quadratic):
    """Newton steps by the inverse of the active part, which follows the set of active features."""

    def __init__(self, pack: Pack) -> None:
        super().__init__(pack)
        self._inverse = ActiveInverse()

    def keep(self, positions: Indices, size: int) -> None:
        """Drop all of so many columns but those at these positions."""
        new_number = np.full(size, -1)
        new_number[positions] = np.arange(positions.size)
        self._inverse.renumber(new_number)
        super().keep(positions, size)

    def weigh(self, h: Array) -> None:
        """Take these weights of the observations."""
        super().weigh(h)
        self._inverse.reset()

    def _price(self, w: Array) -> float:
        """An inverse that has to be computed anew costs most."""
        n_active = np.count_nonzero(w)
        price = _CHEAP + _CALLS / (1.0 + n_active * w.size)
        return price if self._inverse.size >= 0.75 * n_active else price + 0.1 * n_active

    def _solve(self, goal: Array, active: Indices, kappa: Array, tol: float) -> tuple[Array, Array] | None:
        """Conjugate gradients with the inverse as preconditioner.

        One iteration is enough where that is exact.  It lags for the elastic net and leaves out what is
        concave: there more follow, and a direction of negative curvature ends them.
        """
        if not self._inverse.adapt(self.model.gram, active, kappa[active]):
            return None
        step, product, square = np.zeros(goal.size), np.zeros(goal.size), 0.0
        residual, direction = goal, step
        for iteration in range(_REFINEMENTS):
            z = self._inverse.solve(residual)
            previous, square = square, float(residual @ z)
            direction = z + (square / previous) * direction if iteration else z
            image = self.pack.image(self.model, direction)
            curved = np.zeros(goal.size)
            curved[active] = image[active] + kappa[active] * direction[active]
            curvature = float(direction @ curved)
            if not curvature > 1e-10 * square:
                # Without concavity the first step is a Newton step of the tangent majorant, which descends.
                return (step, product) if iteration else (direction, image)
            share = square / curvature
            step = step + share * direction
            product = product + share * image
            residual = residual - share * curved
            if np.abs(residual).max() <= tol:
                break
        return step, product


class Iterative(Quadratic):
    """Newton steps by conjugate gradients alone: over stored columns one costs about as much as a sweep."""

    def _price(self, w: Array) -> float:
        return _CHEAP

    def _solve(self, goal: Array, active: Indices, kappa: Array, tol: float) -> tuple[Array, Array] | None:
        step = stored_solve(self.model, goal, active, kappa, tol, _ITERATIONS)
        return step, self.pack.image(self.model, step)


def make_quadratic(design: Design, centred: bool) -> Quadratic:
    """Return the kind that suits the design's storage, still without columns."""
    if isinstance(take_apart(design)[0], Sparse):
        return Iterative(SparsePack(design, centred))
    return Direct(DensePack(design, centred))


def _is_quadratic(loss: Loss) -> bool:
    """Whether the second derivative is the same everywhere, so that one model serves for ever."""
    y, u = np.meshgrid([-1.0, 1.0], [-1e9, -1.0, -1e-3, 0.0, 1e-3, 1.0, 1e9])
    return np.ptp(loss.second_derivative(y, u)) == 0.0


class WorkingSet:
    """The fit on the columns taken in so far; ``index`` names them, ``w`` holds their coefficients.

    ``n_sweeps`` counts the sweeps made; none begins where ``allowance`` of them are made.
    """

    def __init__(
        self, design: Design, y: Array, weights: Array, loss: Loss, penalty: Penalty, fit_intercept: bool
    ) -> None:
        self.y, self.weights, self.loss, self.penalty = y, weights, loss, penalty
        self.fit_intercept = fit_intercept
        self.quadratic = make_quadratic(design, fit_intercept)
        self.pack = self.quadratic.pack
        self.index = np.empty(0, dtype=np.intp)
        self.w = np.empty(0)
        self.n_sweeps = 0
        self.allowance = 0
        self._grad: Array | None = None
        self._exact = _is_quadratic(loss)
        # Predictions are of the size of y.
        self._unit = float(np.abs(y).max())
        self._set_margin(np.zeros(y.size), 0.0)
        self.quadratic.weigh(self._curvature())

    def _set_margin(self, margin: Array, b: float) -> None:
        self.margin, self.b = margin, b if not self.fit_intercept else self._best_intercept(margin, b)
        self.theta = self.weights * self.loss.derivative(self.y, self.margin + self.b)

    def _best_intercept(self, margin: Array, b: float) -> float:
        """Newton from a near guess; the bracketing search where that fails."""
        for _ in range(8):
            slope = float(self.weights @ self.loss.derivative(self.y, margin + b))
            curvature = float(self.weights @ self.loss.second_derivative(self.y, margin + b))
            if not curvature > 0.0:
                break
            step = slope / curvature
            b -= step
            if abs(step) <= 1e-15 * max(self._unit, abs(b)):
                return b
        return best_intercept(self.loss, self.y, self.weights, margin, b)

    def _curvature(self) -> Array:
        second = self.loss.second_derivative(self.y, self.margin + self.b)
        return self.weights * np.maximum(second, _LEAST_CURVATURE * self.loss.smoothness)

    @property
    def exhausted(self) -> bool:
        """Whether no more sweeps are allowed."""
        return self.n_sweeps >= self.allowance

    def loss_value(self) -> float:
        """``Σ ω ℓ`` at the current coefficients."""
        return float(self.weights @ self.loss.value(self.y, self.margin + self.b))

    @property
    def separated(self) -> bool:
        """Whether ever larger coefficients would fit ever better: where a penalty levels off, no minimum is left."""
        endless = self.loss.classification and self.loss.value(1.0, 30.0) > 0.0
        return endless and bool((self.y * (self.margin + self.b) > 0.0).all())

    def add(self, index: Indices) -> None:
        """Take in these columns of the design, with coefficients of zero."""
        m = self.index.size
        self.pack.append(index)
        self.index = np.concatenate([self.index, index])
        self.w = np.concatenate([self.w, np.zeros(index.size)])
        if self._grad is not None:
            self._grad = np.concatenate([self._grad, self.pack.tdot(self.theta, m)])

    def prune(self, unpenalised: NDArray[np.bool_]) -> Indices:
        """Let go of features at zero when they are many, keep the unpenalised; returns those let go."""
        m = self.index.size
        wanted = (self.w != 0.0) | unpenalised
        positions = np.flatnonzero(wanted)
        if m <= _CROWD * positions.size + 64:
            return np.empty(0, dtype=np.intp)
        gone = self.index[~wanted]
        self.quadratic.keep(positions, m)
        self.index, self.w = self.index[positions], self.w[positions]
        self._grad = None if self._grad is None else self._grad[positions]
        return gone

    def minimise(self, lam: Array, tol: float, effort: Effort) -> float:
        """Minimise over the working set until the violation is at most ``tol``; returns the violation."""
        previous, fresh, patience = np.inf, False, _PATIENCE
        concave = not (self._exact or self.penalty.convex)
        for _ in range(_MODELS):
            worst = self.violation(lam)
            patience -= concave and self.separated
            if not worst > tol or patience < 0 or self.exhausted:
                break
            exact = self._exact
            if exact and worst >= previous:
                break
            fresh = worst > _SLOW * previous and not (fresh or exact)
            if fresh:
                self.quadratic.weigh(self._curvature())
            previous = worst
            goal = 0.3 * tol if exact else max(0.3 * tol, 0.03 * worst)
            if not self._improve(lam, goal, exact, effort) and (fresh or exact):
                break
            effort = effort._replace(predict=False)
        return worst

    def violation(self, lam: Array) -> float:
        """The violation at the current coefficients, from the gradient that is kept."""
        return float(violation(self.grad(), self.w, lam, self.index.size, self.penalty))

    def grad(self) -> Array:
        """The gradient of the working set."""
        if self._grad is None:
            self._grad = self.pack.tdot(self.theta)
        return self._grad

    def verify(self) -> None:
        """Compute the gradient from the residual, in place of the one carried along."""
        self._grad = None

    def _improve(self, lam: Array, tol: float, exact: bool, effort: Effort) -> bool:
        """Minimise the quadratic model plus the penalty, or plus its tangent majorant ``Σ φ'(|w_j|)|w_j|``.

        A concave penalty on an inexact model would allow long steps that the line search has to take back; with
        its majorant the model is convex and every step towards its minimiser descends.
        """
        penalty, strength = self.penalty, lam
        concave = not (exact or penalty.convex)
        if concave:
            slope = np.abs(penalty.derivative(self.w, lam))
            penalty, strength = make_penalty("l1"), np.where(self.w == 0.0, penalty.threshold(lam), slope)
        start, goal, grad = self.w, self.w.copy(), self.grad().copy()
        most = self.allowance - self.n_sweeps
        self.n_sweeps += self.quadratic.minimise(goal, self.theta, grad, strength, penalty, tol, effort, most)
        share = self._move(goal, lam)
        # Of an exact model the gradient at its minimiser is known already.
        self._grad = grad if exact and share == 1.0 else None
        if concave and share > 0.0:
            self._stretch(start, lam)
        return share > 0.0

    def convex_beyond(self, kappa: Array) -> bool:
        """Whether the Hessian over the nonzero coefficients exceeds ``diag(κ)``."""
        active = np.flatnonzero(self.w)
        if active.size == 0:
            return True
        if active.size > self.y.size:
            return False
        if not self._exact:
            self.quadratic.weigh(self._curvature())
        hessian = self.pack.gram(active)
        hessian[np.diag_indices(active.size)] -= kappa[active]
        return lapack.dpotrf(hessian, lower=1)[1] == 0

    def _move(self, goal: Array, lam: Array) -> float:
        """Go to the model's minimiser, or as far towards it as the objective falls; returns the share gone."""
        start, margin, b = self.w, self.margin, self.b
        if self._exact:
            self.w = goal
            self._set_margin(self.pack.dot(goal), b)
            return 1.0
        before = self.loss_value() + float(self.penalty.value(start, lam).sum())
        towards = self.pack.dot(goal)
        slack = 1e-14 * abs(before)
        for halving in range(12):
            share = 0.5**halving
            self.w = goal if halving == 0 else start + share * (goal - start)
            self._set_margin(margin + share * (towards - margin), b)
            if self.loss_value() + float(self.penalty.value(self.w, lam).sum()) <= before + slack:
                return share
        self.w = start
        self._set_margin(margin, b)
        return 0.0

    def _stretch(self, start: Array, lam: Array) -> None:
        """Grow coefficients further while that helps: tangents let those that escape zero do so but slowly."""
        growth = np.where(np.abs(self.w) > np.abs(start), self.w - start, 0.0)
        along = self.pack.dot(growth)
        best = self.loss_value() + float(self.penalty.value(self.w, lam).sum())
        for _ in range(_STRETCHES):
            w, margin, b = self.w, self.margin, self.b
            self.w = w + growth
            self._set_margin(margin + along, b)
            value = self.loss_value() + float(self.penalty.value(self.w, lam).sum())
            if not value < best:
                self.w = w
                self._set_margin(margin, b)
                return
            best = value
            growth, along = 2.0 * growth, 2.0 * along
