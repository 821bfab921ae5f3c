"""Which gradients have to be computed, and which features will be needed soon, from gradients at earlier points."""

from __future__ import annotations

import numpy as np

from sparsest.kernels.jit import kernel

# Rounding errors of the differences of squares in the bound, relative to the size of θ.
_BOUND_ROUNDING = 1e-7
# References whose angle's squared sine is less than this count as parallel.
_PARALLEL = 1e-10


@kernel
def _spans(products, inner, square, first, second, distance):
    """How well references, one or two, make up θ: ``‖θ - first·θ_a - second·θ_b‖ ≤ distance``, for all a and b."""
    m, slack = inner.size, _BOUND_ROUNDING * np.sqrt(square)
    for a in range(m):
        alone = inner[a] / products[a, a]
        for b in range(m):
            x, y = alone, 0.0
            det = products[a, a] * products[b, b] - products[a, b] * products[a, b]
            if a != b and det > _PARALLEL * products[a, a] * products[b, b]:
                x = (products[b, b] * inner[a] - products[a, b] * inner[b]) / det
                y = (products[a, a] * inner[b] - products[a, b] * inner[a]) / det
            first[a, b], second[a, b] = x, y
            rest = max(square - x * inner[a] - y * inner[b], 0.0)
            distance[a, b] = np.sqrt(rest) + slack * (1.0 + abs(x) + abs(y))


@kernel
def unsettled(products, inner, square, known, norms, slope, alpha, outside, reused, out):
    """Write down the features outside whose gradients may exceed ``α·slope``; returns how many.

    Parameters
    ----------
    products : inner products of the references; inner, square : those with θ, and of θ with itself.
    known : the gradients (value, earlier) at two references each, and which these are; one more than there are
        stands for none.
    reused : the reference that θ will replace: what was known there is forgotten.
    """
    value, earlier, reference, before = known
    m, count = inner.size, 0
    first, second, distance = np.empty((m, m)), np.empty((m, m)), np.empty((m, m))
    _spans(products, inner, square, first, second, distance)
    for j in range(value.size):
        a, b = reference[j], before[j]
        if outside[j]:
            bound = np.inf
            if a < m:
                b = b if b < m else a
                bound = abs(first[a, b] * value[j] + second[a, b] * earlier[j]) + distance[a, b] * norms[j]
            if not bound <= alpha * slope[j]:
                out[count] = j
                count += 1
        if before[j] == reused:
            before[j] = m
        if reference[j] == reused:
            reference[j], value[j], before[j] = before[j], earlier[j], m
    return count


@kernel
def foreseen(known, alphas, slope, alpha, share, outside, out):
    """Write down the features outside whose gradients, extrapolated to α, exceed a share of their limits.

    ``alphas`` are those of the references.
    """
    value, earlier, reference, before = known
    m, count = alphas.size, 0
    for j in range(value.size):
        a, b = reference[j], before[j]
        if outside[j] and a < m:
            guess = value[j]
            if b < m and alphas[b] > alphas[a]:
                guess += (value[j] - earlier[j]) * (alphas[a] - alpha) / (alphas[b] - alphas[a])
            if abs(guess) > share * alpha * slope[j]:
                out[count] = j
                count += 1
    return count
