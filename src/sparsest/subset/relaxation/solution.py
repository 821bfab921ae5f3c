"""Solutions of the Boolean relaxation: starts, solutions, fixings, and their summary in a result."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sparsest.core.arrays import Array, Indices
from sparsest.core.problem import Problem
from sparsest.core.sparsity import Region
from sparsest.proofs.steps import DualPoint, Fix
from sparsest.results.parts import RelaxedPoint, Restart
from sparsest.results.result import Result
from sparsest.subset.relaxation.nested import NestedLevels


class Start(NamedTuple):
    """Relaxed coefficients to start from, and the σ of their relaxation, 0 if it is unknown."""

    features: Indices
    w: Array
    b: float
    sigma: float = 0.0


class Relaxed(NamedTuple):
    """A solution of the relaxation over a region: the primal point (w, b), the dual point α, and their values.

    ``q`` are the gains of all features at the dual point.  ``levels`` are those of nested limits, None without any.
    """

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
    passes: float = 0.0
    levels: NestedLevels | None = None

    @property
    def gap(self) -> float:
        """Relative primal-dual gap of the relaxation."""
        return (self.primal - self.dual) / max(abs(self.primal), 1e-300) if np.isfinite(self.primal) else 1.0

    def coefficients(self) -> Array:
        """The coefficients of all features; those outside of the working set are 0."""
        w = np.zeros(self.region.p)
        w[self.features] = self.w
        return w

    def indicator(self, problem: Problem) -> Array:
        """The relaxed indicator ``s`` of every feature, not yet truncated at 1."""
        s = np.zeros(self.region.p)
        if self.levels is not None:
            s[self.features] = self.levels.shares
            s[self.region.forced_in] = 1.0
            return s
        used = self.w != 0
        size, limits = np.abs(self.w[used]), problem.bounds.of(self.features[used]).limits(self.w[used])
        s[self.features[used]] = np.maximum(min(self.sigma, 1e200) * (np.sqrt(problem.ridge) * size), size / limits)
        s[self.region.forced_in] = 1.0
        return s

    def restart(self) -> Restart:
        """The starting point for a later search."""
        return Restart(RelaxedPoint(self.features, self.w, self.b, self.alpha))

    def rounded(self, problem: Problem) -> Indices:
        """An admissible support: the forced features and those with the largest indicators."""
        return problem.sparsity.rounded(self.indicator(problem), self.region)


class Fixings:
    """The fixings that lead from the root to a smaller region, each with its dual point."""

    def __init__(self) -> None:
        self.points: list[DualPoint] = []
        self.fixes: list[Fix] = []
        # The smallest bound of all regions closed by fixings.
        self.closed = np.inf

    def fix(self, alpha: Array, inside: Indices, outside: Indices, bound: float) -> None:
        """Record that a dual point closes the opposite sides of these features, with at least this bound."""
        self.closed = min(self.closed, bound)
        self.points.append(DualPoint(alpha))
        self.fixes.append(Fix(len(self.points) - 1, inside, outside))


def summary(problem: Problem, relaxed: Relaxed) -> dict[str, Any]:
    """The summary of a relaxation in the trace of a result."""
    root, region = problem.root, relaxed.region
    return {
        "primal": relaxed.primal,
        "dual": relaxed.dual,
        "gap": relaxed.gap,
        "features": relaxed.features,
        "w": relaxed.w,
        "b": relaxed.b,
        "s": np.minimum(relaxed.indicator(problem), 1.0),
        "alpha": relaxed.alpha,
        "fixed_in": region.forced_in[~np.isin(region.forced_in, root.forced_in)],
        "fixed_out": region.forced_out[~np.isin(region.forced_out, root.forced_out)],
        "separation": problem.sparsity.separation(relaxed.q, region),
        "passes": relaxed.passes,
        "rounds": relaxed.rounds,
        "iterations": relaxed.iterations,
    }


def warm_start(start: Any, problem: Problem) -> Start | None:
    """The relaxed coefficients of an earlier result; None if it has none for this number of columns."""
    if not isinstance(start, Result) or start.coef.size != problem.p:
        return None
    known = start.restart.relaxed
    if known is None:
        return None
    allowed = ~np.isin(known.features, problem.exclude)
    features = known.features[allowed]
    return Start(features, problem.bounds.of(features).clip(known.w[allowed]), known.b)
