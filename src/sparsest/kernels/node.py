"""The relaxation of one node of the tree in Gram space, with fixing of features on the way.

The quadratic is ``½w'Hw - b'w + ½ Σ δ_j w_j²/s_j`` over the features that survived the root.  Columns of H are stored
for the features that have coefficients or are used often: ``slot[j]`` is the position of feature j's column in
``store``, or -1.  Other entries of H are computed from the columns of X where they are needed.  ``state[j]`` is 1
for a feature forced in, -1 for one forced out, else 0.
"""

from __future__ import annotations

import numpy as np

from sparsest.kernels.jit import kernel
from sparsest.kernels.relaxation import largest_sum, relax_quadratic

SOLVED, CLOSED, MISSING = 0, 1, 2
# Where ``solve_node`` begins: the primal value, σ, the precision, the round and the inner iterations so far.
PROGRESS = np.array([np.inf, 0.0, 0.1, 0.0, 0.0])
_OFTEN = 20  # working sets in which a feature may be without a column of its own


@kernel
def list_alive(state, alive):
    """Write the features that are not forced out into ``alive``; return their number and how many are forced in."""
    count, forced = 0, 0
    for j in range(state.size):
        if state[j] >= 0:
            alive[count] = j
            count += 1
            if state[j] == 1:
                forced += 1
    return count, forced


@kernel
def products(store, slot, b, w, alive, u):
    """``u = b - Hw`` over the living features."""
    m = b.size
    for i in range(m):
        u[i] = b[i]
    # Whole columns are faster than a third of their entries picked one by one.
    whole = 3 * alive.size > m
    for j in alive:
        if w[j] != 0.0:
            weight, column = w[j], slot[j]
            if whole:
                for i in range(m):
                    u[i] -= weight * store[i, column]
            else:
                for i in alive:
                    u[i] -= weight * store[i, column]


@kernel
def region_bound(u, quadratic, root_delta, state, alive, n_in, budget, price, q, work):
    """Return ``-½w'Hw - gain(u)``, and the last gain inside and the first outside the best free choice."""
    gain = 0.0
    free = 0
    for j in alive:
        ratio = u[j] / root_delta[j]
        q[j] = 0.5 * ratio * ratio
        if state[j] == 1:
            gain += q[j] - price
        elif budget < 0:
            gain += max(q[j] - price, 0.0)
        else:
            work[free] = q[j]
            free += 1
    last, following = price, price
    if budget >= 0:
        left = budget - n_in
        total, last = largest_sum(work[:free], left)
        gain += total
        following = 0.0
        for j in range(max(left, 0), free):
            following = max(following, work[j])
        if left <= 0:
            last, following = np.inf, np.inf
        elif left >= free:
            last = 0.0
    return -0.5 * quadratic - gain, last, following


@kernel
def tighten(u, quadratic, root_delta, state, budget, price, cutoff):
    """Return a point's bound for a region; narrow ``state`` by what it fixes against ``cutoff``, return that too."""
    m = state.size
    alive, q, work = np.empty(m, dtype=np.int64), np.empty(m), np.empty(m)
    count, n_in = list_alive(state, alive)
    bound, last, following = region_bound(u, quadratic, root_delta, state, alive[:count], n_in, budget, price, q, work)
    slack = cutoff - bound
    inside, outside = np.empty(m, dtype=np.int64), np.empty(m, dtype=np.int64)
    n_inside, n_outside = 0, 0
    if slack > 0.0:
        for j in alive[:count]:
            if state[j] == 0:
                if last - q[j] > slack:
                    state[j] = -1
                    outside[n_outside] = j
                    n_outside += 1
                elif q[j] - following > slack:
                    state[j] = 1
                    inside[n_inside] = j
                    n_inside += 1
    # Copies: what is kept must not hold on to the memory of all features.
    return bound, inside[:n_inside].copy(), outside[:n_outside].copy()


@kernel
def nearest(indicator, state, target):
    """Return the free feature whose indicator is nearest to ``target``, as a share of the way to 0 or 1; -1 if none."""
    best, score = -1, 1e-7
    for j in range(state.size):
        if state[j] == 0:
            closeness = min(indicator[j] / target, (1.0 - indicator[j]) / (1.0 - target))
            if closeness > score:
                best, score = j, closeness
    return best


@kernel
def pick_working_set(q, w, state, alive, sigma, extra, work, chosen):
    """Write forced, nonzero and up to ``extra`` features above the threshold into ``chosen``; return how many."""
    threshold = 0.999 * 0.5 / (sigma * sigma) if 0.0 < sigma < np.inf else 0.0
    count = 0
    for j in alive:
        if state[j] == 0 and w[j] == 0.0 and q[j] > threshold:
            work[count] = q[j]
            count += 1
    level = threshold
    if count > extra:
        level = max(level, largest_sum(work[:count], extra)[1]) if extra > 0 else np.inf
    size = 0
    for j in alive:
        if state[j] == 1 or w[j] != 0.0 or q[j] > level or (q[j] == level and level > threshold):
            chosen[size] = j
            size += 1
    return size


@kernel
def missing_columns(slot, uses, w, alive, batch, work, chosen):
    """Return the features whose columns should be stored now, none if all with coefficients have one.

    Columns computed together cost a fraction of single ones: features used most without one fill up a batch.
    """
    count, n_others = 0, 0
    for j in alive:
        if slot[j] < 0:
            if w[j] != 0.0 or uses[j] > _OFTEN:
                chosen[count] = j
                count += 1
            elif uses[j] > 0:
                work[n_others] = uses[j]
                n_others += 1
    if count == 0 or count >= batch:
        return chosen[:count]
    level = max(largest_sum(work[:n_others], batch - count)[1], 1.0)
    for j in alive:
        if slot[j] < 0 and w[j] == 0.0 and level <= uses[j] <= _OFTEN:
            chosen[count] = j
            count += 1
    return chosen[:count]


@kernel
def inner(columns, i, j):
    """``X_i'X_j``."""
    total = 0.0
    for row in range(columns.shape[0]):
        total += columns[row, i] * columns[row, j]
    return total


@kernel
def part_of_gram(columns, store, slot, uses, chosen, H):
    """Fill H with the Gram matrix of the chosen features, and count the use of those whose column is not stored."""
    for a in range(chosen.size):
        j = chosen[a]
        if slot[j] < 0:
            uses[j] += 1
        for b in range(a + 1):
            i = chosen[b]
            if slot[j] >= 0:
                value = store[i, slot[j]]
            elif slot[i] >= 0:
                value = store[j, slot[i]]
            else:
                value = inner(columns, i, j)
            H[a, b] = value
            H[b, a] = value


@kernel
def solve_node(
    columns, store, slot, uses, batch, b, root_delta, state, budget, price, w, cutoff, scale, extra, u, progress
):
    """Solve the relaxation of a region from ``w`` (overwritten) until its bound passes ``cutoff`` or is precise enough.

    On return ``u = b - Hw`` over the features that are not forced out.  Returns the outcome, the bound at the last w,
    the relaxed primal value, σ, the number of inner iterations, and, if the outcome is MISSING, features whose
    columns of H should be stored before it is called again with the same w and ``progress``, where it then goes on.
    """
    m = b.size
    q, work, all_alive, chosen = np.empty(m), np.empty(m), np.empty(m, dtype=np.int64), np.empty(m, dtype=np.int64)
    bound = -np.inf
    primal, sigma, precision = progress[0], progress[1], progress[2]
    begin, iterations = int(progress[3]), int(progress[4])
    count, n_in = list_alive(state, all_alive)
    alive = all_alive[:count]
    for j in range(m):
        if state[j] == -1:
            w[j] = 0.0
    left = budget - n_in if budget >= 0 else -1
    for round_number in range(begin, 50):
        missing = missing_columns(slot, uses, w, alive, batch, work, chosen)
        if missing.size > 0:
            progress[0], progress[1], progress[2] = primal, sigma, precision
            progress[3], progress[4] = round_number, iterations
            return MISSING, bound, primal, sigma, iterations, missing
        products(store, slot, b, w, alive, u)
        quadratic = 0.0
        for j in alive:
            quadratic += w[j] * (b[j] - u[j])
        bound, _, _ = region_bound(u, quadratic, root_delta, state, alive, n_in, budget, price, q, work)
        if bound >= cutoff:
            return CLOSED, bound, primal, sigma, iterations, chosen[:0]
        if primal - bound <= max(0.1 * (cutoff - bound), 1e-9 * scale):
            break
        size = pick_working_set(q, w, state, alive, sigma, extra if left != 0 else 0, work, chosen)
        H = np.empty((size, size)).T
        part_of_gram(columns, store, slot, uses, chosen[:size], H)
        c, roots, start = np.empty(size), np.empty(size), np.empty(size)
        forced = np.empty(size, dtype=np.bool_)
        largest = 0.0
        for a in range(size):
            j = chosen[a]
            row_sum = 0.0
            for i in range(size):
                row_sum += abs(H[i, a])
            largest = max(largest, row_sum)
            c[a], roots[a], start[a], forced[a] = b[j], root_delta[j], w[j], state[j] == 1
        tolerance = max(precision * (cutoff - bound), 1e-10 * scale)
        primal, _, steps, _, sigma = relax_quadratic(
            H, c, roots, forced, left, price, start, 0.35 * largest + 1e-300, tolerance, cutoff, 5000
        )
        iterations += steps
        for a in range(size):
            w[chosen[a]] = start[a]
        if round_number > 2:
            precision *= 0.3
    return SOLVED, bound, primal, sigma, iterations, chosen[:0]
