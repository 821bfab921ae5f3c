"""Penalised fits on a working set of columns: outer Newton models of the loss, each minimised with the penalty.

    min_w  F(w) = min_b Σ_i ω_i ℓ(y_i, x_i'w + b) + Σ_j φ(w_j; λ_j)        Σω = 1

The intercept is always at its best value, so the gradient is ``X'θ`` with ``θ = ω ℓ'(y, Xw + b)``, ``Σθ = 0``,
and the Hessian is the Gram matrix of the columns centred with the weights ``h = ω ℓ''``.  These weights are
kept while they serve (for ever under the squared loss) and recomputed when progress slows.  Every step must lower the
objective.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from sparsest.arrays import Array, Indices, Mask
from sparsest.designs import Design
from sparsest.intercepts import best_intercept
from sparsest.kernels.descent import violation
from sparsest.losses import Loss, Squared
from sparsest.penalties import Penalty, make_penalty
from sparsest.solvers.paths.quadratic import Effort, Iterate, make_quadratic

# Models for one λ; five are usual for the logistic loss.
_MAX_MODELS = 100
# A model whose minimiser leaves more than this share of the violation is made with new weights next time: new weights
# cost a Gram matrix, and old ones only a few more models.  At 0.1 a logistic path takes 20 % fewer sweeps and more Gram
# matrices, at 0.7 twice the sweeps.
_SLOW_PROGRESS = 0.3
# Violation to which a model is minimised: relative to that of the fit, as the model is not right either, but a third of
# what is asked for at last.  A tenth of it takes 7 % more sweeps, ten times as much 27 % fewer but more models.
_MODEL_ACCURACY, _LAST_ACCURACY = 0.03, 0.3
# Columns at zero are dropped when the set has more than this many for each that is in use, and 64: dropping costs a
# copy of the Gram matrix, and keeping them a part of every sweep.  At 1.0 and at 3.0 there are up to 30 and 15 % more.
_MAX_CROWDING, _SPARE_COLUMNS = 1.3, 64
# Steps of a concave penalty's fit may grow by this many doublings; each costs a pass over the observations.
_MAX_DOUBLINGS = 8
_MAX_HALVINGS = 12
# Objectives that differ by less than this, relatively, are equal but for rounding.
_OBJECTIVE_ROUNDING = 1e-14
# Models after which a concave fit of separated classes is given up: it has no minimum.
_MAX_SEPARATED_MODELS = 3
# A model without curvature has no minimum: observations keep at least this share of the mean curvature at the start.
_LEAST_CURVATURE = 1e-4
# A margin at which a loss that levels off is zero.
_LARGE_MARGIN = 30.0
_MAX_INTERCEPT_STEPS = 8


def _is_quadratic(loss: Loss) -> bool:
    """Whether one model of the loss serves for ever."""
    return isinstance(loss, Squared)


class WorkingSet:
    """The fit on the columns taken in so far; ``index`` names them, ``w`` holds their coefficients.

    ``n_sweeps`` counts the sweeps made; none begins where ``max_sweeps`` of them are made.
    """

    def __init__(
        self, design: Design, y: Array, weights: Array, loss: Loss, penalty: Penalty, fit_intercept: bool
    ) -> None:
        self.y, self.weights, self.loss, self.penalty = y, weights, loss, penalty
        self.fit_intercept = fit_intercept
        self.pack = design.pack(fit_intercept)
        self.quadratic = make_quadratic(self.pack)
        self.index = np.empty(0, dtype=np.intp)
        self.w = np.empty(0)
        self.n_sweeps = 0
        self.max_sweeps = 0
        self._grad: Array | None = None
        self._exact = _is_quadratic(loss)
        # Predictions are of the size of y, or of its logarithms.
        self._unit = 1.0 if loss.log_link else float(np.abs(y).max())
        self._set_margin(np.zeros(y.size), 0.0)
        self._least_curvature = _LEAST_CURVATURE * float(weights @ loss.second_derivative(y, self.margin + self.b))
        self.quadratic.weigh(self._curvature())

    def _set_margin(self, margin: Array, b: float) -> None:
        self.margin, self.b = margin, b if not self.fit_intercept else self._best_intercept(margin, b)
        self.theta = self.weights * self.loss.derivative(self.y, self.margin + self.b)

    def _best_intercept(self, margin: Array, b: float) -> float:
        """Newton from a near guess; the bracketing search where that fails."""
        guess = b
        for _ in range(_MAX_INTERCEPT_STEPS):
            slope = float(self.weights @ self.loss.derivative(self.y, margin + b))
            curvature = float(self.weights @ self.loss.second_derivative(self.y, margin + b))
            if not curvature > 0.0:
                break
            step = slope / curvature
            b -= step
            if abs(step) <= 1e-15 * max(self._unit, abs(b)):
                return b
        return best_intercept(self.loss, self.y, self.weights, margin, guess)

    def _curvature(self) -> Array:
        second = self.loss.second_derivative(self.y, self.margin + self.b)
        return self.weights * np.maximum(second, self._least_curvature)

    @property
    def exhausted(self) -> bool:
        """Whether no more sweeps are allowed."""
        return self.n_sweeps >= self.max_sweeps

    def loss_value(self) -> float:
        """``Σ ω ℓ`` at the current coefficients."""
        return float(self.weights @ self.loss.value(self.y, self.margin + self.b))

    @property
    def separated(self) -> bool:
        """Whether ever larger coefficients would fit ever better: where a penalty levels off, no minimum is left."""
        if not self.loss.classification or not (self.y * (self.margin + self.b) > 0.0).all():
            return False
        return bool((self.loss.value(self.y, _LARGE_MARGIN * self.y) > 0.0).all())

    def add(self, index: Indices) -> None:
        """Take in these columns of the design, with coefficients of zero."""
        m = self.index.size
        self.pack.append(index)
        self.index = np.concatenate([self.index, index])
        self.w = np.concatenate([self.w, np.zeros(index.size)])
        if self._grad is not None:
            self._grad = np.concatenate([self._grad, self.pack.tdot(self.theta, m)])

    def prune(self, unpenalised: Mask) -> Indices:
        """Let go of features at zero when they are many, keep the unpenalised; returns those let go."""
        m = self.index.size
        wanted = (self.w != 0.0) | unpenalised
        positions = np.flatnonzero(wanted)
        if m <= _MAX_CROWDING * positions.size + _SPARE_COLUMNS:
            return np.empty(0, dtype=np.intp)
        gone = self.index[~wanted]
        self.quadratic.keep(positions, m)
        self.index, self.w = self.index[positions], self.w[positions]
        self._grad = None if self._grad is None else self._grad[positions]
        return gone

    def minimise(self, lam: Array, tol: float, effort: Effort) -> float:
        """Minimise over the working set until the violation is at most ``tol``; returns the violation."""
        previous, fresh, n_separated = np.inf, False, 0
        exact, concave = self._exact, not (self._exact or self.penalty.convex)
        for _ in range(_MAX_MODELS):
            worst = self.violation(lam)
            n_separated += concave and self.separated
            if not worst > tol or n_separated > _MAX_SEPARATED_MODELS or self.exhausted:
                break
            if exact and worst >= previous:
                break
            fresh = worst > _SLOW_PROGRESS * previous and not (fresh or exact)
            if fresh:
                self.quadratic.weigh(self._curvature())
            previous = worst
            goal = _LAST_ACCURACY * tol if exact else max(_LAST_ACCURACY * tol, _MODEL_ACCURACY * worst)
            if not self._improve(lam, goal, effort) and (fresh or exact):
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

    def _improve(self, lam: Array, tol: float, effort: Effort) -> bool:
        """Minimise the quadratic model plus the penalty, or plus its tangent majorant ``Σ φ'(|w_j|)|w_j|``.

        A concave penalty on an inexact model would allow long steps that the line search has to take back; with
        its majorant the model is convex and every step towards its minimiser descends.
        """
        penalty, strength = self.penalty, lam
        concave = not (self._exact or penalty.convex)
        if concave:
            slope = np.abs(penalty.derivative(self.w, lam))
            penalty, strength = make_penalty("l1"), np.where(self.w == 0.0, penalty.threshold(lam), slope)
        start, at = self.w, Iterate(self.w.copy(), self.grad().copy(), strength, penalty)
        self.n_sweeps += self.quadratic.minimise(at, self.theta, tol, effort, self.max_sweeps - self.n_sweeps)
        share = self._move(at.w, lam)
        # Of an exact model the gradient at its minimiser is known already.
        self._grad = at.grad if self._exact and share == 1.0 else None
        if concave and share > 0.0:
            self._stretch(start, lam)
        return share > 0.0

    def _objective(self, lam: Array) -> float:
        return self.loss_value() + float(self.penalty.value(self.w, lam).sum())

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
        before = self._objective(lam)
        towards = self.pack.dot(goal)
        slack = _OBJECTIVE_ROUNDING * abs(before)
        for halving in range(_MAX_HALVINGS):
            share = 0.5**halving
            self.w = goal if halving == 0 else start + share * (goal - start)
            self._set_margin(margin + share * (towards - margin), b)
            if self._objective(lam) <= before + slack:
                return share
        self.w = start
        self._set_margin(margin, b)
        return 0.0

    def _stretch(self, start: Array, lam: Array) -> None:
        """Grow coefficients further while that helps: tangents let those that escape zero do so but slowly."""
        growth = np.where(np.abs(self.w) > np.abs(start), self.w - start, 0.0)
        along = self.pack.dot(growth)
        best = self._objective(lam)
        for _ in range(_MAX_DOUBLINGS):
            w, margin, b = self.w, self.margin, self.b
            self.w = w + growth
            self._set_margin(margin + along, b)
            value = self._objective(lam)
            if not value < best:
                self.w = w
                self._set_margin(margin, b)
                return
            best = value
            growth, along = 2.0 * growth, 2.0 * along
