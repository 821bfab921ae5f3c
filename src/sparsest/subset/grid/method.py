"""Models for a grid of numbers of features k and ridge parameters γ, with warm starts from neighbouring cells.

The cells are solved for increasing γ and, for each γ, for increasing k.  The relaxation starts from that of the
previous k, or for the first k from that of the previous γ.  Its rounded support and the support of the previous γ (or
of the previous k) are improved by swaps, and the better model is kept.  Supports that are too large for swaps have no
relaxation, except for the first k: they grow from that of the previous γ or k.  The squared loss is solved in Gram
space, other smooth losses by quadratic models of the loss; all cells share their columns, so that a cell takes
milliseconds.  Piecewise linear losses are smoothed to find supports; the models on these supports are then fitted with
the original loss.
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

# Width of the smoothing of piecewise linear losses, as a share of the mean loss without features.  With shares from 0.2
# to 0.5, 83 to 97 % of 36 cells per loss (60 × 40) were at least as good as those of the method "relaxation", except
# for the epsilon-insensitive loss at 0.5.  A tenth of these shares, or four times as much, was worse.
_SMOOTHING = 0.3


@dataclass(frozen=True, eq=False)
class Grid:
    """A model with a ridge and at most k features for each k and γ, without a bound.

    Attributes
    ----------
    include, exclude : features that every model contains, and features that no model contains
    repeat_unchanged : whether the models are repeated for all larger γ once a larger γ has not changed them
    """

    include: Indices
    exclude: Indices
    repeat_unchanged: bool = False

    @staticmethod
    def suits(solver: Any) -> bool:
        """Whether the grid can replace this solver: the Boolean relaxation with polishing."""
        return isinstance(solver, Relaxation) and solver.polish

    def solve(self, data: Data, ks: Sequence[int], gammas: Sequence[float]) -> dict[tuple[float, int], RidgeModel]:
        """The models for all k and γ, with the keys (γ, k).  Ctrl-C is raised between cells."""
        if not np.isfinite(gammas).all():
            raise ValueError("the Boolean relaxation needs a ridge: give finite gammas, or another method")
        found: dict[tuple[float, int], RidgeModel] = {}
        clock = Clock(np.inf)
        with clock.listening(), single_threaded():
            make_cells = _PiecewiseCells if isinstance(data.loss, PiecewiseLinear) else _Cells
            cells = make_cells(data, self.include, self.exclude)
            before: dict[int, RidgeModel] = {}
            repeats = False
            for gamma in sorted(set(gammas)):
                row = cells.row(1.0 / gamma, sorted(set(ks)), before)
                models = before if repeats else dict(_interruptible(row, clock))
                found.update({(gamma, k): cells.finished(1.0 / gamma, model) for k, model in models.items()})
                if self.repeat_unchanged and before:
                    repeats = repeats or all(unchanged(*before[k][:2], *models[k][:2]) for k in models)
                before = models
        return found


def _interruptible(models: Iterator[tuple[int, RidgeModel]], clock: Clock) -> Iterator[tuple[int, RidgeModel]]:
    """Yield the same models; raise Ctrl-C after the model during which it came."""
    for model in models:
        if clock.expired():
            raise KeyboardInterrupt
        yield model


class _Cells:
    """State shared by all cells: the space of models, and the features that may enter and leave."""

    def __init__(self, data: Data, include: Indices, exclude: Indices) -> None:
        self.data, self.include = data, include
        # Constant columns cannot improve a model.
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
        """The models of one ridge for increasing k, with warm starts from those of a stronger ridge."""
        relaxed, smaller = self._first, self._begin
        for k in ks:
            budget = min(k - self.include.size, int(self.movable.sum()))
            starts = [before.get(k, smaller)]
            # Without swaps, a relaxation for each k predicted no better (benchmarks/README.md).
            if 0 < budget < self.movable.sum() and (k == ks[0] or k <= self._space.swapped_up_to):
                relaxed, rounded = self._relax(ridge, k, relaxed)
                if k == ks[0]:
                    self._first = relaxed
                if not np.array_equal(rounded.support, starts[0].support):
                    starts.append(rounded)
            most = self.include.size + budget
            smaller = polish(self._space, starts, ridge, most, self.movable)
            yield k, smaller

    def _relax(self, ridge: float, k: int, before: Relaxed | None) -> tuple[Relaxed, RidgeModel]:
        """A relaxation that is precise enough for rounding, and its rounded support with the relaxed coefficients."""
        problem = self._posed.with_gamma(1.0 / ridge).with_sparsity(Sparsity(k))
        if before is None:
            start = Start(self.include, np.zeros(self.include.size), self.data.null.b)
        else:
            start = Start(before.features, before.w, before.b, before.sigma)
        policy = ToRounding(self._space)
        relaxed = relax(self._space.source(problem), problem, self._region, policy, start)
        support = relaxed.rounded(problem)
        return relaxed, RidgeModel(support, relaxed.coefficients()[support], relaxed.b, np.inf)

    def finished(self, ridge: float, model: RidgeModel) -> RidgeModel:
        """The model in the form that is returned."""
        return model


class _PiecewiseCells(_Cells):
    """Cells for piecewise linear losses: supports are found with a smoothed loss, models fitted with the original."""

    def __init__(self, data: Data, include: Indices, exclude: Indices) -> None:
        mean = float(data.weights @ data.loss.value(data.y, np.full(data.n, data.null.b)) / data.weights.sum())
        super().__init__(replace(data, loss=data.loss.smoothed(_SMOOTHING * mean or 1.0)), include, exclude)
        self.own = data

    def finished(self, ridge: float, model: RidgeModel) -> RidgeModel:
        """The model of the original loss on the support found with the smoothed loss."""
        fit = fit_support(pose(self.own, max(model.support.size, 1), gamma=1.0 / ridge), model.support)
        return RidgeModel(fit.support, fit.w, fit.b, fit.primal)
