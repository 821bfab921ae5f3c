"""The squared loss on a grid, in Gram space: models, scores of moves, and relaxations from shared products."""

from __future__ import annotations

import numpy as np
import scipy.linalg as la

from sparsest.core.arrays import Array, Indices
from sparsest.core.data import Data
from sparsest.core.problem import Problem
from sparsest.core.sparsity import Region
from sparsest.subset.grid.gram import Gram
from sparsest.subset.grid.space import ROUNDING_OPTIONS, Fitted, RidgeModel, Space
from sparsest.subset.moves import LocalModel
from sparsest.subset.relaxation.engine import Round, Source, View
from sparsest.subset.relaxation.quadratic import solve_in_gram_space
from sparsest.subset.relaxation.solution import Start
from sparsest.subset.relaxation.working_solution import WorkingSolution

_NO_ALPHA = np.empty(0)


class SquaredSpace(Space):
    """Ridge regressions in Gram space."""

    improvement, trials, swapped_up_to = 1e-9, 1, np.inf
    working_gap, most_iterations = 3e-4, 300

    def __init__(self, data: Data) -> None:
        self.gram = Gram(data)
        self.null, self.norms = 0.5 * self.gram.square, data.column_norms

    def fit(self, support: Indices, ridge: float, w: Array, b: float, unless: float = np.inf) -> Fitted:
        """The model by one linear system; the warm start is not used."""
        H = self.gram.between(support)
        H.flat[:: support.size + 1] += ridge
        inverse = la.inv(H) if support.size else H
        c = self.gram.c[support]
        w = inverse @ c
        # One step of refinement, because the inverse loses digits if columns are nearly dependent.
        w += inverse @ (c - H @ w)
        return Fitted(RidgeModel(support, w, self.gram.b, self.null - 0.5 * float(c @ w)), inverse)

    def gradient(self, fitted: Fitted) -> Array:
        """``G_S'w - c``."""
        return -self.gram.residual(fitted.model.support, fitted.model.w)

    def local_model(self, fitted: Fitted, gradient: Array, candidates: Indices, ridge: float) -> LocalModel:
        """The quadratic model, which for the squared loss is the objective itself."""
        cross = self.gram.entries(fitted.model.support, candidates).T
        own = self.gram.diagonal[candidates] + ridge
        return LocalModel(fitted.state, cross, own, gradient[candidates], fitted.model.w)

    def source(self, problem: Problem) -> Source:
        """Relaxations in Gram space."""
        return _GramSource(self.gram, problem)


class _GramSource:
    """Relaxations in Gram space; a bound is that of the best multiple of the residual as the dual point."""

    def __init__(self, gram: Gram, problem: Problem) -> None:
        self.gram, self.problem = gram, problem

    def first(self, start: Start, region: Region) -> tuple[float, View]:
        return self.gram.b, View(_NO_ALPHA, self.gram.residual(start.features, start.w), -np.inf)

    def solve(self, task: Round) -> WorkingSolution:
        gram, features = self.gram, task.features
        H, c, half = gram.between(features), gram.c[features], 0.5 * gram.square
        return solve_in_gram_space(H, c, half, gram.b, task.omega, task.w, task.stop(), **ROUNDING_OPTIONS)

    def view(self, features: Indices, point: WorkingSolution, region: Region) -> View:
        gram, w = self.gram, point.w
        u = gram.residual(features, w)
        gain = self.problem.sparsity.gain(self.problem.gains_from(u), region)
        fitted = float(gram.c[features] @ w)
        residual = max(gram.square - 2.0 * fitted + float(w @ (gram.c[features] - u[features])), 0.0)
        bound = (gram.square - fitted) ** 2 / (2.0 * (residual + 2.0 * gain) + 1e-300)
        return View(_NO_ALPHA, u, bound)
