"""Block coordinate descent on a quadratic plus a penalty of the norms of blocks of coefficients.

    min_w  g'(w - w0) + (w - w0)'G(w - w0)/2 + Σ_b φ(‖w_b‖; λ_b)

With ``G_bb = QΣQ'`` and ``û = Q'u`` the minimum over one block, the others fixed, has ``û_i = r_i/(σ_i + κ + a/t)``
with ``t = ‖û‖``, where κ is the curvature and a the slope of the penalty; t is the root of one equation.  The concave
part of a penalty is replaced by its tangent at the present norm, which never lies below it, so every step descends.
Within limits, a block whose minimum is beyond them makes steps of the proximal gradient method instead.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sparsest.core.arrays import Array
from sparsest.core.kernels.descent import gram_step, threshold
from sparsest.paths.kernels.boxes import confine, holds, open_slope
from sparsest.runtime.jit import derivative, dispatched, kernel, second_derivative

# Penalties have no curvature but that of their ridge at such norms.
_FAR = 1e100
# Newton steps for the norm of a block; four are usual.
_MAX_ROOT_STEPS = 60
# Relative error of the equation for the norm of a block.
_ROOT_ACCURACY = 1e-14
# Eigenvalues of a block below this share of the largest are zero up to rounding errors.
_SINGULAR = 1e-13
# Moves smaller than this share of the largest of the previous sweep are postponed.
_SMALL_MOVE = 0.1


class GramBlocks(NamedTuple):
    """``G`` in a buffer that may be larger; every move updates the gradient."""

    gram: Array

    def renew(self, begin, end, grad):
        """The gradient is never stale."""

    def take_step(self, j, change, grad):
        """Update the gradient after a change of ``w_j``."""
        gram_step(self.gram, j, change, grad)


class LineBlocks(NamedTuple):
    """Columns in rows, the weights h of the observations, and the vector θ whose products with columns are gradients.

    ``G`` is that of the columns minus their ``centre``.  Every move updates θ; θ sums to zero where centres are not
    zero.
    """

    lines: Array
    centre: Array
    h: Array
    theta: Array

    def renew(self, begin, end, grad):
        """Compute the gradient of a block."""
        theta = self.theta
        for j in range(begin, end):
            line, total = self.lines[j], 0.0
            for i in range(theta.size):
                total += line[i] * theta[i]
            grad[j] = total

    def take_step(self, j, change, grad):
        """Update θ after a change of ``w_j``."""
        line, h, theta, centre = self.lines[j], self.h, self.theta, self.centre[j]
        for i in range(theta.size):
            theta[i] += change * h[i] * (line[i] - centre)


@dispatched
def renew(self: Any, begin: int, end: int, grad: Array) -> None:
    """Compute the gradient of a block if it is stale."""
    self.renew(begin, end, grad)


@dispatched
def take_step(self: Any, j: int, change: float, grad: Array) -> None:
    """Update what gradients are computed from after a change of ``w_j``."""
    self.take_step(j, change, grad)


@kernel
def block_norm(w, begin, end):
    """``‖w_b‖``."""
    total = 0.0
    for j in range(begin, end):
        total += w[j] * w[j]
    return np.sqrt(total)


@kernel
def _root(r, s, slope, begin, end):
    """The t > 0 with ``Σ_i (r_i/(s_i t + slope))² = 1``, or 0 if there is none.

    The inverse root of the sum is concave in t: Newton's method from the left rises to its root.
    """
    total, steepest = 0.0, 0.0
    for j in range(begin, end):
        total += r[j] * r[j]
        steepest = max(steepest, s[j])
    if not np.sqrt(total) > slope or steepest == 0.0:
        return 0.0
    t = (np.sqrt(total) - slope) / steepest
    for _ in range(_MAX_ROOT_STEPS):
        square, cube = 0.0, 0.0
        for j in range(begin, end):
            size = s[j] * t + slope
            part = r[j] / size
            square += part * part
            cube += part * part * s[j] / size
        if not square > 1.0 + _ROOT_ACCURACY or cube == 0.0:
            break
        t += (np.sqrt(square) - 1.0) * square / cube
    return t


@kernel
def _minimise_block(model, box, values, vectors, w, grad, lam, penalty, begin, end, r, s, change, bar):
    """Minimise over one block, and update the gradient unless the move is at most ``bar``; returns its size."""
    renew(model, begin, end, grad)
    norm, strength = block_norm(w, begin, end), lam[begin]
    ridge = second_derivative(penalty, _FAR, strength)
    slope = threshold(penalty, strength)
    if norm > 0.0:
        slope = max(derivative(penalty, norm, strength) - ridge * norm, 0.0)
    largest = 0.0
    for i in range(begin, end):
        along, turned = 0.0, 0.0
        for j in range(begin, end):
            along += vectors[j, i - begin] * w[j]
            turned += vectors[j, i - begin] * grad[j]
        r[i], s[i], change[i] = values[i] * along - turned, values[i] + ridge, along
        largest = max(largest, s[i])
    t = _root(r, s, slope, begin, end) if slope > 0.0 else 1.0
    size = 0.0
    for i in range(begin, end):
        if t == 0.0:
            change[i] = -change[i]
        elif s[i] * t + slope > _SINGULAR * largest * t:
            change[i] = r[i] * t / (s[i] * t + slope) - change[i]
        else:
            change[i] = 0.0
        size += (largest * change[i]) ** 2
    size = np.sqrt(size)
    if t > 0.0 and not holds(box, w, vectors, change, begin, end):
        confine(box, r, s, vectors, w, slope, begin, end, change)
        return _move_block(model, change, w, grad, begin, end, largest, bar)
    if size == 0.0 or (size <= bar and norm > 0.0 and t > 0.0):
        return size
    for j in range(begin, end):
        step = 0.0
        for i in range(begin, end):
            step += vectors[j, i - begin] * change[i]
        if t == 0.0:
            step = -w[j]
        if step != 0.0:
            w[j] = 0.0 if t == 0.0 else w[j] + step
            take_step(model, j, step, grad)
    return size


@kernel
def _move_block(model, goal, w, grad, begin, end, largest, bar):
    """Go to these coefficients of a block, unless the move is at most ``bar``; returns its size."""
    size, leaves, ends = 0.0, False, True
    for j in range(begin, end):
        size += (largest * (goal[j] - w[j])) ** 2
        leaves, ends = leaves or w[j] != 0.0, ends and goal[j] == 0.0
    size = np.sqrt(size)
    if size > bar or (size > 0.0 and (ends or not leaves)):
        for j in range(begin, end):
            step = goal[j] - w[j]
            if step != 0.0:
                w[j] = goal[j]
                take_step(model, j, step, grad)
    return size


@kernel
def block_violation(grad, w, lam, starts, penalty, box):
    """The largest distance of ``-grad_b`` from the subdifferential of the penalty at ``w_b``, over all blocks."""
    worst = 0.0
    for b in range(starts.size - 1):
        begin, end = starts[b], starts[b + 1]
        norm, strength = block_norm(w, begin, end), lam[begin]
        share, allowed, total = 0.0, threshold(penalty, strength), 0.0
        if norm > 0.0:
            share, allowed = derivative(penalty, norm, strength) / norm, 0.0
        for j in range(begin, end):
            total += open_slope(box, j, w[j], grad[j] + share * w[j]) ** 2
        worst = max(worst, np.sqrt(total) - allowed)
    return worst


@kernel
def descend_blocks(model, box, values, vectors, w, grad, lam, starts, penalty, tol, max_sweeps):
    """Sweep over the blocks until the violation is at most ``tol``; returns the sweeps and the violation.

    Parameters
    ----------
    box : the limits of the coefficients.
    values, vectors : eigenvalues of the blocks of G; and their eigenvectors, side by side in the rows of the block.
    starts : where each block begins, and the end of the last one.
    """
    r, s, change = np.zeros(w.size), np.zeros(w.size), np.zeros(w.size)
    n_blocks = starts.size - 1
    active = np.empty(n_blocks, dtype=np.int64)
    sweeps, remaining = 0, np.inf
    while sweeps < max_sweeps:
        worst, count, bar = 0.0, 0, 0.0
        for b in range(n_blocks):
            size = _minimise_block(
                model, box, values, vectors, w, grad, lam, penalty, starts[b], starts[b + 1], r, s, change, 0.0
            )
            worst = max(worst, size)
            if block_norm(w, starts[b], starts[b + 1]) > 0.0:
                active[count] = b
                count += 1
        sweeps += 1
        calm = worst <= tol
        while worst > tol and sweeps < max_sweeps:
            worst = 0.0
            for q in range(count):
                b = active[q]
                size = _minimise_block(
                    model, box, values, vectors, w, grad, lam, penalty, starts[b], starts[b + 1], r, s, change, bar
                )
                worst = max(worst, size)
            bar = _SMALL_MOVE * worst
            sweeps += 1
        renew(model, 0, w.size, grad)
        remaining = block_violation(grad, w, lam, starts, penalty, box)
        if calm or remaining <= tol:
            break
    return sweeps, remaining


@kernel
def block_grams(lines, centre, h, first, starts, out):
    """The matrices ``G_bb`` of the blocks from the first on, one below the other."""
    for b in range(first, starts.size - 1):
        begin, end = starts[b], starts[b + 1]
        for j in range(begin, end):
            for k in range(begin, j + 1):
                left, right, total = lines[j], lines[k], 0.0
                for i in range(h.size):
                    total += h[i] * (left[i] - centre[j]) * (right[i] - centre[k])
                out[j, k - begin] = out[k, j - begin] = total
