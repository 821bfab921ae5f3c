"""The walk along a path of a quadratic loss, each step of which is compiled as a whole.

Python is asked for larger buffers, and for Newton steps where sweeps are slow.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from sparsest.arrays import Array, Indices
from sparsest.designs.columns import enlarged, keep, start
from sparsest.intercepts import best_intercept
from sparsest.kernels.path import FULL, SLOW, Fixed, Lines, Point, admit, begin, solve
from sparsest.kernels.stored import Stored
from sparsest.solvers.paths.gradients import make_memory
from sparsest.solvers.paths.quadratic import Iterate, make_quadratic
from sparsest.solvers.paths.task import Task
from sparsest.solvers.paths.walk import GROWING_VIOLATION, SATURATED_LOSS, UNPENALISED_VIOLATION, Fit, Walk

# With no more features than this all of them are in the set from the start: then no more products with the
# observations are needed.
_FEW_FEATURES = 256
# Columns at zero are dropped when the set has more than this many for each that is in use, and as many as there may be
# from the start.
_MAX_CROWDING = 1.5


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
            self.null_intercept = best_intercept(task.loss, task.y, task.weights, np.zeros(task.y.size), 0.0)
        root = np.sqrt(task.weights)
        target = root * (task.y - self.null_intercept)
        gradient = task.view.tdot(-root * target)
        self.fixed = Fixed(gradient, task.factor, self.slope, task.norms, root, target, 0.5 * float(target @ target))
        start(columns, target)
        self.at = self._buffers(columns.names.size)
        self.at.tau[:] = -target
        unpenalised = np.flatnonzero(self.outside & (task.factor == 0.0))
        if unpenalised.size:
            gradient = self._fit_unpenalised(unpenalised)
        self._begin(gradient)
        self.memory = make_memory(self.at.tau, gradient, self.alpha_max)
        usable = np.flatnonzero(self.outside)
        if usable.size <= _FEW_FEATURES:
            self._admit(usable)
        # What a nonconvex set of features was: every set that contains it is no better.
        self._not_convex = usable[:0]

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
        """Take these features into the working set."""
        self.at.found[: index.size] = index
        while not admit(self.columns, self.at, self.fixed, self.alpha_max, index.size, 0.0):
            self._enlarge()

    def _fit_unpenalised(self, index: Indices) -> Array:
        """Fit them alone; returns the gradient of all features there."""
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
        """Let go of features at zero when they are many."""
        m, w = self.size, self.at.w
        wanted = (w[:m] != 0.0) | (self.task.factor[self.columns.names[:m]] == 0.0)
        positions = np.flatnonzero(wanted)
        if m <= _MAX_CROWDING * positions.size + _FEW_FEATURES:
            return
        self.outside[self.columns.names[:m][~wanted]] = True
        keep(self.columns, positions)
        self.quadratic.keep(positions, m)
        for buffer in self.at[:4]:
            buffer[: positions.size] = buffer[positions]
        self.at.size[0] = positions.size

    def _solve(self, alpha: float, tol: float, convex: bool, max_sweeps: int) -> tuple[int, float, float, float]:
        """Solve for the next alpha to a gap, if convex, or a violation; returns sweeps, violation, loss and gap."""
        self._prune()
        # What there is no room for now will be found by the first check.
        full = not begin(self.columns, self.at, self.fixed, self.memory, alpha, self._ratio(alpha))
        n_sweeps, tight, patience = 0, False, 1.0
        while True:
            if full:
                self._enlarge()
            code, sweeps, violation, loss, gap = solve(
                self.columns, self.task.penalty, self.at, self.fixed, self.memory, alpha, tol, convex, tight,
                max_sweeps - n_sweeps, patience * self.quadratic.price(self.columns, self.at.w[: self.size]),
            )  # fmt: skip
            full = code == FULL
            n_sweeps += sweeps
            if code == SLOW:
                tight = True
                if not self.quadratic.newton(self.columns, self._iterate(), 0.1 * violation):
                    patience *= 10.0
            elif not full:
                return n_sweeps, violation, loss, gap

    def _pass(self, alpha: float, max_sweeps: int) -> int:
        return self._solve(alpha, GROWING_VIOLATION, False, max_sweeps)[0]

    def _reach(self, alpha: float, max_sweeps: int) -> Fit:
        convex = self.task.penalty.convex
        n_sweeps, violation, loss, gap = self._solve(alpha, self.task.tol, convex, max_sweeps)
        m = self.size
        return Fit(
            index=self.columns.names[:m].copy(),
            w=self.at.w[:m].copy(),
            b=self.null_intercept,
            gap=gap if convex else None,
            kkt=violation / alpha,
            locally_convex=convex or self._locally_convex(),
            saturated=loss < SATURATED_LOSS * self.fixed.null_loss,
            n_sweeps=n_sweeps,
        )

    def _locally_convex(self) -> bool:
        """Whether the Hessian over the nonzero coefficients exceeds the penalty's concavity."""
        active = np.flatnonzero(self.at.w[: self.size])
        index = self.columns.names[active]
        present = np.zeros(self.outside.size, dtype=bool)
        present[index] = True
        if active.size > self.task.y.size or (self._not_convex.size and present[self._not_convex].all()):
            return False
        if active.size == 0:
            return True
        if isinstance(self.columns, Lines):
            hessian = self.columns.gram[np.ix_(active, active)]
        else:
            hessian = self.task.view.gram(index, weights=self.task.weights)
        hessian[np.diag_indices(active.size)] -= self.task.penalty.concavity_bound * (self.task.factor[index] > 0.0)
        order = lapack.dpotrf(hessian, lower=1)[1]
        if order > 0:
            self._not_convex = index[:order].copy()
        return order == 0
