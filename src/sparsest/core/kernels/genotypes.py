"""Genotypes packed at two bits: four of one variant in each byte, the lowest bits first.

Of the two bits, 00 is two copies of an allele, 10 one, 11 none, and 01 a missing genotype.
"""

from __future__ import annotations

import numpy as np

from sparsest.runtime.jit import inlined, kernel

# Bytes of four variants that are multiplied with one vector after the other: they fit into the first-level cache.
_STRETCH = 256
# The lower bit of each of the four genotypes of a byte.
_LOW_BITS = np.uint8(0x55)


@kernel
def count_genotypes(packed, n, copies, gaps, totals, missing):
    """Add up the copies of each variant, and count its missing genotypes.

    ``copies`` and ``gaps`` hold the sum and the number of missing ones of the four genotypes of every byte; entries
    after the last of n samples are ignored.
    """
    full = n // 4
    for j in range(packed.shape[0]):
        line, total, absent = packed[j], 0, 0
        for b in range(full):
            total += copies[line[b]]
            absent += gaps[line[b]]
        for i in range(4 * full, n):
            code = (line[full] >> (2 * (i - 4 * full))) & 3
            total += 2 if code == 0 else 1 if code == 2 else 0
            absent += 1 if code == 1 else 0
        totals[j], missing[j] = total, absent


@kernel
def unpack_genotypes(packed, n, fill, out):
    """Write to ``out[j, i]`` the number of copies of variant j in sample i, or ``fill[j]`` if it is missing.

    ``fill`` is empty if none is missing.  Four genotypes are spread over the bytes of a word by the same operations on
    all of them.
    """
    width = packed.shape[1]
    words = np.empty(width, dtype=np.uint32)
    copies = words.view(np.int8)
    for j in range(packed.shape[0]):
        line, target = packed[j], out[j]
        for b in range(width):
            four = np.uint32(line[b])
            codes = four | (four << np.uint32(6)) | (four << np.uint32(12)) | (four << np.uint32(18))
            low = codes & np.uint32(0x01010101)
            high = (codes >> np.uint32(1)) & np.uint32(0x01010101)
            # 2 - low - high; a missing one, which becomes 1, is then turned into -1.
            words[b] = (np.uint32(0x02020202) - low - high) ^ ((low & ~high) * np.uint32(0xFE))
        if fill.size:
            replacement = fill[j]
            for i in range(n):
                target[i] = copies[i] if copies[i] >= 0 else replacement
        else:
            for i in range(n):
                target[i] = copies[i]


@inlined
def _times(four, x, y, z, u):
    """The inner product of four numbers of two bits each with four others."""
    first, second = np.float64(four & 3) * x, np.float64((four >> 2) & 3) * y
    third, fourth = np.float64((four >> 4) & 3) * z, np.float64((four >> 6) & 3) * u
    return (first + second) + (third + fourth)


@inlined
def _add_missing(line, vector, left, right, factor):
    """``factor`` times the sum of the entries of a vector where genotypes are missing."""
    stretch, total = line[left:right], 0.0
    x, y, z, u = vector[0, left:right], vector[1, left:right], vector[2, left:right], vector[3, left:right]
    for b in range(right - left):
        missing = np.int32(stretch[b] & ~(stretch[b] >> 1) & _LOW_BITS)
        total += _times(missing, x[b], y[b], z[b], u[b])
    return factor * total


@kernel
def packed_products(packed, n_missing, fill, vectors, out):
    """Write to ``out[v, j]`` the inner product of variant j and vector v, four variants at a time.

    ``vectors[v, k]`` has the entries of samples k, k + 4, k + 8, … of vector v, and zeros after the last sample: the
    genotypes of many bytes are then multiplied by the same operations.
    """
    p, width = packed.shape
    known = np.empty((4, _STRETCH), dtype=np.uint8)
    for q in range(0, p, 4):
        end = min(q + 4, p)
        for v in range(vectors.shape[0]):
            for j in range(q, end):
                out[v, j] = 0.0
        for left in range(0, width, _STRETCH):
            right = min(left + _STRETCH, width)
            for k in range(4):
                # At the end, the last variant is repeated to make four.
                line, target = packed[min(q + k, p - 1), left:right], known[k]
                for b in range(right - left):
                    low, high = line[b] & _LOW_BITS, (line[b] >> 1) & _LOW_BITS
                    target[b] = 0xAA - low - high - (low & ~high)
            of_a, of_b, of_c, of_d = known[0], known[1], known[2], known[3]
            for v in range(vectors.shape[0]):
                x_of, y_of = vectors[v, 0, left:right], vectors[v, 1, left:right]
                z_of, u_of = vectors[v, 2, left:right], vectors[v, 3, left:right]
                a, b, c, d = 0.0, 0.0, 0.0, 0.0
                for i in range(right - left):
                    x, y, z, u = x_of[i], y_of[i], z_of[i], u_of[i]
                    a += _times(np.int32(of_a[i]), x, y, z, u)
                    b += _times(np.int32(of_b[i]), x, y, z, u)
                    c += _times(np.int32(of_c[i]), x, y, z, u)
                    d += _times(np.int32(of_d[i]), x, y, z, u)
                for j in range(q, end):
                    out[v, j] += a if j == q else b if j == q + 1 else c if j == q + 2 else d
                    if n_missing[j]:
                        out[v, j] += _add_missing(packed[j], vectors[v], left, right, fill[j])
