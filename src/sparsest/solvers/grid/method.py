"""The models of a grid of numbers of features and ridges, each from those of its neighbours.

For rising γ and, at each, rising k: the relaxation starts from that of the k before (or of the γ before); its rounded
support and that of the γ before (or of the k before) are improved by swaps, and the better one counts.  All of it
happens in Gram space, with columns that all cells share, so a cell takes milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparsest.arrays import Indices
from sparsest.data import Data
from sparsest.losses import Squared
from sparsest.solvers.grid.gram import Gram
from sparsest.solvers.grid.relaxed import Relaxed, relax
from sparsest.solvers.grid.swaps import Ridge, polish
from sparsest.solvers.relaxation.method import Relaxation
from sparsest.solvers.shared.clock import Clock
from sparsest.solvers.shared.threads import single_threaded


@dataclass(frozen=True, eq=False)
class GramGrid:
    """Squared loss, a ridge, at most k features: a model for each k and γ, without a bound.

    Attributes
    ----------
    include, exclude : features that must, and must not, be in a model
    no_change : where doubling γ changes no support, and coefficients by at most this part of their length, larger γ
        get no models of their own; None solves for all
    """

    include: Indices
    exclude: Indices
    no_change: float | None = None

    @staticmethod
    def suits(data: Data, solver: Any) -> bool:
        """Whether these are the models of a solver: squared loss, and the Boolean relaxation in its usual form."""
        return isinstance(data.loss, Squared) and isinstance(solver, Relaxation) and solver.polish

    def solve(
        self, data: Data, ks: Sequence[int], gammas: Sequence[float]
    ) -> tuple[dict[tuple[float, int], Ridge], float]:
        """The models for all ks and γs, whose keys are (γ, k); and their intercept.  Ctrl-C is raised between cells."""
        if not np.isfinite(gammas).all():
            raise ValueError("the Boolean relaxation needs a ridge: give finite gammas, or another method")
        found: dict[tuple[float, int], Ridge] = {}
        clock = Clock(np.inf)
        with clock.listening(), single_threaded():
            cells = _Cells(data, self.include, self.exclude, clock)
            before: dict[int, Ridge] = {}
            settled = False
            for gamma in sorted(set(gammas)):
                models = before if settled else dict(cells.row(1.0 / gamma, sorted(set(ks)), before))
                found.update({(gamma, k): model for k, model in models.items()})
                settled = settled or (bool(before) and self._settled(before, models))
                before = models
        return found, cells.gram.b

    def _settled(self, before: dict[int, Ridge], models: dict[int, Ridge]) -> bool:
        return self.no_change is not None and all(
            np.array_equal(before[k].support, model.support)
            and np.linalg.norm(before[k].w - model.w) <= self.no_change * np.linalg.norm(model.w)
            for k, model in models.items()
        )


class _Cells:
    """What all cells share."""

    def __init__(self, data: Data, include: Indices, exclude: Indices, clock: Clock) -> None:
        self.gram = Gram(data)
        self._clock = clock
        self.include = include
        # Columns that are constant add nothing to any model.
        self.movable = data.column_norms > 0.0
        self.movable[include] = False
        self.movable[exclude] = False
        self._first: Relaxed | None = None

    def row(self, ridge: float, ks: list[int], before: dict[int, Ridge]) -> Iterator[tuple[int, Ridge]]:
        """The models of one ridge for rising k, given those of a stronger ridge."""
        gram, relaxed, smaller = self.gram, self._first, self.include
        for k in ks:
            if self._clock.expired():
                raise KeyboardInterrupt
            budget = min(k - self.include.size, int(self.movable.sum()))
            starts = [smaller if k not in before else before[k].support]
            if 0 < budget < self.movable.sum():
                relaxed = relax(gram, ridge, budget, self.include, self.movable, relaxed)
                if k == ks[0]:
                    self._first = relaxed
                starts.append(self._rounded(relaxed, budget))
            most = self.include.size + budget
            ends = [polish(gram, support, ridge, most, self.movable) for support in starts]
            model = min(ends, key=lambda model: model.value)
            smaller = model.support
            yield k, model

    def _rounded(self, relaxed: Relaxed, budget: int) -> Indices:
        """The forced features and the largest relaxed ones."""
        size = np.where(self.movable[relaxed.features], np.abs(relaxed.w), 0.0)
        largest = np.argsort(-size, kind="stable")[:budget]
        chosen = relaxed.features[largest[size[largest] > 0.0]]
        return np.union1d(self.include, chosen)
