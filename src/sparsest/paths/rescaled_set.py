"""Fits on a working set with a concave penalty that is rescaled by the curvature of the loss.

With v the curvature of the loss along the columns *at the solution*, solutions satisfy

    X_j'θ + φ'(v_j w_j; λ_j) = 0 where w_j ≠ 0,      |X_j'θ| ≤ λ_j elsewhere,

an estimating equation, which is not the stationarity of one objective.  Quadratic models of the loss with fixed v show
which coefficients are not zero, and Newton steps with the derivative of v solve the equation for these.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from sparsest.core.arrays import Array, Indices, Mask
from sparsest.core.strengths import Strengths, clipped, held, lambdas, make_strengths, pushed
from sparsest.paths.quadratic import Iterate
from sparsest.paths.task import Task
from sparsest.paths.working_set import LAST_ACCURACY, MAX_MODEL_SWEEPS, MODEL_ACCURACY, WorkingSet

# A curvature that jumps is averaged over this many deviations of the predictions on either side, so that the equation
# has solutions: with 500 observations the jump of one would be as large as the tolerance.
_WINDOW = 0.1
# Curvatures are at least this share of the largest that the loss has: 1e-4 for the logistic loss, as in ncvreg.
_LEAST_BEND = 4e-4
# Models need curvatures that are not too small, whereas Newton steps use the curvatures of the loss.  This is the
# smallest curvature in Newton steps as a share of that in models.  With equal ones, each Newton step for a feature that
# almost separates the classes removed a tenth of the violation, and 60 of 100 alphas on spam data converged, now 99.
_NEWTON_CURVATURE = 1e-8
# Steps of finite differences for the derivative of the curvature.
_DIFFERENCE = 1e-4
# Models for one λ, five are usual; and those after a λ for which all of them were not enough, until one converges.
_MAX_MODELS, _MODELS_AFTER_FAILURE = 60, 15
# Shares of a step that are tried, and the part of the predicted progress that a step must make.
_SHARES, _LEAST_PROGRESS = (1.0, 0.5, 0.25), 0.3
# Whole Newton steps that are made where a shorter one does not lower the violation, before they are taken back; and how
# often other steps must have failed before.
_WHOLE_NEWTON_STEPS, _LEAP_AFTER = 4, 2
# Where steps do not lower the violation, v of the new points leads back and forth, or the model has several minima:
# after the first number of such steps models are left after few sweeps, and after the second steps become ever shorter.
_WHOLE_MODELS, _FEW_SWEEPS, _WHOLE_STEPS = 2, 2, 3
# Newton steps may end at a point near which there is no solution.  From the second such time on, single sweeps lead
# away from it: this number for each time, each with a new v and this share of its step, even if the violation grows.
_PLAIN_SWEEPS, _PLAIN_SHARE = 3, 0.5


class Bends:
    """The curvature of each observation's loss, times its weight, as penalties that are rescaled take it.

    Parameters
    ----------
    null_loss, typical, least : the loss of the model without features, and a typical and the least curvature there.
    """

    def __init__(self, task: Task, null_loss: float, typical: float, least: float) -> None:
        self._loss, self._y, self._weights = task.loss, task.y, task.weights
        smoothness = task.loss.smoothness
        self._least = _LEAST_BEND * smoothness if np.isfinite(smoothness) else least
        # Where conjugates are quadratic, curvatures are 0 or 1.
        jumps = task.loss.conjugate_is_quadratic
        self._window = _WINDOW * float(np.sqrt(2.0 * null_loss / typical)) if jumps else 0.0

    def __call__(self, u: Array) -> Array:
        """The curvatures at the predictions u."""
        if self._window > 0.0:
            ends = (self._loss.derivative(self._y, u + sign * self._window) for sign in (1.0, -1.0))
            second = np.subtract(*ends) / (2.0 * self._window)
        else:
            second = self._loss.second_derivative(self._y, u)
        return self._weights * np.maximum(second, self._least)


class RescaledSet(WorkingSet):
    """A working set whose penalty depends on curvatures, see :class:`sparsest.core.penalties.Rescaled`."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self._norms = task.norms
        # v at the current point, once it is needed.
        self._v: Array | None = None
        # The largest violation that is not expected to be reached, because the models for the last λ did not.
        self._missed = 0.0
        self._bends = Bends(task, self.null_loss, self._typical_curvature(), self._least_curvature)

    def strengths(self, lam: Array) -> Strengths:
        """λ, and v relative to that of the squared loss."""
        # A margin that is not up to date is computed here, and then v is not either.
        u = self.margin + self.b
        if self._v is None:
            self._v = self.pack.squares(self._bends(u)) / self._norms[self.index] ** 2
        return make_strengths(lam, self._v, *self._own_limits())

    def _set_margin(self, margin: Array, b: float) -> None:
        super()._set_margin(margin, b)
        self._v = None

    def add(self, index: Indices) -> None:
        """Add these columns of the design, with coefficients of zero."""
        super().add(index)
        self._v = None

    def _keep(self, positions: Indices) -> Indices:
        self._v = None
        return super()._keep(positions)

    def _weigh(self) -> None:
        """Set the weights of models: where the loss is linear, the full curvature of its secant."""
        damping, self._damping = self._damping, float(self._damping > 0.0)
        super()._weigh()
        self._damping = damping

    def _minimise_models(self, lam: Array, tol: float) -> float:
        n_astray, n_plain = 0, 0
        best = np.inf, self.w, self.margin, self.b
        for _ in range(_MODELS_AFTER_FAILURE if tol <= self._missed else _MAX_MODELS):
            strengths = self.strengths(lam)
            worst = self.violation(strengths)
            if worst < best[0]:
                best = worst, self.w, self.margin, self.b
            if not worst > tol or self.exhausted:
                break
            if n_plain > 0:
                n_plain -= 1
                self._weigh()
                self._sweep(strengths, worst, _PLAIN_SHARE)
            elif not self._newton_step(strengths, worst) and not (
                n_astray >= _LEAP_AFTER and self._newton_leap(strengths, worst)
            ):
                self._weigh()
                astray = not self._approach(strengths, worst, tol, n_astray)
                n_plain = _PLAIN_SWEEPS * n_astray * astray
                n_astray += astray
        if best[0] > tol:
            # The last steps did not improve on the best point.
            self._place(*best[1:])
            self._missed = max(self._missed, tol)
        else:
            self._missed = min(self._missed, 0.5 * tol)
        return best[0]

    def _equation_step(self, strengths: Strengths, chosen: Mask) -> tuple[Array, Array] | None:
        """The Newton step of the equation for some coefficients, and the signs they have then; None if it fails.

        Coefficients at zero will have the sign that is opposite to their gradient.  Those at a limit stay there if the
        slope pushes them beyond it.
        """
        chosen = chosen & ~held(self.w, self.grad() + self.penalty.derivative(self.w, strengths), strengths)
        active = np.flatnonzero(chosen)
        if active.size == 0 or active.size > self.y.size:
            return None
        w, grad, strength = self.w[active], self.grad()[active], strengths[active]
        signs = np.where(self.w == 0.0, -np.sign(self.grad()), np.sign(self.w)) * chosen
        slope = np.where(
            w == 0.0, signs[active] * self.penalty.threshold(strength), self.penalty.derivative(w, strength)
        )
        step = np.zeros(self.w.size)
        step[active] = lapack.dgesv(self._jacobian(active, strength), -(grad + slope))[2]
        return (step, signs) if np.isfinite(step).all() else None

    def _newton_step(self, strengths: Strengths, worst: float) -> bool:
        """Make a Newton step for the coefficients that are not zero; whether the violation fell."""
        waiting = pushed(self.grad(), strengths) - self.penalty.threshold(strengths)
        if float(waiting[self.w == 0.0].max(initial=0.0)) > (1.0 - _LEAST_PROGRESS) * worst:
            return False
        step = self._equation_step(strengths, self.w != 0.0)
        return step is not None and self._progress(*step, strengths, worst)

    def _newton_leap(self, strengths: Strengths, worst: float) -> bool:
        """Make whole Newton steps for all coefficients that should not be zero; whether the violation fell in the end.

        Where a branch of solutions ends, the next solution is beyond points with a larger violation.
        """
        start, margin, b = self.w, self.margin, self.b
        for _ in range(_WHOLE_NEWTON_STEPS):
            wanted = (self.w != 0.0) | (pushed(self.grad(), strengths) > self.penalty.threshold(strengths))
            step = self._equation_step(strengths, wanted)
            if step is None:
                break
            self._step(*step, strengths)
            strengths = self.strengths(lambdas(strengths))
            if self.violation(strengths) <= (1.0 - _LEAST_PROGRESS) * worst:
                return True
        self._place(start, margin, b)
        return False

    def _jacobian(self, active: Indices, strengths: Strengths) -> Array:
        """The derivative of the equation, with that of v: ``∂v_j/∂w_k = Σ ω ℓ‴ x_ij² x_ik`` of centred x_k."""
        w, v, u = self.w[active], strengths.curvature, self.margin + self.b
        h = self._curvature(self._damping, _NEWTON_CURVATURE)
        self._note_curvature(h)
        second = np.asarray(self.penalty.second_derivative(w, strengths))
        share = second * w / (v * self._norms[self.index[active]] ** 2)
        jacobian, bent = self.pack.gram(active, h), share != 0.0
        jacobian[np.diag_indices(active.size)] += second
        if bent.any():
            change = (self._bends(u + _DIFFERENCE) - self._bends(u - _DIFFERENCE)) / (2.0 * _DIFFERENCE)
            drift = self.pack.third_moments(active, bent, change)
            if self.fit_intercept:
                means = self.pack.tdot(self._weights_kept)[active]
                drift -= np.outer(self.pack.squares(change)[active[bent]], means)
            jacobian[bent] += share[bent, None] * drift
        return jacobian

    def _progress(self, step: Array, signs: Array, strengths: Strengths, worst: float) -> bool:
        """Take the largest share of a step that lowers the violation enough; whether there is one."""
        start, margin, b = self.w, self.margin, self.b
        for share in _SHARES:
            self._step(share * step, signs, strengths)
            if self.violation(self.strengths(lambdas(strengths))) <= (1.0 - _LEAST_PROGRESS * share) * worst:
                return True
            self._place(start, margin, b)
        return False

    def _step(self, step: Array, signs: Array, strengths: Strengths) -> None:
        """Make a step within the limits; penalised coefficients that would leave their sign become zero."""
        target = self.w + step
        target[(target * signs < 0.0) & (lambdas(strengths) > 0.0)] = 0.0
        target = clipped(target, strengths)
        image, b = self.pack.dot(target), self.b
        # Far from the best intercept its search takes long where the classes are nearly separated.  Where a loss has no
        # curvature the best one is not unique, and must not depend on a guess.
        if self.fit_intercept and not self.loss.conjugate_is_quadratic:
            b -= float(self._weights_kept @ (image - self.margin))
        self._place(target, image, b)

    def _approach(self, strengths: Strengths, worst: float, tol: float, n_astray: int) -> bool:
        """Step towards the minimiser of the quadratic model with v fixed; whether the violation decreased.

        ``n_astray`` is the number of earlier steps that did not decrease it.
        """
        goal = max(LAST_ACCURACY * tol, MODEL_ACCURACY * worst)
        relaxation = _WHOLE_STEPS / max(n_astray, _WHOLE_STEPS)
        step = self._model_step(strengths, goal, MAX_MODEL_SWEEPS if n_astray < _WHOLE_MODELS else _FEW_SWEEPS)
        if self._progress(step, np.sign(self.w), strengths, worst):
            return True
        # The objective with v as it is falls along most steps; where it does not, a single sweep has to do.
        if self._move(clipped(self.w + relaxation * step, strengths), strengths) == 0.0:
            self._sweep(strengths, worst, relaxation)
        return False

    def _sweep(self, strengths: Strengths, worst: float, share: float) -> None:
        """Take a share of the step of one sweep without checking the violation."""
        step = share * self._model_step(strengths, MODEL_ACCURACY * worst, 1)
        self._step(step, np.zeros(step.size), strengths)

    def _model_step(self, strengths: Strengths, goal: float, most: int) -> Array:
        """The step of at most ``most`` sweeps over the quadratic model."""
        at = Iterate(self.w.copy(), self.grad().copy(), strengths, self.penalty)
        allowed = min(self.max_sweeps - self.n_sweeps, most)
        self.n_sweeps += self.quadratic.minimise(self.pack.model(self._residual), at, goal, allowed)[0]
        return at.w - self.w
