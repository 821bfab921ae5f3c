"""Relaxations of regions of the tree in Gram space, several at a time, and what they fix.

The quadratic is ``½w'Hw - b'w + ½ Σ δ_j w_j²/s_j`` over the features that survived the root, ``H = G + diag(shift)``.
Columns of G are stored for the features that have coefficients or are used often: ``slot[j]`` is the row of ``store``
with feature j's column, or -1.  Other entries of G are computed from the columns of X where they are needed.  Both are
kept as rows of matrices in C order, the only order that a matrix with a single row or column can have in numba: any
other would have to be compiled twice.
``state[j]`` is 1 for a feature forced in, -1 for one forced out, else 0.
"""

from __future__ import annotations

import numpy as np

from sparsest.kernels.jit import kernel
from sparsest.kernels.relaxation import largest_sum, relax_quadratic

RUNNING, SOLVED, CLOSED = 0, 1, 2
_ROUNDS = 50
_ROWS = 512  # of the columns of G, multiplied at a time
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
def products(store, slot, shifts, b, W, running, U):
    """``U_i = b - H_i W_i`` for the running regions, by blocks of rows that stay in the cache for all of them."""
    m = b.size
    used, size = np.empty((running.size, m), dtype=np.int64), np.zeros(running.size, dtype=np.int64)
    for a in range(running.size):
        for j in range(m):
            if W[running[a], j] != 0.0:
                used[a, size[a]] = j
                size[a] += 1
    for begin in range(0, m, _ROWS):
        end = min(begin + _ROWS, m)
        for a in range(running.size):
            i, chosen = running[a], used[a]
            w, block = W[i], U[i, begin:end]
            for row in range(end - begin):
                block[row] = b[begin + row]
            whole = size[a] - size[a] % 4
            for place in range(0, whole, 4):
                j0, j1, j2, j3 = chosen[place], chosen[place + 1], chosen[place + 2], chosen[place + 3]
                w0, w1, w2, w3 = w[j0], w[j1], w[j2], w[j3]
                c0, c1 = store[slot[j0], begin:end], store[slot[j1], begin:end]
                c2, c3 = store[slot[j2], begin:end], store[slot[j3], begin:end]
                for row in range(end - begin):
                    block[row] -= w0 * c0[row] + w1 * c1[row] + w2 * c2[row] + w3 * c3[row]
            for place in range(whole, size[a]):
                weight, column = w[chosen[place]], store[slot[chosen[place]], begin:end]
                for row in range(end - begin):
                    block[row] -= weight * column[row]
    for a in range(running.size):
        i = running[a]
        for j in used[a, : size[a]]:
            U[i, j] -= shifts[i, j] * W[i, j]


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
    """Return a point's bound for a region; narrow ``state`` by what it fixes against ``cutoff``, return that too.

    Last come the features that had to be out for this, as their gains would count: it holds with the others free.
    """
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
    # What has been fixed out just now has smaller gains.
    level, n_needed = np.sqrt(2.0 * (following if n_inside else last)), 0
    for j in range(m):
        if state[j] == -1 and not abs(u[j]) <= root_delta[j] * level:
            alive[n_needed] = j
            n_needed += 1
    # Copies: what is kept must not hold on to the memory of all features.
    return bound, inside[:n_inside].copy(), outside[:n_outside].copy(), alive[:n_needed].copy()


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
def undecided(indicator):
    """The distance of an indicator to the nearest integral one."""
    total = 0.0
    for s in indicator:
        total += min(s, 1.0 - s)
    return total


@kernel
def unpack(w, state, root_delta, sigma):
    """Return the features with coefficients, these, and the indicator of all."""
    used, indicator, count = np.empty(w.size, dtype=np.int64), np.empty(w.size), 0
    for j in range(w.size):
        if w[j] != 0.0:
            used[count] = j
            count += 1
        indicator[j] = 1.0 if state[j] == 1 else min(1.0, sigma * root_delta[j] * abs(w[j]))
    used = used[:count].copy()
    return used, w[used], indicator


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
def missing_columns(slot, uses, W, running, batch):
    """Return the features whose columns should be stored now, none if all with coefficients have one.

    Columns computed together cost a fraction of single ones: features used most without one fill up a batch.
    """
    m = slot.size
    chosen, wanted, work = np.empty(m, dtype=np.int64), np.zeros(m, dtype=np.bool_), np.empty(m)
    count, n_others = 0, 0
    for j in range(m):
        if slot[j] < 0:
            wanted[j] = uses[j] > _OFTEN
            for i in running:
                wanted[j] = wanted[j] or W[i, j] != 0.0
            if wanted[j]:
                chosen[count] = j
                count += 1
            elif uses[j] > 0:
                work[n_others] = uses[j]
                n_others += 1
    if count == 0 or count >= batch:
        return chosen[:count]
    level = max(largest_sum(work[:n_others], batch - count)[1], 1.0)
    for j in range(m):
        if slot[j] < 0 and uses[j] >= level and not wanted[j]:
            chosen[count] = j
            count += 1
    return chosen[:count]


@kernel
def inner(columns, i, j):
    """``X_i'X_j``."""
    total = 0.0
    for row in range(columns.shape[1]):
        total += columns[i, row] * columns[j, row]
    return total


@kernel
def part_of_quadratic(columns, store, slot, shift, uses, chosen, H):
    """Fill H for the chosen features, and count the use of those whose column is not stored."""
    for a in range(chosen.size):
        j = chosen[a]
        if slot[j] < 0:
            uses[j] += 1
        for b in range(a + 1):
            i = chosen[b]
            if slot[j] >= 0:
                value = store[slot[j], i]
            elif slot[i] >= 0:
                value = store[slot[i], j]
            else:
                value = inner(columns, i, j)
            H[a, b] = value
            H[b, a] = value
        H[a, a] += shift[j]


@kernel
def improve(
    columns, store, slot, shift, uses, b, root_delta, state, alive, n_in, budget, price, w, cutoff, scale, bound, q,
    progress, grid,
):  # fmt: skip
    """Solve the relaxation of a region on a working set about ``w``, which is overwritten.

    Where ``grid`` is not 0, w is rounded to multiples of it and to single precision, as a proof stores it: every bound
    then belongs to the point that is stored.
    """
    m = b.size
    work, chosen = np.empty(m), np.empty(m, dtype=np.int64)
    left = budget - n_in if budget >= 0 else -1
    extra = max(50, 2 * left) if left != 0 else 0
    size = pick_working_set(q, w, state, alive, progress[1], extra, work, chosen)
    H = np.empty((size, size))
    part_of_quadratic(columns, store, slot, shift, uses, chosen[:size], H)
    c, roots, start = np.empty(size), np.empty(size), np.empty(size)
    forced = np.empty(size, dtype=np.bool_)
    largest = 0.0
    for a in range(size):
        j = chosen[a]
        row_sum = 0.0
        for i in range(size):
            row_sum += abs(H[a, i])
        largest = max(largest, row_sum)
        c[a], roots[a], start[a], forced[a] = b[j], root_delta[j], w[j], state[j] == 1
    tolerance = max(progress[2] * (cutoff - bound), 1e-10 * scale)
    primal, _, steps, _, sigma = relax_quadratic(
        H, c, roots, forced, left, price, start, 0.35 * largest + 1e-300, tolerance, cutoff, 5000
    )
    # A region that one round does not decide may need finer numbers.
    fineness = 16.0 ** min(progress[3], 8.0)
    for a in range(size):
        j = chosen[a]
        step = grid[j] / fineness
        w[j] = np.float64(np.float32(np.rint(start[a] / step) * step)) if step > 0.0 else start[a]
    progress[0], progress[1] = primal, sigma
    if progress[3] > 2:
        progress[2] *= 0.3
    progress[3] += 1
    progress[4] += steps


@kernel
def solve_nodes(
    columns, store, slot, shifts, uses, batch, b, roots, states, budget, price, W, cutoff, scale, U, known, bounds,
    progress, status, grid, stop,
):  # fmt: skip
    """Relax regions from ``W`` (overwritten) until each bound passes ``cutoff`` or is precise enough.

    Arrays have a row for each region.  On return ``U = b - HW``, and where ``known`` also before; ``progress`` has the
    primal value, σ, the precision, the round and the inner iterations so far.  Another thread sets ``stop[0]`` when
    time has run out: regions are then left as they are.  If the features returned are any, their columns of G should be
    stored and this be called again: it then goes on.
    """
    m = b.size
    q, work, all_alive = np.empty(m), np.empty(m), np.empty(m, dtype=np.int64)
    running = np.flatnonzero(status == RUNNING)
    for i in running:
        for j in range(m):
            if states[i, j] == -1 and W[i, j] != 0.0:
                known[i] = known[i] and slot[j] >= 0
                if known[i]:
                    for row in range(m):
                        U[i, row] += W[i, j] * store[slot[j], row]
                W[i, j] = 0.0
    while running.size > 0:
        missing = missing_columns(slot, uses, W, running, batch)
        if missing.size > 0:
            return missing
        products(store, slot, shifts, b, W, running[~known[running]], U)
        for i in running:
            known[i] = False
            w, u, state = W[i], U[i], states[i]
            count, n_in = list_alive(state, all_alive)
            alive = all_alive[:count]
            quadratic = 0.0
            for j in alive:
                quadratic += w[j] * (b[j] - u[j])
            bound, _, _ = region_bound(u, quadratic, roots[i], state, alive, n_in, budget, price, q, work)
            bounds[i] = bound
            if not -np.inf < bound < np.inf:
                # An overflow proves nothing, and more rounds would not mend it.
                bounds[i], status[i] = -np.inf, SOLVED
            elif bound >= cutoff:
                status[i] = CLOSED
            elif (
                progress[i, 0] - bound <= max(0.1 * (cutoff - bound), 1e-9 * scale)
                or progress[i, 3] >= _ROUNDS
                or stop[0] != 0
            ):
                status[i] = SOLVED
            else:
                improve(
                    columns, store, slot, shifts[i], uses, b, roots[i], state, alive, n_in, budget, price, w, cutoff,
                    scale, bound, q, progress[i], grid,
                )  # fmt: skip
        running = np.flatnonzero(status == RUNNING)
    return running
