"""The Boolean relaxation restricted to a working set of packed columns.

    min_{w,b} Σ ω ℓ(y, Xw + b) + Ω(w)

Squared loss: one quadratic in Gram space.  Piecewise linear losses: an interior-point method or, with finite bounds on
coefficients or a structure, proximal Newton steps for smoothed losses.  Other losses: proximal Newton steps with a line
search, each a quadratic in Gram space.  All methods return the primal and dual values on which their stopping rule is
based.
"""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np

from sparsest.core.arrays import Array, Indices, Mask
from sparsest.core.bounds import Bounds
from sparsest.core.losses import PiecewiseLinear, Squared
from sparsest.core.problem import Problem
from sparsest.core.sparsity import Region, Sparsity
from sparsest.runtime.threads import all_threads
from sparsest.subset.relaxation.kernels.nested import NestedRegulariser
from sparsest.subset.relaxation.kernels.regulariser import Regulariser
from sparsest.subset.relaxation.memory import CurvedGram, Memory
from sparsest.subset.relaxation.nested import make_nested
from sparsest.subset.relaxation.piecewise import solve_piecewise, solve_smoothed
from sparsest.subset.relaxation.proximal_newton import ProximalNewton
from sparsest.subset.relaxation.quadratic import solve_in_gram_space
from sparsest.subset.relaxation.regularisers import AnyRegulariser, value_of
from sparsest.subset.relaxation.working_solution import Stop, WorkingSet, WorkingSolution

# Share of new columns up to which the Gram matrix of the squared loss is updated: the update takes twice the operations
# of a symmetric product for each new column.
_MOST_NEW = 0.4
# Operations of a Gram matrix from which on all threads are worthwhile.
_OPERATIONS_OF_THREADS = 1e9
# Largest share of the budget that features at their bounds use up in a start with features that have no such bound.
_SHARE_OF_BOUNDED = 0.9


def make_regulariser(problem: Problem, region: Region, features: Indices) -> AnyRegulariser:
    """Return Ω for a working set of a region."""
    if not isinstance(problem.sparsity, Sparsity):
        return make_nested(problem, problem.sparsity, region, features)
    forced, bounds = region.state[features] == 1, problem.bounds.of(features)
    root = np.full(forced.size, np.sqrt(problem.ridge))
    budget = problem.sparsity.most(problem.p) - int(forced.sum())
    return Regulariser(root, forced, budget, problem.sparsity.price, bounds.low, bounds.high)


def solve_working_set(
    part: WorkingSet,
    w: Array,
    b: float,
    stop: Stop,
    memory: Memory | None = None,
    reference: CurvedGram | None = None,
) -> WorkingSolution:
    """Solve the relaxation on packed columns from (w, b); the values returned are valid however the solution ended.

    A ``memory`` gives a warm start from the last working set.  ``reference`` is a Gram matrix for the first steps with
    a smooth loss.
    """
    problem, columns, omega = part
    memory = Memory() if memory is None else memory
    if isinstance(omega, NestedRegulariser):
        # The proximal step of zeros is feasible; other starts need not be, and values are finite after one step.
        w = w if np.isfinite(value_of(w, omega)) else np.zeros(w.size)
    elif omega.budget == 0 and not omega.forced.all():
        # No other feature may enter: solve on the forced features alone, because iterative methods do not set the other
        # coefficients exactly to zero.
        inside = omega.forced
        memory.forget()
        alone = omega._replace(root_delta=omega.root_delta[inside], forced=inside[inside])
        if omega.low.size:
            alone = alone._replace(low=omega.low[inside], high=omega.high[inside])
        point = solve_working_set(WorkingSet(problem, columns[:, inside], alone), w[inside], b, stop)
        return _widened(point, inside)
    else:
        w = _within_bounds(w, omega)
    if isinstance(problem.loss, Squared):
        return _solve_squared(part, w, stop, memory)
    signs_only = isinstance(omega, Regulariser) and Bounds(omega.low, omega.high).conic
    if isinstance(problem.loss, PiecewiseLinear) and not signs_only:
        return solve_smoothed(part, problem.loss, w, b, stop)
    if isinstance(problem.loss, PiecewiseLinear) and isinstance(omega, Regulariser):
        return solve_piecewise(part, problem.loss, omega, stop, memory)
    newton = ProximalNewton(part, memory.gram_of(columns), reference)
    point = newton.solve(w, b, stop)
    memory.gram = newton.gram
    return point


def _within_bounds(w: Array, omega: Regulariser) -> Array:
    """The coefficients, moved within their bounds and the budget that they use up."""
    if not omega.low.size:
        return w
    w = np.clip(w, omega.low, omega.high)
    limits, free = np.where(w < 0.0, -omega.low, omega.high), ~omega.forced & (w != 0.0)
    shares = float((np.abs(w[free]) / limits[free]).sum())
    # Features without a bound on their side need a part of the budget too.
    room = omega.budget if np.isfinite(limits[free]).all() else _SHARE_OF_BOUNDED * omega.budget
    return np.where(omega.forced, w, w * (room / shares)) if shares > room else w


def _widened(point: WorkingSolution, inside: Mask) -> WorkingSolution:
    """Extend a point on the features ``inside`` to the working set, with zeros for the others."""

    def widened(packed: Array) -> Array:
        full = np.zeros(inside.size)
        full[inside] = packed
        return full

    source = None if point.source is None else (widened(point.source[0]), point.source[1])
    return point._replace(w=widened(point.w), source=source)


def _solve_squared(part: WorkingSet, w: Array, stop: Stop, memory: Memory) -> WorkingSolution:
    """Solve for the squared loss.

    With an intercept the columns are centred, so b is the mean of y and the Gram matrix needs no correction.
    """
    problem, columns, omega = part
    b = problem.data.null.b
    target = problem.weights * (problem.y - b)
    H, c = _gram(problem.weights, columns, memory), columns.T @ target
    constant = 0.5 * float(target @ (problem.y - b))
    point = solve_in_gram_space(H, c, constant, b, omega, w, stop)
    return point._replace(alpha=problem.weights * (columns @ point.w + b - problem.y))


def _gram(weights: Array, columns: Array, memory: Memory) -> Array:
    """``X'diag(weights)X``; entries of the previous working set are kept."""
    with all_threads() if columns.size * columns.shape[1] > _OPERATIONS_OF_THREADS else nullcontext():
        known = memory.gram_of(columns, _MOST_NEW)
        if known is None:
            weighted = columns if (weights == 1.0).all() else weights[:, None] * columns
            known = CurvedGram(weighted.T @ columns, weights)
    memory.gram = known
    return known.matrix
