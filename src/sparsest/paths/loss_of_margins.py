"""The loss as a function of the margins ``u = Xw``: its slopes and curvatures, and the intercept that minimises it."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from sparsest.core.arrays import Array
from sparsest.core.intercepts import best_intercept
from sparsest.core.losses import Loss

# Where a loss of differences is linear, models have at least the first share of its secant curvature.  The share grows
# after a step of which only a small part descends, and shrinks after a full step.  With the whole secant curvature,
# full steps always descend.
LEAST_DAMPING, _SHORTENED_STEP, _DAMPING_STEP = 1e-3, 0.25, 10.0
# A model without curvature has no minimum: observations keep at least this share of a typical curvature at the start.
LEAST_CURVATURE = 1e-4
# A margin from which on a loss that tends to zero counts as zero.
_LARGE_MARGIN = 30.0
# The intercept's slope may be this share of the mean slope at the start: duality gaps need a θ that sums to zero.
SLOPE_ROUNDING = 1e-14
# Argument at which the slopes of a loss are taken as the ends of its domain.
_FAR = 1e300
_MAX_INTERCEPT_STEPS = 12


class LossOfMargins(ABC):
    """``Σ ω ℓ(y, u + b)`` at the present margins and intercept, with ``Σω = 1``.

    Attributes
    ----------
    b : the intercept.
    null_loss : the loss of the model without features.
    """

    y: Array
    weights: Array
    loss: Loss
    b: float
    null_loss: float
    # θ at the present margins; an estimate of the curvature along the intercept; and the slope along it that counts as
    # zero because of rounding.
    _theta: Array
    _mass: float
    _slope_allowed: float
    # The smallest curvature of an observation, and the share of secant curvatures that a curvature has at least.
    _least_curvature: float
    _damping: float

    @property
    @abstractmethod
    def margin(self) -> Array:
        """``Xw``."""

    def _slopes(self, margin: Array, b: float) -> Array:
        return self.weights * self.loss.derivative(self.y, margin + b)

    def _best_intercept(self, margin: Array, b: float) -> tuple[float, Array]:
        """The intercept and θ there: the secant method from a near guess, the bracketing search where it fails."""
        guess, mass = b, self._mass
        theta = self._slopes(margin, b)
        slope = float(theta.sum())
        for _ in range(_MAX_INTERCEPT_STEPS):
            if abs(slope) <= self._slope_allowed:
                return b, theta
            if not mass > 0.0:
                break
            step, before = slope / mass, slope
            b -= step
            theta = self._slopes(margin, b)
            slope = float(theta.sum())
            mass = (before - slope) / step
        b = best_intercept(self.loss, self.y, self.weights, margin, guess)
        return b, self._slopes(margin, b)

    def _typical_curvature(self) -> float:
        """The mean curvature here, or that of a parabola with the same mean value and mean square slope if larger."""
        u = self.margin + self.b
        second = float(self.weights @ self.loss.second_derivative(self.y, u))
        value, slope = self.null_loss, float(self.weights @ self.loss.derivative(self.y, u) ** 2)
        typical = max(second, 0.5 * slope / value if value > 0.0 else 0.0)
        return typical if typical > 0.0 else 1.0

    def _curvature(self, damping: float, least: float = 1.0) -> Array:
        """Curvatures with at least this share of the secant curvature, and of the smallest that models have."""
        u = self.margin + self.b
        second = self.loss.second_derivative(self.y, u)
        if damping > 0.0:
            # A loss of y - u has the slope of a parabola around y with this curvature.
            secant = np.abs(self.loss.derivative(self.y, u)) / np.maximum(np.abs(u - self.y), 1e-300)
            second = np.maximum(second, damping * secant)
        return self.weights * np.maximum(second, least * self._least_curvature)

    def _damp(self, share: float) -> bool:
        """Adapt the damping to the share of a step that was taken; whether to try another model."""
        before = self._damping
        if share < _SHORTENED_STEP:
            self._damping = min(before * _DAMPING_STEP, 1.0)
        elif share == 1.0 and before > 0.0:
            self._damping = max(before / _DAMPING_STEP, LEAST_DAMPING)
        return self._damping > before

    def dual_room(self) -> Array:
        """How far each θ may move: the curvature of its loss, but no farther than to the end of its domain."""
        u = self.margin + self.b
        slopes = self._theta / self.weights
        low, high = (self.loss.project(self.y, np.full(u.size, end)) for end in (-_FAR, _FAR))
        room = np.minimum(slopes - low, high - slopes)
        return self.weights * np.minimum(self.loss.second_derivative(self.y, u), np.maximum(room, 0.0))

    @property
    def separated(self) -> bool:
        """Whether the fit improves without limit as coefficients grow; a bounded penalty then has no minimum."""
        if not self.loss.classification or not (self.y * (self.margin + self.b) > 0.0).all():
            return False
        return bool((self.loss.value(self.y, _LARGE_MARGIN * self.y) > 0.0).all())
