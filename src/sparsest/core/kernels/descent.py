"""Coordinate descent on a penalised quadratic.

The kernels solve one problem, ``min_w g'(w - w0) + (w - w0)'G(w - w0)/2 + Σ_j φ(w_j; λ_j)``, for every penalty.
They access G through a model, a NamedTuple whose methods are compiled with them: :class:`Gram`, which has the matrix
itself and updates the gradient; :class:`~sparsest.core.kernels.lines.Lines`, which has columns too; and
:class:`~sparsest.core.kernels.sparse.Stored`, compressed sparse columns and a residual.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sparsest.core.arrays import Array, Indices
from sparsest.runtime.jit import derivative, dispatched, kernel, value

# Moves smaller than this share of the largest move of the previous sweep are postponed: they cost as much as a large
# move and bring less.
_SMALL_MOVE = 0.1


@dispatched
def prox(self: Any, z: float, lam: float, step: float) -> float:
    """The minimiser of ``(w - z)²/2 + step φ(w; λ)``."""
    return self.prox(z, lam, step)


@dispatched
def threshold(self: Any, lam: float) -> float:
    """The slope of ``φ`` at zero."""
    return self.threshold(lam)


@dispatched
def distance(self: Any, grad: float, w: float, lam: float) -> float:
    """The distance of ``-grad`` from the subdifferential of ``φ`` at w; if it is inside, at most zero."""
    return self.distance(grad, w, lam)


def two_sided_distance(self, grad, w, lam):
    """The distance for penalties that allow coefficients of both signs."""
    if w == 0.0:
        return abs(grad) - threshold(self, lam)
    return abs(grad + derivative(self, w, lam))


@dispatched
def sweep(self: Any, w: Array, grad: Array, lam: Array, penalty: Any, chosen: Indices, count: int, bar: float) -> float:
    """Minimise over the chosen coordinates one by one; returns the largest move, as a change of the slope.

    Moves of at most ``bar`` that neither begin nor end at zero are skipped.
    """
    return self.sweep(w, grad, lam, penalty, chosen, count, bar)


@dispatched
def refresh(self: Any, grad: Array) -> None:
    """Update ``grad`` to the current w."""
    self.refresh(grad)


class Gram(NamedTuple):
    """``G`` in a buffer that may be larger, its diagonal and the inverse of that; every move updates the gradient."""

    gram: Array
    curvature: Array
    step: Array

    def sweep(self, w, grad, lam, penalty, chosen, count, bar):
        """Minimise over the chosen coordinates one by one."""
        return gram_sweep(self.gram, self.curvature, self.step, w, grad, lam, penalty, chosen, count, bar)

    def refresh(self, grad):
        """The gradient is never stale."""

    def image(self, d):
        """``Gd``."""
        return gram_image(self.gram, d)

    def follow(self, d):
        """``G`` does not depend on w."""


def gram_image(gram: Array, d: Array) -> Array:
    """``Gd`` for a G in a larger buffer; if d has few entries, by adding rows of G."""
    used, square = np.flatnonzero(d), gram[: d.size, : d.size]
    return d[used] @ square[used] if 8 * used.size < d.size else square @ d


@kernel
def gram_step(gram, j, change, grad):
    """Update the gradient after a change of ``w_j``."""
    row = gram[j]
    for i in range(grad.size):
        grad[i] += change * row[i]


@kernel
def gram_sweep(gram, curvature, steps, w, grad, lam, penalty, chosen, count, bar):
    """A sweep that updates the gradient."""
    worst = 0.0
    for q in range(count):
        j = chosen[q]
        new = prox(penalty, w[j] - steps[j] * grad[j], lam[j], steps[j])
        size = curvature[j] * abs(new - w[j])
        worst = max(worst, size)
        if size > bar or (size > 0.0 and new * w[j] == 0.0):
            gram_step(gram, j, new - w[j], grad)
            w[j] = new
    return worst


@kernel
def violation(grad, w, lam, m, penalty):
    """The largest distance of ``-grad_j`` from the subdifferential of ``φ`` at ``w_j``, over the first m."""
    worst = 0.0
    for j in range(m):
        worst = max(worst, distance(penalty, grad[j], w[j], lam[j]))
    return worst


@kernel
def descend(model, w, grad, lam, penalty, tol, max_sweeps):
    """Sweep over the coordinates until the violation is at most ``tol``; returns the sweeps and the violation.

    After each sweep over all coordinates, the nonzero ones are swept until they converge.  Moves much smaller than the
    largest of the previous sweep are postponed, because they would take most of the time.
    """
    everything, active = np.arange(w.size), np.empty(w.size, dtype=np.int64)
    sweeps, remaining = 0, np.inf
    while sweeps < max_sweeps:
        worst, count, bar = sweep(model, w, grad, lam, penalty, everything, w.size, 0.0), 0, 0.0
        sweeps += 1
        calm = worst <= tol
        for j in range(w.size):
            if w[j] != 0.0:
                active[count] = j
                count += 1
        while worst > tol and sweeps < max_sweeps:
            worst = sweep(model, w, grad, lam, penalty, active, count, bar)
            bar = _SMALL_MOVE * worst
            sweeps += 1
        refresh(model, grad)
        remaining = violation(grad, w, lam, w.size, penalty)
        if calm or remaining <= tol:
            break
    return sweeps, remaining


@kernel
def extrapolate(w, before, lam, ratio):
    """Move nonzero coefficients on by ``ratio`` times their last change, not beyond zero; returns the step made.

    ``before`` receives the previous w.
    """
    step = np.zeros(w.size)
    for j in range(w.size):
        was, before[j] = before[j], w[j]
        if w[j] * was > 0.0 or (lam[j] == 0.0 and w[j] != 0.0):
            step[j] = ratio * (w[j] - was)
            if lam[j] > 0.0 and (w[j] + step[j]) * w[j] < 0.0:
                step[j] = -w[j]
            w[j] += step[j]
    return step


@kernel
def step_change(grad, product, step, w, lam, penalty):
    """The change of the objective from ``w`` to ``w + step``, where ``product = G step``."""
    total = 0.0
    for j in range(w.size):
        if step[j] != 0.0:
            total += step[j] * (grad[j] + 0.5 * product[j])
            total += value(penalty, w[j] + step[j], lam[j]) - value(penalty, w[j], lam[j])
    return total


@kernel
def column_products(matrix, index, r, out):
    """``out = X_S'r`` where the rows of ``matrix``, in C order, are the columns of X; four at a time."""
    last = index.size - 1
    for q in range(0, index.size, 4):
        a, b = matrix[index[q]], matrix[index[min(q + 1, last)]]
        c, d = matrix[index[min(q + 2, last)]], matrix[index[min(q + 3, last)]]
        at_a, at_b, at_c, at_d = 0.0, 0.0, 0.0, 0.0
        for i in range(r.size):
            at_a += a[i] * r[i]
            at_b += b[i] * r[i]
            at_c += c[i] * r[i]
            at_d += d[i] * r[i]
        out[q] = at_a
        out[min(q + 1, last)] = at_b
        out[min(q + 2, last)] = at_c
        out[min(q + 3, last)] = at_d
