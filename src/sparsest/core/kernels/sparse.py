"""Compressed sparse columns for coordinate descent: a step takes time in proportion to the stored entries.

Columns in use are copied one after the other, in float64, divided by their scale and multiplied by the roots of the
weights.  Sweeps then read memory in order, and weights take no extra time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsest.core.arrays import Array, Indices
from sparsest.core.kernels.descent import prox
from sparsest.runtime.jit import kernel


class Stored(NamedTuple):
    """``G = X'diag(h)X`` of columns ``x_j/scale_j - centre_j``, of which x is stored.

    Attributes
    ----------
    entries, singles, rows, starts : the whole matrix; its entries are in the first, or in the second if float32.
    shift_of, scale_of : shifts and scales of all its columns.
    names : the columns in use, in a buffer that may be longer.
    values, places, begins : their entries ``√h x/scale``, the rows of these, and where each column begins.
    centre, mass : ``mass_j = Σ_i h_i x_ij/scale_j``, and its share of ``Σh`` if centred, else zero.
    root : ``√h``.
    carried, constant : the residual is ``carried + √h constant`` and the gradient ``X'√h`` times it.  Centring changes
        the constant only, as residuals sum to zero under √h.
    """

    entries: Array
    singles: NDArray[np.float32]
    rows: NDArray[np.uint32]
    starts: Indices
    shift_of: Array
    scale_of: Array
    names: Indices
    values: Array
    places: NDArray[np.uint32]
    begins: Indices
    centre: Array
    mass: Array
    curvature: Array
    step: Array
    root: Array
    centred: bool
    carried: Array
    constant: Array

    def sweep(self, w, grad, lam, penalty, chosen, count, bar):
        """Minimise over the chosen coordinates one by one; ``grad`` becomes stale."""
        # Take arrays from the tuple outside of the loop: inside, that takes longer than processing a column.
        return stored_sweep(
            self.values, self.places, self.begins, self.centre, self.mass, self.curvature, self.step, self.carried,
            self.constant, w, lam, penalty, chosen, count, bar,
        )  # fmt: skip

    def refresh(self, grad):
        """Compute the gradient from the residual."""
        stored_slopes(self.values, self.places, self.begins, self.mass, self.constant[0], self.carried, 0, grad)

    def fits(self, place, j):
        """Whether there is room for a column in this place; if so, stores where it ends."""
        end = self.begins[place] + self.starts[j + 1] - self.starts[j]
        if end <= self.values.size:
            self.begins[place + 1] = end
        return end <= self.values.size

    def take_in(self, first, count):
        """Copy the columns named in these places, and compute their sums and curvatures."""
        stored_take_in(self, first, count)

    def residual(self, w, target, tau):
        """``τ = √h (Xw - y)`` from the updated residual."""
        for i in range(tau.size):
            tau[i] = self.carried[i] + self.root[i] * self.constant[0]

    def entries_in_use(self, count):
        """The number of entries that a sweep over this many columns reads."""
        return 2 * self.begins[count]

    def has_stale_slopes(self):
        """Slopes are computed after the last sweep only."""
        return True

    def restart(self, w, step, target, grad):
        """Recompute the residual, so that rounding errors do not accumulate along a path."""
        self.constant[0] = 0.0
        for i in range(target.size):
            self.carried[i] = -target[i]
        stored_step(self, w)

    def products(self, index, count, theta, total, out):
        """``X_j'θ`` for some features, where total is the sum of θ."""
        if self.singles.size:
            stored_products(self.singles, self.rows, self.starts, index[:count], theta, out)
        else:
            stored_products(self.entries, self.rows, self.starts, index[:count], theta, out)
        for q in range(count):
            out[q] = (out[q] - self.shift_of[index[q]] * total) / self.scale_of[index[q]]

    def slopes(self, w, first, origin, grad):
        """The gradient from this place on, from the residual."""
        stored_slopes(self.values, self.places, self.begins, self.mass, self.constant[0], self.carried, first, grad)

    def image(self, d):
        """``Gd``."""
        out = np.empty(d.size)
        stored_image(self, d, np.arange(d.size), np.empty(self.root.size), out)
        return out

    def follow(self, d):
        """Update the residual after a step of w."""
        stored_step(self, d)


@kernel
def gathered(entries, rows, starts, j, r):
    """``x_j'r`` of the stored entries."""
    # Vectorised gathers are slower than single loads, and the compiler does not vectorise a while loop.  Four sums are
    # independent of each other.
    a, b, c, d, e, end = 0.0, 0.0, 0.0, 0.0, starts[j], starts[j + 1]
    while e + 3 < end:
        a += entries[e] * r[rows[e]]
        b += entries[e + 1] * r[rows[e + 1]]
        c += entries[e + 2] * r[rows[e + 2]]
        d += entries[e + 3] * r[rows[e + 3]]
        e += 4
    while e < end:
        a += entries[e] * r[rows[e]]
        e += 1
    return (a + b) + (c + d)


@kernel
def scattered(entries, rows, starts, j, factor, r):
    """Add a multiple of ``x_j`` to r."""
    e = starts[j]
    while e < starts[j + 1]:
        r[rows[e]] += factor * entries[e]
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
def stored_moments(entries, rows, starts, share, total, about, rest, variance, constant):
    """Moments of all columns, from deviations of the stored entries and those of the zeros.

    The mean is ``about + rest``; ``total`` is the sum of the shares.  ``constant`` becomes True for columns whose
    entries are all equal.
    """
    for j in range(about.size):
        begin, end = starts[j], starts[j + 1]
        mean, taken, unequal = 0.0, 0.0, False
        for e in range(begin, end):
            mean += share[rows[e]] * entries[e]
            taken += share[rows[e]]
            unequal |= entries[e] != entries[begin]
        # A full column has no zeros; avoid a share of them by rounding.
        full = end - begin == share.size
        zeros = 0.0 if full else max(total - taken, 0.0)
        first, second = 0.0, 0.0
        for e in range(begin, end):
            deviation = entries[e] - mean
            first += share[rows[e]] * deviation
            second += share[rows[e]] * deviation * deviation
        # Without zeros there is no such term, even if the square of the mean is infinite.
        if zeros > 0.0:
            first -= zeros * mean
            second += zeros * mean * mean
        # Subtract ``about`` and ``rest`` one after the other: their sum would be rounded.
        about[j], rest[j], variance[j] = mean, first, max(second - first * first, 0.0)
        constant[j] = not unequal and (full or begin == end or entries[begin] == 0.0)


@kernel
def copied(entries, rows, start, root, values, places):
    """Copy the entries from ``start`` on, times the root of the weights; returns their weighted sum and square."""
    mass, square = 0.0, 0.0
    for e in range(values.size):
        row = rows[start + e]
        weighted = root[row] * entries[start + e]
        values[e], places[e] = weighted, row
        mass += weighted * root[row]
        square += weighted * weighted
    return mass, square


@kernel
def stored_take_in(model, first, count):
    """Copy the columns named in these places, and compute their sums and curvatures."""
    total = 0.0
    for i in range(model.root.size):
        total += model.root[i] * model.root[i]
    for q in range(first, first + count):
        j, begin, end = model.names[q], model.begins[q], model.begins[q + 1]
        values, places, scale = model.values[begin:end], model.places[begin:end], model.scale_of[j]
        if model.singles.size:
            mass, square = copied(model.singles, model.rows, model.starts[j], model.root, values, places)
        else:
            mass, square = copied(model.entries, model.rows, model.starts[j], model.root, values, places)
        for e in range(values.size):
            values[e] /= scale
        model.mass[q] = mass / scale
        model.centre[q] = model.mass[q] / total if model.centred else 0.0
        model.curvature[q] = square / (scale * scale) - model.mass[q] * model.centre[q]
        model.step[q] = 1.0 / max(model.curvature[q], 1e-300)


@kernel
def stored_slopes(values, places, begins, mass, constant, residual, first, grad):
    """The gradient from this column on."""
    for j in range(first, grad.size):
        grad[j] = gathered(values, places, begins, j, residual) + constant * mass[j]


@kernel
def stored_sweep(
    values, places, begins, centre, mass, curvature, steps, residual, constant, w, lam, penalty, chosen, count, bar
):
    """A sweep that updates the residual."""
    worst, middle = 0.0, constant[0]
    for q in range(count):
        j = chosen[q]
        slope = gathered(values, places, begins, j, residual) + middle * mass[j]
        new = prox(penalty, w[j] - steps[j] * slope, lam[j], steps[j])
        size = curvature[j] * abs(new - w[j])
        worst = max(worst, size)
        if size > bar or (size > 0.0 and new * w[j] == 0.0):
            scattered(values, places, begins, j, new - w[j], residual)
            middle -= (new - w[j]) * centre[j]
            w[j] = new
    constant[0] = middle
    return worst


@kernel
def stored_step(model, step):
    """Update the residual after a step of w."""
    values, places, begins, residual, middle = model.values, model.places, model.begins, model.carried, 0.0
    for j in range(step.size):
        if step[j] != 0.0:
            scattered(values, places, begins, j, step[j], residual)
            middle += step[j] * model.centre[j]
    model.constant[0] -= middle


@kernel
def stored_keep(values, places, begins, positions):
    """Move the columns at these increasing positions to the front."""
    at = 0
    for q in range(positions.size):
        begin, end = begins[positions[q]], begins[positions[q] + 1]
        begins[q] = at
        for e in range(begin, end):
            values[at], places[at] = values[e], places[e]
            at += 1
    begins[positions.size] = at


@kernel
def stored_image(model, d, active, fit, out):
    """``fit = √h X d`` and ``out = X'√h fit = Gd`` over the active columns; elsewhere d is zero."""
    values, places, begins, middle = model.values, model.places, model.begins, 0.0
    for i in range(fit.size):
        fit[i] = 0.0
    for j in active:
        middle += d[j] * model.centre[j]
        scattered(values, places, begins, j, d[j], fit)
    for i in range(fit.size):
        fit[i] -= model.root[i] * middle
    for j in active:
        out[j] = gathered(values, places, begins, j, fit)


@kernel
def stored_solve(model, goal, active, kappa, tol, patience):
    """Solve ``(G_AA + diag κ) d = goal`` by conjugate gradients, preconditioned by the diagonal; returns d.

    A direction of negative curvature ends the iteration.
    """
    m = goal.size
    step, direction, curved, residual = np.zeros(m), np.zeros(m), np.zeros(m), goal.copy()
    fit, previous = np.empty(model.root.size), 0.0
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
