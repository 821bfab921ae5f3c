"""The models of a grid of numbers of features and ridges, each from those of its neighbours.

For rising γ and, at each, rising k: the relaxation starts from that of the k before (or of the γ before); its rounded
support and that of the γ before (or of the k before) are improved by swaps, and the better one counts.  For the squared
loss all of it happens in Gram space, for other smooth losses in quadratic models of the loss, with columns that all
cells share, so a cell takes milliseconds.  Piecewise linear losses are smoothed to find supports, and fitted as they
are on what is found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sparsest.core.arrays import Indices
from sparsest.core.data import Data
from sparsest.core.losses import PiecewiseLinear, Squared
from sparsest.core.problem import pose
from sparsest.core.sparsity import Region, Sparsity
from sparsest.runtime.clock import Clock
from sparsest.runtime.threads import single_threaded
from sparsest.subset.doubling import unchanged
from sparsest.subset.fits.support import fit_support
from sparsest.subset.grid.polish import polish
from sparsest.subset.grid.smooth import SmoothSpace
from sparsest.subset.grid.space import RidgeModel, Space, ToRounding
from sparsest.subset.grid.squared import SquaredSpace
from sparsest.subset.relaxation.engine import relax
from sparsest.subset.relaxation.method import Relaxation
from sparsest.subset.relaxation.solution import Relaxed, Start

# Piecewise linear losses are smoothed over this part of the mean loss without features.  Of 36 cells each, 60 × 40, a
# fifth to a half leaves 83 to 97 % as good as the method "relaxation" or better, but for the epsilon-insensitive loss
# at a half; a tenth of that or four times that is worse.
_SMOOTHING = 0.3


@dataclass(frozen=True, eq=False)
class Grid:
    """A ridge, at most k features: a model for each k and γ, without a bound.

    Attributes
    ----------
    include, exclude : features that must, and must not, be in a model
    repeat_unchanged : whether larger γs repeat the models of one that has changed nothing
    """

    include: Indices
    exclude: Indices
    repeat_unchanged: bool = False

    @staticmethod
    def suits(solver: Any) -> bool:
        """Whether these are the models of a solver: the Boolean relaxation in its usual form."""
        return isinstance(solver, Relaxation) and solver.polish

    def solve(self, data: Data, ks: Sequence[int], gammas: Sequence[float]) -> dict[tuple[float, int], RidgeModel]:
        """The models for all ks and γs, whose keys are (γ, k).  Ctrl-C is raised between cells."""
        if not np.isfinite(gammas).all():
            raise ValueError("the Boolean relaxation needs a ridge: give finite gammas, or another method")
        found: dict[tuple[float, int], RidgeModel] = {}
        clock = Clock(np.inf)
        with clock.listening(), single_threaded():
            make_cells = _PiecewiseCells if isinstance(data.loss, PiecewiseLinear) else _Cells
            cells = make_cells(data, self.include, self.exclude)
            before: dict[int, RidgeModel] = {}
            settled = False
            for gamma in sorted(set(gammas)):
                row = cells.row(1.0 / gamma, sorted(set(ks)), before)
                models = before if settled else dict(_interruptible(row, clock))
                found.update({(gamma, k): cells.finished(1.0 / gamma, model) for k, model in models.items()})
                if self.repeat_unchanged and before:
                    settled = settled or all(unchanged(*before[k][:2], *models[k][:2]) for k in models)
                before = models
        return found


def _interruptible(models: Iterator[tuple[int, RidgeModel]], clock: Clock) -> Iterator[tuple[int, RidgeModel]]:
    """The same models; Ctrl-C is raised after the one that it came in."""
    for model in models:
        if clock.expired():
            raise KeyboardInterrupt
        yield model


class _Cells:
    """What all cells share: a space of models, and the features that may come and go."""

    def __init__(self, data: Data, include: Indices, exclude: Indices) -> None:
        self.data, self.include = data, include
        # Columns that are constant add nothing to any model.
        self.movable = data.column_norms > 0.0
        self.movable[include] = False
        self.movable[exclude] = False
        outside = ~self.movable
        outside[include] = False
        self._region = Region(include, np.flatnonzero(outside), data.p)
        self._begin = RidgeModel(include, np.zeros(include.size), data.null.b, np.inf)
        self._first: Relaxed | None = None
        self._posed = pose(data, data.p, gamma=1.0, include=include.tolist(), exclude=exclude.tolist())
        self._space: Space = SquaredSpace(data) if isinstance(data.loss, Squared) else SmoothSpace(data)

    def row(self, ridge: float, ks: list[int], before: dict[int, RidgeModel]) -> Iterator[tuple[int, RidgeModel]]:
        """The models of one ridge for rising k, given those of a stronger ridge."""
        relaxed, smaller = self._first, self._begin
        for k in ks:
            budget = min(k - self.include.size, int(self.movable.sum()))
            starts = [before.get(k, smaller)]
            if 0 < budget < self.movable.sum():
                relaxed, rounded = self._relax(ridge, k, relaxed)
                if k == ks[0]:
                    self._first = relaxed
                if not np.array_equal(rounded.support, starts[0].support):
                    starts.append(rounded)
            most = self.include.size + budget
            ends = [polish(self._space, start, ridge, most, self.movable) for start in starts]
            model = min(ends, key=lambda model: model.value)
            smaller = model
            yield k, model

    def _relax(self, ridge: float, k: int, before: Relaxed | None) -> tuple[Relaxed, RidgeModel]:
        """A relaxation that is good enough to be rounded, and its rounded support with the relaxed coefficients."""
        problem = self._posed.with_gamma(1.0 / ridge).with_sparsity(Sparsity(k))
        if before is None:
            start = Start(self.include, np.zeros(self.include.size), self.data.null.b)
        else:
            start = Start(before.features, before.w, before.b, before.sigma)
        policy = ToRounding(self._space)
        relaxed = relax(self._space.source(problem), problem, self._region, policy, start)
        support = relaxed.rounded(problem)
        w = np.zeros(problem.p)
        w[relaxed.features] = relaxed.w
        return relaxed, RidgeModel(support, w[support], relaxed.b, np.inf)

    def finished(self, ridge: float, model: RidgeModel) -> RidgeModel:
        """The model as it is returned."""
        return model


class _PiecewiseCells(_Cells):
    """Losses with kinks: supports by a smoothed form of them, and their own models on these."""

    def __init__(self, data: Data, include: Indices, exclude: Indices) -> None:
        mean = float(data.weights @ data.loss.value(data.y, np.full(data.n, data.null.b)) / data.weights.sum())
        super().__init__(replace(data, loss=data.loss.smoothed(_SMOOTHING * mean or 1.0)), include, exclude)
        self.own = data

    def finished(self, ridge: float, model: RidgeModel) -> RidgeModel:
        """The model of the loss itself on the support of the smoothed one's."""
        fit = fit_support(pose(self.own, max(model.support.size, 1), gamma=1.0 / ridge), model.support)
        return RidgeModel(fit.support, fit.w, fit.b, fit.primal)
