"""Solutions of the Boolean relaxation: where to start from, what was found and fixed, and what a result tells of it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sparsest.arrays import Array, Indices
from sparsest.problem import Problem, Region
from sparsest.proofs.steps import DualPoint, Fix
from sparsest.result import Result
from sparsest.solvers.relaxation.living import Living
from sparsest.solvers.shared.dual import separation


class Start(NamedTuple):
    """Relaxed coefficients to begin from."""

    features: Indices
    w: Array
    b: float


class Relaxed(NamedTuple):
    """A solution of the relaxation over a region: primal point, dual point, and their values."""

    region: Region
    features: Indices
    w: Array
    b: float
    sigma: float
    alpha: Array
    q: Array
    primal: float
    dual: float
    rounds: int
    iterations: int

    @property
    def gap(self) -> float:
        """Relative primal-dual gap of the relaxation."""
        return (self.primal - self.dual) / max(abs(self.primal), 1e-300) if np.isfinite(self.primal) else 1.0

    def fractional(self, problem: Problem) -> Array:
        """The relaxed indicator ``s`` of every feature."""
        s = np.zeros(problem.p)
        used = self.w != 0
        s[self.features[used]] = np.minimum(1.0, self.sigma * np.sqrt(problem.ridge) * np.abs(self.w[used]))
        s[self.region.forced_in] = 1.0
        return s

    def rounded(self, problem: Problem) -> Indices:
        """An admissible support: the forced features and the largest relaxed ones."""
        free = np.flatnonzero(~np.isin(self.features, self.region.forced_in) & (self.w != 0))
        size = np.abs(self.w[free])
        n_forced = self.region.forced_in.size
        if problem.sparsity.cost(1) > 0:
            free = free[self.sigma * np.sqrt(problem.ridge) * size >= 0.5]
        else:
            budget = problem.sparsity.budget(n_forced, free.size)
            free = free[np.argsort(-size, kind="stable")[:budget]]
        return np.sort(np.concatenate([self.region.forced_in, self.features[free]]))


class Fixings:
    """The steps that lead from the root to a region by fixings, each with its dual point."""

    def __init__(self) -> None:
        self.points: list[DualPoint] = []
        self.fixes: list[Fix] = []

    def fix(self, alpha: Array, inside: Indices, outside: Indices) -> None:
        """Note that a dual point closes the other side of these features."""
        self.points.append(DualPoint(alpha))
        self.fixes.append(Fix(len(self.points) - 1, inside, outside))


def summary(problem: Problem, relaxed: Relaxed, living: Living) -> dict[str, Any]:
    """What a result tells of its relaxation."""
    n_root = problem.include.size, problem.exclude.size
    return {
        "primal": relaxed.primal,
        "dual": relaxed.dual,
        "gap": relaxed.gap,
        "features": relaxed.features,
        "w": relaxed.w,
        "b": relaxed.b,
        "s": relaxed.fractional(problem),
        "alpha": relaxed.alpha,
        "fixed_in": relaxed.region.forced_in[n_root[0] :],
        "fixed_out": relaxed.region.forced_out[n_root[1] :],
        "separation": separation(problem, relaxed.q, relaxed.region),
        "passes": living.passes,
        "rounds": relaxed.rounds,
        "iterations": relaxed.iterations,
    }


def warm_start(start: Any, problem: Problem) -> Start | None:
    """The relaxed coefficients of an earlier result, or those of its model."""
    if not isinstance(start, Result) or start.coef.size != problem.p:
        return None
    known = start.trace.get("relaxation")
    if known is None:
        return None
    allowed = ~np.isin(known["features"], problem.exclude)
    return Start(known["features"][allowed], known["w"][allowed], known["b"])
