"""Smooth losses on a grid: models by Newton's method on shared columns, and relaxations for rounding."""

from __future__ import annotations

import numpy as np
import scipy.linalg as la

from sparsest.core.arrays import Array, Indices
from sparsest.core.data import Data
from sparsest.core.problem import Problem
from sparsest.core.sparsity import Region
from sparsest.subset.fits.linear_algebra import Coordinates
from sparsest.subset.fits.newton import Model, newton
from sparsest.subset.grid.cached_rows import CachedRows
from sparsest.subset.grid.space import ROUNDING_OPTIONS, Fitted, RidgeModel, Space
from sparsest.subset.moves import LocalModel
from sparsest.subset.relaxation.engine import Round, Source, View
from sparsest.subset.relaxation.proximal_newton import ProximalNewton
from sparsest.subset.relaxation.solution import Start
from sparsest.subset.relaxation.working_solution import WorkingSet, WorkingSolution

# Squared Newton decrement, relative to the objective, at which Newton's method ends; convergence is quadratic.
_DECREMENT = 1e-6
# Smallest curvature of an observation, as a share of a typical curvature, which keeps local models bounded.
_LEAST_CURVATURE = 1e-4


class SmoothSpace(Space):
    """Models of a smooth loss; ``columns`` caches the columns of the design as rows."""

    # Swaps in larger supports took more than half of the time of 1084 × 1046 classes, with no better held-out deviance.
    improvement, trials, swapped_up_to = 1e-7, 3, 22
    working_gap, most_iterations = 1e-3, 3000

    def __init__(self, data: Data) -> None:
        self.data = data
        self.columns = CachedRows(data.p, data.n, lambda features: data.design.columns(features).T)
        self.norms = data.column_norms
        self.null = float(data.weights @ data.loss.value(data.y, np.full(data.n, data.null.b)))

    def fit(self, support: Indices, ridge: float, w: Array, b: float, unless: float = np.inf) -> Fitted | None:
        """The model by Newton's method; None as soon as its objective is not expected to be below ``unless``."""
        data = self.data
        coordinates = Coordinates(self.columns[support].T, np.full(support.size, ridge), None)
        model = Model(coordinates, data.y, data.weights, data.loss, data.fit_intercept, data.curvature)
        found = newton(model, (w, b), _DECREMENT, unless=unless)
        if found is None:
            return None
        return Fitted(RidgeModel(support, found.t, found.b, found.value), found.margin)

    def slopes(self, margin: Array) -> Array:
        """``ωℓ'``."""
        return self.data.weights * self.data.loss.derivative(self.data.y, margin)

    def gradient(self, fitted: Fitted) -> Array:
        """``X'(ωℓ')``."""
        return self.data.design.tdot(self.slopes(fitted.state))

    def local_model(self, fitted: Fitted, gradient: Array, candidates: Indices, ridge: float) -> LocalModel:
        """The quadratic model of the loss at the predictions of a fit; centred if there is an intercept."""
        data, support = self.data, fitted.model.support
        second = data.loss.second_derivative(data.y, fitted.state)
        curvature = data.weights * np.maximum(second, _LEAST_CURVATURE * data.curvature)
        inside, outside = self.columns[support], self.columns[candidates]
        weighted = inside * curvature
        H, cross, own = weighted @ inside.T, outside @ weighted.T, outside**2 @ curvature
        if data.fit_intercept:
            sums, theirs, total = weighted.sum(axis=1), outside @ curvature, float(curvature.sum())
            H -= np.outer(sums, sums) / total
            cross -= np.outer(theirs, sums) / total
            own -= theirs**2 / total
        H.flat[:: support.size + 1] += ridge
        inverse = la.inv(H) if support.size else H
        return LocalModel(inverse, cross, np.maximum(own, 0.0) + ridge, gradient[candidates], fitted.model.w)

    def source(self, problem: Problem) -> Source:
        """Relaxations by proximal Newton steps."""
        return _ColumnsSource(self, problem)


class _ColumnsSource:
    """Relaxations on shared columns; the bound over all features is not computed."""

    def __init__(self, space: SmoothSpace, problem: Problem) -> None:
        self.space, self.problem = space, problem

    def first(self, start: Start, region: Region) -> tuple[float, View]:
        b = start.b if start.features.size else self.space.data.null.b
        return b, self._view(self.space.slopes(start.w @ self.space.columns[start.features] + b))

    def solve(self, task: Round) -> WorkingSolution:
        part = WorkingSet(self.problem, self.space.columns[task.features].T, task.omega)
        method = ProximalNewton(part, task.memory.gram_of(part.columns), **ROUNDING_OPTIONS)
        point = method.solve(task.w, task.b, task.stop())
        task.memory.gram = method.gram
        return point

    def view(self, features: Indices, point: WorkingSolution, region: Region) -> View:
        return self._view(point.alpha)

    def _view(self, alpha: Array) -> View:
        return View(alpha, self.space.data.design.tdot(alpha), -np.inf)
