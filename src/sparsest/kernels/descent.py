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
from sparsest.kernels.jit import derivative, dispatched, dispatched_inline, kernel, value

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


@dispatched_inline
def slope_at(self: Any, j: int, grad: Array) -> float:
    """The gradient of the quadratic at the current w, for one feature."""
    return self.slope_at(j, grad)


@dispatched_inline
def shift(self: Any, j: int, change: float, grad: Array) -> None:
    """Follow a change of ``w_j``."""
    self.shift(j, change, grad)


@dispatched
def fit(self: Any, w: Array, target: Array, tau: Array) -> None:
    """``τ = √ω (Xw - y)``, where ``target = √ω y``."""
    self.fit(w, target, tau)


@dispatched
def refresh(self: Any, grad: Array) -> None:
    """Make ``grad`` that of the current w."""
    self.refresh(grad)


class Gram(NamedTuple):
    """``G`` itself, in memory that may be larger, its diagonal and the inverse of it; the gradient is carried along."""

    gram: Array
    curvature: Array
    step: Array

    def slope_at(self, j, grad):
        """The gradient for one feature."""
        return grad[j]

    def shift(self, j, change, grad):
        """Follow a change of ``w_j``."""
        row = self.gram[j]
        for i in range(grad.size):
            grad[i] += change * row[i]

    def refresh(self, grad):
        """The gradient is never stale."""

    def image(self, d):
        """``Gd``."""
        return gram_image(self.gram, d)

    def follow(self, d):
        """``G`` stays as it is when w makes a step."""


def gram_image(gram: Array, d: Array) -> Array:
    """``Gd`` where memory may hold more than G; rows of G are added up where d has few entries."""
    used, square = np.flatnonzero(d), gram[: d.size, : d.size]
    return d[used] @ square[used] if 8 * used.size < d.size else square @ d


class Stored(NamedTuple):
    """``G = X'diag(h)X`` of columns ``(x_j - centre_j) / scale_j``, of which x is stored; ``mass_j = Σ_i h_i x_ij``.

    ``names`` are the columns among all that are stored, whose shifts and scales are ``shift_of`` and ``scale_of``;
    buffers may be longer than the columns are many.  The gradient is ``X'(residual + h constant)``: centring
    moves the constant alone.  With an intercept the centres are means under h and the residual sums to zero;
    without one they are zero.  ``uniform`` says that all h are equal.
    """

    entries: Array
    rows: NDArray[np.uint32]
    starts: Indices
    shift_of: Array
    scale_of: Array
    names: Indices
    centre: Array
    scale: Array
    mass: Array
    curvature: Array
    step: Array
    h: Array
    uniform: bool
    centred: bool
    residual: Array
    constant: Array

    def slope_at(self, j, grad):
        """The gradient for one feature."""
        total = gathered(self.entries, self.rows, self.starts, self.names[j], self.residual)
        return (total + self.constant[0] * self.mass[j]) / self.scale[j]

    def shift(self, j, change, grad):
        """Follow a change of ``w_j``."""
        move = change / self.scale[j]
        self.constant[0] -= move * self.centre[j]
        if self.uniform:
            scattered(self.entries, self.rows, self.starts, self.names[j], move * self.h[0], self.residual)
        else:
            weighted(self.entries, self.rows, self.starts, self.names[j], move, self.h, self.residual)

    def refresh(self, grad):
        """Compute the gradient from the residual."""
        for j in range(grad.size):
            grad[j] = slope_at(self, j, grad)

    def take_in(self, first, count):
        """Measure the columns that were named in these places, with weights that sum to one."""
        part = self.names[first : first + count]
        mass, squares = self.mass[first : first + count], np.empty(count)
        stored_moments(self.entries, self.rows, self.starts, part, self.h, mass, squares)
        for q in range(count):
            j = first + q
            self.scale[j] = self.scale_of[part[q]]
            self.centre[j] = mass[q] if self.centred else 0.0
            self.curvature[j] = (squares[q] - mass[q] * self.centre[j]) / (self.scale[j] * self.scale[j])
            self.step[j] = 1.0 / self.curvature[j]

    def fit(self, w, target, tau):
        """Compute the residual anew; ``τ = √h (Xw - y)`` and ``target = √h y``."""
        self.constant[0] = 0.0
        for i in range(tau.size):
            self.residual[i] = -np.sqrt(self.h[i]) * target[i]
        for j in range(w.size):
            if w[j] != 0.0:
                shift(self, j, w[j], w)
        for i in range(tau.size):
            tau[i] = (self.residual[i] + self.h[i] * self.constant[0]) / np.sqrt(self.h[i])

    def products(self, index, count, theta, total, out):
        """``X_j'θ`` for some features, where total is the sum of θ."""
        for q in range(count):
            j = index[q]
            product = gathered(self.entries, self.rows, self.starts, j, theta)
            out[q] = (product - self.shift_of[j] * total) / self.scale_of[j]

    def slopes(self, w, first, origin, target, grad):
        """The gradient from this place on, from a residual that is computed anew."""
        if first == 0:
            fit(self, w, target, np.empty(target.size))
        for q in range(first, w.size):
            grad[q] = slope_at(self, q, grad)

    def image(self, d):
        """``Gd``."""
        out = np.empty(d.size)
        stored_image(self, d, np.arange(d.size), np.empty(self.h.size), out)
        return out

    def follow(self, d):
        """Let the residual follow a step of w."""
        stored_step(self, d)


@kernel
def gathered(entries, rows, starts, j, r):
    """``x_j'r`` of the stored entries."""
    total, other, e, end = 0.0, 0.0, starts[j], starts[j + 1]
    # Gathered loads are slower in vectors than one by one: a while loop is left alone.  Two sums need not wait for each
    # other.
    while e + 1 < end:
        total += entries[e] * r[rows[e]]
        other += entries[e + 1] * r[rows[e + 1]]
        e += 2
    if e < end:
        total += entries[e] * r[rows[e]]
    return total + other


@kernel
def scattered(entries, rows, starts, j, factor, r):
    """Add a multiple of ``x_j`` to r."""
    e = starts[j]
    while e < starts[j + 1]:
        r[rows[e]] += factor * entries[e]
        e += 1


@kernel
def weighted(entries, rows, starts, j, factor, h, r):
    """Add a multiple of ``diag(h) x_j`` to r."""
    e = starts[j]
    while e < starts[j + 1]:
        r[rows[e]] += factor * entries[e] * h[rows[e]]
        e += 1


@kernel
def stored_products(entries, rows, starts, index, r, out):
    """``out = X_S'r`` of the stored entries."""
    for q in range(index.size):
        out[q] = gathered(entries, rows, starts, index[q], r)


@kernel
def stored_sum(entries, rows, starts, index, w, out):
    """Add ``X_S w`` of the stored entries to ``out``."""
    for q in range(index.size):
        if w[q] != 0.0:
            scattered(entries, rows, starts, index[q], w[q], out)


@kernel
def stored_moments(entries, rows, starts, index, h, mass, squares):
    """Sums of the stored entries and of their squares, under the weights h."""
    for q in range(index.size):
        first, second = 0.0, 0.0
        for e in range(starts[index[q]], starts[index[q] + 1]):
            weighted = h[rows[e]] * entries[e]
            first += weighted
            second += weighted * entries[e]
        mass[q], squares[q] = first, second


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
def _sweep(model, w, grad, lam, penalty, chosen, count, bar):
    """Minimise over the chosen coordinates one by one; returns the largest move, as a change of the slope."""
    worst = 0.0
    for q in range(count):
        j = chosen[q]
        step = model.step[j]
        new = prox(penalty, w[j] - step * slope_at(model, j, grad), lam[j], step)
        size = model.curvature[j] * abs(new - w[j])
        worst = max(worst, size)
        if size > bar or (size > 0.0 and new * w[j] == 0.0):
            shift(model, j, new - w[j], grad)
            w[j] = new
    return worst


@kernel
def descend(model, w, grad, lam, penalty, tol, max_sweeps):
    """Sweep over the coordinates until the violation is at most ``tol``; returns the sweeps and the violation.

    After each sweep over all of them those that are not zero are swept until they are calm.  Moves much smaller than
    the largest of the sweep before are left for later: most of the work would be theirs.
    """
    everything, active = np.arange(w.size), np.empty(w.size, dtype=np.int64)
    sweeps = 0
    while sweeps < max_sweeps:
        worst, count, bar = _sweep(model, w, grad, lam, penalty, everything, w.size, 0.0), 0, 0.0
        sweeps += 1
        if worst <= tol:
            break
        for j in range(w.size):
            if w[j] != 0.0:
                active[count] = j
                count += 1
        while worst > tol and sweeps < max_sweeps:
            worst = _sweep(model, w, grad, lam, penalty, active, count, bar)
            bar = _SMALL_MOVE * worst
            sweeps += 1
    refresh(model, grad)
    return sweeps, violation(grad, w, lam, w.size, penalty)


@kernel
def extrapolate(model, w, before, grad, lam, ratio):
    """Move nonzero coefficients on by ``ratio`` times their last change, not beyond zero; ``before`` becomes w."""
    for j in range(w.size):
        was, before[j] = before[j], w[j]
        if w[j] * was > 0.0 or (lam[j] == 0.0 and w[j] != 0.0):
            change = ratio * (w[j] - was)
            if lam[j] > 0.0 and (w[j] + change) * w[j] < 0.0:
                change = -w[j]
            shift(model, j, change, grad)
            w[j] += change


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
        scattered(model.entries, model.rows, model.starts, model.names[j], move, fit)
    for i in range(fit.size):
        fit[i] = model.h[i] * (fit[i] - middle)
    for j in active:
        out[j] = gathered(model.entries, model.rows, model.starts, model.names[j], fit) / model.scale[j]


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
