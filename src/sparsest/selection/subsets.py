"""Best subsets for all numbers of features and ridges of a grid, fitted to the same data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sparsest.core.arrays import Array, Indices
from sparsest.core.data import Data
from sparsest.core.designs import in_units_of_data
from sparsest.core.problem import pose
from sparsest.runtime.clock import Clock
from sparsest.runtime.faults import reach
from sparsest.selection.models import Models
from sparsest.subset.grid.method import Grid
from sparsest.subset.subset_grid import solve_grid

# With no restrictions but these, the models of a grid are computed together; otherwise one by one.
_KNOWN_TO_GRIDS = {"include", "exclude", "names"}


@dataclass(frozen=True, eq=False)
class SubsetGrid:
    """All pairs of numbers of features and ridges; the γs of the first k come first.

    Attributes
    ----------
    ks, gammas : both rising
    solver : solves for a single pair
    restrictions : settings of :func:`sparsest.core.problem.pose` that all models share, such as ``include``
    repeat_unchanged : whether to reuse models for all larger γs once a larger γ has changed nothing
    more_ks, more_gammas : whether the grid may be extended where the best model is at its end
    """

    ks: tuple[int, ...]
    gammas: tuple[float, ...]
    solver: Any
    restrictions: Mapping[str, Any] = field(default_factory=dict)
    repeat_unchanged: bool = False
    more_ks: bool = False
    more_gammas: bool = False

    def pairs(self) -> tuple[Array, Array]:
        """The k and the γ of each model."""
        return np.repeat(self.ks, len(self.gammas)), np.tile(self.gammas, len(self.ks))

    def part(self, ks: Sequence[int], gammas: Sequence[float]) -> SubsetGrid:
        """The grid of other numbers of features and ridges."""
        return replace(self, ks=tuple(ks), gammas=tuple(gammas))

    def __call__(self, data: Data) -> Models:
        """Fit the models of all pairs."""
        reach("fold")
        given = {name for name, value in self.restrictions.items() if value is not None}
        at_once = given <= _KNOWN_TO_GRIDS and Grid.suits(self.solver)
        return Models.of(data.p, self._at_once(data) if at_once else self._one_by_one(data))

    def _at_once(self, data: Data) -> Iterator[tuple[Indices, Array, float]]:
        include, exclude = (np.asarray(self.restrictions.get(name, ()), np.intp) for name in ("include", "exclude"))
        grid = Grid(include, exclude, self.repeat_unchanged)
        found = grid.solve(data, self.ks, self.gammas)
        for k in self.ks:
            for gamma in self.gammas:
                model = found[gamma, k]
                coef, constant = in_units_of_data(data.design, model.support, model.w)
                yield model.support, coef, model.b + constant + data.y_offset

    def _one_by_one(self, data: Data) -> Iterator[tuple[Indices, Array, float]]:
        problem = pose(data, self.ks[-1], gamma=self.gammas[0], **self.restrictions)
        ks, gammas = list(self.ks), list(self.gammas)
        found = solve_grid(self.solver, problem, ks, gammas, None, Clock(np.inf), self.repeat_unchanged)
        last = max(gamma for gamma, _ in found)
        for k in self.ks:
            for gamma in self.gammas:
                result = found[min(gamma, last), k]
                yield result.support, result.coef[result.support], result.intercept
