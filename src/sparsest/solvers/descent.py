"""Penalised fits on a working set of columns: outer Newton models, inner coordinate descent.

    min_w  F(w) = min_b Σ_i ω_i ℓ(y_i, x_i'w + b) + Σ_j φ(w_j; λ_j)        Σω = 1

The intercept is always at its best value, so the gradient is ``X'θ`` with ``θ = ω ℓ'(y, Xw + b)``, ``Σθ = 0``,
and the Hessian is the Gram matrix of the columns centred with the weights ``h = ω ℓ''``.  That matrix is
kept while it serves (for ever under the squared loss) and recomputed when progress slows.  Each model is
minimised by sweeps of coordinate descent, which find the active features, and Newton steps on those, which
make the solution precise; every step must lower the objective.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from sparsest.designs import Design
from sparsest.kernels.descent import descend, make_pack, step_change, violation
from sparsest.losses import Loss
from sparsest.penalties import Penalty, make_penalty
from sparsest.problem import best_intercept
from sparsest.solvers.active_inverse import ActiveInverse

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_ROUNDS = 200
_MODELS = 100
_REFINEMENTS = 12
_SLOW = 0.3
_CROWD = 1.3
_CHEAP = 12.0
_STRETCHES = 8
_PERFECT = 1e-4
# A model without curvature has no minimum: observations keep at least this share of the loss's smoothness.
_LEAST_CURVATURE = 1e-4


class Effort(NamedTuple):
    """How a working set is minimised: sweeps before each Newton step, and whether to begin with such a step.

    Beginning with a Newton step predicts the solution when only λ has changed.
    """

    sweeps: int = 5
    predict: bool = False


class Quadratic:
    """The model ``g'(w - w0) + (w - w0)'G(w - w0)/2 + Σφ``, minimised from w0; ``w`` and ``grad`` follow."""

    def __init__(self, gram: Array, m: int, penalty: Penalty, inverse: ActiveInverse) -> None:
        self.gram, self.m, self.penalty, self.inverse = gram, m, penalty, inverse
        self._square = gram[:m, :m]

    def minimise(self, w: Array, grad: Array, lam: Array, tol: float, effort: Effort) -> int:
        """Sweep and step until the violation is at most ``tol``; returns the number of sweeps."""
        total, budget = 0, effort.sweeps
        if effort.predict and self._newton_price(w) <= _CHEAP:
            self._newton(w, grad, lam, tol)
        worst = violation(grad, w, lam, self.m, self.penalty)
        for _ in range(_ROUNDS):
            before = worst
            sweeps, worst = descend(self.gram, grad, w, lam, self.m, self.penalty, tol, budget)
            total += sweeps
            if worst <= tol:
                break
            left = np.log(worst / tol) / max(np.log(before / worst) / sweeps, 1e-9)
            if left <= self._newton_price(w):
                budget = int(left) + 2
            else:
                # Sweeps alone have to do where the active matrix is singular.
                budget = effort.sweeps if self._newton(w, grad, lam, tol) else 50
                worst = violation(grad, w, lam, self.m, self.penalty)
        return total

    def _newton_price(self, w: Array) -> float:
        """What a Newton step costs, in sweeps: much more if the inverse has to be computed anew."""
        n_active = np.count_nonzero(w)
        return _CHEAP if self.inverse.size >= 0.75 * n_active else max(_CHEAP, 0.1 * n_active)

    def _newton(self, w: Array, grad: Array, lam: Array, tol: float) -> bool:
        """One Newton step on the active features, no coordinate beyond zero; False if it would not descend."""
        active = np.flatnonzero((w != 0.0) | (lam == 0.0))
        kappa = np.zeros(self.m)
        kappa[active] = self.penalty.second_derivative(w[active], lam[active])
        if active.size == 0 or not self.inverse.adapt(self._square, active, kappa[active]):
            return False
        goal = np.zeros(self.m)
        goal[active] = -grad[active] - self.penalty.derivative(w[active], lam[active])
        step, product = self._conjugate_gradients(goal, active, kappa, 0.1 * tol)
        crossing = (w * (w + step) < 0.0) & (lam > 0.0)
        if not crossing.any():
            return self._move(w, grad, lam, step, product)
        for share in (1.0, 0.5, 0.25, 0.125):
            clipped = np.where((w * (w + share * step) < 0.0) & (lam > 0.0), -w, share * step)
            if self._move(w, grad, lam, clipped, self._square @ clipped):
                return True
        reach = np.full(self.m, np.inf)
        reach[crossing] = -w[crossing] / step[crossing]
        share = reach.min()
        return self._move(w, grad, lam, np.where(reach <= share, -w, share * step), share * product)

    def _conjugate_gradients(self, goal: Array, active: Indices, kappa: Array, tol: float) -> tuple[Array, Array]:
        """Solve ``(G_AA + diag κ) d = goal`` with the kept inverse as preconditioner; returns d and Gd.

        One iteration is enough where the inverse is exact.  It lags for the elastic net and leaves out what is
        concave: there more follow, and a direction of negative curvature ends them.
        """
        step, product = np.zeros(self.m), np.zeros(self.m)
        residual, square, direction = goal, 0.0, np.zeros(self.m)
        for iteration in range(_REFINEMENTS):
            z = self.inverse.solve(residual)
            previous, square = square, float(residual @ z)
            direction = z + (square / previous) * direction if iteration else z
            image = self._square @ direction
            curved = np.zeros(self.m)
            curved[active] = image[active] + kappa[active] * direction[active]
            curvature = float(direction @ curved)
            if not curvature > 1e-10 * square:
                # Without concavity the first step is a Newton step of the tangent majorant, which descends.
                return (step, product) if iteration else (direction, image)
            share = square / curvature
            step += share * direction
            product += share * image
            residual = residual - share * curved
            if np.abs(residual).max() <= tol:
                break
        return step, product

    def _move(self, w: Array, grad: Array, lam: Array, step: Array, product: Array) -> bool:
        """Take the step if it lowers the model; ``product`` is G times it."""
        if not step_change(grad, product, step, w, lam, self.m, self.penalty) < 0.0:
            return False
        w += step
        grad += product
        return True


def _is_quadratic(loss: Loss) -> bool:
    """Whether the second derivative is the same everywhere, so that one model serves for ever."""
    y, u = np.meshgrid([-1.0, 1.0], [-1e9, -1.0, -1e-3, 0.0, 1e-3, 1.0, 1e9])
    return np.ptp(loss.second_derivative(y, u)) == 0.0


class WorkingSet:
    """The fit on the columns taken in so far; ``index`` names them, ``w`` holds their coefficients."""

    def __init__(
        self, design: Design, y: Array, weights: Array, loss: Loss, penalty: Penalty, fit_intercept: bool
    ) -> None:
        self.y, self.weights, self.loss, self.penalty = y, weights, loss, penalty
        self.fit_intercept = fit_intercept
        self.pack = make_pack(design)
        self.index = np.empty(0, dtype=np.intp)
        self.w = np.empty(0)
        self.n_sweeps = 0
        self._grad: Array | None = None
        self._exact = _is_quadratic(loss)
        self._null_loss = 0.0
        self._gram = np.empty((32, 32))
        self._inverse = ActiveInverse()
        self._set_margin(np.zeros(y.size), 0.0)
        self._h = self._curvature()
        self._null_loss = self.loss_value()

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
            if abs(step) <= 1e-15 * max(1.0, abs(b)) or abs(slope) <= 1e-17:
                return b
        return best_intercept(self.loss, self.y, self.weights, margin, b)

    def _curvature(self) -> Array:
        second = self.loss.second_derivative(self.y, self.margin + self.b)
        return self.weights * np.maximum(second, _LEAST_CURVATURE * self.loss.smoothness)

    def loss_value(self) -> float:
        """``Σ ω ℓ`` at the current coefficients."""
        return float(self.weights @ self.loss.value(self.y, self.margin + self.b))

    def add(self, index: Indices) -> None:
        """Take in these columns of the design, with coefficients of zero."""
        m, a = self.index.size, index.size
        block = self.pack.append(index)
        if m + a > self._gram.shape[0]:
            grown = np.empty((max(m + a, 2 * m), max(m + a, 2 * m)))
            grown[:m, :m] = self._gram[:m, :m]
            self._gram = grown
        weighted = self._h[:, None] * block
        cross = self.pack.tdot(weighted)
        if self.fit_intercept:
            cross -= np.outer(self.pack.tdot(self._h), weighted.sum(axis=0) / self._h.sum())
        self._gram[: m + a, m : m + a] = cross
        self._gram[m : m + a, : m + a] = cross.T
        self.index = np.concatenate([self.index, index])
        self.w = np.concatenate([self.w, np.zeros(a)])
        if self._grad is not None:
            self._grad = np.concatenate([self._grad, block.T @ self.theta])

    def prune(self, unpenalised: NDArray[np.bool_]) -> Indices:
        """Let go of features at zero when they are many, keep the unpenalised; returns those let go."""
        m = self.index.size
        wanted = (self.w != 0.0) | unpenalised
        positions = np.flatnonzero(wanted)
        if m <= _CROWD * positions.size + 64:
            return np.empty(0, dtype=np.intp)
        gone = self.index[~wanted]
        new_number = np.full(m, -1, dtype=np.intp)
        new_number[positions] = np.arange(positions.size)
        self._inverse.renumber(new_number)
        self.pack.keep(positions)
        self._gram[: positions.size, : positions.size] = self._gram[np.ix_(positions, positions)]
        self.index, self.w = self.index[positions], self.w[positions]
        self._grad = None if self._grad is None else self._grad[positions]
        return gone

    def _refresh(self) -> None:
        """Take the Hessian at the current coefficients."""
        self._h = self._curvature()
        gram = self.pack.gram(self._h)
        if self.fit_intercept:
            mean = self.pack.tdot(self._h)
            gram -= np.outer(mean, mean / self._h.sum())
        m = self.index.size
        self._gram[:m, :m] = gram
        self._inverse.reset()

    def minimise(self, lam: Array, tol: float, effort: Effort) -> float:
        """Minimise over the working set until the violation is at most ``tol``; returns the violation."""
        previous, fresh = np.inf, False
        concave = not (self._exact or self.penalty.convex)
        for _ in range(_MODELS):
            if self._grad is None:
                self._grad = self.pack.tdot(self.theta)
            worst = self.violation(lam)
            # Separable classes under a penalty that levels off have no finite minimiser.
            if worst <= tol or (concave and self.loss_value() < _PERFECT * self._null_loss):
                break
            exact = self._exact
            fresh = worst > _SLOW * previous and not (fresh or exact)
            if fresh:
                self._refresh()
            previous = worst
            goal = 0.3 * tol if exact else max(0.3 * tol, 0.03 * worst)
            if not self._improve(lam, goal, exact, effort) and (fresh or exact):
                break
            effort = effort._replace(predict=False)
        return worst

    def violation(self, lam: Array) -> float:
        """The violation at the current coefficients, from the gradient that is kept."""
        return float(violation(self._grad, self.w, lam, self.index.size, self.penalty))

    def adopt(self, grad: Array) -> None:
        """Take the exact gradient of the working set, in place of the one carried along."""
        self._grad = grad

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
        assert self._grad is not None
        start, goal, grad = self.w, self.w.copy(), self._grad.copy()
        model = Quadratic(self._gram, self.index.size, penalty, self._inverse)
        self.n_sweeps += model.minimise(goal, grad, strength, tol, effort)
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
        hessian = self._hessian(active)
        hessian[np.diag_indices(active.size)] -= kappa[active]
        return lapack.dpotrf(hessian, lower=1)[1] == 0

    def _hessian(self, active: Indices) -> Array:
        """The Hessian at the current coefficients, for some of the features."""
        if self._exact:
            return self._gram[np.ix_(active, active)]
        h = self._curvature()
        block = self.pack.design.columns(self.index[active])
        weighted = h[:, None] * block
        hessian = block.T @ weighted
        if self.fit_intercept:
            total = weighted.sum(axis=0)
            hessian -= np.outer(total, total / h.sum())
        return hessian

    def _move(self, goal: Array, lam: Array) -> float:
        """Go to the model's minimiser, or as far towards it as the objective falls; returns the share gone."""
        start, margin, b = self.w, self.margin, self.b
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
