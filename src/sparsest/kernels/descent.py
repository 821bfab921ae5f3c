"""Coordinate descent on a penalised quadratic.

The kernels know one problem, ``min_w g'(w - w0) + (w - w0)'G(w - w0)/2 + Σ_j φ(w_j; λ_j)``, for every penalty.
They reach G through a model, a NamedTuple whose methods are compiled with them:

=============  ==============================================================================================
``Gram``       the matrix itself; the gradient is carried along
``Stored``     compressed sparse columns and the residual: a step costs what is stored, nothing is made dense
=============  ==============================================================================================
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsest.arrays import Array, Indices
from sparsest.kernels.jit import derivative, dispatched, kernel, value

# Moves smaller than this share of the largest move of the sweep before are left for a later sweep: each costs as much
# as a large one and brings less.
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
def slope_at(self: Any, j: int, grad: Array) -> float:
    """The gradient of the quadratic at the current w, for one feature."""
    return self.slope_at(j, grad)


@dispatched
def shift(self: Any, j: int, change: float, grad: Array) -> None:
    """Follow a change of ``w_j``."""
    self.shift(j, change, grad)


@dispatched
def diagonal(self: Any, j: int) -> float:
    """``G_jj``."""
    return self.diagonal(j)


@dispatched
def refresh(self: Any, grad: Array) -> None:
    """Make ``grad`` that of the current w."""
    self.refresh(grad)


class Gram(NamedTuple):
    """``G`` itself; the gradient is carried along."""

    gram: Array

    def slope_at(self, j, grad):
        """The gradient for one feature."""
        return grad[j]

    def shift(self, j, change, grad):
        """Follow a change of ``w_j``."""
        row = self.gram[j]
        for i in range(grad.size):
            grad[i] += change * row[i]

    def diagonal(self, j):
        """``G_jj``."""
        return self.gram[j, j]

    def refresh(self, grad):
        """The gradient is never stale."""


class Stored(NamedTuple):
    """``G = X'diag(h)X`` of columns ``(x_j - centre_j) / scale_j``, of which x is stored; ``mass_j = Σ_i h_i x_ij``.

    The gradient is ``X'(residual + h constant)``: centring moves the constant alone.  With an intercept the
    centres are means under h and the residual sums to zero; without one they are zero.
    """

    entries: Array
    rows: NDArray[np.uint32]
    starts: Indices
    centre: Array
    scale: Array
    mass: Array
    curvature: Array
    h: Array
    residual: Array
    constant: Array

    def slope_at(self, j, grad):
        """The gradient for one feature."""
        return (gathered(self, j, self.residual) + self.constant[0] * self.mass[j]) / self.scale[j]

    def shift(self, j, change, grad):
        """Follow a change of ``w_j``."""
        move = change / self.scale[j]
        for e in range(self.starts[j], self.starts[j + 1]):
            self.residual[self.rows[e]] += move * self.entries[e] * self.h[self.rows[e]]
        self.constant[0] -= move * self.centre[j]

    def diagonal(self, j):
        """``G_jj``."""
        return self.curvature[j]

    def refresh(self, grad):
        """Compute the gradient from the residual."""
        for j in range(grad.size):
            grad[j] = slope_at(self, j, grad)


@kernel
def gathered(model, j, r):
    """``x_j'r`` of the stored entries."""
    total, e = 0.0, model.starts[j]
    # Gathered loads are slower in vectors than one by one: a while loop is left alone.
    while e < model.starts[j + 1]:
        total += model.entries[e] * r[model.rows[e]]
        e += 1
    return total


@kernel
def violation(grad, w, lam, m, penalty):
    """The largest distance of ``-grad_j`` from the subdifferential of ``φ`` at ``w_j``, over the first m."""
    worst = 0.0
    for j in range(m):
        if w[j] == 0.0:
            distance = abs(grad[j]) - threshold(penalty, lam[j])
        else:
            distance = abs(grad[j] + derivative(penalty, w[j], lam[j]))
        worst = max(worst, distance)
    return worst


@kernel
def descend(model, w, grad, lam, penalty, tol, max_sweeps):
    """Sweep over the coordinates until the violation is at most ``tol``; returns the sweeps and the violation.

    Moves much smaller than the largest of the sweep before are left for later: most of the work would be theirs.
    """
    sweeps, worst, bar = 0, np.inf, 0.0
    while worst > tol and sweeps < max_sweeps:
        worst = 0.0
        for j in range(w.size):
            h = diagonal(model, j)
            new = prox(penalty, w[j] - slope_at(model, j, grad) / h, lam[j], 1.0 / h)
            size = h * abs(new - w[j])
            worst = max(worst, size)
            if size > bar or (size > 0.0 and new * w[j] == 0.0):
                shift(model, j, new - w[j], grad)
                w[j] = new
        bar = _SMALL_MOVE * worst
        sweeps += 1
    refresh(model, grad)
    return sweeps, violation(grad, w, lam, w.size, penalty)


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
def stored_image(model, d, active, fit, out):
    """``fit = diag(h) X d`` and ``out = X'fit = Gd`` over the active among stored columns; elsewhere d is zero."""
    middle = 0.0
    for i in range(fit.size):
        fit[i] = 0.0
    for j in active:
        move = d[j] / model.scale[j]
        middle += move * model.centre[j]
        for e in range(model.starts[j], model.starts[j + 1]):
            fit[model.rows[e]] += move * model.entries[e]
    for i in range(fit.size):
        fit[i] = model.h[i] * (fit[i] - middle)
    for j in active:
        out[j] = gathered(model, j, fit) / model.scale[j]


@kernel
def stored_step(model, step):
    """Let the residual follow a step of w."""
    for j in range(step.size):
        if step[j] != 0.0:
            shift(model, j, step[j], step)


@kernel
def stored_solve(model, goal, active, kappa, tol, patience):
    """Solve ``(G_AA + diag κ) d = goal`` by conjugate gradients, preconditioned by the diagonal; returns d.

    A direction of negative curvature ends them.
    """
    m = goal.size
    step, direction, curved, residual, fit = np.zeros(m), np.zeros(m), np.zeros(m), goal.copy(), np.empty(model.h.size)
    previous = 0.0
    for iteration in range(patience):
        square, curvature, worst = 0.0, 0.0, 0.0
        for j in active:
            square += residual[j] * residual[j] / model.curvature[j]
        for j in active:
            direction[j] *= square / previous if iteration > 0 else 0.0
            direction[j] += residual[j] / model.curvature[j]
        stored_image(model, direction, active, fit, curved)
        for j in active:
            curved[j] += kappa[j] * direction[j]
            curvature += direction[j] * curved[j]
        if not curvature > 1e-10 * square:
            return step if iteration > 0 else direction
        previous = square
        for j in active:
            step[j] += square / curvature * direction[j]
            residual[j] -= square / curvature * curved[j]
            worst = max(worst, abs(residual[j]))
        if worst <= tol:
            break
    return step


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
