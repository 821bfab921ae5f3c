"""The fit for one λ of a path of a quadratic loss, compiled as a whole.

    min_w  c'w + w'Gw/2 + Σ_j φ(w_j; λ f_j)

over columns that come in two forms, NamedTuples whose methods are compiled with the step:

=============  ==============================================================================================
``Lines``      a dense matrix of float64 in Fortran order; columns in use are copied, and their Gram matrix is kept
``Stored``     compressed sparse columns; those in use are copied, and a residual is kept
=============  ==============================================================================================

With ω the weights and r the residual, ``τ = √ω r`` is the form in which residuals are kept: ``X_j'(√ω τ)`` is the
gradient, and the loss is ``‖τ‖²/2``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsest.core.arrays import Array, Indices, Mask
from sparsest.core.kernels.descent import descend, extrapolate, violation
from sparsest.core.kernels.lines import fits, has_stale_slopes, products, residual, restart, slopes, take_in
from sparsest.paths.kernels.duality import INSIDE, side_terms
from sparsest.paths.kernels.rules import (
    MAX_ROUNDS,
    NEAR_SHARE,
    first_goal,
    largest_violation,
    tighter,
    violation_for_gap,
)
from sparsest.paths.kernels.screening import BothSides, foreseen, inner_products, remember, unsettled
from sparsest.runtime.jit import kernel, second_derivative, value

# Why a step returns: it is done, the buffers are full, sweeps are too slow, or all sweeps allowed have been made.
DONE, FULL, SLOW, EXHAUSTED = 0, 1, 2, 3
# While the working set may still grow, a Newton step must save this many times what it costs.
_EARLY_PATIENCE = 10.0
# Features of which fewer gradients are known are not foreseen: a path over 200 × 100,000 took a hundred times as long.
_LEAST_GRADIENTS = 2
# Sweeps after which those that are still needed are estimated from the progress so far.
_TRIAL_SWEEPS = 12


class Point(NamedTuple):
    """Buffers for the working set: coefficients now and at the last λ, gradients, ``λ f``, τ, number of features.

    ``theta`` has room for n numbers, ``fresh`` and ``found`` for p each.
    """

    w: Array
    before: Array
    grad: Array
    lam: Array
    tau: Array
    theta: Array
    size: Indices
    outside: Mask
    found: Indices
    fresh: Array


class Fixed(NamedTuple):
    """What does not change along a path.

    Attributes
    ----------
    origin : the gradient at zero; factor : of λ, for each feature; slope : of the penalty at zero, for ``λ = 1``.
    norms : of the columns; root : √ω; target : √ω y; null_loss : ``‖target‖²/2``.
    free_curvature : the smallest eigenvalue of the unpenalised columns' Gram matrix, inf if there are none.
    reach, spread : the largest ratio of norm to slope, and the sum of squared norms over twice the penalty's curvature
        for ``λ = 1``, of the other columns.
    """

    origin: Array
    factor: Array
    slope: Array
    norms: Array
    root: Array
    target: Array
    null_loss: float
    free_curvature: float
    reach: float
    spread: float


@kernel
def _check(columns, at, fixed, memory, alpha):
    """Compute the gradients outside that may exceed their limits; returns how many, and the largest excess."""
    residual(columns, at.w[: at.size[0]], fixed.target, at.tau)
    total = 0.0
    for i in range(at.tau.size):
        at.theta[i] = fixed.root[i] * at.tau[i]
        total += at.theta[i]
    inner, square = inner_products(memory, at.tau)
    count = unsettled(memory, inner, square, fixed.norms, fixed.slope, BothSides(), alpha, at.outside, at.found)
    products(columns, at.found, count, at.theta, total, at.fresh)
    remember(memory, at.tau, inner, square, alpha, at.found, count, at.fresh)
    excess = 0.0
    for q in range(count):
        excess = max(excess, abs(at.fresh[q]) - alpha * fixed.slope[at.found[q]])
    return count, excess


@kernel
def admit(columns, at, fixed, alpha, count, share):
    """Take in those found whose gradients exceed a share of their limits (all if it is 0); False if room is lacking."""
    first, full = at.size[0], False
    end = first
    for q in range(count):
        j = at.found[q]
        if not at.outside[j] or (share > 0.0 and abs(at.fresh[q]) <= share * alpha * fixed.slope[j]):
            continue
        full = end >= at.w.size or not fits(columns, end, j)
        if full:
            break
        columns.names[end], at.outside[j] = j, False
        at.w[end], at.before[end], at.lam[end] = 0.0, 0.0, alpha * fixed.factor[j]
        end += 1
    if end > first:
        at.size[0] = end
        take_in(columns, first, end - first)
        slopes(columns, at.w[:end], first, fixed.origin, at.grad[:end])
    return not full


@kernel
def begin(columns, at, fixed, memory, alpha, last, ratio):
    """Guess the solution for the next λ, and add the features that it will need; False if there is no room.

    ``last`` is the λ before it.  If that is not larger, the walk has been sent elsewhere, and gradients are not
    extrapolated.
    """
    m = at.size[0]
    for q in range(m):
        at.lam[q] = alpha * fixed.factor[columns.names[q]]
    step = extrapolate(at.w[:m], at.before[:m], at.lam[:m], ratio)
    restart(columns, at.w[:m], step, fixed.target, at.grad[:m])
    if not alpha < last:
        return True
    count = foreseen(memory, fixed.slope, BothSides(), alpha, at.outside, _LEAST_GRADIENTS, at.found)
    return admit(columns, at, fixed, alpha, count, 0.0)


@kernel
def settle(columns, at, fixed):
    """Compute the gradient at coefficients that were written into the buffer; nothing is extrapolated next."""
    m = at.size[0]
    for q in range(m):
        at.before[q] = at.w[q]
    restart(columns, at.w[:m], np.zeros(m), fixed.target, at.grad[:m])
    slopes(columns, at.w[:m], 0, fixed.origin, at.grad[:m])


@kernel
def _loss(columns, w, grad, fixed):
    """The loss at w, and ``c'w``."""
    along, total = 0.0, 0.0
    for q in range(w.size):
        along += w[q] * fixed.origin[columns.names[q]]
        total += w[q] * grad[q]
    return fixed.null_loss + 0.5 * (along + total), along


@kernel
def _gap(columns, at, fixed, penalty, alpha, count):
    """The duality gap of a penalty that is the sum of an absolute value and a square.

    The dual point is the residual without its part in the span of unpenalised columns, as it is or scaled so that all
    slopes are within their limits.  The part that is left out has at most the norm ``shift``, by which norms and inner
    products of the dual point are bounded.
    """
    m, deviation, free = at.size[0], np.sqrt(2.0 * fixed.null_loss), 0.0
    w, grad, lam = at.w[:m], at.grad[:m], at.lam[:m]
    loss, along = _loss(columns, w, grad, fixed)
    for q in range(m):
        if lam[q] == 0.0:
            free += grad[q] * grad[q]
    shift, largest, conjugate = 0.0, 0.0, 0.0
    if free > 0.0:
        shift = np.sqrt(free / fixed.free_curvature)
        # Slopes that were not computed are within their limits before the shift.
        largest, conjugate = 1.0 + shift * fixed.reach / alpha, shift * shift * fixed.spread / alpha
    primal = loss
    for q in range(m):
        if lam[q] != 0.0:
            primal += value(penalty, w[q], lam[q])
            push = abs(grad[q]) + shift * fixed.norms[columns.names[q]]
            ratio, cost = side_terms(penalty, push, lam[q], np.inf, 1.0)
            largest, conjugate = max(largest, ratio), conjugate + cost
    for q in range(count):
        j = at.found[q]
        push = abs(at.fresh[q]) + shift * fixed.norms[j]
        ratio, cost = side_terms(penalty, push, alpha * fixed.factor[j], np.inf, 1.0)
        largest, conjugate = max(largest, ratio), conjugate + cost
    along += 2.0 * fixed.null_loss
    # The response's product with the dual point is known up to this.
    certain = max(abs(along) - deviation * shift, 0.0)
    scale = certain / (2.0 * loss) if loss > 0.0 else 1.0
    if scale * largest > 1.0:
        scale = INSIDE / largest
    dual = max(scale * (certain - scale * loss), along - deviation * shift - loss - conjugate)
    # The dual point zero has the value zero.
    return max(primal - max(dual, 0.0), 0.0)


@kernel
def _goal(w, fixed, penalty, alpha, tol, most):
    """The violation to ask for, given the largest that is allowed."""
    size, active = 0.0, 0
    for q in range(w.size):
        size += abs(w[q])
        active += w[q] != 0.0
    curvature = second_derivative(penalty, 1.0, alpha)
    return violation_for_gap(alpha, tol * fixed.null_loss, size, active, curvature, most)


@kernel
def _minimise(columns, at, penalty, goal, allowed, patience):
    """Sweep until the violation is at most the goal; returns the sweeps, the violation, and whether they are slow.

    The first sweeps for a λ often raise the violation.  They count as slow only after as many sweeps as a Newton step
    costs.
    """
    m = at.size[0]
    w, grad, lam = at.w[:m], at.grad[:m], at.lam[:m]
    before, sweeps, budget = violation(grad, w, lam, m, penalty), 0, _TRIAL_SWEEPS
    worst = np.inf if has_stale_slopes(columns) else before
    while worst > goal and sweeps < allowed:
        made, worst = descend(columns, w, grad, lam, penalty, goal, min(budget, allowed - sweeps))
        sweeps += made
        if not worst > goal:
            break
        if worst >= before and sweeps < patience:
            budget = 2 * made
            continue
        needed = np.log(worst / goal) * made / max(np.log(before / worst), 1e-9 * made)
        if needed > patience:
            return sweeps, worst, True
        budget, before = int(needed) + 1, worst
    return sweeps, worst, False


@kernel
def solve(columns, penalty, at, fixed, memory, alpha, tol, convex, tight, allowed, patience):
    """Minimise at λ; returns why it ended, the sweeps made, the largest violation, the loss and the relative gap.

    Parameters
    ----------
    tol : of the gap relative to the loss at zero, if convex, else of the violation relative to λ.
    tight : whether the working set is complete but for the last digits.
    allowed : sweeps that may be made.
    patience : the sweeps that a Newton step is worth: if more are needed, the caller should make one.
    """
    sweeps, gap, worst, count, excess, loss = 0, np.inf, np.inf, 0, 0.0, 0.0
    most = largest_violation(alpha, tol)
    p, code = fixed.origin.size, EXHAUSTED
    for _ in range(MAX_ROUNDS):
        m = at.size[0]
        goal = _goal(at.w[:m], fixed, penalty, alpha, tol, most) if convex else tol * alpha
        endurance = patience if tight else _EARLY_PATIENCE * patience
        if not tight:
            goal = first_goal(goal, alpha)
        made, worst, slow = _minimise(columns, at, penalty, goal, allowed - sweeps, endurance)
        sweeps += made
        if slow:
            return SLOW, sweeps, worst, loss, gap
        if m < p:
            count, excess = _check(columns, at, fixed, memory, alpha)
            if excess > goal and sweeps < allowed:
                if not admit(columns, at, fixed, alpha, count, NEAR_SHARE):
                    return FULL, sweeps, worst, loss, gap
                continue
        if made == 0 or not has_stale_slopes(columns):
            slopes(columns, at.w[:m], 0, fixed.origin, at.grad[:m])
        worst = max(violation(at.grad[:m], at.w[:m], at.lam[:m], m, penalty), excess)
        loss = _loss(columns, at.w[:m], at.grad[:m], fixed)[0]
        if convex:
            gap = _gap(columns, at, fixed, penalty, alpha, count) / max(fixed.null_loss, 1e-300)
        # A penalty with curvature has small gaps also where conditions are much violated.
        reached = gap <= tol and worst <= largest_violation(alpha, tol) if convex else worst <= tol * alpha
        if reached or sweeps >= allowed:
            code = DONE if reached else EXHAUSTED
            break
        if tight and convex:
            most = min(most, tighter(worst, gap, tol))
        tight = True
    return code, sweeps, worst, loss, gap
