"""Minimise a quadratic model plus a penalty over a pack of columns.

    min_w  g'(w - w0) + (w - w0)'G(w - w0)/2 + Σ_j φ(w_j; λ_j)

Sweeps of coordinate descent find the active features, and Newton steps on those make the solution precise.  After
every few sweeps, the sweeps that are still needed are estimated from the progress so far; a Newton step is made where
that is more than its price.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from sparsest.core.arrays import Array, Indices, Mask
from sparsest.core.kernels.descent import descend, step_change, violation
from sparsest.core.kernels.sparse import stored_solve
from sparsest.core.penalties import Penalty
from sparsest.core.strengths import Strengths, held, lambdas, limits
from sparsest.paths.active_inverse import ActiveInverse
from sparsest.paths.kernels.price import Price, newton_price

# Rounds of sweeps and a Newton step.  A few are usual; the limit ends a fit that does not converge.
_MAX_ROUNDS = 200
# Sweeps between Newton steps that fail because the active matrix is singular.
_SWEEPS_IF_SINGULAR = 50

# Sweeps before the first Newton step and between others.
_FIRST_SWEEPS, _SWEEPS = 12, 3

# The price of a Newton step in sweeps.  On large sets it is what a solve with the inverse and one product with G cost.
# On small ones calls from Python dominate: about 0.2 ms, in which a sweep would touch as many entries of G.
# With four times the first price, paths took up to three times as many sweeps.  With an eighth of the second, they took
# a quarter fewer sweeps, but the additional Newton steps took as much time.
NEWTON_SWEEPS = 4.0
NEWTON_CALL_ENTRIES = 8e5
# Conjugate gradients over stored columns usually take twenty iterations, each of which costs half as much as a sweep.
_CG_SWEEPS = 12.0
# With m active features a new inverse costs about m³ and a sweep m²: measured, a tenth of a sweep for each feature.
REBUILD_SWEEPS_PER_FEATURE = 0.1
# An inverse that holds less than this share of the active features will be computed from scratch.
_LEAST_HELD = 0.75
# The residual of a Newton step relative to its right-hand side: the active set is seldom right yet, and more digits
# would be wasted.
_NEWTON_ACCURACY = 0.01
# Conjugate gradients with the inverse as preconditioner: one where it is exact, a few where curvatures lag.
_MAX_REFINEMENTS = 12
# Conjugate gradients over stored columns: ten to thirty are usual; if columns are nearly dependent, sweeps do better.
_MAX_CG_ITERATIONS = 100
# Curvature along a direction of at most this, relative to the preconditioner's, is a rounding error.
_LEAST_CURVATURE = 1e-10
# A Newton step beyond zero is cut off there, and shortened while the cut step does not descend.
_CLIPPED_SHARES = (1.0, 0.5, 0.25, 0.125)


class Iterate(NamedTuple):
    """Coefficients and the gradient of the quadratic, which both change in place, and the penalty."""

    w: Array
    grad: Array
    lam: Strengths
    penalty: Penalty


class Quadratic(ABC):
    """How to minimise a quadratic, given as a model for the kernels of coordinate descent, plus a penalty."""

    @property
    @abstractmethod
    def price(self) -> Price:
        """What a Newton step costs, in sweeps."""

    @abstractmethod
    def newton(self, model: Any, at: Iterate, tol: float) -> bool:
        """One Newton step on the active coefficients; False if it would not descend."""

    @abstractmethod
    def keep(self, positions: Indices, size: int) -> None:
        """Keep only the columns at these positions, of ``size`` columns."""

    @abstractmethod
    def forget(self) -> None:
        """Discard stored results, because the weights of the observations changed."""

    def minimise(self, model: Any, at: Iterate, tol: float, max_sweeps: int) -> tuple[int, float]:
        """Sweep and step until the violation is at most ``tol``; returns the number of sweeps and the violation.

        Parameters
        ----------
        at : where to start; it becomes the solution.
        """
        n_sweeps, budget, worst = 0, _FIRST_SWEEPS, self.violation(at)
        for _ in range(_MAX_ROUNDS):
            # The comparison is also false for NaN, which ends the loop.
            if not worst > tol or n_sweeps >= max_sweeps:
                break
            before = worst
            sweeps, worst = self._descend(model, at, tol, min(budget, max_sweeps - n_sweeps))
            n_sweeps += sweeps
            if not worst > tol:
                break
            digits_per_sweep = max(np.log(before / worst) / sweeps, 1e-9)
            needed = np.log(worst / tol) / digits_per_sweep
            if needed <= newton_price(self.price, at.w):
                budget = int(needed) + 1
            else:
                budget = _SWEEPS if self.newton(model, at, tol) else _SWEEPS_IF_SINGULAR
                worst = self.violation(at)
        return n_sweeps, worst

    def violation(self, at: Iterate) -> float:
        """The largest violation of the optimality conditions."""
        return float(violation(at.grad, at.w, at.lam, at.w.size, at.penalty))

    def _descend(self, model: Any, at: Iterate, tol: float, max_sweeps: int) -> tuple[int, float]:
        """Sweep until the violation is at most ``tol``; returns the number of sweeps and the violation."""
        return descend(model, *at, tol, max_sweeps)


class CoordinateQuadratic(Quadratic):
    """A penalty that is a sum over coordinates."""

    @abstractmethod
    def _solve(self, model: Any, goal: Array, active: Indices, kappa: Array, tol: float) -> tuple[Array, Array] | None:
        """Solve ``(G_AA + diag κ) d = goal``; returns d and Gd, or None if that is singular."""

    def newton(self, model: Any, at: Iterate, tol: float) -> bool:
        """One Newton step on the active features, no coordinate beyond zero or a limit; False if it would not descend.

        Coefficients at a limit that the objective pushes beyond it stay there.
        """
        w, grad, lam, penalty = at
        penalised = lambdas(lam) > 0.0
        movable = (w != 0.0) | ~penalised
        if limits(lam) is not None:
            movable &= ~held(w, grad + penalty.derivative(w, lam), lam)
        active = np.flatnonzero(movable)
        kappa, goal = np.zeros(w.size), np.zeros(w.size)
        kappa[active] = penalty.second_derivative(w[active], lam[active])
        goal[active] = -grad[active] - penalty.derivative(w[active], lam[active])
        enough = max(0.1 * tol, _NEWTON_ACCURACY * float(np.abs(goal).max(initial=0.0)))
        solution = self._solve(model, goal, active, kappa, enough) if active.size else None
        if solution is None:
            return False
        step, product = solution
        end = _ends(at, penalised, step)
        crossing = np.abs(step) > np.abs(end - w)
        if not crossing.any():
            return _move(model, at, step, product)
        for share in _CLIPPED_SHARES:
            beyond = crossing & (share * np.abs(step) > np.abs(end - w))
            clipped = np.where(beyond, end - w, share * step)
            image = share * product + model.image(np.where(beyond, end - w - share * step, 0.0))
            if _move(model, at, clipped, image):
                w[beyond] = end[beyond]
                return True
        # Shorten the step so that it ends where the first coordinate reaches its end.
        reach = np.full(w.size, np.inf)
        reach[crossing] = (end - w)[crossing] / step[crossing]
        share = reach.min()
        first = reach <= share
        moved = _move(model, at, np.where(first, end - w, share * step), share * product)
        if moved:
            w[first] = end[first]
        return moved


def _ends(at: Iterate, penalised: Mask, step: Array) -> Array:
    """How far each coefficient may go along a step: to zero where it is penalised, and to its limit."""
    w, within = at.w, limits(at.lam)
    low, high = np.full(w.size, -np.inf), np.full(w.size, np.inf)
    if within is not None:
        low, high = within
    low, high = np.where(penalised & (w > 0.0), 0.0, low), np.where(penalised & (w < 0.0), 0.0, high)
    return np.where(step < 0.0, low, high)


def _move(model: Any, at: Iterate, step: Array, product: Array) -> bool:
    """Take the step if it lowers the objective; ``product`` is G times it."""
    w, grad, lam, penalty = at
    if not step_change(grad, product, step, w, lam, penalty) < 0.0:
        return False
    w += step
    grad += product
    model.follow(step)
    return True


class Direct(CoordinateQuadratic):
    """Newton steps by the inverse of the active part of G, which follows the set of active features."""

    def __init__(self) -> None:
        self._inverse = ActiveInverse()

    def keep(self, positions: Indices, size: int) -> None:
        """Keep only the columns at these positions, of ``size`` columns."""
        self._inverse.keep(positions, size)

    def forget(self) -> None:
        """Discard stored results, because the weights of the observations changed."""
        self._inverse.reset()

    @property
    def price(self) -> Price:
        """What a Newton step costs, in sweeps."""
        enough = self._inverse.size / _LEAST_HELD
        return Price(NEWTON_SWEEPS, NEWTON_CALL_ENTRIES, REBUILD_SWEEPS_PER_FEATURE, enough)

    def _solve(self, model: Any, goal: Array, active: Indices, kappa: Array, tol: float) -> tuple[Array, Array] | None:
        """Conjugate gradients with the inverse as preconditioner.

        One iteration is enough if the inverse is exact.  For the elastic net it may be outdated, and for concave
        penalties it leaves out the concave part: then more iterations follow, until a direction of negative curvature.
        """
        if not self._inverse.adapt(model.gram, active, kappa[active]):
            return None
        step, product, square = np.zeros(goal.size), np.zeros(goal.size), 0.0
        residual, direction = goal, step
        for iteration in range(_MAX_REFINEMENTS):
            z = self._inverse.solve(residual)
            previous, square = square, float(residual @ z)
            direction = z + (square / previous) * direction if iteration else z
            image = model.image(direction)
            curved = np.zeros(goal.size)
            curved[active] = image[active] + kappa[active] * direction[active]
            curvature = float(direction @ curved)
            if not curvature > _LEAST_CURVATURE * square:
                # Without concavity the first step is a Newton step of the tangent majorant, which descends.
                return (step, product) if iteration else (direction, image)
            share = square / curvature
            step = step + share * direction
            product = product + share * image
            residual = residual - share * curved
            if np.abs(residual).max() <= tol:
                break
        return step, product


class Iterative(CoordinateQuadratic):
    """Newton steps by conjugate gradients without an inverse: an iteration costs about as much as a sweep."""

    def keep(self, positions: Indices, size: int) -> None:
        """Nothing to do: no results are stored."""

    def forget(self) -> None:
        """Nothing to do: no results are stored."""

    @property
    def price(self) -> Price:
        """What a Newton step costs, in sweeps."""
        return Price(_CG_SWEEPS, 0.0, 0.0, 0.0)

    def _solve(self, model: Any, goal: Array, active: Indices, kappa: Array, tol: float) -> tuple[Array, Array] | None:
        step = stored_solve(model, goal, active, kappa, tol, _MAX_CG_ITERATIONS)
        return step, model.image(step)


def make_quadratic(has_gram: bool) -> Quadratic:
    """The solver for models with or without a Gram matrix."""
    return Direct() if has_gram else Iterative()
