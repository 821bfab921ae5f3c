"""Relaxations of regions of the tree in Gram space, several at a time.

The quadratic is ``½w'Hw - c'w + ½ Σ δ_j w_j²/s_j`` over the features that survived the root, ``H = G + diag(shift)``.
Columns of G are stored for features that have coefficients or are used often: ``slot[j]`` is the row of ``store`` with
the column of feature j, or NOT_STORED.  Other entries of G are computed from the columns of X when they are needed.
If columns of G take too long, only a block of G is stored, see ``Quadratic.place``; the caller then computes products.
The columns of G and of X are rows of matrices in C order.  numba types a matrix with a single row or column as C order,
so kernels for Fortran order would have to be compiled twice.
``state[j]`` is 1 for a feature forced in, -1 for a feature forced out, and 0 for a free feature.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsest.core.arrays import Array, Indices, Mask
from sparsest.core.kernels.selection import largest_sum
from sparsest.runtime.jit import inlined, kernel
from sparsest.subset.relaxation.kernels.entering import pick_working_set, sigma_of_gains, threshold_of
from sparsest.subset.relaxation.kernels.fista import relax_quadratic
from sparsest.subset.relaxation.kernels.regulariser import NO_BOUNDS, Regulariser
from sparsest.subset.tree.kernels.regions import list_alive, region_bound

# Status of a region.
RUNNING, SOLVED, CLOSED = 0, 1, 2
NOT_STORED = -1
# A region is solved if its duality gap is at most this share of the distance between bound and cutoff.  With 0.1 the
# gaps of two hard problems after 12 s were 1.73 and 15.5 % instead of 1.71 and 14.4 %.
PRECISE = 0.03
# Share of the threshold that a feature's gain must exceed to enter the working set, and the largest number of features
# that enter in a round unless twice the budget is larger.
_ENTERING_SHARE, _MOST_ENTERING = 0.999, 50
# Largest number of working sets per region, and of iterations per working set.
_MOST_ROUNDS, _MOST_ITERATIONS = 50, 5000
# Largest number of working sets between two passes over the data, if only a block of G is stored.
_MOST_ROUNDS_IN_BLOCK = 5
# Number of rows of G that are multiplied at a time; a block of this size stays in the cache.
_BLOCK_ROWS = 512
# Number of working sets that may contain a feature before its column of G is stored.
_USES_WITHOUT_COLUMN = 20


class Quadratic(NamedTuple):
    """``½w'Gw - c'w`` over the survivors: columns of X as rows, stored columns of G as rows, and their positions.

    ``uses`` counts the working sets that contained a feature while its column was not stored.  The entry of feature i
    in a stored column is at ``place[i]``.  If ``block`` is true, only the entries of stored features are there.
    """

    columns: Array
    store: Array
    slot: Indices
    uses: Indices
    c: Array
    place: Indices
    block: bool


class Regions(NamedTuple):
    """Regions that are relaxed together, with a row or an entry for each; all but the first three are overwritten.

    ``roots`` are √δ.  ``U = c - HW`` is up to date for the regions ``known``.  ``precision`` is the tolerance of a
    working set as a share of the distance between the region's bound and the cutoff.
    """

    states: NDArray[np.int8]
    shifts: Array
    roots: Array
    W: Array
    U: Array
    known: Mask
    bounds: Array
    primal: Array
    sigma: Array
    precision: Array
    rounds: Indices
    iterations: Indices
    status: Indices


class Criteria(NamedTuple):
    """The sparsity constraint, the bounds of coefficients, and what ends a relaxation.

    A bound that reaches ``cutoff`` closes a region; tolerances for rounding errors are relative to ``scale``.  If
    ``grid[j]`` is not 0, coefficient j is rounded to a multiple of it and to single precision, as a proof stores it, so
    that every bound is that of the stored point.  Another thread sets ``stop[0]`` when the time limit is reached;
    regions then keep their current points.  ``low`` and ``high`` are empty if no coefficient is bounded.
    """

    budget: int
    price: float
    cutoff: float
    scale: float
    grid: Array
    stop: Indices
    low: Array = NO_BOUNDS
    high: Array = NO_BOUNDS


@inlined
def products(store, slot, shifts, c, W, running, U):
    """``U_i = c - H_i W_i`` for the running regions, by blocks of rows that stay in the cache for all regions."""
    m = c.size
    used, size = np.empty((running.size, m), dtype=np.int64), np.zeros(running.size, dtype=np.int64)
    for a in range(running.size):
        for j in range(m):
            if W[running[a], j] != 0.0:
                used[a, size[a]] = j
                size[a] += 1
    for begin in range(0, m, _BLOCK_ROWS):
        end = min(begin + _BLOCK_ROWS, m)
        for a in range(running.size):
            i, chosen = running[a], used[a]
            w, block = W[i], U[i, begin:end]
            for row in range(end - begin):
                block[row] = c[begin + row]
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


@inlined
def missing_columns(quadratic, W, running, batch):
    """Return the features whose columns of G should be stored now; empty if all features with coefficients have one.

    Computing columns together takes a fraction of the time of computing them one by one, so the most used features
    without a column fill up a batch.
    """
    slot, uses = quadratic.slot, quadratic.uses
    m = slot.size
    chosen, wanted, work = np.empty(m, dtype=np.int64), np.zeros(m, dtype=np.bool_), np.empty(m)
    count, n_others = 0, 0
    for j in range(m):
        if slot[j] == NOT_STORED:
            wanted[j] = uses[j] > _USES_WITHOUT_COLUMN
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
        if slot[j] == NOT_STORED and uses[j] >= level and not wanted[j]:
            chosen[count] = j
            count += 1
    return chosen[:count]


@inlined
def inner(columns, i, j):
    """``X_i'X_j``."""
    total = 0.0
    for row in range(columns.shape[1]):
        total += columns[i, row] * columns[j, row]
    return total


@inlined
def part_of_quadratic(quadratic, shift, chosen, H):
    """Fill H for the chosen features, and count the uses of features whose column is not stored."""
    columns, store, slot, uses, _, place, _ = quadratic
    for a in range(chosen.size):
        j = chosen[a]
        if slot[j] == NOT_STORED:
            uses[j] += 1
        for other in range(a + 1):
            i = chosen[other]
            if slot[j] != NOT_STORED:
                value = store[slot[j], place[i]]
            elif slot[i] != NOT_STORED:
                value = store[slot[i], place[j]]
            else:
                value = inner(columns, i, j)
            H[a, other] = value
            H[other, a] = value
        H[a, a] += shift[j]


@inlined
def evaluate(quadratic, regions, i, criteria, alive, n_in, q, work):
    """Return the bound of region i at its current point, and the region's status; q are the gains of the features."""
    w, u = regions.W[i], regions.U[i]
    square = 0.0
    # Coefficients of forced-out features count until the next working set, from which they are left out.
    for j in range(w.size):
        square += w[j] * (quadratic.c[j] - u[j])
    bound, _, _ = region_bound(
        u, square, regions.roots[i], regions.states[i], alive, n_in, criteria.budget, criteria.price, criteria.low,
        criteria.high, q, work,
    )  # fmt: skip
    if not -np.inf < bound < np.inf:
        # An overflow proves no bound, and further rounds would overflow again.
        return -np.inf, SOLVED
    if bound >= criteria.cutoff:
        return bound, CLOSED
    if (
        regions.primal[i] - bound <= max(PRECISE * (criteria.cutoff - bound), 1e-9 * criteria.scale)
        or regions.rounds[i] >= _MOST_ROUNDS
        or criteria.stop[0] != 0
    ):
        return bound, SOLVED
    return bound, RUNNING


@inlined
def choose(regions, i, criteria, alive, n_in, q, work, chosen):
    """Write the next working set of region i to ``chosen``; return its size."""
    w, state = regions.W[i], regions.states[i]
    stays = np.empty(w.size, dtype=np.bool_)
    for j in alive:
        stays[j] = state[j] == 1 or w[j] != 0.0
    left, most = criteria.budget - n_in, 0
    if left > 0:
        most = _MOST_ENTERING if criteria.price > 0.0 else max(_MOST_ENTERING, 2 * left)
    sigma = regions.sigma[i]
    if criteria.low.size > 0 and sigma > 0.0:
        sigma = sigma_of_gains(q, w, state, alive, left, criteria.price, work)
    return pick_working_set(q, stays, alive, _ENTERING_SHARE * threshold_of(sigma), np.int64(most), work, chosen)


@inlined
def missing_in_block(quadratic, regions, running, criteria, all_alive, q, work):
    """Return the features of the next working sets that are not in the stored block."""
    slot = quadratic.slot
    m = slot.size
    wanted, chosen = np.zeros(m, dtype=np.bool_), np.empty(m, dtype=np.int64)
    for i in running:
        count, n_in = list_alive(regions.states[i], all_alive)
        alive = all_alive[:count]
        if evaluate(quadratic, regions, i, criteria, alive, n_in, q, work)[1] == RUNNING:
            size = choose(regions, i, criteria, alive, n_in, q, work, chosen)
            for j in chosen[:size]:
                wanted[j] = slot[j] == NOT_STORED
    count = 0
    for j in range(m):
        if wanted[j]:
            chosen[count] = j
            count += 1
    return chosen[:count]


@inlined
def improve(quadratic, regions, i, criteria, alive, n_in, q, work):
    """Solve the relaxation of region i on a working set chosen by its w and its gains q; w is overwritten."""
    c, w, state, root_delta = quadratic.c, regions.W[i], regions.states[i], regions.roots[i]
    left, chosen = criteria.budget - n_in, np.empty(c.size, dtype=np.int64)
    size = choose(regions, i, criteria, alive, n_in, q, work, chosen)
    H = np.empty((size, size))
    part_of_quadratic(quadratic, regions.shifts[i], chosen[:size], H)
    linear, roots, start = np.empty(size), np.empty(size), np.empty(size)
    forced = np.empty(size, dtype=np.bool_)
    bounded = criteria.low.size > 0
    n_bounds = size if bounded else 0
    low, high = np.empty(n_bounds), np.empty(n_bounds)
    largest = 0.0
    for a in range(size):
        j = chosen[a]
        row_sum = 0.0
        for other in range(size):
            row_sum += abs(H[a, other])
        largest = max(largest, row_sum)
        linear[a], roots[a], start[a], forced[a] = c[j], root_delta[j], w[j], state[j] == 1
        if bounded:
            low[a], high[a] = criteria.low[j], criteria.high[j]
    tolerance = max(regions.precision[i] * (criteria.cutoff - regions.bounds[i]), 1e-10 * criteria.scale)
    omega = Regulariser(roots, forced, left, criteria.price, low, high)
    # numba gives a literal integer its own type; np.int64 avoids a second compilation of the kernel.
    primal, _, steps, _, levels = relax_quadratic(
        H, linear, omega, start, 0.35 * largest + 1e-300, tolerance, criteria.cutoff, np.int64(_MOST_ITERATIONS)
    )
    for j in range(w.size):
        if state[j] == -1:
            w[j] = 0.0
    # A region that one round does not decide may need a finer rounding.
    fineness = 16.0 ** min(regions.rounds[i], 8)
    for a in range(size):
        j = chosen[a]
        step = criteria.grid[j] / fineness
        w[j] = np.float64(np.float32(np.rint(start[a] / step) * step)) if step > 0.0 else start[a]
    regions.primal[i], regions.sigma[i], regions.known[i] = primal, levels[0], False
    regions.iterations[i] += steps


@inlined
def improve_in_block(quadratic, regions, i, criteria, inside, n_in, q, work):
    """Solve the relaxation of region i on growing working sets of the stored features ``inside``.

    It saves passes over the data: products with stored features follow from the block.  ``U`` is up to date for the
    features inside only.
    """
    store, slot, place, c = quadratic.store, quadratic.slot, quadratic.place, quadratic.c
    w, u, shift, chosen = regions.W[i], regions.U[i], regions.shifts[i], np.empty(quadratic.c.size, dtype=np.int64)
    n_stored = 0
    for j in range(slot.size):
        n_stored += slot[j] != NOT_STORED
    image = np.empty(n_stored)
    for _ in range(_MOST_ROUNDS_IN_BLOCK):
        improve(quadratic, regions, i, criteria, inside, n_in, q, work)
        for row in range(n_stored):
            image[row] = 0.0
        square, used = 0.0, 0
        for j in inside:
            if w[j] != 0.0 or regions.states[i, j] == 1:
                used += 1
                weight, column = w[j], store[slot[j]]
                for row in range(n_stored):
                    image[row] += weight * column[row]
        for j in inside:
            u[j] = c[j] - image[place[j]] - shift[j] * w[j]
            square += w[j] * (c[j] - u[j])
        bound, _, _ = region_bound(
            u, square, regions.roots[i], regions.states[i], inside, n_in, criteria.budget, criteria.price,
            criteria.low, criteria.high, q, work,
        )  # fmt: skip
        enough = regions.primal[i] - bound <= max(PRECISE * (criteria.cutoff - bound), 1e-9 * criteria.scale)
        if enough or choose(regions, i, criteria, inside, n_in, q, work, chosen) == used or criteria.stop[0] != 0:
            break


@inlined
def list_running(status, running):
    """Write the indices of the running regions to ``running``; return the filled part of the array."""
    count = 0
    for i in range(status.size):
        if status[i] == RUNNING:
            running[count] = i
            count += 1
    return running[:count]


@inlined
def list_stale(known, running, stale):
    """Write the running regions without up-to-date ``U`` to ``stale``; return the filled part of the array."""
    count = 0
    for i in running:
        if not known[i]:
            stale[count] = i
            count += 1
    return stale[:count]


@inlined
def keep_stored(slot, alive):
    """Move the features with a stored column to the front; return this part of the array."""
    count = 0
    for j in alive:
        if slot[j] != NOT_STORED:
            alive[count] = j
            count += 1
    return alive[:count]


@kernel
def solve_nodes(quadratic, regions, criteria, batch):
    """Relax regions from their ``W`` until each bound reaches the cutoff or is precise enough.

    Returns features whose columns of G, or whose part of the stored block, are missing.  If there are any, the caller
    stores them and calls again to continue.  If there are none but regions are still running, which happens only with a
    block, the caller computes ``U`` for the running regions that are not ``known`` and calls again.
    """
    c = quadratic.c
    m = c.size
    q, work, all_alive = np.empty(m), np.empty(m), np.empty(m, dtype=np.int64)
    n_regions = regions.status.size
    places, stale_places = np.empty(n_regions, dtype=np.int64), np.empty(n_regions, dtype=np.int64)
    running = list_running(regions.status, places)
    while running.size > 0:
        stale = list_stale(regions.known, running, stale_places)
        if quadratic.block:
            if stale.size > 0:
                return running[:0]
            missing = missing_in_block(quadratic, regions, running, criteria, all_alive, q, work)
        else:
            missing = missing_columns(quadratic, regions.W, running, batch)
        if missing.size > 0:
            return missing
        products(quadratic.store, quadratic.slot, regions.shifts, c, regions.W, stale, regions.U)
        for i in running:
            count, n_in = list_alive(regions.states[i], all_alive)
            alive = all_alive[:count]
            bound, status = evaluate(quadratic, regions, i, criteria, alive, n_in, q, work)
            regions.bounds[i], regions.status[i] = bound, status
            if status == RUNNING and quadratic.block:
                improve_in_block(quadratic, regions, i, criteria, keep_stored(quadratic.slot, alive), n_in, q, work)
            elif status == RUNNING:
                improve(quadratic, regions, i, criteria, alive, n_in, q, work)
            if status == RUNNING:
                if regions.rounds[i] > 2:
                    regions.precision[i] *= 0.3
                regions.rounds[i] += 1
        running = list_running(regions.status, places)
    return running
