"""Enumeration of all supports of a tiny problem; a leaf of the proof is one support or all subsets of one."""

from __future__ import annotations

from collections.abc import Callable
from math import comb
from typing import NamedTuple

import numpy as np

from sparsest.core.arrays import Indices
from sparsest.core.losses import Squared
from sparsest.core.problem import Problem
from sparsest.core.sparsity import Region
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
    n_free = problem.p - problem.include.size - problem.exclude.size
    if n_free > _MOST_FEATURES:
        return False
    budget = problem.sparsity.budget(problem.root)
    # Without a price per feature only the largest supports have to be tried.
    sizes = range(budget + 1) if problem.sparsity.price > 0.0 else (budget,)
    return sum(comb(n_free, size) for size in sizes) <= _MOST_SUPPORTS


def enumerate_supports(problem: Problem, expired: Callable[[], bool]) -> Enumeration | None:
    """Try all supports; None if the time limit is reached."""
    steps: list[Step] = []
    points: list[Point] = []
    best, lowest = fit_support(problem, problem.include), np.inf
    most, priced = problem.sparsity.most(problem.p), problem.sparsity.price > 0.0
    stack = [(problem.include.tolist(), problem.root.free.tolist())]
    while stack:
        inside, free = stack.pop()
        left = max(0, min(most - len(inside), len(free)))
        # If all free features may be chosen and have no price, the largest support bounds all others; otherwise branch.
        if free and left > 0 and (priced or left < len(free)):
            steps.append(Branch(free[0]))
            stack += [(inside, free[1:]), ([*inside, free[0]], free[1:])]
            continue
        if expired():
            return None
        support = np.sort(np.array([*inside, *free[:left]], dtype=np.intp))
        fit = fit_support(problem, support)
        best = fit if fit.primal < best.primal else best
        outside = np.setdiff1d(np.arange(problem.p), support)
        bound = best_bound(problem, fit.alpha, Region(np.array(inside, dtype=np.intp), outside, problem.p))
        value = bound.value
        least = _least_squares(problem, support, len(inside))
        if least > value:
            steps.append(Regression())
            value = least
        else:
            steps.append(Leaf(len(points)))
            points.append(DualPoint(bound.alpha))
        lowest = min(lowest, value)
    return Enumeration(best, Proof(steps, points), lowest)


def _least_squares(problem: Problem, support: Indices, n_inside: int) -> float:
    """The bound of a support without its ridge, for the squared loss; the checker computes it in the same way."""
    if not isinstance(problem.loss, Squared):
        return -np.inf
    return regression_bound(problem.data.evidence.data, statement_of(problem), support, n_inside)
