"""The walk along a path: each α starts from the solution of the one before.

The sequential strong rule names candidates, a working set is minimised, candidates and then all features are checked
against the optimality conditions, and violators join the set until there are none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsest.arrays import Array, Indices
from sparsest.solvers.paths.gap import duality_gap
from sparsest.solvers.paths.gradients import Gradients
from sparsest.solvers.paths.quadratic import Effort
from sparsest.solvers.paths.task import Task
from sparsest.solvers.paths.working_set import WorkingSet

# Numbers of sweeps in what follows are for 60 alphas of 400 × 2000 dense (Lasso, elastic net, MCP, logistic) and of
# 1000 × 3000 sparse data, compared with those at the value chosen.

# Violation, as a share of α, to which a working set is minimised while it still grows.  A tenth of it takes twice the
# sweeps; five times as much saves none on dense data and is no faster.
_GROWING_VIOLATION = 1e-2
# While it grows, sweeps have to find the active features and Newton steps come too early; then a few sweeps suffice.
_GROWING_EFFORT = Effort(sweeps=30, newton_price_factor=10.0)
_FINAL_EFFORT = Effort(sweeps=2)
# Rounds of minimising and checking for one α; three are usual.
_MAX_ROUNDS = 200
# Features whose gradient is within this share of α of its limit join together with violators: most would be needed
# soon.  None of them means 10 to 40 % more sweeps; four times as many make sets larger and save nothing.
_NEAR_VIOLATION = 0.04
# At most as many violators join as the set has features, or as many as this.
_MIN_ADMITTED = 64
# How much faster than α gradients may move under concave penalties, times 1/(1 - concavity).  At 1 MCP takes 18 % more
# sweeps, for features that are found too late; beyond 3 there are more candidates to check and no fewer sweeps.
_CONCAVE_GRADIENT_SPEED = 3.0
# A drop of α below this share is walked in steps whose solutions are not reported, at most so many: they reach 3e-13
# of any α.
_LARGEST_DROP = 0.75
_MAX_STEPS = 100
# A path is saturated where less than this share of the constant model's loss is left.
_SATURATED_LOSS = 1e-3
# The violation asked for is chosen such that the gap will be about this share of the tolerance, and lowered where the
# gap turns out larger, at most so often.  From 0.1 to 1 the sweeps differ by less than 20 %.
_GAP_SHARE, _MAX_GAP_ATTEMPTS = 0.4, 5
# Violation to which unpenalised features are fitted at the start, as a share of the largest gradient.
_UNPENALISED_VIOLATION = 1e-10


@dataclass(frozen=True, eq=False)
class Fit:
    """The solution for one α, on the scale of the view.

    Attributes
    ----------
    index, w : some features and their coefficients; all others are zero.
    b : the intercept.
    gap : relative duality gap; None for penalties that have none.
    kkt : violation of the optimality conditions, relative to α.
    locally_convex : whether the objective is convex around the solution.
    saturated : whether smaller α would only follow noise.
    n_sweeps : sweeps made.
    """

    index: Indices
    w: Array
    b: float
    gap: float | None
    kkt: float
    locally_convex: bool
    saturated: bool
    n_sweeps: int


class Walk:
    """The state of a path: the working set, and what is known of the gradient ``X'θ`` of all features."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.set = WorkingSet(task.view, task.y, task.weights, task.loss, task.penalty, task.fit_intercept)
        self.null_loss, self.null_intercept = self.set.loss_value(), self.set.b
        self.gradients = Gradients(task.view, task.norms, task.weights, self.set.theta)
        self.outside = task.usable
        unpenalised = np.flatnonzero(self.outside & (task.factor == 0.0))
        if unpenalised.size:
            self._fit_unpenalised(unpenalised)
        self.alpha = self.first_alpha = self.alpha_max
        # Features outside the working set whose gradients were computed in the last check.
        self._checked = unpenalised[:0]

    def _fit_unpenalised(self, index: Indices) -> None:
        self._add(index)
        self.set.max_sweeps = self.task.max_iter
        largest = max(np.abs(self.gradients.value).max(), 1e-300)
        self.set.minimise(np.zeros(index.size), _UNPENALISED_VIOLATION * largest, _FINAL_EFFORT)
        self.gradients = Gradients(self.task.view, self.task.norms, self.task.weights, self.set.theta)

    @property
    def alpha_max(self) -> float:
        """The smallest alpha at which all penalised features are zero, seen from the start."""
        slope = self.task.penalty.threshold(self.task.factor)
        penalised = self.task.usable & (slope > 0.0)
        return float((np.abs(self.gradients.value[penalised]) / slope[penalised]).max(initial=0.0))

    def _add(self, index: Indices) -> None:
        self.set.add(index)
        self.outside[index] = False

    def advance(self, alpha: float) -> Fit:
        """Solve for the next alpha."""
        before, n_steps = self.set.n_sweeps, 1
        self.set.max_sweeps = before + self.task.max_iter
        if alpha < self.alpha:
            n_steps = min(int(np.ceil(np.log(alpha / self.alpha) / np.log(_LARGEST_DROP))), _MAX_STEPS)
        for passing in self.alpha * (alpha / max(self.alpha, 1e-300)) ** (np.arange(1, n_steps) / n_steps):
            self._solve(passing, _GROWING_VIOLATION * passing)
            self.alpha = passing
        gap: float | None = None
        if self.task.penalty.convex:
            gap, violation = self._solve_to_gap(alpha)
        else:
            violation = self._solve(alpha, self.task.tol * alpha)
        self.alpha = alpha
        perfect = self.set.loss_value() < _SATURATED_LOSS * self.null_loss
        return Fit(
            index=self.set.index,
            w=self.set.w.copy(),
            b=self.set.b,
            gap=gap,
            kkt=violation / alpha,
            locally_convex=self.task.penalty.convex or self._locally_convex(),
            saturated=perfect or (not self.task.penalty.convex and self.set.separated),
            n_sweeps=self.set.n_sweeps - before,
        )

    def _solve_to_gap(self, alpha: float) -> tuple[float, float]:
        """Solve until the relative duality gap is small enough; returns it and the violation.

        The gap is about the violation times 2‖w‖₁, or its square times the number of active features over twice the
        penalty's curvature: that says which violation to ask for, and where it said too much, ask for less.
        """
        task, share = self.task, _GAP_SHARE
        curvature = float(task.penalty.second_derivative(1.0, alpha))
        for _ in range(_MAX_GAP_ATTEMPTS):
            w, allowed = self.set.w, share * task.tol * self.null_loss
            size, n_active = float(np.abs(w).sum()), int(np.count_nonzero(w))
            by_size = allowed / max(size, 1e-300)
            by_curvature = float(np.sqrt(2.0 * allowed * curvature / max(n_active, 1)))
            goal = min(max(by_size, by_curvature), _GROWING_VIOLATION * alpha, task.tol ** (2 / 3) * alpha)
            violation = self._solve(alpha, max(goal, 1e-15 * self.alpha))
            gap = duality_gap(task, self.set, alpha, self._checked, self.gradients.value[self._checked])
            gap /= max(self.null_loss, 1e-300)
            if gap <= task.tol or self.set.exhausted:
                break
            share *= 0.3 * max(task.tol / gap, 1e-3)
        return gap, violation

    def _solve(self, alpha: float, tol: float) -> float:
        """Minimise at this alpha until no feature violates by more than ``tol``; returns the violation."""
        task = self.task
        lam = alpha * task.factor
        limit = task.penalty.threshold(lam)
        candidates = self._candidates(alpha)
        pruned = self.set.prune(task.factor[self.set.index] == 0.0)
        self.outside[pruned] = True
        goal = growing = max(tol, _GROWING_VIOLATION * alpha)
        effort = _GROWING_EFFORT._replace(predict=True)
        worst, excess, self._checked = np.inf, np.empty(0), candidates[:0]
        for _ in range(_MAX_ROUNDS):
            self.set.minimise(lam[self.set.index], goal, effort)
            effort = _GROWING_EFFORT if goal > tol else _FINAL_EFFORT
            candidates = candidates[self.outside[candidates]]
            if candidates.size:
                excess = np.abs(self.gradients.at(candidates, self.set.theta)) - limit[candidates]
                violated = float(excess.max()) > goal
                self._admit(candidates, excess, -_NEAR_VIOLATION * alpha if violated else goal)
                if violated:
                    continue
            if goal > tol and task.penalty.convex:
                goal, effort = tol, _FINAL_EFFORT
                continue
            self.set.verify()
            worst = self.set.violation(lam[self.set.index])
            self._checked = self.gradients.renew(self.set.theta, limit, self.outside)
            excess = np.abs(self.gradients.value[self._checked]) - limit[self._checked]
            admitted = self._admit(self._checked, excess, goal)
            if (goal <= tol and not admitted) or self.set.exhausted:
                break
            # Concave penalties often break the strong rule: check all features before the set is made precise.
            goal, effort = (growing, _GROWING_EFFORT) if admitted else (tol, _FINAL_EFFORT)
        return max(worst, float(excess.max(initial=0.0)))

    def _candidates(self, alpha: float) -> Indices:
        """The sequential strong rule: a gradient moves about as fast as alpha, faster under concave penalties."""
        penalty = self.task.penalty
        speed = 1.0 if penalty.convex else _CONCAVE_GRADIENT_SPEED / max(1.0 - penalty.concavity_bound, 0.1)
        reach = alpha - speed * max(self.alpha - alpha, 0.0)
        bar = penalty.threshold(max(reach, 0.0) * self.task.factor)
        return np.flatnonzero(self.outside & (self.gradients.guess >= bar))

    def _admit(self, names: Indices, excess: Array, tol: float) -> bool:
        """Take the worst violators into the working set; whether there were any."""
        violators = np.flatnonzero(excess > tol)
        if violators.size == 0:
            return False
        most = max(_MIN_ADMITTED, self.set.index.size)
        if violators.size > most:
            violators = violators[np.argpartition(-excess[violators], most)[:most]]
        self._add(names[violators])
        return True

    def _locally_convex(self) -> bool:
        kappa = np.where(self.task.factor[self.set.index] > 0.0, self.task.penalty.concavity_bound, 0.0)
        return self.set.convex_beyond(kappa)
