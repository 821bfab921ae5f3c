"""Products and sums over a dense matrix as it is stored; entries are converted to float64 in registers.

The matrix is given as *lines*, an array in C order whose rows are the columns of a matrix in Fortran order, or the rows
of one in C order.  Each result is computed by the same operations for every division of the matrix into calls, so it
does not depend on the number of threads.
"""

from __future__ import annotations

import numpy as np

from sparsest.runtime.jit import inlined, kernel

# Rows that are summed together: 256 rows of 64 columns fit into the second-level cache.
_PANEL, _TILE = 256, 64
# Padding of the columns of a tile, so that neighbours do not compete for the same cache sets.
_PADDING = 8
# Entries of four lines that are multiplied with one vector after the other: they fit into the first-level cache.
_STRETCH = 1024
# The bits of -0 in a 64-bit word, and half of the length of the word.
_MINUS_ZERO, _HALF_WORD = np.uint64(1 << 63), np.uint64(32)


@kernel
def line_products(lines, index, begin, end, vectors, out):
    """``out[v, q] = Σ_i lines[index[q], i] vectors[v, i]`` for q from begin to end, four lines at a time."""
    last, n = end - 1, vectors.shape[1]
    for q in range(begin, end, 4):
        at, bt, ct, dt = index[q], index[min(q + 1, last)], index[min(q + 2, last)], index[min(q + 3, last)]
        for v in range(vectors.shape[0]):
            for k in range(q, min(q + 4, end)):
                out[v, k] = 0.0
        for left in range(0, n, _STRETCH):
            right = min(left + _STRETCH, n)
            # Slices avoid a check for negative indices at every entry, with which the loop is not vectorised.
            of_a, of_b = lines[at, left:right], lines[bt, left:right]
            of_c, of_d = lines[ct, left:right], lines[dt, left:right]
            for v in range(vectors.shape[0]):
                vector, a, b, c, d = vectors[v, left:right], 0.0, 0.0, 0.0, 0.0
                for i in range(right - left):
                    x = vector[i]
                    a += of_a[i] * x
                    b += of_b[i] * x
                    c += of_c[i] * x
                    d += of_d[i] * x
                out[v, q] += a
                # At the end, the last line is repeated to make four.
                if q + 1 < end:
                    out[v, q + 1] += b
                if q + 2 < end:
                    out[v, q + 2] += c
                if q + 3 < end:
                    out[v, q + 3] += d


@kernel
def line_sums(lines, index, begin, end, factors, out):
    """``out[v, t] = Σ_q factors[v, q] lines[index[q], t]`` for t from begin to end, four lines at a time."""
    last = index.size - 1
    for left in range(begin, end, _STRETCH):
        right = min(left + _STRETCH, end)
        for v in range(factors.shape[0]):
            for t in range(left, right):
                out[v, t] = 0.0
        for q in range(0, index.size, 4):
            second, third, fourth = min(q + 1, last), min(q + 2, last), min(q + 3, last)
            x, y = lines[index[q], left:right], lines[index[second], left:right]
            z, u = lines[index[third], left:right], lines[index[fourth], left:right]
            for v in range(factors.shape[0]):
                a = factors[v, q]
                b = factors[v, second] if q + 1 <= last else 0.0
                c = factors[v, third] if q + 2 <= last else 0.0
                d = factors[v, fourth] if q + 3 <= last else 0.0
                total = out[v, left:right]
                for t in range(right - left):
                    total[t] += a * x[t] + b * y[t] + (c * z[t] + d * u[t])


@inlined
def _mean(panel, count):
    """The mean of some entries; exactly their value if all are equal."""
    first, total = panel[0], 0.0
    for i in range(count):
        total += panel[i] - first
    return first + total / count


@inlined
def _add_panel(panel, count, at, share, targets, about, j, sums):
    """Add the contribution of some rows, from ``at`` on, to the sums of column j."""
    first, second = 0.0, 0.0
    part = share[at : at + count]
    for i in range(count):
        deviation = panel[i] - about
        weighted = part[i] * deviation
        first += weighted
        second += weighted * deviation
    sums[0, j] += first
    sums[1, j] += second
    for v in range(targets.shape[0]):
        target, product = targets[v, at : at + count], 0.0
        for i in range(count):
            product += target[i] * (panel[i] - about)
        sums[2 + v, j] += product


@kernel
def survey_lines(lines, begin, end, share, targets, about, sums):
    """Sums over the columns from begin to end of a matrix whose lines are its columns.

    ``about[j]`` becomes the mean a of the first rows.  Added to ``sums[:, j]`` are ``Σ share (x - a)``,
    ``Σ share (x - a)²``, and ``Σ target (x - a)`` for each target.
    """
    n = lines.shape[1]
    panel = np.empty(_PANEL)
    for j in range(begin, end):
        for at in range(0, n, _PANEL):
            count = min(_PANEL, n - at)
            stored = lines[j, at : at + count]
            for i in range(count):
                panel[i] = stored[i]
            if at == 0:
                about[j] = _mean(panel, count)
            _add_panel(panel, count, at, share, targets, about[j], j, sums)


@kernel
def survey_across(lines, begin, end, share, targets, about, sums):
    """The sums of :func:`survey_lines`, with the same roundings, for a matrix whose lines are its rows."""
    n = lines.shape[0]
    tile = np.empty((_TILE, _PANEL + _PADDING))
    for left in range(begin, end, _TILE):
        right = min(left + _TILE, end)
        for at in range(0, n, _PANEL):
            count = min(_PANEL, n - at)
            for i in range(count):
                stored = lines[at + i, left:right]
                for k in range(right - left):
                    tile[k, i] = stored[k]
            for k in range(right - left):
                j = left + k
                if at == 0:
                    about[j] = _mean(tile[k], count)
                _add_panel(tile[k], count, at, share, targets, about[j], j, sums)


@kernel
def line_digests(words, keys, by_column, out):
    """Multiply columns, given by the bits of their entries, with two vectors of keys modulo 2^64; ``out`` starts at 0.

    The contribution of a word x is ``x xor ⌊x/2^32⌋``, with -0 replaced by 0.  Lines are columns or rows.
    """
    for q in range(words.shape[0]):
        line = words[q]
        if by_column:
            first, second = np.uint64(0), np.uint64(0)
            for i in range(line.size):
                x = line[i] if line[i] != _MINUS_ZERO else np.uint64(0)
                folded = x ^ (x >> _HALF_WORD)
                first += folded * keys[0, i]
                second += folded * keys[1, i]
            out[0, q], out[1, q] = first, second
        else:
            a, b, firsts, seconds = keys[0, q], keys[1, q], out[0], out[1]
            for j in range(line.size):
                x = line[j] if line[j] != _MINUS_ZERO else np.uint64(0)
                folded = x ^ (x >> _HALF_WORD)
                firsts[j] += folded * a
                seconds[j] += folded * b
