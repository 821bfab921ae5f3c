"""What one working set leaves to the next: where its columns were, iterates of an interior point, and a Gram matrix."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsest.core.arrays import Array, Indices
from sparsest.subset.fits.interior_point import InteriorPoint, Iterate

# The share of new columns from which on a Gram matrix is made anew: a product of two arrays takes twice the work of one
# with itself, and entries that are kept have to be moved.
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
    """What is known of the last working set, for the columns of the next."""

    def __init__(self) -> None:
        self.features = np.empty(0, dtype=np.intp)
        # Where each column of the working set was in the one before, or -1; and the gap over all features after that.
        self.before = np.empty(0, dtype=np.intp)
        self.gap = np.inf
        self.history: History | None = None
        self.gram: CurvedGram | None = None

    def enter(self, features: Indices, gap: float) -> None:
        """Go to another working set from one that left a gap over all features."""
        order = np.argsort(self.features)
        at = np.searchsorted(self.features, features, sorter=order)
        self.before = np.full(features.size, -1, dtype=np.intp)
        found = at < order.size
        found[found] = self.features[order[at[found]]] == features[found]
        self.before[found] = order[at[found]]
        self.features, self.gap = features, gap

    def forget(self) -> None:
        """Keep nothing: the next working set follows one of which nothing is known."""
        self.history = self.gram = None

    def resume(self, method: InteriorPoint) -> Iterate | None:
        """An iterate near the last one whose complementarity was not below the gap that was left.

        Where entering features leave much to do, steps from a point close to the old solution are short.
        """
        if self.history is None:
            return None
        earlier, iterates = self.history
        enough = [x for complementarity, x in iterates if earlier.degree(x) * complementarity >= self.gap]
        return method.resume(enough[-1] if enough else iterates[0][1], earlier, self.before)

    def gram_of(self, columns: Array) -> CurvedGram | None:
        """The Gram matrix of the columns, with the last curvatures; None where much of it would have to be computed."""
        if self.gram is None:
            return None
        new = np.flatnonzero(self.before < 0)
        if new.size > _MOST_NEW * columns.shape[1]:
            return None
        # Where a column is new these are entries of another one, until its products replace them.
        matrix = self.gram.matrix[self.before].take(self.before, axis=1)
        products = columns.T @ (self.gram.curvature[:, None] * columns[:, new])
        matrix[:, new], matrix[new] = products, products.T
        return CurvedGram(matrix, self.gram.curvature)
