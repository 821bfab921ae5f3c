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

from sparsest.arrays import Array, Indices
from sparsest.designs import Pack
from sparsest.kernels.descent import descend, step_change, stored_solve, violation
from sparsest.penalties import Penalty
from sparsest.solvers.paths.active_inverse import ActiveInverse

# Rounds of sweeps and a Newton step; a few are usual, and the limit only keeps a slow one from going on for ever.
_MAX_ROUNDS = 200
# Sweeps between Newton steps that fail because the active matrix is singular.
_SWEEPS_IF_SINGULAR = 50

# The price of a Newton step in sweeps.  On large sets it is what a solve with the inverse and one product with G cost.
# On small ones calls from Python dominate: about 0.2 ms, in which a sweep would touch as many entries of G.
# Four times the first price means up to three times the sweeps; an eighth of the second saves a quarter of them for
# Newton steps that take as long.
_NEWTON_SWEEPS = 4.0
_NEWTON_CALL_ENTRIES = 8e5
# A new inverse of a active features costs a³ and a sweep with them a²: one tenth of a sweep for each.
_REBUILD_SWEEPS_PER_FEATURE = 0.1
# An inverse that holds less than this share of the active features will be computed anew.
_LEAST_HELD = 0.75
# A prediction by a Newton step is not worth a higher price.  Without predictions paths take a third to three times more
# sweeps; predictions at ten times the price save 7 % at most.
_MAX_PREDICTION_SWEEPS = 50.0

# The residual of a Newton step relative to its right-hand side: the active set is seldom right yet, and more digits
# would be wasted.
_NEWTON_ACCURACY = 0.01
# Conjugate gradients with the inverse as preconditioner: one where it is exact, a few where curvatures lag.
_MAX_REFINEMENTS = 12
# Conjugate gradients over stored columns: ten to thirty are usual; if columns are nearly dependent, sweeps do better.
_MAX_CG_ITERATIONS = 100
# Curvature along a direction that is no more than this, relative to the preconditioner's, is rounding.
_LEAST_CURVATURE = 1e-10
# A Newton step beyond zero is cut off there, and shortened while the cut step does not descend.
_CLIPPED_SHARES = (1.0, 0.5, 0.25, 0.125)


class Effort(NamedTuple):
    """How a model is minimised.

    Attributes
    ----------
    sweeps : sweeps before each Newton step.
    predict : whether to begin with such a step, which predicts the solution when only λ has changed.
    newton_price_factor : multiplies the price of a Newton step: large numbers mean sweeps where possible.
    """

    sweeps: int = 5
    predict: bool = False
    newton_price_factor: float = 1.0


class Iterate(NamedTuple):
    """Coefficients, the gradient of the quadratic there, which both change in place, and what the penalty is."""

    w: Array
    grad: Array
    lam: Array
    penalty: Penalty

    def violation(self) -> float:
        """The largest violation of the optimality conditions."""
        return float(violation(self.grad, self.w, self.lam, self.w.size, self.penalty))


class Quadratic(ABC):
    """The quadratic over a pack, and how to minimise it plus a penalty."""

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

    def minimise(self, at: Iterate, theta: Array, tol: float, effort: Effort, max_sweeps: int) -> int:
        """Sweep and step until the violation is at most ``tol``; returns the number of sweeps.

        Parameters
        ----------
        at : where to start; it becomes the solution.
        theta : the derivatives of the losses, of which ``at.grad`` is the product with the columns.
        """
        self.model = self.pack.model(theta)
        n_sweeps, budget = 0, effort.sweeps
        if effort.predict and self._price(at.w) <= _MAX_PREDICTION_SWEEPS:
            self._newton(at, tol)
        worst = at.violation()
        for _ in range(_MAX_ROUNDS):
            # What is not a number ends it too.
            if not worst > tol or n_sweeps >= max_sweeps:
                break
            before = worst
            sweeps, worst = descend(self.model, *at, tol, min(budget, max_sweeps - n_sweeps))
            n_sweeps += sweeps
            if not worst > tol:
                break
            digits_per_sweep = max(np.log(before / worst) / sweeps, 1e-9)
            needed = np.log(worst / tol) / digits_per_sweep
            if needed <= effort.newton_price_factor * self._price(at.w):
                budget = int(needed) + 1
            else:
                budget = effort.sweeps if self._newton(at, tol) else _SWEEPS_IF_SINGULAR
                worst = at.violation()
        return n_sweeps

    def _newton(self, at: Iterate, tol: float) -> bool:
        """One Newton step on the active features, no coordinate beyond zero; False if it would not descend."""
        w, grad, lam, penalty = at
        active = np.flatnonzero((w != 0.0) | (lam == 0.0))
        kappa, goal = np.zeros(w.size), np.zeros(w.size)
        kappa[active] = penalty.second_derivative(w[active], lam[active])
        goal[active] = -grad[active] - penalty.derivative(w[active], lam[active])
        enough = max(0.1 * tol, _NEWTON_ACCURACY * float(np.abs(goal).max(initial=0.0)))
        solution = self._solve(goal, active, kappa, enough) if active.size else None
        if solution is None:
            return False
        step, product = solution
        crossing = (w * (w + step) < 0.0) & (lam > 0.0)
        if not crossing.any():
            return self._move(at, step, product)
        for share in _CLIPPED_SHARES:
            beyond = crossing & (w * (w + share * step) < 0.0)
            clipped = np.where(beyond, -w, share * step)
            image = share * product + self.pack.image(self.model, np.where(beyond, -w - share * step, 0.0))
            if self._move(at, clipped, image):
                return True
        # Up to the first coordinate that reaches zero.
        reach = np.full(w.size, np.inf)
        reach[crossing] = -w[crossing] / step[crossing]
        share = reach.min()
        return self._move(at, np.where(reach <= share, -w, share * step), share * product)

    def _move(self, at: Iterate, step: Array, product: Array) -> bool:
        """Take the step if it lowers the model; ``product`` is G times it."""
        w, grad, lam, penalty = at
        if not step_change(grad, product, step, w, lam, penalty) < 0.0:
            return False
        w += step
        grad += product
        self.pack.step(self.model, step)
        return True


class Direct(Quadratic):
    """Newton steps by the inverse of the active part of G, which follows the set of active features."""

    def __init__(self, pack: Pack) -> None:
        super().__init__(pack)
        self._inverse = ActiveInverse()

    def keep(self, positions: Indices, size: int) -> None:
        """Drop all of so many columns but those at these positions."""
        self._inverse.keep(positions, size)
        super().keep(positions, size)

    def weigh(self, h: Array) -> None:
        """Take these weights of the observations."""
        super().weigh(h)
        self._inverse.reset()

    def _price(self, w: Array) -> float:
        n_active = np.count_nonzero(w)
        price = _NEWTON_SWEEPS + _NEWTON_CALL_ENTRIES / (1.0 + n_active * w.size)
        if self._inverse.size >= _LEAST_HELD * n_active:
            return price
        return price + _REBUILD_SWEEPS_PER_FEATURE * n_active

    def _solve(self, goal: Array, active: Indices, kappa: Array, tol: float) -> tuple[Array, Array] | None:
        """Conjugate gradients with the inverse as preconditioner.

        One iteration is enough where that is exact.  It lags for the elastic net and leaves out what is
        concave: there more follow, and a direction of negative curvature ends them.
        """
        if not self._inverse.adapt(self.model.gram, active, kappa[active]):
            return None
        step, product, square = np.zeros(goal.size), np.zeros(goal.size), 0.0
        residual, direction = goal, step
        for iteration in range(_MAX_REFINEMENTS):
            z = self._inverse.solve(residual)
            previous, square = square, float(residual @ z)
            direction = z + (square / previous) * direction if iteration else z
            image = self.pack.image(self.model, direction)
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


class Iterative(Quadratic):
    """Newton steps by conjugate gradients alone: over stored columns an iteration costs about as much as a sweep."""

    def _price(self, w: Array) -> float:
        return _NEWTON_SWEEPS

    def _solve(self, goal: Array, active: Indices, kappa: Array, tol: float) -> tuple[Array, Array] | None:
        step = stored_solve(self.model, goal, active, kappa, tol, _MAX_CG_ITERATIONS)
        return step, self.pack.image(self.model, step)


def make_quadratic(pack: Pack) -> Quadratic:
    """Return the quadratic over a pack; it is the pack that knows whether there is a Gram matrix."""
    return Direct(pack) if pack.has_gram else Iterative(pack)
