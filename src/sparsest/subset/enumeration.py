"""Enumeration of all supports of a tiny problem; a leaf of the proof is one support or all subsets of one."""

from __future__ import annotations

from collections.abc import Callable
from math import comb
from typing import NamedTuple

import numpy as np

from sparsest.core.arrays import Indices
from sparsest.core.losses import Squared
from sparsest.core.problem import Problem
from sparsest.core.sparsity import Region, Sparsity
from sparsest.proofs.regression import regression_bound
from sparsest.proofs.steps import Branch, DualPoint, Leaf, Point, Proof, Regression, Step
from sparsest.subset.claims import statement_of
from sparsest.subset.dual import best_bound
from sparsest.subset.fits.support import SupportFit, fit_support

# Largest numbers of supports and of features for which all supports are tried; a fit takes 0.1 to 5 ms.
_MOST_SUPPORTS, _MOST_FEATURES = 2000, 12


class Enumeration(NamedTuple):
    """The best of all models, and the proof with its bound."""

    fit: SupportFit
    proof: Proof
    bound: float


def is_tiny(problem: Problem) -> bool:
    """Whether all supports can be tried."""
    sparsity, region = problem.sparsity, problem.root
    if not isinstance(sparsity, Sparsity):
        n_free, budget = int((sparsity.state_of(region) == 0).sum()), sparsity.budget(region)
    else:
        n_free, budget = problem.p - problem.include.size - problem.exclude.size, sparsity.budget(region)
    if n_free > _MOST_FEATURES:
        return False
    # Without a price per feature and further rules only the largest supports have to be tried.
    largest = isinstance(sparsity, Sparsity) and not sparsity.priced
    sizes = (budget,) if largest else range(budget + 1)
    return sum(comb(n_free, size) for size in sizes) <= _MOST_SUPPORTS


def enumerate_supports(problem: Problem, expired: Callable[[], bool]) -> Enumeration | None:
    """Try all supports; None if the time limit is reached."""
    steps: list[Step] = []
    points: list[Point] = []
    best, lowest = fit_support(problem, problem.first_support), np.inf
    stack: list[Region | None] = [problem.root]
    while stack:
        region = stack.pop()
        if region is None:
            # The structure leaves no support: any step closes the region.
            steps.append(Leaf(len(points)))
            points.append(DualPoint(np.zeros(problem.n)))
            continue
        chosen = _largest(problem, region)
        if chosen is None:
            feature = int(region.free[0])
            steps.append(Branch(feature))
            stack += [_side(problem, region, [], [feature]), _side(problem, region, [feature], [])]
            continue
        if expired():
            return None
        fit = fit_support(problem, chosen)
        best = fit if fit.primal < best.primal and problem.sparsity.admits(chosen) else best
        outside = np.setdiff1d(np.arange(problem.p), chosen)
        bound = best_bound(problem, fit.alpha, Region(region.forced_in, outside, problem.p))
        value = bound.value
        least = _least_squares(problem, chosen, region.forced_in)
        if least > value:
            steps.append(Regression())
            value = least
        else:
            steps.append(Leaf(len(points)))
            points.append(DualPoint(bound.alpha))
        lowest = min(lowest, value)
    return Enumeration(best, Proof(steps, points), lowest)


def _largest(problem: Problem, region: Region) -> Indices | None:
    """The largest support of a region if its model is the best of the region; None if the region has to be split."""
    sparsity, free = problem.sparsity, region.free
    if isinstance(sparsity, Sparsity):
        left = sparsity.budget(region)
        if free.size and left > 0 and (sparsity.priced or left < free.size):
            return None
        return np.sort(np.concatenate([region.forced_in, free[:left]]))
    support = np.sort(np.concatenate([region.forced_in, free]))
    return None if free.size and (sparsity.priced or not sparsity.admits(support)) else support


def _side(problem: Problem, region: Region, inside: list[int], outside: list[int]) -> Region | None:
    """A side of a branch, after propagation; None if it is empty."""
    side = region.narrowed(np.array(inside, dtype=np.intp), np.array(outside, dtype=np.intp))
    return side if isinstance(problem.sparsity, Sparsity) else problem.sparsity.propagate(side)


def _least_squares(problem: Problem, support: Indices, inside: Indices) -> float:
    """The bound of a support without its ridge, for the squared loss; the checker computes it in the same way."""
    if not isinstance(problem.loss, Squared):
        return -np.inf
    n_inside = inside.size if isinstance(problem.sparsity, Sparsity) else 0
    return regression_bound(problem.data.evidence.data, statement_of(problem), support, n_inside)
