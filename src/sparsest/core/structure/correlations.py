"""Sets of features whose columns are too highly correlated to be chosen together."""

from __future__ import annotations

import numpy as np

from sparsest.core.arrays import Indices
from sparsest.core.data import Data

# Products of columns that are computed at a time.
_PRODUCTS_AT_ONCE = 4_000_000


def exclusive_sets(data: Data, units: Indices, most: float) -> list[list[int]]:
    """Sets of units, no two of which may be chosen together, that cover all pairs of correlated units.

    Two units are correlated if a column of one and a column of the other have an absolute weighted correlation above
    ``most``.
    """
    neighbours = _neighbours(data, units, most)
    covered: set[tuple[int, int]] = set()
    sets: list[list[int]] = []
    for g in sorted(neighbours):
        for h in sorted(neighbours[g]):
            if h < g or (g, h) in covered:
                continue
            # A set grows while every member is correlated with all others: larger sets give tighter bounds.
            members, common = [g, h], neighbours[g] & neighbours[h]
            while common:
                new = min(common)
                members.append(new)
                common = common & neighbours[new]
            members.sort()
            covered |= {(a, b) for at, a in enumerate(members) for b in members[at + 1 :]}
            sets.append(members)
    return sets


def _neighbours(data: Data, units: Indices, most: float) -> dict[int, set[int]]:
    """The correlated units of every unit that has some, from blocks of the correlation matrix."""
    p, design = data.p, data.design
    sums = design.tdot(data.weights)
    means = sums / data.weights.sum()
    width = max(1, _PRODUCTS_AT_ONCE // max(p, data.n))
    squares = np.empty(p)
    for begin in range(0, p, width):
        part = np.arange(begin, min(begin + width, p))
        block = design.columns(part) - means[part]
        squares[part] = data.weights @ block**2
    # Constant columns are correlated with nothing.
    scale = np.where(squares > 1e-12 * data.weights.sum() * np.maximum(means**2, 1e-300), np.sqrt(squares), np.inf)
    found: dict[int, set[int]] = {}
    for begin in range(0, p, width):
        part = np.arange(begin, min(begin + width, p))
        weighted = data.weights[:, None] * (design.columns(part) - means[part])
        correlation = np.abs(design.tdot(weighted)) / np.outer(scale, scale[part])
        for i, j in np.argwhere(correlation > most).tolist():
            one, other = int(units[i]), int(units[part[j]])
            if one != other:
                found.setdefault(one, set()).add(other)
                found.setdefault(other, set()).add(one)
    return found
