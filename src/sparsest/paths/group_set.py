"""Fits on a working set whose penalty is one of the norms of groups of coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import lapack

from sparsest.core.arrays import Array, Indices, Mask
from sparsest.core.designs.packs import DensePack
from sparsest.core.kernels.descent import Gram
from sparsest.core.strengths import Strengths, clipped, held, lambdas, limits, make_strengths
from sparsest.paths.kernels.blocks import GramBlocks, block_grams, block_violation, descend_blocks
from sparsest.paths.kernels.boxes import Box, Unlimited
from sparsest.paths.kernels.price import Price
from sparsest.paths.kernels.rules import MAX_CROWDING
from sparsest.paths.line_pack import LineModel, LinePack
from sparsest.paths.quadratic import (
    NEWTON_CALL_ENTRIES,
    NEWTON_SWEEPS,
    REBUILD_SWEEPS_PER_FEATURE,
    Iterate,
    Quadratic,
)
from sparsest.paths.rescaled_set import Bends
from sparsest.paths.task import Task
from sparsest.paths.working_set import MAX_MODEL_SWEEPS, SPARE_COLUMNS, WorkingSet

# A step that leaves at most this share of the violation is accepted without evaluating a convex objective.
_CLEAR_PROGRESS = 0.5
# Shares of a Newton step that are tried.
_SHARES = (1.0, 0.5, 0.25, 0.125)


class BlockQuadratic(Quadratic):
    """Sweeps over the blocks of a Gram matrix, each of which is minimised exactly in the basis of its eigenvectors.

    Attributes
    ----------
    starts : where each block begins, and the end of the last one.
    limited : whether coefficients have limits.
    """

    def __init__(self, limited: bool) -> None:
        self.limited = limited
        self.starts = np.zeros(1, dtype=np.intp)
        self._values, self._vectors = np.empty(0), np.empty((0, 0))

    def append(self, sizes: Indices) -> None:
        """Blocks of these sizes follow the others."""
        self.starts = np.concatenate([self.starts, self.starts[-1] + np.cumsum(sizes)])

    def keep(self, positions: Indices, size: int) -> None:
        """Keep only the columns at these positions, which are whole blocks, of ``size`` columns."""
        kept = np.isin(self.starts[:-1], positions)
        self.starts = np.append(0, np.cumsum(np.diff(self.starts)[kept]))
        known = positions[positions < self._values.size]
        self._values, self._vectors = self._values[known], self._vectors[known]

    def forget(self) -> None:
        """Discard decompositions, because the weights of the observations changed."""
        self._values, self._vectors = np.empty(0), np.empty((0, 0))

    def violation(self, at: Iterate) -> float:
        """The largest violation of a block's optimality conditions."""
        return float(block_violation(at.grad, at.w, at.lam, self.starts, at.penalty, self._box(at)))

    def _box(self, at: Iterate) -> Unlimited | Box:
        within = limits(at.lam) if self.limited else None
        return Unlimited() if within is None else Box(*map(np.ascontiguousarray, within))

    def _descend(self, model: Any, at: Iterate, tol: float, max_sweeps: int) -> tuple[int, float]:
        """Sweep until the violation is at most ``tol``; returns the number of sweeps and the violation."""
        w, grad, lam, penalty = at
        self._decompose(model)
        blocks = GramBlocks(model.gram) if isinstance(model, Gram) else model.blocks
        return descend_blocks(
            blocks, self._box(at), self._values, self._vectors, w, grad, lam, self.starts, penalty, tol, max_sweeps
        )

    def newton(self, model: Any, at: Iterate, tol: float) -> bool:
        """A Newton step on the nonzero blocks, possibly shortened; False if it does not descend."""
        w, grad, lam, penalty = at
        norms = self.norms(w)
        chosen = (norms > 0.0) | (lambdas(lam)[self.starts[:-1]] == 0.0)
        blocks = self.blocks
        open_slope = ~self._held(at, norms) if self.limited else True
        active = np.flatnonzero(chosen[blocks] & open_slope)
        # Of each active coefficient: the block's norm, and the slope and curvature of its penalty.
        lead, t = self.starts[:-1][blocks[active]], np.maximum(norms[blocks[active]], 1e-300)
        slope = np.asarray(penalty.derivative(t, lam[lead])) * (w[active] != 0.0)
        bend = np.asarray(penalty.second_derivative(t, lam[lead]))
        direction = w[active] / t
        hessian = model.part(active) if isinstance(model, LineModel) else model.gram[np.ix_(active, active)]
        same = blocks[active][:, None] == blocks[active]
        hessian += same * np.outer((bend - slope / t) * direction, direction)
        hessian[np.diag_indices(active.size)] += slope / t
        factor, info = lapack.dpotrf(hessian, lower=1)
        if active.size == 0 or info != 0:
            return False
        step = np.zeros(w.size)
        step[active] = -lapack.dpotrs(factor, grad[active] + slope * direction, lower=1)[0]
        return self._step(model, at, step, float(np.asarray(penalty.value(norms, lam[self.starts[:-1]])).sum()))

    def _step(self, model: Any, at: Iterate, step: Array, before: float) -> bool:
        """Take a step or a part of it, within the limits; ``before`` is the penalty at its beginning."""
        w, grad, lam, penalty = at
        image = model.image(step)
        for share in _SHARES:
            part, product = share * step, share * image
            if self.limited:
                part = clipped(w + part, lam) - w
                product = model.image(part)
            after = float(np.asarray(penalty.value(self.norms(w + part), lam[self.starts[:-1]])).sum())
            if float(part @ (grad + 0.5 * product)) + after < before:
                w[:] = clipped(w + part, lam) if self.limited else w + part
                grad += product
                model.follow(part)
                return True
        return False

    def _held(self, at: Iterate, norms: Array) -> Mask:
        """Mark coefficients at a limit beyond which the objective would take them."""
        lead = self.starts[:-1]
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.where(norms > 0.0, at.penalty.derivative(norms, at.lam[lead]) / norms, 0.0)
        return held(at.w, at.grad + shares[self.blocks] * at.w, at.lam)

    @property
    def blocks(self) -> Indices:
        """The number of each column's block."""
        return np.repeat(np.arange(self.starts.size - 1), np.diff(self.starts))

    def norms(self, w: Array) -> Array:
        """The norm of each block's coefficients."""
        return np.sqrt(np.add.reduceat(w**2, self.starts[:-1])) if w.size else np.empty(0)

    def _decompose(self, model: Gram | LineModel) -> None:
        """Compute missing eigenvalues and eigenvectors of blocks."""
        known, size = self._values.size, int(self.starts[-1])
        if known == size:
            return
        sizes, begins = np.diff(self.starts), self.starts[:-1]
        values, vectors = np.empty(size), np.zeros((size, int(sizes.max())))
        values[:known], vectors[:known, : self._vectors.shape[1]] = self._values, self._vectors
        grams = np.empty((0, 0))
        if isinstance(model, LineModel):
            grams = np.empty((size, vectors.shape[1]))
            first = int(np.searchsorted(self.starts, known))
            block_grams(model.blocks.lines, model.blocks.centre, model.blocks.h, np.int64(first), self.starts, grams)
        for width in np.unique(sizes[begins >= known]):
            rows = begins[(begins >= known) & (sizes == width)][:, None] + np.arange(width)
            if isinstance(model, LineModel):
                matrices = grams[rows, :width]
            else:
                matrices = model.gram[rows[:, :, None], rows[:, None, :]]
            found, turned = np.linalg.eigh(matrices)
            # Rounding may make eigenvalues of dependent columns negative.
            values[rows], vectors[rows, :width] = np.maximum(found, 0.0), turned
        self._values, self._vectors = values, vectors

    @property
    def price(self) -> Price:
        """What a Newton step costs, in sweeps: the matrix of the active blocks is factored for each."""
        return Price(NEWTON_SWEEPS, NEWTON_CALL_ENTRIES, REBUILD_SWEEPS_PER_FEATURE, 0.0)


class GroupSet(WorkingSet):
    """A working set of whole groups, each with its columns side by side.

    A rescaled penalty acts on the norm of a group times ``Σ ω ℓ'' x² / Σ ω x²``, with the sums over all entries of the
    group's columns.
    """

    quadratic: BlockQuadratic

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        assert task.groups is not None
        self._groups, self._norms = task.groups, task.norms
        self._bends = Bends(task, self.null_loss, self._typical_curvature(), self._least_curvature)
        self._rescaled = task.rescaled
        n, p = task.view.shape
        # With fewer features than observations moves cost less if they update gradients by the Gram matrix.
        pack = DensePack if p < n else LinePack
        self.pack, self.quadratic = pack(task.view, task.fit_intercept), BlockQuadratic(self._limits is not None)
        self._weigh()

    def strengths(self, lam: Array) -> Strengths:
        """λ, the limits, and v where the penalty is rescaled."""
        if not self._rescaled:
            return super().strengths(lam)
        blocks = self.quadratic.blocks
        squares = self.pack.squares(self._bends(self.margin + self.b))
        v = np.bincount(blocks, squares) / np.bincount(blocks, self._norms[self.index] ** 2)
        return make_strengths(lam, v[blocks], *self._own_limits())

    def add(self, index: Indices) -> None:
        """Add these columns, which are whole groups in order."""
        groups = self._groups[index]
        changes = np.flatnonzero(groups[1:] != groups[:-1]) + 1
        self.quadratic.append(np.diff(np.concatenate([[0], changes, [index.size]])))
        super().add(index)

    def prune(self, unpenalised: Mask) -> Indices:
        """Drop penalised groups at zero if there are many; returns the dropped features."""
        blocks = self.quadratic.blocks
        used = np.bincount(blocks, (self.w != 0.0) | unpenalised)[blocks] > 0.0
        positions, m = np.flatnonzero(used), self.index.size
        if m <= MAX_CROWDING * positions.size + SPARE_COLUMNS:
            return np.empty(0, dtype=np.intp)
        return self._keep(positions)

    def violation(self, strengths: Strengths) -> float:
        """The largest violation of a group at the current coefficients, from the gradient that is kept."""
        return self.quadratic.violation(Iterate(self.w, self.grad(), strengths, self.penalty))

    def penalty_of(self, w: Array, strengths: Strengths) -> float:
        """The penalty of some coefficients of the set."""
        return float(self.penalty.value(self.quadratic.norms(w), strengths[self.quadratic.starts[:-1]]).sum())

    def _improve(self, strengths: Strengths, tol: float, violation: float) -> float:
        """Minimise the quadratic model plus the penalty; returns the share of the step that was taken."""
        at = Iterate(self.w.copy(), self.grad().copy(), strengths, self.penalty)
        most = min(self.max_sweeps - self.n_sweeps, MAX_MODEL_SWEEPS)
        self.n_sweeps += self.quadratic.minimise(self.pack.model(self._residual), at, tol, most)[0]
        return self._move(at.w, strengths, _CLEAR_PROGRESS * violation if self.penalty.convex else 0.0)

    def _newton(self, strengths: Strengths) -> bool:
        """Steps of blocks follow the curvature of the penalty already."""
        return False
