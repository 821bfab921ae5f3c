"""Which groups of gradients have to be computed, from gradients at earlier points; see :mod:`screening`.

Gradients of a group are always computed together, so the state of its first feature is that of all its features.  If
coefficients may have one sign only, only gradients that push to that side count.
"""

from __future__ import annotations

import numpy as np

from sparsest.paths.kernels.screening import FORESEEN_SHARE, forget, push, spans
from sparsest.runtime.jit import kernel


@kernel
def unsettled_groups(memory, inner, square, norms, slope, sides, alpha, outside, members, starts, out):
    """List the features of groups outside whose gradients may exceed ``λ·slope`` in ``out``; returns their number.

    Parameters
    ----------
    norms, slope : bounds of the norms of the groups' matrices, and limits for λ = 1; an entry for each feature, the
        same for all of a group.
    members, starts : the features group by group, and where each group begins, with the end of the last one.
    """
    m, count = inner.size, 0
    oldest = (memory.latest[0] + 1) % m
    first, second, distance = spans(memory.products, inner, square)
    value, earlier, reference, before = memory.value, memory.earlier, memory.reference, memory.before
    for g in range(starts.size - 1):
        lead = members[starts[g]]
        a, b = reference[lead], before[lead]
        if outside[lead]:
            total = 0.0
            for q in range(starts[g], starts[g + 1]):
                j = members[q]
                total += max(push(sides, j, first[a, b] * value[j] + second[a, b] * earlier[j]), 0.0) ** 2
            if not np.sqrt(total) + distance[a, b] * norms[lead] <= alpha * slope[lead]:
                for q in range(starts[g], starts[g + 1]):
                    out[count] = members[q]
                    count += 1
        for q in range(starts[g], starts[g + 1]):
            forget(value, earlier, reference, before, members[q], oldest, m)
    return count


@kernel
def foreseen_groups(memory, slope, sides, alpha, outside, members, starts, out):
    """List the features of groups outside with predicted gradients near their limits at λ; returns their number.

    Gradients are extrapolated linearly in λ, but change by no more than λ does.
    """
    m, count = memory.alphas.size, 0
    value, earlier, reference, before = memory.value, memory.earlier, memory.reference, memory.before
    for g in range(starts.size - 1):
        lead = members[starts[g]]
        a, b = reference[lead], before[lead]
        if not outside[lead] or a >= m:
            continue
        share = 0.0
        if b < m and memory.alphas[b] > memory.alphas[a]:
            share = (memory.alphas[a] - alpha) / (memory.alphas[b] - memory.alphas[a])
        change = 0.0
        for q in range(starts[g], starts[g + 1]):
            j = members[q]
            change += (share * (value[j] - earlier[j])) ** 2
        most, square = abs(memory.alphas[a] - alpha) * slope[lead], 0.0
        if change > most * most:
            share *= most / np.sqrt(change)
        for q in range(starts[g], starts[g + 1]):
            j = members[q]
            square += max(push(sides, j, value[j] + share * (value[j] - earlier[j])), 0.0) ** 2
        guess = np.sqrt(square)
        if guess > FORESEEN_SHARE * alpha * slope[lead]:
            for q in range(starts[g], starts[g + 1]):
                out[count] = members[q]
                count += 1
    return count
