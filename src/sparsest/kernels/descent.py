"""Coordinate descent on a penalised quadratic, and the packed columns it works on.

The kernels know one problem, ``min_w g'(w - w0) + (w - w0)'G(w - w0)/2 + Σ_j φ(w_j; λ_j)``, for every penalty.
They reach G through a model, a NamedTuple whose methods are compiled with them:

=============  ==============================================================================================
``Gram``       the matrix itself; the gradient is carried along
``Stored``     compressed sparse columns and the residual: a step costs what is stored, nothing is made dense
=============  ==============================================================================================
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sparsest.designs import Design, Sparse, take_apart
from sparsest.kernels.jit import derivative, dispatched, kernel, value

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_SKIP = 0.1  # moves smaller than this share of the largest are left for a later sweep


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
        bar = _SKIP * worst
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


class Pack(ABC):
    """Columns of a design that may be appended to, with the quadratic ``G = X_E' diag(h) X_E`` over them.

    With ``centred`` they are centred under h.  Products are those of the view, in float64.
    """

    def __init__(self, design: Design, centred: bool) -> None:
        self.design, self.centred = design, centred
        self.h = np.ones(design.shape[0])

    @abstractmethod
    def append(self, index: Indices) -> None:
        """Take in these columns of the design."""

    @abstractmethod
    def keep(self, positions: Indices) -> None:
        """Drop all columns but those at these positions."""

    @abstractmethod
    def weigh(self, h: Array) -> None:
        """Take these weights of the observations."""

    @abstractmethod
    def dot(self, w: Array) -> Array:
        """``X_E w``."""

    @abstractmethod
    def tdot(self, r: Array, first: int = 0) -> Array:
        """``X_E' r`` from this column on."""

    @abstractmethod
    def gram(self, positions: Indices) -> Array:
        """``G`` over the columns at these positions."""

    @abstractmethod
    def model(self, theta: Array) -> Any:
        """What the kernels work on, where ``X_E'θ`` is the gradient."""

    @abstractmethod
    def image(self, model: Any, d: Array) -> Array:
        """``Gd``."""

    @abstractmethod
    def step(self, model: Any, d: Array) -> None:
        """Let the model follow a step of w; a gradient that is carried along is the caller's."""


class SparsePack(Pack):
    """Stored entries of the columns; shift and scale enter the products, nothing is made dense."""

    def __init__(self, design: Design, centred: bool) -> None:
        super().__init__(design, centred)
        base, self._shift, self._scale = take_apart(design)
        assert isinstance(base, Sparse)
        self._matrix, self._squares = base.matrix, base.matrix.power(2)
        self.keep(np.empty(0, dtype=np.intp))
        self.weigh(self.h)

    def append(self, index: Indices) -> None:
        """Take in these columns of the design."""
        self._take(np.concatenate([self._index, index]))

    def keep(self, positions: Indices) -> None:
        """Drop all columns but those at these positions."""
        self._take(self._index[positions] if positions.size else positions)

    def _take(self, index: Indices) -> None:
        self._index, self._packed = index, self._matrix[:, index].astype(np.float64)
        # Unsigned numbers spare the kernels a look at each sign.
        self._rows, self._starts = self._packed.indices.astype(np.uint32), self._packed.indptr.astype(np.intp)

    def weigh(self, h: Array) -> None:
        """Take these weights of the observations."""
        self.h = h
        self._mass = np.asarray(self._matrix.T @ h, dtype=np.float64)
        self._centre = self._mass / h.sum() if self.centred else np.zeros(self._mass.size)
        self._curvature = (self._squares.T @ h - self._mass * self._centre) / self._scale**2

    def dot(self, w: Array) -> Array:
        """``X_E w``."""
        v = w / self._scale[self._index]
        return self._packed @ v - self._shift[self._index] @ v

    def tdot(self, r: Array, first: int = 0) -> Array:
        """``X_E' r`` from this column on."""
        index = self._index[first:]
        return (self._packed[:, first:].T @ r - self._shift[index] * r.sum()) / self._scale[index]

    def gram(self, positions: Indices) -> Array:
        """``G`` over the columns at these positions."""
        index, part = self._index[positions], self._packed[:, positions]
        product = (part.T @ (sp.diags_array(self.h) @ part)).toarray()
        product -= np.outer(self._mass[index], self._centre[index])
        return product / np.outer(self._scale[index], self._scale[index])

    def model(self, theta: Array) -> Stored:
        """The stored columns with θ as residual."""
        E = self._index
        return Stored(
            self._packed.data, self._rows, self._starts, self._centre[E], self._scale[E], self._mass[E],
            self._curvature[E], self.h, theta.copy(), np.zeros(1),
        )  # fmt: skip

    def image(self, model: Stored, d: Array) -> Array:
        """``Gd``."""
        out = np.empty(d.size)
        stored_image(model, d, np.arange(d.size), np.empty(self.h.size), out)
        return out

    def step(self, model: Stored, d: Array) -> None:
        """Let the residual follow."""
        stored_step(model, d)
