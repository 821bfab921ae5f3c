"""Genotypes packed at two bits: four of one variant in each byte, the lowest bits first."""

from __future__ import annotations

from sparsest.runtime.jit import kernel


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
            # 00 is two copies, 10 one, 11 none, and 01 a missing one.
            total += 2 if code == 0 else 1 if code == 2 else 0
            absent += 1 if code == 1 else 0
        totals[j], missing[j] = total, absent


@kernel
def unpack_genotypes(packed, n, decoded, fill, out):
    """``out[j, i]`` becomes the number of copies of variant j in sample i, or ``fill[j]`` where it is missing.

    ``decoded`` holds the four numbers of every byte, -1 for a missing one; ``fill`` is empty if none is missing.
    """
    full = n // 4
    for j in range(packed.shape[0]):
        line, target = packed[j], out[j]
        for b in range(full):
            four = decoded[line[b]]
            target[4 * b] = four[0]
            target[4 * b + 1] = four[1]
            target[4 * b + 2] = four[2]
            target[4 * b + 3] = four[3]
        for i in range(4 * full, n):
            target[i] = decoded[line[full], i - 4 * full]
        if fill.size:
            for i in range(n):
                if target[i] < 0:
                    target[i] = fill[j]
