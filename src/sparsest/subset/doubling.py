"""The stopping rule for grids of increasing γ: stop when doubling γ no longer changes the model."""

from __future__ import annotations

import numpy as np

from sparsest.core.arrays import Array, Indices

# Relative change of the coefficients, in the Euclidean norm, up to which they count as unchanged.
_NO_CHANGE = 0.01


def unchanged(support: Indices, coef: Array, next_support: Indices, next_coef: Array) -> bool:
    """Whether a model and that of the next γ have the same support and nearly the same coefficients."""
    if not np.array_equal(support, next_support):
        return False
    return bool(np.linalg.norm(coef - next_coef) <= _NO_CHANGE * np.linalg.norm(next_coef))
