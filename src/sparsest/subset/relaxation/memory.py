"""State that one working set passes to the next: positions of columns, interior-point iterates, and a Gram matrix."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsest.core.arrays import Array, Indices
from sparsest.subset.fits.interior_point import InteriorPoint, Iterate

# Share of new columns above which the Gram matrix is computed from scratch: a general product takes twice the
# operations of a symmetric one, and kept entries have to be moved.
_MOST_NEW = 0.15


class History(NamedTuple):
    """The iterates of an interior-point method on a working set, with their complementarities."""

    method: InteriorPoint
    iterates: list[tuple[float, Iterate]]


class CurvedGram(NamedTuple):
    """The Gram matrix ``X'diag(curvature)X`` of a working set."""

    matrix: Array
    curvature: Array


class Memory:
    """State of the last working set, for warm starts on the next one."""

    def __init__(self) -> None:
        self.features = np.empty(0, dtype=np.intp)
        # The position of each column in the previous working set, or -1; and the gap over all features after it.
        self.before = np.empty(0, dtype=np.intp)
        self.gap = np.inf
        self.history: History | None = None
        self.gram: CurvedGram | None = None

    def enter(self, features: Indices, gap: float) -> None:
        """Change to another working set; ``gap`` is the gap over all features after the previous one."""
        order = np.argsort(self.features)
        at = np.searchsorted(self.features, features, sorter=order)
        self.before = np.full(features.size, -1, dtype=np.intp)
        found = at < order.size
        found[found] = self.features[order[at[found]]] == features[found]
        self.before[found] = order[at[found]]
        self.features, self.gap = features, gap

    def forget(self) -> None:
        """Discard iterates and Gram matrix."""
        self.history = self.gram = None

    def resume(self, method: InteriorPoint) -> Iterate | None:
        """A warm start near the last iterate whose complementarity was at least the gap over all features.

        If the entering features leave a large gap, steps from an iterate close to the old solution are short.
        """
        if self.history is None:
            return None
        earlier, iterates = self.history
        enough = [x for complementarity, x in iterates if earlier.degree(x) * complementarity >= self.gap]
        return method.resume(enough[-1] if enough else iterates[0][1], earlier, self.before)

    def gram_of(self, columns: Array, most_new: float = _MOST_NEW) -> CurvedGram | None:
        """The Gram matrix of the columns with the last curvatures; None if too many of the columns are new."""
        if self.gram is None:
            return None
        new = np.flatnonzero(self.before < 0)
        if new.size > most_new * columns.shape[1]:
            return None
        # Rows and columns of new features have entries of another feature until the products replace them.
        matrix = self.gram.matrix[self.before].take(self.before, axis=1)
        products = columns.T @ (self.gram.curvature[:, None] * columns[:, new])
        matrix[:, new], matrix[new] = products, products.T
        return CurvedGram(matrix, self.gram.curvature)
