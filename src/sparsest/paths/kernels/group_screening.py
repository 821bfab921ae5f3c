"""Which groups of gradients have to be computed, from gradients at earlier points; see :mod:`screening`.

Gradients of a group are always computed together, so what is known of its first feature is known of all.
"""

from __future__ import annotations

import numpy as np

from sparsest.paths.kernels.screening import FORESEEN_SHARE, spans
from sparsest.runtime.jit import kernel


@kernel
def unsettled_groups(memory, inner, square, norms, slope, alpha, outside, members, starts, out):
    """Write down the features of groups outside whose gradients may exceed ``λ·slope``; returns how many.

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
                total += (first[a, b] * value[j] + second[a, b] * earlier[j]) ** 2
            if not np.sqrt(total) + distance[a, b] * norms[lead] <= alpha * slope[lead]:
                for q in range(starts[g], starts[g + 1]):
                    out[count] = members[q]
                    count += 1
        for q in range(starts[g], starts[g + 1]):
            j = members[q]
            if b == oldest:
                before[j] = m
            if a == oldest:
                reference[j], value[j], before[j] = before[j], earlier[j], m
    return count


@kernel
def foreseen_groups(memory, slope, alpha, outside, members, starts, out):
    """Write down the features of groups outside whose gradients at λ will nearly reach their limits; returns how many.

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
        known, cross, change = 0.0, 0.0, 0.0
        for q in range(starts[g], starts[g + 1]):
            j = members[q]
            step = share * (value[j] - earlier[j])
            known, cross, change = known + value[j] ** 2, cross + value[j] * step, change + step * step
        most, part = abs(memory.alphas[a] - alpha) * slope[lead], 1.0
        if change > most * most:
            part = most / np.sqrt(change)
        guess = np.sqrt(max(known + part * (2.0 * cross + part * change), 0.0))
        if guess > FORESEEN_SHARE * alpha * slope[lead]:
            for q in range(starts[g], starts[g + 1]):
                out[count] = members[q]
                count += 1
    return count
