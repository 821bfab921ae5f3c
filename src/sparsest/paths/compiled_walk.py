"""The walk along a path of a quadratic loss, with the whole loop in compiled code.

The kernels return to Python when they need larger buffers, or a Newton step because sweeps are slow.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.linalg import lapack

from sparsest.core.arrays import Array, Indices, Mask
from sparsest.core.designs.columns import enlarged, keep, start
from sparsest.core.kernels.lines import Lines
from sparsest.core.kernels.sparse import Stored
from sparsest.paths.gap import DEPENDENT, dual_margins
from sparsest.paths.gradients import make_memory
from sparsest.paths.kernels.price import newton_price
from sparsest.paths.kernels.rules import FEW_FEATURES, GROWING_VIOLATION
from sparsest.paths.kernels.step import DONE, FULL, SLOW, Fixed, Point, admit, begin, settle, solve
from sparsest.paths.kernels.walk import Limits, Track, crowded, walk
from sparsest.paths.quadratic import Iterate, make_quadratic
from sparsest.paths.task import Task
from sparsest.paths.walk import (
    LARGEST_DROP,
    SATURATED_LOSS,
    UNPENALISED_VIOLATION,
    Fit,
    Walk,
)
from sparsest.runtime.faults import reach

# Capacity, in coefficients, of the record of one call of the kernel: all features of several alphas.
_TRACK_ROOM, _TRACK_ALPHAS = 1 << 16, 8


class CompiledWalk(Walk):
    """The buffers of the kernels.

    Parameters
    ----------
    columns : the columns of the task's view in a form that kernels take.
    """

    def __init__(self, task: Task, columns: Lines | Stored) -> None:
        super().__init__(task)
        self.columns = columns
        self.quadratic = make_quadratic(isinstance(columns, Lines))
        self.null_intercept = 0.0
        if task.fit_intercept:
            self.null_intercept = float(task.weights @ task.y)
        root = np.sqrt(task.weights)
        target = root * (task.y - self.null_intercept)
        gradient, null_loss = task.null_gradient, 0.5 * float(target @ target)
        unpenalised = np.flatnonzero(self.outside & (task.factor == 0.0))
        self.fixed = Fixed(
            gradient, task.factor, self.slope, task.norms, root, target, null_loss, _free_curvature(task, unpenalised),
            *dual_margins(task, self.sides, self.slope, self.outside),
        )  # fmt: skip
        start(columns, target)
        self.at = self._buffers(columns.names.size)
        self.at.tau[:] = -target
        if unpenalised.size:
            gradient = self._fit_unpenalised(unpenalised)
        self._begin(gradient)
        self.memory = make_memory(self.at.tau, gradient, self.alpha_max)
        usable = np.flatnonzero(self.outside)
        if usable.size <= FEW_FEATURES:
            self._admit(usable)
        # A set of features over which the objective is not convex, and one over which it is: supersets of the first
        # are not convex either, and subsets of the second are.
        self._not_convex, self._convex = np.zeros((2, self.outside.size), dtype=bool)
        # With a ridge the concavity depends on λ, so the two sets are not reused for another λ.
        self._concavity_varies = task.penalty.concavity_bound(1.0) != task.penalty.concavity_bound(0.5)
        room = max(_TRACK_ROOM, _TRACK_ALPHAS * self.outside.size)
        self._found = np.empty(room, dtype=np.intp), np.empty(room)

    def _buffers(self, room: int) -> Point:
        n, p = self.task.view.shape
        w, before, grad, lam = np.zeros((4, room))
        size, found = np.zeros(1, dtype=np.intp), np.zeros(p, dtype=np.intp)
        return Point(w, before, grad, lam, np.zeros(n), np.zeros(n), size, self.outside, found, np.zeros(p))

    @property
    def size(self) -> int:
        """The number of features in the working set."""
        return int(self.at.size[0])

    def _enlarge(self) -> None:
        columns = enlarged(self.columns, self.size)
        at, m = self._buffers(columns.names.size), self.size
        for new, old in zip(at[:4], self.at[:4], strict=True):
            new[:m] = old[:m]
        self.columns, self.at = columns, self.at._replace(w=at.w, before=at.before, grad=at.grad, lam=at.lam)

    def _admit(self, index: Indices) -> None:
        """Add these features to the working set."""
        self.at.found[: index.size] = index
        while not admit(self.columns, self.at, self.fixed, self.alpha_max, index.size, 0.0):
            self._enlarge()

    def _fit_unpenalised(self, index: Indices) -> Array:
        """Fit only these features; returns the gradient of all features at the solution."""
        self.alpha_max = 0.0
        self._admit(index)
        goal = UNPENALISED_VIOLATION * max(np.abs(self.fixed.origin).max(), 1e-300)
        self.quadratic.minimise(self.columns, self._iterate(), goal, self.task.max_iter)
        root, view = self.fixed.root, self.task.view
        self.at.tau[:] = root * view.dot(self._iterate().w, index) - self.fixed.target
        return view.tdot(root * self.at.tau)

    def _iterate(self) -> Iterate:
        m, at = self.size, self.at
        return Iterate(at.w[:m], at.grad[:m], at.lam[:m], self.task.penalty)

    def _prune(self) -> None:
        """Drop features at zero if there are many."""
        if not crowded(self.columns, self.at, self.fixed):
            return
        m, names = self.size, self.columns.names
        wanted = (self.at.w[:m] != 0.0) | (self.task.factor[names[:m]] == 0.0)
        positions = np.flatnonzero(wanted)
        self.outside[names[:m][~wanted]] = True
        keep(self.columns, positions)
        self.quadratic.keep(positions, m)
        for buffer in self.at[:4]:
            buffer[: positions.size] = buffer[positions]
        self.at.size[0] = positions.size

    def follow(self, alphas: Array, max_features: int, may_saturate: bool) -> list[Fit]:
        """Solve for alphas until one needs help from Python, and for that one."""
        reach("walk")
        near = alphas >= LARGEST_DROP * np.append(self.alpha, alphas[:-1])
        count = near.size if near.all() else int(near.argmin())
        if count == 0:
            return [self.advance(float(alphas[0]))]
        self._prune()
        convex, null = self.task.penalty.convex, self.fixed.null_loss
        limits = Limits(self.task.tol, convex, self.task.max_iter, max_features, SATURATED_LOSS * null * may_saturate)
        numbers = np.empty((3, count))
        track = Track(*self._found, *np.empty((2, count), dtype=np.intp), *numbers)
        done, code, sweeps, violation = walk(
            self.columns, self.task.penalty, self.at, self.fixed, self.memory, track, alphas[:count], self.before,
            self.alpha, limits, self.quadratic.price,
        )  # fmt: skip
        passed = np.concatenate([[self.before, self.alpha], alphas[:done]])
        self.before, self.alpha = float(passed[-2]), float(passed[-1])
        fits = self._recorded(track, alphas[:done])
        if code in (FULL, SLOW):
            fits.append(self._finish(float(alphas[done]), code, sweeps, violation))
        return fits

    def _recorded(self, track: Track, alphas: Array) -> list[Fit]:
        """The solutions that a walk has recorded for these alphas."""
        ends = track.ends[: alphas.size]
        last = int(ends[-1]) if ends.size else 0
        features, w = track.features[:last].copy(), track.w[:last].copy()
        parts = [slice(begin, end) for begin, end in pairwise([0, *ends.tolist()])]
        sets, coefs = [features[part] for part in parts], [w[part] for part in parts]
        numbers = (column[: alphas.size].tolist() for column in (alphas, *track[3:]))
        return list(map(self._fit, sets, coefs, *numbers, self._which_convex(features, ends, alphas)))

    def _fit(
        self,
        features: Indices,
        w: Array,
        alpha: float,
        sweeps: int,
        violation: float,
        loss: float,
        gap: float,
        convex: bool,
    ) -> Fit:
        return Fit(
            features=features,
            w=w,
            b=self.null_intercept,
            gap=gap if self.task.penalty.convex else None,
            kkt=violation / alpha,
            locally_convex=convex,
            saturated=loss < SATURATED_LOSS * self.fixed.null_loss,
            n_sweeps=sweeps,
            loss=loss,
        )

    def _solve(self, alpha: float, tol: float, convex: bool, max_sweeps: int) -> tuple[int, float, float, float]:
        """Solve for the next alpha to a gap, if convex, or a violation; returns sweeps, violation, loss and gap."""
        self._prune()
        # Features that do not fit into the buffers now will be found by the first check.
        full = not begin(self.columns, self.at, self.fixed, self.memory, alpha, self.alpha, self._ratio(alpha))
        return self._complete(alpha, tol, convex, max_sweeps, FULL if full else DONE)

    def _complete(
        self, alpha: float, tol: float, convex: bool, max_sweeps: int, code: int, violation: float = 0.0
    ) -> tuple[int, float, float, float]:
        """Continue after a step has returned this code and violation."""
        n_sweeps, tight, patience = 0, False, 1.0
        while True:
            if code == FULL:
                self._enlarge()
            elif code == SLOW:
                tight = True
                if not self.quadratic.newton(self.columns, self._iterate(), 0.1 * violation):
                    patience *= 10.0
            price = newton_price(self.quadratic.price, self.at.w[: self.size])
            code, sweeps, violation, loss, gap = solve(
                self.columns, self.task.penalty, self.at, self.fixed, self.memory, alpha, tol, convex, tight,
                max_sweeps - n_sweeps, patience * price,
            )  # fmt: skip
            n_sweeps += sweeps
            if code not in (FULL, SLOW):
                return n_sweeps, violation, loss, gap

    def _pass(self, alpha: float, max_sweeps: int) -> int:
        return self._solve(alpha, GROWING_VIOLATION, False, max_sweeps)[0]

    def go_to(self, fit: Fit) -> None:
        """Set the state to this solution; the next step starts from it without extrapolation."""
        self._admit(fit.features[self.outside[fit.features]])
        w, names = self.at.w[: self.size], self.columns.names[: self.size]
        order = np.argsort(names)
        w[:] = 0.0
        w[order[np.searchsorted(names, fit.features, sorter=order)]] = fit.w
        settle(self.columns, self.at, self.fixed)

    def _reach(self, alpha: float, n_sweeps: int) -> Fit:
        task = self.task
        return self._present(
            alpha, n_sweeps, *self._solve(alpha, task.tol, task.penalty.convex, task.max_iter - n_sweeps)
        )

    def _finish(self, alpha: float, code: int, n_sweeps: int, violation: float) -> Fit:
        """Solve for an alpha at which a walk has returned ``code`` after ``n_sweeps`` sweeps, with this violation."""
        task = self.task
        figures = self._complete(alpha, task.tol, task.penalty.convex, task.max_iter - n_sweeps, code, violation)
        self.before, self.alpha = self.alpha, alpha
        return self._present(alpha, n_sweeps, *figures)

    def _present(self, alpha: float, before: int, sweeps: int, violation: float, loss: float, gap: float) -> Fit:
        """The current solution; ``before`` sweeps are added to ``sweeps``."""
        used = np.flatnonzero(self.at.w[: self.size])
        index = self.columns.names[used]
        convex = self._which_convex(index, np.array([index.size]), np.array([alpha]))[0]
        return self._fit(index, self.at.w[used], alpha, before + sweeps, violation, loss, gap, convex)

    def _which_convex(self, features: Indices, ends: Indices, alphas: Array) -> list[bool]:
        """Whether the Hessian over each of these sets of features, one after the other, exceeds the concavity."""
        begins, found = np.append(0, ends[:-1]), np.zeros(ends.size, dtype=bool)
        if self.task.penalty.convex:
            return (~found).tolist()
        sizes = ends - begins
        if self._concavity_varies:
            sets = [features[begin:end] for begin, end in zip(begins, ends, strict=True)]
            return [self._examine(index, alpha) == 0 for index, alpha in zip(sets, alphas.tolist(), strict=True)]
        undecided = sizes <= self.task.y.size
        while True:
            found |= undecided & (_counts(self._convex[features], begins, ends) == sizes)
            others = _counts(self._not_convex[features], begins, ends)
            undecided &= ~found & ((others < self._not_convex.sum()) | (others == 0))
            left = np.flatnonzero(undecided)
            if left.size == 0:
                return found.tolist()
            # Most sets are nested, so the result for the middle one settles all on one side (bisection).
            middle = left[left.size // 2]
            index = features[begins[middle] : ends[middle]]
            order = self._examine(index, float(alphas[middle]))
            kept, members = (self._not_convex, index[:order]) if order > 0 else (self._convex, index)
            kept[:] = False
            kept[members] = True

    def _examine(self, index: Indices, alpha: float) -> int:
        """Length of the shortest prefix of features whose Hessian does not exceed the concavity; 0 if there is none."""
        hessian = self._hessian(index)
        hessian[np.diag_indices(index.size)] -= self.task.penalty.concavity_bound(alpha * self.task.factor[index])
        return lapack.dpotrf(hessian, lower=1)[1] if index.size else 0

    def _hessian(self, index: Indices) -> Array:
        """The Gram matrix of some features, taken from the stored one if it has all of them."""
        if isinstance(self.columns, Lines):
            place = np.full(self.outside.size, -1)
            place[self.columns.names[: self.size]] = np.arange(self.size)
            if (place[index] >= 0).all():
                return self.columns.gram[np.ix_(place[index], place[index])]
        return self.task.view.gram(index, weights=self.task.weights)


def _free_curvature(task: Task, unpenalised: Indices) -> float:
    """The smallest nonzero eigenvalue of these columns' Gram matrix."""
    if unpenalised.size == 0:
        return np.inf
    eigenvalues = np.linalg.eigvalsh(task.view.gram(unpenalised, weights=task.weights))
    return float(eigenvalues[eigenvalues > DEPENDENT * eigenvalues[-1]].min(initial=np.inf))


def _counts(chosen: Mask, begins: Indices, ends: Indices) -> Indices:
    """Number of chosen entries in each part."""
    before = np.append(0, chosen.cumsum())
    return before[ends] - before[begins]
