"""The Boolean relaxation on a growing working set.

    min_{s ∈ [0,1]^p, Σs ≤ k} c(s)  =  min_w Σ ω ℓ(y, Xw + b) + (1/γ) Ω_k(w)  =  max_α D(α)

A round solves the relaxation on the working set, computes ``u = X'α`` and the bound of α over all features, and adds
the features whose gain exceeds the threshold ``1/(2σ²)`` of the working set's solution.  A :class:`Source` supplies
columns, products and bounds; a :class:`Policy` decides how precisely to solve and when to stop.  For the squared loss
the tree uses a compiled form of the same rounds (:mod:`sparsest.subset.tree.kernels.node`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple, Protocol

import numpy as np

from sparsest.core.arrays import Array, Indices
from sparsest.core.designs import PassStopped
from sparsest.core.problem import Problem
from sparsest.core.sparsity import Region, Sparsity
from sparsest.subset.relaxation.kernels.entering import pick_working_set, sigma_of_gains, threshold_of
from sparsest.subset.relaxation.memory import Memory
from sparsest.subset.relaxation.nested import EnteringUnits
from sparsest.subset.relaxation.regularisers import AnyRegulariser, sigma_of
from sparsest.subset.relaxation.solution import Relaxed, Start
from sparsest.subset.relaxation.working_set import make_regulariser
from sparsest.subset.relaxation.working_solution import WorkingSolution


class View(NamedTuple):
    """A dual point α, its products ``X'α`` with all features, and its bound for the region."""

    alpha: Array
    products: Array
    bound: float


class Source(Protocol):
    """The data of a relaxation: it solves on a working set and computes views over all features."""

    def first(self, start: Start, region: Region) -> tuple[float, View]:
        """The intercept and the view of the starting coefficients."""

    def solve(
        self,
        features: Indices,
        omega: AnyRegulariser,
        w: Array,
        b: float,
        tolerance: float,
        cutoff: float,
        memory: Memory,
    ) -> WorkingSolution:
        """Solve on a working set until primal - dual ≤ ``tolerance`` or dual ≥ ``cutoff``."""

    def view(self, features: Indices, point: WorkingSolution, region: Region) -> View:
        """The view of the dual point of a solution on a working set."""


class Entering(NamedTuple):
    """The rule by which features enter and stay in a working set.

    Attributes
    ----------
    share : features enter if their gain exceeds this share of the threshold.
    kept_share : features of the last working set stay, even with zero coefficients, if their gain exceeds this share
        of the threshold.
    least, growth : the largest number of features that enter in a round is the largest of ``least``, ``growth`` times
        the number of features that stay, and, without a price per feature, twice the budget.
    """

    share: float
    kept_share: float
    least: int
    growth: float

    def features(self, problem: Problem, best: Relaxed) -> Indices:
        """The next working set."""
        region, sparsity = best.region, problem.sparsity
        if not isinstance(sparsity, Sparsity):
            return EnteringUnits(*self).features(problem, sparsity, region, best.q, best.features, best.w, best.levels)
        state, alive = region.state, region.alive
        budget, w = sparsity.budget(region), best.coefficients()
        work, chosen = np.empty(alive.size), np.empty(alive.size, dtype=np.int64)
        sigma = best.sigma
        if problem.bounds.exist and sigma > 0.0:
            sigma = sigma_of_gains(best.q, w, state, alive, budget, sparsity.price, work)
        threshold = threshold_of(sigma)
        stays = (state == 1) | (w != 0.0)
        if best.sigma > 0.0:
            stays[best.features] |= best.q[best.features] > self.kept_share * threshold
        most = 0
        if budget > 0:
            ahead = 0 if sparsity.price > 0.0 else 2 * min(budget, problem.n)
            most = max(self.least, ahead, int(self.growth * np.count_nonzero(stays)))
        return chosen[: pick_working_set(best.q, stays, alive, self.share * threshold, most, work, chosen)]


class Policy(ABC):
    """The precision of each working set's solution, and the stopping rule of a relaxation.

    Attributes
    ----------
    entering : the rule by which features enter a working set
    most_rounds : the largest number of rounds
    cutoff : the solution on a working set stops when its dual value reaches this bound
    open_gap : duality gap after the last round; infinite before the first
    """

    entering: Entering
    most_rounds: int
    cutoff: float = np.inf
    open_gap: float = np.inf

    @abstractmethod
    def is_done(self, best: Relaxed) -> bool:
        """Whether to stop before the next round."""

    @abstractmethod
    def tolerance(self, best: Relaxed) -> float:
        """The tolerance for the duality gap on the next working set."""

    def after_round(self, best: Relaxed, point: WorkingSolution) -> Relaxed:
        """Update the policy after a round; return the solution, with features fixed if the policy does that."""
        self.open_gap = best.primal - best.dual
        return best


def relax(source: Source, problem: Problem, region: Region, policy: Policy, start: Start | None = None) -> Relaxed:
    """Solve the relaxation of a region until the policy stops it; the default start has zero coefficients."""
    best = _first(source, problem, region, start)
    memory = Memory()
    for rounds in range(1, policy.most_rounds + 1):
        if policy.is_done(best):
            break
        features = policy.entering.features(problem, best)
        w = best.coefficients()[features]
        omega = make_regulariser(problem, best.region, features)
        memory.enter(features, policy.open_gap)
        tolerance = policy.tolerance(best)
        point = source.solve(features, omega, w, best.b, tolerance, policy.cutoff, memory)
        sigma, levels = sigma_of(point.w, omega)
        try:
            view = source.view(features, point, best.region)
        except PassStopped:
            # The dual point of this round has no bound; its coefficients may still be rounded to a better model.
            return best._replace(features=features, w=point.w, b=point.b, sigma=sigma, levels=levels, rounds=rounds)
        alpha, dual = (view.alpha, view.bound) if view.bound >= best.dual else (best.alpha, best.dual)
        best = best._replace(
            features=features, w=point.w, b=point.b, sigma=sigma, levels=levels, alpha=alpha,
            q=problem.gains_from(view.products),
            primal=point.primal, dual=dual, rounds=rounds, iterations=best.iterations + point.iterations,
        )  # fmt: skip
        best = policy.after_round(best, point)
    return best


def _first(source: Source, problem: Problem, region: Region, start: Start | None) -> Relaxed:
    """The start with its dual point; its primal value is infinite until the first round."""
    start = start or Start(np.empty(0, dtype=np.intp), np.empty(0), 0.0)
    b, (alpha, products, bound) = source.first(start, region)
    q = problem.gains_from(products)
    return Relaxed(region, start.features, start.w, b, start.sigma, alpha, q, np.inf, bound, 0, 0)
