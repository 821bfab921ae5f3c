"""The Boolean relaxation on a growing working set.

    min_{s ∈ [0,1]^p, Σs ≤ k} c(s)  =  min_w Σ ω ℓ(y, Xw + b) + (1/γ) Ω_k(w)  =  max_α D(α)

A round solves the relaxation on the working set, computes ``u = X'α`` and the bound of α over all features, and adds
the features whose gain exceeds the threshold ``1/(2σ²)`` of the working set's solution.  A :class:`Source` supplies
columns, products and bounds; a :class:`Policy` decides how precisely to solve and when to stop.  For the squared loss
the tree uses a compiled form of the same rounds (:mod:`sparsest.subset.tree.kernels.node`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from sparsest.core.arrays import Array, Indices
from sparsest.core.designs import PassStopped
from sparsest.core.problem import Problem
from sparsest.core.sparsity import Region
from sparsest.subset.relaxation.entering import Entering
from sparsest.subset.relaxation.memory import Memory
from sparsest.subset.relaxation.regularisers import AnyRegulariser, sigma_of
from sparsest.subset.relaxation.solution import Relaxed, Start
from sparsest.subset.relaxation.working_set import make_regulariser
from sparsest.subset.relaxation.working_solution import Stop, WorkingSolution


class View(NamedTuple):
    """A dual point α, its products ``X'α`` with all features, and its bound for the region."""

    alpha: Array
    products: Array
    bound: float


class Round(NamedTuple):
    """What a source solves: the relaxation on some features, from (w, b), until a gap or a dual value is reached.

    ``memory`` has the state of the working set of the last round.
    """

    features: Indices
    omega: AnyRegulariser
    w: Array
    b: float
    tolerance: float
    cutoff: float
    memory: Memory

    def stop(self, expired: Callable[[], bool] = lambda: False) -> Stop:
        """What ends the solution."""
        return Stop(self.tolerance, self.cutoff, expired)


class Source(Protocol):
    """The data of a relaxation: it solves on a working set and computes views over all features."""

    def first(self, start: Start, region: Region) -> tuple[float, View]:
        """The intercept and the view of the starting coefficients."""

    def solve(self, task: Round) -> WorkingSolution:
        """Solve on a working set until primal - dual ≤ ``tolerance`` or dual ≥ ``cutoff``."""

    def view(self, features: Indices, point: WorkingSolution, region: Region) -> View:
        """The view of the dual point of a solution on a working set."""


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
        point = source.solve(Round(features, omega, w, best.b, policy.tolerance(best), policy.cutoff, memory))
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
