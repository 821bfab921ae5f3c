"""The walk along a path: each λ starts from the solutions of those before."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sparsest.core.arrays import Array, Indices
from sparsest.core.penalties import Penalty
from sparsest.paths.task import Task

# If the next λ is less than the first number times the last one, solutions in between are computed but not reported.
# The second number is the largest number of them; it suffices for a factor of 3e-13.
LARGEST_DROP = 0.75
_MAX_STEPS = 100
# A path is saturated where less than this share of the constant model's loss is left.
SATURATED_LOSS = 1e-3
# The same for penalties that are rescaled by the curvature of the loss, which vanishes with the loss; as in ncvreg.
SATURATED_RESCALED_LOSS = 1e-2
# Violation to which unpenalised features are fitted at the start, as a share of the largest gradient.
UNPENALISED_VIOLATION = 1e-10


class Fit(NamedTuple):
    """The solution for one λ, on the scale of the view.

    Attributes
    ----------
    features, w : the features with nonzero coefficients, and these coefficients.
    b : the intercept.
    gap : relative duality gap; None for penalties that have none.
    kkt : violation of the optimality conditions, relative to λ.
    locally_convex : whether the objective is convex around the solution.
    saturated : whether smaller λ would only follow noise.
    n_sweeps : sweeps made.
    loss : the loss without the penalty.
    curvature : the curvature of the loss along each of the features, if the penalty is rescaled by it; else None.
    """

    features: Indices
    w: Array
    b: float
    gap: float | None
    kkt: float
    locally_convex: bool
    saturated: bool
    n_sweeps: int
    loss: float
    curvature: Array | None = None


class Walk(ABC):
    """The state of a path.

    Attributes
    ----------
    null_intercept : the intercept of the model without features.
    alpha_max : the smallest alpha whose optimality conditions hold with all penalised features at zero.
    alpha, before : the alpha that was reached last, and the one before.
    """

    null_intercept: float
    alpha_max: float

    def __init__(self, task: Task) -> None:
        self.task = task
        self.slope = np.asarray(task.plain.threshold(task.factor))
        self.outside = task.usable
        self.sides = task.sides

    def _begin(self, gradient: Array) -> None:
        """Set the state before the largest alpha, given the gradient of the model without features."""
        penalised = np.flatnonzero(self.task.usable & (self.slope > 0.0))
        push = self.sides.push(penalised, gradient[penalised])
        self.alpha_max = float((push / self.slope[penalised]).max(initial=0.0))
        self.alpha = self.before = self.alpha_max

    @abstractmethod
    def _pass(self, alpha: float, max_sweeps: int) -> int:
        """Solve for this alpha with low precision; returns the sweeps made."""

    @abstractmethod
    def _reach(self, alpha: float, n_sweeps: int) -> Fit:
        """Solve for this alpha; ``n_sweeps`` have been made on the way to it."""

    @abstractmethod
    def go_to(self, fit: Fit) -> None:
        """Set the state to this solution; the next step starts from it without extrapolation."""

    def solve_again(self, alpha: float, max_sweeps: int | None = None) -> Fit:
        """Solve from the current solution, which may belong to another alpha, in at most ``max_sweeps`` sweeps."""
        self.before = self.alpha = alpha
        spared = 0 if max_sweeps is None else max(self.task.max_iter - max_sweeps, 0)
        fit = self._reach(alpha, spared)
        return fit._replace(n_sweeps=fit.n_sweeps - spared)

    def relax(self, alpha: float, penalty: Penalty, max_sweeps: int) -> int:
        """Go near the solution with another penalty of the same type; returns the sweeps made."""
        self.before = self.alpha = alpha
        kept = self._take_penalty(penalty)
        n_sweeps = self._pass(alpha, max_sweeps)
        self._take_penalty(kept)
        return n_sweeps

    def _take_penalty(self, penalty: Penalty) -> Penalty:
        """Let the task have this penalty; returns the one that it had."""
        kept = self.task.penalty
        self.task = replace(self.task, penalty=penalty)
        return kept

    def follow(self, alphas: Array, max_features: int, may_saturate: bool) -> list[Fit]:
        """Solve for the next of these alphas, or for some of them.

        Parameters
        ----------
        max_features, may_saturate : no alpha follows one with this many features, or one where the path is saturated.
        """
        return [self.advance(float(alphas[0]))]

    def advance(self, alpha: float) -> Fit:
        """Solve for the next alpha; a far one is reached in steps."""
        n_steps, n_sweeps = 1, 0
        if alpha < self.alpha:
            n_steps = min(int(np.ceil(np.log(alpha / self.alpha) / np.log(LARGEST_DROP))), _MAX_STEPS)
        if n_steps > 1:
            for passing in self.alpha * (alpha / self.alpha) ** (np.arange(1, n_steps) / n_steps):
                n_sweeps += self._pass(float(passing), self.task.max_iter - n_sweeps)
                self.before, self.alpha = self.alpha, float(passing)
        fit = self._reach(alpha, n_sweeps)
        self.before, self.alpha = self.alpha, alpha
        return fit

    def _ratio(self, alpha: float) -> float:
        """The step to the next alpha as a multiple of the last step."""
        return max(self.alpha - alpha, 0.0) / (self.before - self.alpha) if self.before > self.alpha else 0.0
