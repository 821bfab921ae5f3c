"""Cross-validation of a grid of best subsets that goes on where the best model is at its end."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sparsest.selection.cross_validation import Validation
from sparsest.selection.subsets import SubsetGrid

# A grid is extended so often in each direction.
_EXTENSIONS = 2
# The strongest ridge is the best only if the next is worse by this part of the standard error.
_NOTABLE = 0.01


class Found(NamedTuple):
    """The grid as far as it was extended, its scores, and what is the best at its end still, in words."""

    grid: SubsetGrid
    validation: Validation
    at_an_end: str
    interrupted: bool


def explore(grid: SubsetGrid, judge: Callable[[SubsetGrid], Validation], p: int) -> Found:
    """Cross-validate a grid, and extend it where the largest k or the smallest γ is the best.

    Who interrupts an extension gets the scores that were there before it.

    Parameters
    ----------
    grid : of numbers of features and ridges
    judge : cross-validates the models of a grid, always on the same folds
    p : number of features
    """
    validation = judge(grid)
    for _ in range(_EXTENSIONS):
        for extension in (_larger_ks, _smaller_gammas):
            further = extension(grid, validation, p)
            if further is None or validation.n_missing:
                continue
            try:
                more = judge(further)
            except KeyboardInterrupt:
                return Found(grid, validation, "", True)
            if more.n_missing:
                return Found(grid, validation, "", True)
            order = np.lexsort([np.concatenate(pair) for pair in zip(grid.pairs(), further.pairs(), strict=True)][::-1])
            grid, validation = grid.together(further), validation.with_rows(more, order)
    return Found(grid, validation, _at_an_end(grid, validation, p), validation.n_missing > 0)


def _best(grid: SubsetGrid, validation: Validation) -> tuple[int, float]:
    ks, gammas = grid.pairs()
    best = validation.best()
    return int(ks[best]), float(gammas[best])


def _larger_ks(grid: SubsetGrid, validation: Validation, p: int) -> SubsetGrid | None:
    """The grid of further numbers of features where the largest one is the best."""
    return grid.with_larger_ks(_best(grid, validation)[0], p)


def _smaller_gammas(grid: SubsetGrid, validation: Validation, p: int) -> SubsetGrid | None:
    """The grid of stronger ridges where the strongest one is the best and the next notably worse."""
    k, gamma = _best(grid, validation)
    further = grid.with_smaller_gammas(gamma)
    if further is None or k == 0:
        return None
    ks, gammas = grid.pairs()
    mean, best = validation.mean, validation.best()
    neighbour = mean[np.flatnonzero((ks == k) & (gammas == grid.gammas[1]))[0]]
    error = validation.standard_error[best]
    return further if mean[best] - neighbour > _NOTABLE * (error if np.isfinite(error) else 0.0) else None


def _at_an_end(grid: SubsetGrid, validation: Validation, p: int) -> str:
    """What a user should know about a grid that could be extended further."""
    k, gamma = _best(grid, validation)
    if _larger_ks(grid, validation, p) is not None:
        return f"the best number of features is the largest one that was tried, {k}: give larger ks"
    if _smaller_gammas(grid, validation, p) is not None:
        return f"the best gamma is the smallest one that was tried, {gamma:.3g}: give smaller gammas"
    return ""
