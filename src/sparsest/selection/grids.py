"""Which numbers of features and ridges to try, and what to try next where the best is at the end of a grid."""

from __future__ import annotations

import numpy as np

# All numbers up to this beyond what is forced in; then so many more, up to this multiple of the last one.
_EVERY_UP_TO, _FURTHER, _MULTIPLE = 10, 9, 5
# A grid of γs goes on by so many halvings.
_HALVINGS = 6


def k_grid(p: int, least: int = 0) -> list[int]:
    """Every number of features from none, or from those that are forced in, to ten more.

    It does not depend on the number of observations: a row of weight 2 is two rows, and larger numbers are tried where
    ten is the best.

    Parameters
    ----------
    p : features that may be chosen
    least : how many are forced in
    """
    return list(range(least, min(p, least + _EVERY_UP_TO) + 1))


def larger_ks(last: int, p: int) -> list[int]:
    """Numbers of features to try where the last of a grid is the best: ever fewer, up to five times the last."""
    most = min(p, _MULTIPLE * max(last, 1))
    further = np.geomspace(max(last, 1), max(most, 1), _FURTHER + 1).round().astype(int)
    return sorted({k for k in further.tolist() if last < k <= most})


def smaller_gammas(first: float) -> list[float]:
    """Ridges to try where the strongest one of a grid is the best; the weakest one hardly shrinks."""
    return (first * 2.0 ** np.arange(-_HALVINGS, 0)).tolist()
