"""The walk along a path for every smooth loss and every design, written in Python.

The solution is extrapolated from the last two, features whose gradients will reach their limits join the working set,
the set is minimised, all other features are checked against the optimality conditions, and violators join the set
until there are none.
"""

from __future__ import annotations

import numpy as np

from sparsest.core.arrays import Array, Indices
from sparsest.core.penalties import Penalty
from sparsest.core.strengths import Strengths
from sparsest.paths.gap import dual_margins, duality_gap
from sparsest.paths.gradients import Gradients
from sparsest.paths.kernels import rules
from sparsest.paths.rescaled_set import RescaledSet
from sparsest.paths.sides import sides_within
from sparsest.paths.task import Task
from sparsest.paths.walk import (
    SATURATED_LOSS,
    SATURATED_RESCALED_LOSS,
    UNPENALISED_VIOLATION,
    Fit,
    Walk,
)
from sparsest.paths.working_set import WorkingSet

# At most this many features join at a time, or as many as the set has, if that is more.  When more are foreseen, as
# after a long step with few observations, none of them joins before it violates: a logistic Lasso of 51 × 12,600 at one
# alpha takes 0.02 instead of 10 to 18 s, and 100 alphas of 50 × 10,000 take 0.05 instead of 0.13 s.
_MIN_ADMITTED = 64
# How often the violation is tightened if the gap is too large.
_MAX_GAP_ATTEMPTS = 5


class GeneralWalk(Walk):
    """The working set, and exact values or bounds of the gradient ``X'θ`` of all features."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self.set = self._working_set()
        self.null_loss, self.null_intercept = self.set.null_loss, self.set.b
        self._margins = dual_margins(task, self.sides, self.slope, self.outside) if task.penalty.convex else (0.0, 0.0)
        self.gradients = self._gradients(task.null_theta, task.null_gradient)
        self.set.origin = self.gradients.value.copy()
        unpenalised = np.flatnonzero(self.outside & (task.factor == 0.0))
        if unpenalised.size:
            self._fit_unpenalised(unpenalised)
        self._begin(self.gradients.value)
        # Features outside the working set whose gradients were computed in the last check.
        self._checked = unpenalised[:0]

    def _working_set(self) -> WorkingSet:
        return RescaledSet(self.task) if self.task.rescaled else WorkingSet(self.task)

    def _gradients(self, theta: Array, value: Array) -> Gradients:
        task = self.task
        sides = sides_within(task.lower, task.upper)
        return Gradients(task.view, task.norms, task.weights, self.slope, sides, theta, value)

    def _fit_unpenalised(self, index: Indices) -> None:
        self._add(index)
        self.set.max_sweeps = self.task.max_iter
        largest = max(np.abs(self.gradients.value).max(), 1e-300)
        self.set.minimise(np.zeros(self.set.index.size), UNPENALISED_VIOLATION * largest)
        self.gradients = self._gradients(self.set.theta, self.task.view.tdot(self.set.theta))

    def _add(self, index: Indices) -> None:
        self.set.add(index)
        self.outside[index] = False

    def _take_penalty(self, penalty: Penalty) -> Penalty:
        self.set.penalty = penalty
        return super()._take_penalty(penalty)

    def _pass(self, alpha: float, max_sweeps: int) -> int:
        before = self._prepare(alpha, max_sweeps)
        # What the next solutions start from need not be optimal, and is worth no pass over data on disk.
        self._solve(alpha, rules.GROWING_VIOLATION * alpha, only_at_hand=True)
        return self.set.n_sweeps - before

    def go_to(self, fit: Fit) -> None:
        """Set the state to this solution; the next step starts from it without extrapolation."""
        self._add(fit.features[self.outside[fit.features]])
        self.set.place(fit.features, fit.w, fit.b)

    def _reach(self, alpha: float, n_sweeps: int) -> Fit:
        before = self._prepare(alpha, self.task.max_iter - n_sweeps) - n_sweeps
        gap: float | None = None
        if self.task.penalty.convex:
            gap, violation = self._solve_to_gap(alpha)
        else:
            violation = self._solve(alpha, self.task.tol * alpha)
        least = SATURATED_RESCALED_LOSS if self.task.rescaled else SATURATED_LOSS
        perfect = self.set.loss_value() < least * self.null_loss
        # A rescaled penalty has solutions that separate the classes; without convergence there may be none.
        endless = not self.task.penalty.convex and not (self.task.rescaled and violation <= self.task.tol * alpha)
        used = np.flatnonzero(self.set.w)
        return Fit(
            features=self.set.index[used],
            w=self.set.w[used],
            b=self.set.b,
            gap=gap,
            kkt=violation / alpha,
            locally_convex=self.task.penalty.convex or self._locally_convex(alpha),
            saturated=perfect or (endless and self.set.separated),
            n_sweeps=self.set.n_sweeps - before,
            loss=self.set.loss_value(),
            curvature=self._strengths(alpha)[used].curvature if self.task.rescaled else None,
        )

    def _prepare(self, alpha: float, max_sweeps: int) -> int:
        """Predict the solution and the features it needs; returns the sweeps made so far."""
        task = self.task
        self.set.max_sweeps = self.set.n_sweeps + max_sweeps
        pruned = self.set.prune(task.factor[self.set.index] == 0.0)
        self.outside[pruned] = True
        self.set.predict(self._ratio(alpha), task.factor[self.set.index])
        if alpha < self.alpha:
            entrants = self.gradients.foresee(alpha, self.outside)
            if 0 < entrants.size <= self._most_admitted():
                self._add(entrants)
        return self.set.n_sweeps

    def _solve_to_gap(self, alpha: float) -> tuple[float, float]:
        """Solve until the relative duality gap is small enough; returns it and the violation.

        Each attempt solves to the violation that should lead to this gap; if the gap is too large, the next is tighter.
        """
        task, most = self.task, rules.largest_violation(alpha, self.task.tol)
        curvature = float(task.plain.second_derivative(1.0, alpha))
        for _ in range(_MAX_GAP_ATTEMPTS):
            size, n_active = float(np.abs(self.set.w).sum()), int(np.count_nonzero(self.set.w))
            goal = rules.violation_for_gap(alpha, task.tol * self.null_loss, size, n_active, curvature, most)
            violation = self._solve(alpha, goal)
            slopes = self.gradients.value[self._checked]
            gap = duality_gap(task, self.set, self.sides, alpha, self._checked, slopes, self._margins)
            gap /= max(self.null_loss, 1e-300)
            if gap <= task.tol or self.set.exhausted:
                break
            most = rules.tighter(violation, gap, task.tol)
        return gap, violation

    def _solve(self, alpha: float, tol: float, only_at_hand: bool = False) -> float:
        """Minimise at this alpha until no feature violates by more than ``tol``; returns the violation.

        With ``only_at_hand``, only features are checked whose columns can be read without others.
        """
        task = self.task
        lam = alpha * task.factor[self.set.index]
        # Few features cost little to check, and most were foreseen.
        goal = tol
        if self.outside.size > rules.FEW_FEATURES:
            # For a loss that is not quadratic, precision takes several models: solve precisely only for the final set.
            goal = float(rules.first_goal(tol, alpha)) if self.set.exact else max(tol, rules.GROWING_VIOLATION * alpha)
        worst = np.inf
        for _ in range(rules.MAX_ROUNDS):
            # When all features are in the set, gradients of features that were outside before do not matter.
            excess, self._checked = np.empty(0), self.set.index[:0]
            self.set.minimise(lam, goal)
            if self.outside.any():
                self._checked = self.gradients.renew(self.set.theta, alpha, self.outside, only_at_hand)
                push = self.sides.push(self._checked, self.gradients.value[self._checked])
                excess = push - alpha * self.slope[self._checked]
                if self._admit(self._checked, excess, goal, alpha):
                    lam = alpha * task.factor[self.set.index]
                    if not self.set.exhausted:
                        continue
            self.set.verify()
            worst = self.set.violation(self.set.strengths(lam))
            if goal <= tol or self.set.exhausted:
                break
            goal = tol
        return max(worst, float(excess.max(initial=0.0)))

    def _most_admitted(self) -> int:
        return max(_MIN_ADMITTED, self.set.index.size)

    def _admit(self, names: Indices, excess: Array, tol: float, alpha: float) -> bool:
        """Add the worst violators, and features close to violating, to the working set; whether there were any."""
        if not float(excess.max(initial=0.0)) > tol:
            return False
        violators = np.flatnonzero(excess > (rules.NEAR_SHARE - 1.0) * alpha)
        most = self._most_admitted()
        if violators.size > most:
            violators = violators[np.argpartition(-excess[violators], most)[:most]]
        self._add(names[violators])
        return True

    def _strengths(self, alpha: float) -> Strengths:
        """The strengths that the penalty takes for the features in the working set."""
        return self.set.strengths(alpha * self.task.factor[self.set.index])

    def _locally_convex(self, alpha: float) -> bool:
        return self.set.convex_beyond(np.asarray(self.task.penalty.concavity_bound(self._strengths(alpha))))
