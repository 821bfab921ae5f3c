"""Improvement of a grid's model by additions and swaps until none helps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sparsest.core.arrays import Mask
from sparsest.subset.grid.space import Fitted, RidgeModel, Space
from sparsest.subset.moves import DEPENDENT, addition_gains, most_promising, remainder, swap_gains, variances

# Number of candidate features outside a support, those with the largest gradients, and largest number of moves.  With
# 400 candidates a fold of 867 × 1046 took a third longer; in seven data sets 1 to 3 of 44 models were better, by at
# most 4 %.
_POOL, _MOST_MOVES = 100, 1000
# Supports that are not improved by swaps grow by up to this share of their size at a time.
_GROWTH = 0.25


def polish(space: Space, starts: list[RidgeModel], ridge: float, most: int, movable: Mask) -> RidgeModel:
    """The best model that is found from some starts by adding features up to ``most``, then swapping.

    Parameters
    ----------
    starts : supports to start from, with approximate coefficients
    movable : the features that may enter and leave
    """
    seen: set[bytes] = set()
    ends = [_polish(space, start, ridge, most, movable, seen) for start in starts]
    return min(ends, key=lambda model: model.value)


def _polish(space: Space, start: RidgeModel, ridge: float, most: int, movable: Mask, seen: set[bytes]) -> RidgeModel:
    """The local optimum to which a start leads, or the first model with a support that another start has led to."""
    found = space.fit(start.support, ridge, start.w, start.b)
    assert found is not None
    if most > space.swapped_up_to:
        found = _completed(space, found, ridge, most, movable)
    for _ in range(_MOST_MOVES):
        key = found.model.support.tobytes()
        if key in seen:
            break
        seen.add(key)
        better = _better(space, found, ridge, most, movable)
        if better is None:
            break
        found = better
    return found.model


def _completed(space: Space, found: Fitted, ridge: float, most: int, movable: Mask) -> Fitted:
    """Add the most promising features, several at a time, until there are ``most`` of them or none helps."""
    while found.model.support.size < most:
        model = found.model
        count = min(most - model.support.size, max(int(_GROWTH * model.support.size), 1))
        into = [into for _, into in _moves(space, found, ridge, True, movable, count)]
        larger = _moved(space, model, None, into, ridge) if into else None
        if larger is None:
            break
        found = larger
    return found


def _better(space: Space, found: Fitted, ridge: float, most: int, movable: Mask) -> Fitted | None:
    """The fit after the first of the most promising moves that improves the model; None if none does."""
    model = found.model
    unless = model.value - space.improvement * abs(model.value)
    for out, into in _moves(space, found, ridge, model.support.size < most, movable, space.trials):
        tried = _moved(space, model, out, [into], ridge, unless)
        if tried is not None and tried.model.value < unless:
            return tried
    return None


def _moved(
    space: Space, model: RidgeModel, out: int | None, into: list[int], ridge: float, unless: float = np.inf
) -> Fitted | None:
    """The fit without the feature at position ``out``, and with those of ``into``."""
    kept = np.arange(model.support.size) != (-1 if out is None else out)
    support = np.append(model.support[kept], into)
    order = np.argsort(support)
    w = np.append(model.w[kept], np.zeros(len(into)))[order]
    return space.fit(support[order], ridge, w, model.b, unless)


def _moves(
    space: Space, found: Fitted, ridge: float, grows: bool, movable: Mask, count: int
) -> Iterator[tuple[int | None, int]]:
    """Yield the ``count`` most promising additions or, if the support is full, swaps.

    A move is the position of the feature that leaves the support, or None, and the feature that enters.
    """
    support, w = found.model.support, found.model.w
    if not grows and support.size > space.swapped_up_to:
        return
    gradient = space.gradient(found)
    outside = movable.copy()
    outside[support] = False
    promise = np.abs(gradient) / np.where(space.norms > 0.0, space.norms, 1.0)
    # Supports that are not swapped need candidates for the additions only.
    wanted = support.size if support.size <= space.swapped_up_to else count
    into = most_promising(np.flatnonzero(outside), promise, wanted, _POOL)
    out = np.flatnonzero(movable[support])
    if into.size == 0 or not (grows or out.size):
        return
    model = space.local_model(found, gradient, into, ridge)
    rest = remainder(model)
    rest = rest._replace(d=np.maximum(rest.d, DEPENDENT * model.own))
    gains = addition_gains(rest) if grows else swap_gains(rest, w, variances(model.inverse), out).ravel()
    count = min(count, gains.size)
    best = np.argpartition(-gains, count - 1)[:count]
    for cell in best[np.argsort(-gains[best], kind="stable")].tolist():
        if gains[cell] <= space.improvement * abs(found.model.value):
            return
        yield (None, int(into[cell])) if grows else (int(out[cell % out.size]), int(into[cell // out.size]))
