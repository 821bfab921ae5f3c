"""One Gram matrix ``X'diag(h)X`` for many nodes, with the curvatures h of the loss at the root.

Nodes of a tree have similar fitted values, so the curvatures of a smooth loss hardly differ between them.  Steps with
the root's curvatures converge a little more slowly than Newton steps, but their matrices need not be computed.
"""

from __future__ import annotations

import numpy as np

from sparsest.core.arrays import Array, Indices
from sparsest.core.losses import PiecewiseLinear, Squared
from sparsest.core.problem import Problem
from sparsest.runtime.threads import all_threads
from sparsest.subset.relaxation.memory import CurvedGram
from sparsest.subset.tree.tuning import DEFAULT_TUNING, Tuning

# Number of features in the matrix for each coefficient of the root, and the largest number of features in it.
_PER_COEFFICIENT, _MOST = 3, 4000
# The largest share of a working set that may lie outside the matrix.
_MOST_OUTSIDE = 0.3


class ReferenceGram:
    """The matrix over the features that nodes are most likely to use; it never changes, so threads can share it."""

    def __init__(self, columns: Array, curvature: Array, features: Indices, tuning: Tuning = DEFAULT_TUNING) -> None:
        self.curvature, self._least_operations = curvature, tuning.reference_operations
        self.slot = np.full(columns.shape[1], -1)
        self.slot[features] = np.arange(features.size)
        scaled = np.sqrt(curvature)[:, None] * columns[:, features]
        with all_threads():
            self.matrix = scaled.T @ scaled

    def of(self, features: Indices, columns: Array) -> CurvedGram | None:
        """The matrix of these features, whose columns are given; None if using it would save no time.

        That is the case if too many of them are not in it, or if computing their own matrix takes hardly any time.
        """
        slot = self.slot[features]
        outside = np.flatnonzero(slot < 0)
        if columns.size * features.size < self._least_operations or outside.size > _MOST_OUTSIDE * features.size:
            return None
        # Rows and columns outside have entries of another feature until the products replace them.
        matrix = self.matrix[slot].take(slot, axis=1)
        if outside.size:
            products = columns.T @ (self.curvature[:, None] * columns[:, outside])
            matrix[:, outside], matrix[outside] = products, products.T
        return CurvedGram(matrix, self.curvature)


def reference_at(
    problem: Problem, columns: Array, margin: Array, used: Indices, tuning: Tuning = DEFAULT_TUNING
) -> ReferenceGram | None:
    """The matrix for the curvatures at these fitted values; None for losses without curvature, and for the squared one.

    It contains the features ``used`` and those with the largest products with the gradient of the loss.
    """
    if isinstance(problem.loss, (PiecewiseLinear, Squared)):
        return None
    if columns.size * min(tuning.reference_features, columns.shape[1]) < tuning.reference_operations:
        return None
    least = 1e-4 * problem.data.curvature
    curvature = problem.weights * np.maximum(problem.loss.second_derivative(problem.y, margin), least)
    products = np.abs(columns.T @ (problem.weights * problem.loss.derivative(problem.y, margin)))
    products[used] = np.inf
    count = min(max(_PER_COEFFICIENT * used.size, tuning.reference_features), _MOST)
    if not np.isfinite(curvature).all() or used.size > count:
        return None
    return ReferenceGram(columns, curvature, np.argsort(-products, kind="stable")[:count], tuning)
