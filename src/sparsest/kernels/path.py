"""One step along a path of a quadratic loss, compiled as a whole.

    min_w  c'w + w'Gw/2 + Σ_j φ(w_j; α f_j)

over columns that come in two forms, NamedTuples whose methods are compiled with the step:

=============  ==============================================================================================
``Lines``      a dense matrix of float64 in Fortran order; columns in use are copied, and their Gram matrix is kept
``Stored``     compressed sparse columns and the residual, as in :mod:`sparsest.kernels.stored`
=============  ==============================================================================================

With ω the weights and r the residual, ``τ = √ω r`` is the form in which residuals are kept: ``X_j'(√ω τ)`` is the
gradient, and the loss is ``‖τ‖²/2``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sparsest.arrays import Array, Indices, Mask
from sparsest.kernels.descent import (
    column_products,
    descend,
    extrapolate,
    gram_image,
    gram_step,
    gram_sweep,
    threshold,
    violation,
)
from sparsest.kernels.jit import dispatched, kernel, second_derivative, value
from sparsest.kernels.screening import foreseen, inner_products, remember, unsettled

# Why a step returns: it is done, the buffers are full, sweeps are too slow, or all sweeps allowed have been made.
DONE, FULL, SLOW, EXHAUSTED = 0, 1, 2, 3

# Violation, as a share of α, to which a working set is minimised while it still grows.
_GROWING_VIOLATION = 1e-2
# A goal within this factor of that is aimed at from the start; while the set may still grow, Newton steps come too
# early unless they save this many times what they cost.
_NEARLY_TIGHT, _EARLY_PATIENCE = 0.05, 10.0
# Features whose gradient is within this share of its limit join together with violators: most would be needed soon.
_NEAR_SHARE = 0.96
# The violation asked for is chosen such that the gap will be about this share of the tolerance.
_GAP_SHARE = 0.9
# Sweeps after which those that are still needed are estimated from the progress so far.
_TRIAL_SWEEPS = 12
# Rounds of minimising and checking; one or two are usual.
_MAX_ROUNDS = 200
# A dual point on the edge of the feasible set is moved inside by this share: rounding must not make it infeasible.
_INSIDE = 1.0 - 1e-15


class Lines(NamedTuple):
    """Columns ``(x_j - shift_j)/scale_j`` of a dense matrix, those in use times √ω, and their Gram matrix.

    ``lines`` holds all columns, one in each row; ``copies`` and ``gram`` are buffers for those in
    use, whose ``names`` are in a third.
    """

    lines: Array
    shift_of: Array
    scale_of: Array
    root: Array
    names: Indices
    copies: Array
    gram: Array
    curvature: Array
    step: Array

    def sweep(self, w, grad, lam, penalty, chosen, count, bar):
        """Minimise over the chosen coordinates one by one."""
        return gram_sweep(self.gram, self.curvature, self.step, w, grad, lam, penalty, chosen, count, bar)

    def refresh(self, grad):
        """The gradient is never stale."""

    def fits(self, place, j):
        """Whether there is room for a column in this place."""
        return place < self.names.size

    def take_in(self, first, count):
        """Copy the columns that were named in these places, and compute their inner products with all before."""
        end, n = first + count, self.root.size
        for q in range(first, end):
            line, copy, j = self.lines[self.names[q]], self.copies[q], self.names[q]
            for i in range(n):
                copy[i] = (line[i] - self.shift_of[j]) / self.scale_of[j] * self.root[i]
        product = np.dot(self.copies[first:end], self.copies[:end].T)
        for a in range(count):
            for q in range(end):
                self.gram[first + a, q] = product[a, q]
                self.gram[q, first + a] = product[a, q]
            self.curvature[first + a] = product[a, first + a]
            self.step[first + a] = 1.0 / product[a, first + a]

    def residual(self, w, target, tau):
        """``τ = √ω (Xw - y)``."""
        for i in range(tau.size):
            tau[i] = -target[i]
        for j in range(w.size):
            if w[j] != 0.0:
                copy, factor = self.copies[j], w[j]
                for i in range(tau.size):
                    tau[i] += factor * copy[i]

    def products(self, index, count, theta, total, out):
        """``X_j'θ`` for some features, where total is the sum of θ."""
        column_products(self.lines, index[:count], theta, out)
        for q in range(count):
            out[q] = (out[q] - self.shift_of[index[q]] * total) / self.scale_of[index[q]]

    def slopes(self, w, first, origin, grad):
        """The gradient ``c + Gw`` from this place on, computed anew."""
        for q in range(first, w.size):
            row, total = self.gram[q], 0.0
            for k in range(w.size):
                total += row[k] * w[k]
            grad[q] = origin[self.names[q]] + total

    def lags(self):
        """Slopes are carried along."""
        return False

    def restart(self, w, step, target, grad):
        """Let the gradient follow a step that led to w."""
        for j in range(w.size):
            if step[j] != 0.0:
                gram_step(self.gram, j, step[j], grad)

    def image(self, d):
        """``Gd``."""
        return gram_image(self.gram, d)

    def follow(self, d):
        """``G`` stays as it is when w makes a step."""


@dispatched
def fits(self: Any, place: int, j: int) -> bool:
    """Whether there is room for this feature in this place."""
    return self.fits(place, j)


@dispatched
def take_in(self: Any, first: int, count: int) -> None:
    """Prepare the columns that were named in these places."""
    self.take_in(first, count)


@dispatched
def residual(self: Any, w: Array, target: Array, tau: Array) -> None:
    """``τ = √ω (Xw - y)``, where ``target = √ω y``."""
    self.residual(w, target, tau)


@dispatched
def products(self: Any, index: Indices, count: int, theta: Array, total: float, out: Array) -> None:
    """``X_j'θ`` for some features."""
    self.products(index, count, theta, total, out)


@dispatched
def slopes(self: Any, w: Array, first: int, origin: Array, grad: Array) -> None:
    """The gradient at w from this place on, computed anew."""
    self.slopes(w, first, origin, grad)


@dispatched
def restart(self: Any, w: Array, step: Array, target: Array, grad: Array) -> None:
    """Know the quadratic at w, which a step led to."""
    self.restart(w, step, target, grad)


@dispatched
def lags(self: Any) -> bool:
    """Whether slopes are those of an earlier w until the next sweep."""
    return self.lags()


class Point(NamedTuple):
    """Buffers for the working set: coefficients now and at the last α, slopes, λ; τ; and how many features there are.

    ``theta``, ``fresh`` and ``found`` are room for n and twice p numbers.
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
    origin : the gradient at zero; factor : of α, for each feature; slope : of the penalty at zero, for ``α = 1``.
    norms : of the columns; root : √ω; target : √ω y; null_loss : ``‖target‖²/2``.
    """

    origin: Array
    factor: Array
    slope: Array
    norms: Array
    root: Array
    target: Array
    null_loss: float


@kernel
def _check(columns, at, fixed, memory, alpha):
    """Compute the gradients outside that may exceed their limits; returns how many, and the largest excess."""
    residual(columns, at.w[: at.size[0]], fixed.target, at.tau)
    total = 0.0
    for i in range(at.tau.size):
        at.theta[i] = fixed.root[i] * at.tau[i]
        total += at.theta[i]
    inner, square = inner_products(memory, at.tau)
    count = unsettled(memory, inner, square, fixed.norms, fixed.slope, alpha, at.outside, at.found)
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
def begin(columns, at, fixed, memory, alpha, ratio):
    """Guess the solution for the next α, and take in the features it will need; False if there is no room."""
    m = at.size[0]
    for q in range(m):
        at.lam[q] = alpha * fixed.factor[columns.names[q]]
    step = extrapolate(at.w[:m], at.before[:m], at.lam[:m], ratio)
    restart(columns, at.w[:m], step, fixed.target, at.grad[:m])
    count = foreseen(memory, fixed.slope, alpha, at.outside, at.found)
    return admit(columns, at, fixed, alpha, count, 0.0)


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

    The dual point is the residual, as it is or scaled so that all slopes are within their limits; the penalty's
    conjugate is ``excess²/2κ`` with κ its curvature.  Unpenalised directions enter by their first-order error.
    """
    m = at.size[0]
    w, grad, lam = at.w[:m], at.grad[:m], at.lam[:m]
    loss, along = _loss(columns, w, grad, fixed)
    primal, slack, largest, conjugate = loss, 0.0, 0.0, 0.0
    for q in range(m):
        primal += value(penalty, w[q], lam[q])
        if lam[q] == 0.0:
            slack += abs(grad[q] * w[q])
            continue
        limit = threshold(penalty, lam[q])
        excess = max(abs(grad[q]) - limit, 0.0)
        largest = max(largest, abs(grad[q]) / limit)
        if excess > 0.0:
            conjugate += 0.5 * excess * excess / second_derivative(penalty, 1.0, lam[q])
    for q in range(count):
        j = at.found[q]
        limit = alpha * fixed.slope[j]
        excess = max(abs(at.fresh[q]) - limit, 0.0)
        largest = max(largest, abs(at.fresh[q]) / limit)
        if excess > 0.0:
            conjugate += 0.5 * excess * excess / second_derivative(penalty, 1.0, alpha * fixed.factor[j])
    along += 2.0 * fixed.null_loss
    scale = along / (2.0 * loss) if loss > 0.0 else 1.0
    if scale * largest > 1.0:
        scale = _INSIDE / largest
    dual = max(scale * (along - scale * loss), along - loss - conjugate)
    return max(primal - dual + slack, 0.0)


@kernel
def _largest_violation(alpha, tol):
    """The violation that is allowed however small the gap."""
    return min(_GROWING_VIOLATION, tol ** (2.0 / 3.0)) * alpha


@kernel
def _goal(w, fixed, penalty, alpha, tol, share):
    """The violation at which the gap will be about a share of what is allowed.

    The gap is about the violation times 2‖w‖₁, or its square times the number of active features over twice the
    penalty's curvature.
    """
    size, active, allowed = 0.0, 1, share * tol * fixed.null_loss
    for q in range(w.size):
        size += abs(w[q])
        active += w[q] != 0.0
    by_curvature = np.sqrt(2.0 * allowed * second_derivative(penalty, 1.0, alpha) / active)
    goal = max(allowed / max(size, 1e-300), by_curvature)
    return max(min(goal, _largest_violation(alpha, tol)), 1e-15 * alpha)


@kernel
def _minimise(columns, at, penalty, goal, allowed, patience):
    """Sweep until the violation is at most the goal; returns the sweeps, the violation, and whether they are slow."""
    m = at.size[0]
    w, grad, lam = at.w[:m], at.grad[:m], at.lam[:m]
    before, sweeps, budget = violation(grad, w, lam, m, penalty), 0, _TRIAL_SWEEPS
    worst = np.inf if lags(columns) else before
    while worst > goal and sweeps < allowed:
        made, worst = descend(columns, w, grad, lam, penalty, goal, min(budget, allowed - sweeps))
        sweeps += made
        if not worst > goal:
            break
        needed = np.log(worst / goal) * made / max(np.log(before / worst), 1e-9 * made)
        if needed > patience:
            return sweeps, worst, True
        budget, before = int(needed) + 1, worst
    return sweeps, worst, False


@kernel
def solve(columns, penalty, at, fixed, memory, alpha, tol, convex, tight, allowed, patience):
    """Minimise at α; returns why it ended, the sweeps made, the largest violation, the loss and the relative gap.

    Parameters
    ----------
    tol : of the gap relative to the loss at zero, if convex, else of the violation relative to α.
    tight : whether the working set is complete but for the last digits.
    allowed : sweeps that may be made.
    patience : the sweeps that a Newton step is worth: if more are needed, the caller should make one.
    """
    share, sweeps, gap, worst, count, excess, loss = _GAP_SHARE, 0, np.inf, np.inf, 0, 0.0, 0.0
    p, code = fixed.origin.size, EXHAUSTED
    for _ in range(_MAX_ROUNDS):
        m = at.size[0]
        goal = _goal(at.w[:m], fixed, penalty, alpha, tol, share) if convex else tol * alpha
        endurance = patience if tight else _EARLY_PATIENCE * patience
        if not tight and goal < _NEARLY_TIGHT * _GROWING_VIOLATION * alpha:
            goal, endurance = _GROWING_VIOLATION * alpha, np.inf
        made, worst, slow = _minimise(columns, at, penalty, goal, allowed - sweeps, endurance)
        sweeps += made
        if slow:
            return SLOW, sweeps, worst, loss, gap
        if m < p:
            count, excess = _check(columns, at, fixed, memory, alpha)
            if excess > goal and sweeps < allowed:
                if not admit(columns, at, fixed, alpha, count, _NEAR_SHARE):
                    return FULL, sweeps, worst, loss, gap
                continue
        if made == 0 or not lags(columns):
            slopes(columns, at.w[:m], 0, fixed.origin, at.grad[:m])
        worst = max(violation(at.grad[:m], at.w[:m], at.lam[:m], m, penalty), excess)
        loss = _loss(columns, at.w[:m], at.grad[:m], fixed)[0]
        if convex:
            gap = _gap(columns, at, fixed, penalty, alpha, count) / max(fixed.null_loss, 1e-300)
        # A penalty with curvature has small gaps also where conditions are much violated.
        reached = gap <= tol and worst <= _largest_violation(alpha, tol) if convex else worst <= tol * alpha
        if reached or sweeps >= allowed:
            code = DONE if reached else EXHAUSTED
            break
        if tight and convex:
            share *= 0.3 * max(tol / gap, 1e-3)
        tight = True
    return code, sweeps, worst, loss, gap
