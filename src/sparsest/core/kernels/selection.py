"""The largest entries of an array, without sorting it."""

from __future__ import annotations

import numpy as np

from sparsest.runtime.jit import inlined, kernel


@inlined
def ranked_sample(values, step, rank):
    """Return the ``rank``-th largest of every ``step``-th entry."""
    top, count = np.empty(rank), 0
    for at in range(0, values.size, step):
        value = values[at]
        if count < rank or value > top[rank - 1]:
            place = min(count, rank - 1)
            while place > 0 and top[place - 1] < value:
                top[place] = top[place - 1]
                place -= 1
            top[place] = value
            count = min(count + 1, rank)
    return top[count - 1]


@kernel
def largest_sum(values, count):
    """Return the sum of the ``count`` largest entries and the smallest of them; ``values`` is reordered."""
    size = values.size
    if count <= 0:
        return 0.0, np.inf
    if count >= size:
        total, least = 0.0, np.inf
        for j in range(size):
            total += values[j]
            least = min(least, values[j])
        return total, least
    low, high = 0, size - 1
    if size > 512 and 16 * count < size:
        # Partition first by one of the largest values in a sample of 64: that excludes most values in one pass.
        step = size // 64
        floor, above = ranked_sample(values, step, 4 + 2 * count // step), 0
        for j in range(size):
            if values[j] > floor:
                values[above], values[j] = values[j], values[above]
                above += 1
        if above > count:
            high = above - 1
    while low < high:
        pivot = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] > pivot:
                i += 1
            while values[j] < pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if count - 1 <= j:
            high = j
        elif count - 1 >= i:
            low = i
        else:
            break
    total, least = 0.0, np.inf
    for j in range(count):
        total += values[j]
        least = min(least, values[j])
    return total, least
