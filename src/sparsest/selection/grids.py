"""Grids of numbers of features and ridges, and their extensions if the best value is at an end."""

from __future__ import annotations

import numpy as np

# The first grid has all numbers up to this above the forced features.  An extension adds numbers up to this multiple of
# the largest one: at most this many up to about 50, and fewer beyond, where neighbouring models differ little.
_EVERY_UP_TO, _MULTIPLE = 10, 2.25
_FURTHER, _FURTHER_OF_MANY, _MANY = 5, 3, 25
# Neighbouring γs differ by this factor.  A finer grid with steps of 2 costs twice as
# much and predicts no better (benchmarks/README.md).
GAMMA_FACTOR = 4.0
# The first γs, as powers of that factor times the default.
_FIRST_POWERS = (-2, -1, 0)


def k_grid(p: int, least: int = 0) -> list[int]:
    """Every number of features from none, or from those that are forced in, to ten more.

    It does not depend on the number of rows, so that a row of weight 2 counts as two rows.  Larger numbers are tried if
    the last one is the best.

    Parameters
    ----------
    p : number of candidate features
    least : number of features that are forced in
    """
    return list(range(least, min(p, least + _EVERY_UP_TO) + 1))


def larger_ks(last: int, p: int) -> list[int]:
    """Numbers of features to try next if the last of a grid is the best, up to about twice the last."""
    most = min(p, round(_MULTIPLE * max(last, 1)))
    count = _FURTHER if last <= _MANY else _FURTHER_OF_MANY
    further = np.geomspace(max(last, 1), max(most, 1), count + 1).round().astype(int)
    return sorted({k for k in further.tolist() if last < k <= most})


def ridge_grid(default: float) -> list[float]:
    """The first ridges to try, around the default γ; more are tried if the first or the last is the best."""
    return [default * GAMMA_FACTOR**power for power in _FIRST_POWERS]
