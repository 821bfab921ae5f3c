"""Best subset of few candidate features by leaps and bounds: a depth-first search with one sweep per node.

For a region with the features S forced in and A not forced out, ``f(A) = constant - ½ c_A' H_A^{-1} c_A`` bounds all
its supports, where H is the Gram matrix with the ridge and c = X'y.  With ``N = H_A^{-1}`` and ``ŵ = N c_A``, dropping
feature j alone costs ``h_j = ŵ_j²/(2N_jj)``.  Dropping several features costs at least the largest of their h_j, so
dropping any d of the free features costs at least the d-th smallest h_j.  A region with at most ``exhaust`` ≤ 2
features still to choose is closed by trying all choices.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsest.core.arrays import Array, Indices, Mask
from sparsest.core.kernels.selection import largest_sum
from sparsest.proofs.steps import LEAF
from sparsest.runtime.jit import inlined, kernel

# Progress of a node: just entered, exploring the branch with its feature, or exploring the branch without it.
ENTERED, INSIDE, OUTSIDE = 0, 1, 2
NO_FEATURE = -1


@kernel
def sweep_in(G, r, alive, inside, j, G_new, r_new):
    """Project feature j out of the residual Gram matrix and products; return the gain of adding j."""
    m = r.size
    pivot = G[j, j]
    for a in range(m):
        if alive[a] and not inside[a] and a != j:
            t = G[a, j] / pivot
            r_new[a] = r[a] - t * r[j]
            for i in range(m):
                G_new[a, i] = G[a, i] - t * G[j, i]
    return 0.5 * r[j] * r[j] / pivot


@inlined
def sweep_out(N, w, alive, j, N_new, w_new):
    """Drop feature j from the inverse and the coefficients; return the cost."""
    m = w.size
    pivot = N[j, j]
    for a in range(m):
        if alive[a] and a != j:
            t = N[a, j] / pivot
            w_new[a] = w[a] - t * w[j]
            for i in range(m):
                N_new[a, i] = N[a, i] - t * N[j, i]
    return 0.5 * w[j] * w[j] / pivot


@inlined
def best_completion(G, r, alive, inside, left, need):
    """Return the largest gain above ``need`` of adding at most ``left`` ≤ 2 features, and these or NO_FEATURE."""
    first, second, best = NO_FEATURE, NO_FEATURE, need
    m = r.size
    if left == 0:
        return best, first, second
    for i in range(m):
        if not alive[i] or inside[i]:
            continue
        a, ri = G[i, i], r[i]
        if a > 0.0 and 0.5 * ri * ri > best * a:
            best, first, second = 0.5 * ri * ri / a, i, -1
        if left == 1:
            continue
        for j in range(i):
            if alive[j] and not inside[j]:
                e, h, rj = G[j, i], G[j, j], r[j]
                determinant = a * h - e * e
                if determinant > 1e-14 * a * h:
                    gain = 0.5 * (ri * ri * h - 2.0 * ri * rj * e + rj * rj * a)
                    if gain > best * determinant:
                        best, first, second = gain / determinant, i, j
    return best, first, second


@inlined
def branch_feature(N, w, alive, inside, drop, work):
    """Return the free feature with the largest cost of dropping it, and a bound on the cost of dropping ``drop``."""
    feature, most, count = NO_FEATURE, -1.0, 0
    for j in range(w.size):
        if alive[j] and not inside[j]:
            cost = 0.5 * w[j] * w[j] / N[j, j]
            work[count] = cost
            count += 1
            if cost > most:
                feature, most = j, cost
    # The drop-th smallest of count values is the (count - drop + 1)-th largest.
    return feature, largest_sum(work[:count], count - drop + 1)[1]


class Levels(NamedTuple):
    """The nodes from the root to the current one, indexed by depth.

    N, w, f are the inverse, coefficients and bound over the features ``alive``, i.e. not forced out; G, r, g are the
    residual Gram matrix, products and objective given the features ``inside``, i.e. forced in.  ``side`` is ENTERED,
    then INSIDE while the branch with ``feature`` is open, then OUTSIDE.
    """

    N: Array
    w: Array
    f: Array
    G: Array
    r: Array
    g: Array
    alive: Mask
    inside: Mask
    side: Indices
    feature: Indices


def make_levels(depth: int, m: int) -> Levels:
    """Allocate ``depth`` levels over m features."""

    def numbers(*shape: int) -> Array:
        return np.zeros((depth, *shape))

    return Levels(
        numbers(m, m), numbers(m), numbers(), numbers(m, m), numbers(m), numbers(),
        alive=np.zeros((depth, m), dtype=bool), inside=np.zeros((depth, m), dtype=bool),
        side=np.zeros(depth, dtype=np.int64), feature=np.zeros(depth, dtype=np.int64),
    )  # fmt: skip


@inlined
def copy_row(rows, d):
    """Copy row d to the next one."""
    for j in range(rows.shape[1]):
        rows[d + 1, j] = rows[d, j]


@inlined
def copy_matrix(matrices, d):
    """Copy matrix d to the next one."""
    for i in range(matrices.shape[1]):
        for j in range(matrices.shape[2]):
            matrices[d + 1, i, j] = matrices[d, i, j]


@inlined
def close_node(levels, d, k, exhaust, upper, tolerance, best, work):
    """Return whether the node at depth d is closed, and the upper bound; otherwise choose its feature.

    ``best`` is overwritten by a better choice of features.
    """
    N, w, f, G, r, g, alive, inside, _, feature = levels
    m = w.shape[1]
    n_in, n_alive = 0, 0
    for j in range(m):
        if alive[d, j]:
            n_alive += 1
        if inside[d, j]:
            n_in += 1
    cutoff = upper - tolerance * abs(upper)
    closed = f[d] >= cutoff
    left = k - n_in
    if not closed and n_alive <= k:
        closed = True
        if f[d] < upper:
            upper = f[d]
            for j in range(m):
                best[j] = alive[d, j]
    elif not closed and left <= exhaust:
        closed = True
        gain, first, second = best_completion(G[d], r[d], alive[d], inside[d], left, g[d] - upper)
        if first != NO_FEATURE or (left == 0 and g[d] < upper):
            upper = g[d] - gain if first != NO_FEATURE else g[d]
            for j in range(m):
                best[j] = inside[d, j]
            if first != NO_FEATURE:
                best[first] = True
            if second != NO_FEATURE:
                best[second] = True
    elif not closed:
        feature[d], cost = branch_feature(N[d], w[d], alive[d], inside[d], n_alive - k, work)
        closed = f[d] + cost >= cutoff
    return closed, upper


@inlined
def force_in(levels, d):
    """Enter the branch with the feature of the node at depth d."""
    N, w, f, G, r, g, alive, inside, side, feature = levels
    j = feature[d]
    side[d] = INSIDE
    copy_row(alive, d)
    copy_row(inside, d)
    copy_matrix(N, d)
    copy_row(w, d)
    f[d + 1] = f[d]
    g[d + 1] = g[d] - sweep_in(G[d], r[d], alive[d], inside[d], j, G[d + 1], r[d + 1])
    inside[d + 1, j] = True
    side[d + 1] = ENTERED


@inlined
def force_out(levels, d):
    """Enter the branch without the feature of the node at depth d."""
    N, w, f, G, r, g, alive, inside, side, feature = levels
    j = feature[d]
    side[d] = OUTSIDE
    copy_row(alive, d)
    copy_row(inside, d)
    copy_matrix(G, d)
    copy_row(r, d)
    g[d + 1] = g[d]
    f[d + 1] = f[d] + sweep_out(N[d], w[d], alive[d], j, N[d + 1], w[d + 1])
    alive[d + 1, j] = False
    side[d + 1] = ENTERED


@kernel
def leap(levels, depth, k, exhaust, upper, tolerance, best, log, max_nodes):
    """Continue the search for ``max_nodes`` nodes or until ``log`` is full.

    If at most ``exhaust`` features are left to choose, all choices are compared.  Returns the depth (-1 at the end),
    the upper bound, the number of nodes, and the number of entries in ``log``.  The log is in preorder and has the
    feature for a branch and LEAF for a closed region.
    """
    side, work = levels.side, np.empty(levels.w.shape[1])
    nodes, logged = 0, 0
    while depth >= 0 and nodes < max_nodes and logged < log.size - 2:
        if side[depth] == ENTERED:
            nodes += 1
            closed, upper = close_node(levels, depth, k, exhaust, upper, tolerance, best, work)
            log[logged] = LEAF if closed else levels.feature[depth]
            logged += 1
            if closed:
                depth -= 1
            else:
                force_in(levels, depth)
                depth += 1
        elif side[depth] == INSIDE:
            force_out(levels, depth)
            depth += 1
        else:
            depth -= 1
    return depth, upper, nodes, logged
