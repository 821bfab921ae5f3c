"""Penalised fits on a working set of columns: outer Newton models of the loss, each minimised with the penalty.

    min_w  F(w) = min_b Σ_i ω_i ℓ(y_i, x_i'w + b) + Σ_j φ(w_j; λ_j)        Σω = 1

The intercept is always at its best value, so the gradient is ``X'θ`` with ``θ = ω ℓ'(y, Xw + b)``, ``Σθ = 0``,
and the Hessian is the Gram matrix of the columns centred with the weights ``h = ω ℓ''``.  These weights are
kept as long as progress is fast (always under the squared loss) and recomputed when it slows.  Every step must lower
the objective.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from sparsest.core.arrays import Array, Indices, Mask
from sparsest.core.kernels.descent import extrapolate, violation
from sparsest.core.penalties import make_penalty, wrapped_penalty
from sparsest.core.strengths import Strengths, clipped, held, lambdas, limits, make_strengths, with_lambdas
from sparsest.paths.kernels.rules import MAX_CROWDING
from sparsest.paths.loss_of_margins import LEAST_CURVATURE, LEAST_DAMPING, SLOPE_ROUNDING, LossOfMargins
from sparsest.paths.quadratic import Iterate, make_quadratic
from sparsest.paths.task import Task, is_quadratic

# Models for one λ; five are usual for the logistic loss.
_MAX_MODELS = 100
# A model whose minimiser leaves more than this share of the violation is made with new weights next time: new weights
# cost a Gram matrix, and old ones only a few more models.  At 0.1 a logistic path takes 20 % fewer sweeps and more Gram
# matrices, at 0.7 twice the sweeps.
_SLOW_PROGRESS = 0.3
# Violation to which a model is minimised: as a share of that of the fit, because the model is inexact, but no less than
# a share of the final goal.  A tenth of the first takes 7 % more sweeps, ten times as much 27 % fewer but more models.
MODEL_ACCURACY, LAST_ACCURACY = 0.03, 0.3
# Columns at zero that are kept beside those that crowding allows.
SPARE_COLUMNS = 64
# Steps of a concave penalty's fit may grow by this many doublings; each costs a pass over the observations.
_MAX_DOUBLINGS = 8
_MAX_HALVINGS = 12
# Objectives that differ by less than this, relatively, are equal up to rounding errors.
_OBJECTIVE_ROUNDING = 1e-14
# Models after which a concave fit of separated classes is given up: it has no minimum.
_MAX_SEPARATED_MODELS = 3
# Largest number of sweeps for one model: a new model helps more than the last digits of this one.
MAX_MODEL_SWEEPS = 500
# A step that leaves at most this share of the violation is accepted without evaluating a convex objective.
_CLEAR_PROGRESS = 0.5


class WorkingSet(LossOfMargins):
    """The fit on the columns taken in so far; ``index`` names them, ``w`` holds their coefficients.

    ``n_sweeps`` counts the sweeps; there are at most ``max_sweeps`` of them.
    """

    def __init__(self, task: Task) -> None:
        y, weights, loss, penalty = task.y, task.weights, task.loss, task.penalty
        self.y, self.weights, self.loss, self.penalty = y, weights, loss, penalty
        self.fit_intercept = task.fit_intercept
        self.pack = task.view.pack(task.fit_intercept)
        self.quadratic = make_quadratic(self.pack.has_gram)
        self.index = np.empty(0, dtype=np.intp)
        self.w, self._before = np.empty(0), np.empty(0)
        self.n_sweeps = self.max_sweeps = 0
        self.exact = is_quadratic(loss)
        self._tangents = wrapped_penalty(make_penalty("l1"), rescaled=False, bounded=task.lower is not None)
        self._limits = None if task.lower is None or task.upper is None else (task.lower, task.upper)
        self._grad: Array | None = None
        self._margin: Array | None = None
        self._loss_value: float | None = None
        self.b = 0.0
        self._slope_allowed = 0.0
        self._mass = 1.0
        self._set_margin(np.zeros(y.size), 0.0)
        self._slope_allowed = SLOPE_ROUNDING * float(np.abs(self._theta).sum())
        self.null_loss = float(weights @ loss.value(y, self.b))
        self._least_curvature = LEAST_CURVATURE * self._typical_curvature()
        self._damping = 0.0 if loss.classification or loss.log_link else LEAST_DAMPING
        self.origin = np.empty(0)
        self._weigh()

    def _set_margin(self, margin: Array, b: float) -> None:
        # Centred columns leave the intercept of a quadratic loss as it is.
        if self.fit_intercept and not (self.exact and self.w.size):
            b, self._theta = self._best_intercept(margin, b)
        else:
            self._theta = self._slopes(margin, b)
        self._margin, self.b, self._loss_value = margin, b, None

    @property
    def margin(self) -> Array:
        """``Xw``; under a quadratic loss it is computed only when it is needed."""
        if self._margin is None:
            self._set_margin(self.pack.dot(self.w), self.b)
        assert self._margin is not None
        return self._margin

    @property
    def theta(self) -> Array:
        """``θ = ω ℓ'(y, Xw + b)``."""
        _ = self.margin
        return self._theta

    def strengths(self, lam: Array) -> Strengths:
        """The strengths that the penalty takes for these λ at the present coefficients."""
        return lam if self._limits is None else make_strengths(lam, 1.0, *self._own_limits())

    def _own_limits(self) -> tuple[Array | None, Array | None]:
        """The smallest and the largest value of each coefficient in the set; None for both without limits."""
        return (None, None) if self._limits is None else (self._limits[0][self.index], self._limits[1][self.index])

    def _weigh(self) -> None:
        """Set the weights of the model to the curvature of the loss at the current point."""
        h = self._curvature(self._damping)
        self._note_curvature(h)
        self.pack.weigh(h)
        self.quadratic.forget()

    def _note_curvature(self, h: Array) -> None:
        """Expect that the intercept follows the margins as under these weights."""
        self._mass = float(h.sum())
        self._weights_kept = h / self._mass

    @property
    def exhausted(self) -> bool:
        """Whether no more sweeps are allowed."""
        return self.n_sweeps >= self.max_sweeps

    def loss_value(self) -> float:
        """``Σ ω ℓ`` at the current coefficients."""
        if self.exact and self.w.size:
            return self.null_loss + 0.5 * float(self.w @ (self.origin[self.index] + self.grad()))
        margin = self.margin
        if self._loss_value is None:
            self._loss_value = float(self.weights @ self.loss.value(self.y, margin + self.b))
        return self._loss_value

    def conjugate_sum(self, scale: float, theta: Array | None = None) -> float:
        """``Σ ω ℓ*(y, sθ/ω)``, of another θ than that here if one is given.

        With a quadratic loss, and ``Σθ = 0``, it follows from gradients.
        """
        if theta is None and self.exact and self.w.size:
            along = float(self.w @ self.origin[self.index]) + 2.0 * self.null_loss
            return scale * (scale * self.loss_value() - along)
        slopes = scale * (self.theta if theta is None else theta) / self.weights
        # Rounding must not lead out of the domain.
        return float(self.weights @ self.loss.conjugate(self.y, self.loss.project(self.y, slopes)))

    def add(self, index: Indices) -> None:
        """Add these columns of the design, with coefficients of zero."""
        m, zeros = self.index.size, np.zeros(index.size)
        self.pack.append(index)
        self.index = np.concatenate([self.index, index])
        self.w, self._before = np.concatenate([self.w, zeros]), np.concatenate([self._before, zeros])
        if self._grad is not None:
            self._grad = np.concatenate([self._grad, self._gradient(m)])

    def prune(self, unpenalised: Mask) -> Indices:
        """Drop penalised features at zero if there are many; returns the dropped features."""
        m = self.index.size
        wanted = (self.w != 0.0) | unpenalised
        positions = np.flatnonzero(wanted)
        if m <= MAX_CROWDING * positions.size + SPARE_COLUMNS:
            return np.empty(0, dtype=np.intp)
        return self._keep(positions)

    def _keep(self, positions: Indices) -> Indices:
        """Keep only the columns at these positions; returns the dropped features."""
        m, gone = self.index.size, np.delete(self.index, positions)
        self.pack.keep(positions)
        self.quadratic.keep(positions, m)
        self.index, self.w, self._before = self.index[positions], self.w[positions], self._before[positions]
        self._grad = None if self._grad is None else self._grad[positions]
        return gone

    def predict(self, ratio: float, lam: Array) -> None:
        """Extrapolate by ``ratio`` times the step from the last solution but one to the last."""
        grad = self.grad() if self._linear else None
        step = extrapolate(self.w, self._before, lam, ratio)
        if self._limits is not None:
            excess = self.w - clipped(self.w, self.strengths(lam))
            self.w -= excess
            step -= excess
        self._margin, self._grad = None, None if grad is None else grad + self.pack.model(None).image(step)

    def minimise(self, lam: Array, tol: float) -> float:
        """Minimise over the working set until the violation is at most ``tol``; returns the violation."""
        if self.exact:
            return self._minimise_exact(self.strengths(lam), tol)
        # A step out of the range of a logarithmic link has an objective that is not finite, and is halved.
        with np.errstate(over="ignore", invalid="ignore"):
            return self._minimise_models(lam, tol)

    def _minimise_models(self, lam: Array, tol: float) -> float:
        previous, fresh, shortened, n_separated = np.inf, False, False, 0
        concave = not self.penalty.convex
        for _ in range(_MAX_MODELS):
            strengths = self.strengths(lam)
            worst = self.violation(strengths)
            n_separated += concave and self.separated
            if not worst > tol or n_separated > _MAX_SEPARATED_MODELS or self.exhausted:
                break
            fresh = shortened or (worst > _SLOW_PROGRESS * previous and not fresh)
            if fresh:
                self._weigh()
            previous = worst
            goal = max(LAST_ACCURACY * tol, MODEL_ACCURACY * worst)
            share = self._improve(strengths, goal, worst)
            improved, shortened = share > 0.0, self._damp(share)
            # Tangent majorants make slow progress where the penalty is concave: steps with its curvature follow.
            if concave and not self.separated:
                improved |= self._newton(strengths)
            if not improved and fresh and not shortened:
                break
        return worst

    def _newton(self, strengths: Strengths) -> bool:
        """One Newton step on the nonzero coefficients, if the objective is convex in them; whether it descends."""
        stays = held(self.w, self.grad() + self.penalty.derivative(self.w, strengths), strengths)
        active = np.flatnonzero((self.w != 0.0) & ~stays)
        if active.size == 0 or active.size > self.y.size:
            return False
        w, strength = self.w[active], strengths[active]
        self._weigh()
        hessian = self.pack.gram(active)
        hessian[np.diag_indices(active.size)] += self.penalty.second_derivative(w, strength)
        factor, info = lapack.dpotrf(hessian, lower=1)
        if info != 0:
            return False
        slope = self.grad()[active] + self.penalty.derivative(w, strength)
        goal = w - lapack.dpotrs(factor, slope, lower=1)[0]
        goal[(goal * w < 0.0) & (lambdas(strength) > 0.0)] = 0.0
        before, margin, b = self.w, self.margin, self.b
        target = self.w.copy()
        target[active] = clipped(goal, strength)
        descended = self._move(target, strengths) > 0.0
        if descended and self.separated:
            # There is no minimum in that direction.
            descended = False
            self._place(before, margin, b)
        return descended

    def _minimise_exact(self, strengths: Strengths, tol: float) -> float:
        at = Iterate(self.w, self.grad(), strengths, self.penalty)
        sweeps, worst = self.quadratic.minimise(
            self.pack.model(self._residual), at, tol, self.max_sweeps - self.n_sweeps
        )
        self.n_sweeps += sweeps
        self._margin = None
        return worst

    def violation(self, strengths: Strengths) -> float:
        """The violation at the current coefficients, from the gradient that is kept."""
        return float(violation(self.grad(), self.w, strengths, self.index.size, self.penalty))

    @property
    def _residual(self) -> Array | None:
        """The θ that a model without a Gram matrix needs; None with a Gram matrix."""
        return None if self.pack.has_gram else self.theta

    @property
    def _linear(self) -> bool:
        """Whether gradients follow from the Gram matrix alone."""
        return self.exact and self.pack.has_gram

    def grad(self) -> Array:
        """The gradient of the working set."""
        if self._grad is None:
            self._grad = self._gradient(0)
        return self._grad

    def _gradient(self, first: int) -> Array:
        """Compute the gradient from this column on."""
        if self._linear:
            return self.origin[self.index[first:]] + self.pack.model(None).image(self.w)[first:]
        return self.pack.tdot(self.theta, first)

    def verify(self) -> None:
        """Recompute the gradient, which is otherwise only updated under a quadratic loss."""
        if self.exact:
            self._grad = None

    def _improve(self, strengths: Strengths, tol: float, violation: float) -> float:
        """Minimise the quadratic model plus the penalty, or plus its tangent majorant ``Σ φ'(|w_j|)|w_j|``.

        A concave penalty on an inexact model would allow long steps that the line search has to take back; with
        its majorant the model is convex and every step towards its minimiser descends.  ``violation`` is that of w.
        Returns the share of the step that was taken.
        """
        penalty, strength = self.penalty, strengths
        concave = not penalty.convex
        if concave:
            slope = np.abs(penalty.derivative(self.w, strengths))
            slope = np.where(self.w == 0.0, penalty.threshold(strengths), slope)
            penalty, strength = self._tangents, with_lambdas(strengths, slope)
        start, at = self.w, Iterate(self.w.copy(), self.grad().copy(), strength, penalty)
        most = min(self.max_sweeps - self.n_sweeps, MAX_MODEL_SWEEPS)
        sweeps, _ = self.quadratic.minimise(self.pack.model(self._residual), at, tol, most)
        self.n_sweeps += sweeps
        share = self._move(at.w, strengths, 0.0 if concave else _CLEAR_PROGRESS * violation)
        if concave and share > 0.0:
            self._stretch(start, strengths)
        return share

    def _objective(self, strengths: Strengths) -> float:
        return self.loss_value() + self.penalty_of(self.w, strengths)

    def penalty_of(self, w: Array, strengths: Strengths) -> float:
        """The penalty of some coefficients of the set."""
        return float(self.penalty.value(w, strengths).sum())

    def convex_beyond(self, kappa: Array) -> bool:
        """Whether the Hessian over the nonzero coefficients exceeds ``diag(κ)``."""
        active = np.flatnonzero(self.w)
        if active.size == 0:
            return True
        if active.size > self.y.size:
            return False
        hessian = self.pack.gram(active, None if self.exact else self._curvature(self._damping))
        hessian[np.diag_indices(active.size)] -= kappa[active]
        return lapack.dpotrf(hessian, lower=1)[1] == 0

    def _move(self, goal: Array, strengths: Strengths, enough: float = 0.0) -> float:
        """Step towards the model's minimiser as far as the objective decreases; returns the share of the step.

        A violation of at most ``enough`` is accepted without comparing objectives.
        """
        start, margin, b = self.w, self.margin, self.b
        # The intercept that the quadratic model expects is a good start for the best one.
        image = self.pack.dot(goal)
        step = image - margin
        drift = float(self._weights_kept @ step) if self.fit_intercept else 0.0
        before = np.inf
        for halving in range(_MAX_HALVINGS):
            share = 0.5**halving
            if halving == 0:
                self._place(goal, image, b - drift)
            else:
                self._place(start + share * (goal - start), margin + share * step, b - share * drift)
            if enough > 0.0 and self.violation(strengths) <= enough:
                return share
            if halving == 0:
                loss = float(self.weights @ self.loss.value(self.y, margin + b))
                before = loss + self.penalty_of(start, strengths)
            if self._objective(strengths) <= before + _OBJECTIVE_ROUNDING * abs(before):
                return share
        self._place(start, margin, b)
        return 0.0

    def place(self, features: Indices, w: Array, b: float) -> None:
        """Give these features of the set these coefficients, and zero to the others; nothing is extrapolated next."""
        order = np.argsort(self.index)
        everything = np.zeros(self.index.size)
        everything[order[np.searchsorted(self.index, features, sorter=order)]] = w
        self._before = everything.copy()
        self._place(everything, self.pack.dot(everything), b)

    def _place(self, w: Array, margin: Array, b: float) -> None:
        """Set the coefficients, whose margins are given."""
        self.w, self._grad = w, None
        self._set_margin(margin, b)

    def _stretch(self, start: Array, strengths: Strengths) -> None:
        """Double the step while the objective decreases: with tangent majorants, small coefficients grow only slowly.

        Steps that separate the classes are not made: there is no minimum in that direction.
        """
        growth = np.where(np.abs(self.w) > np.abs(start), self.w - start, 0.0)
        along = self.pack.dot(growth)
        best = self._objective(strengths)
        for _ in range(_MAX_DOUBLINGS):
            w, margin, b = self.w, self.margin, self.b
            if limits(strengths) is None:
                self._place(w + growth, margin + along, b)
            else:
                target = clipped(w + growth, strengths)
                self._place(target, self.pack.dot(target), b)
            value = self._objective(strengths)
            if not value < best or self.separated:
                self._place(w, margin, b)
                return
            best = value
            growth, along = 2.0 * growth, 2.0 * along
