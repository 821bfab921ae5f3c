"""All triples of features of a scaled matrix, in single precision.

R is ``D = C - rr'/t`` scaled to a unit diagonal.  Adding three features lowers the objective by more than ``t/2`` if
and only if R is not positive semidefinite on them, that is if ``|R_ab - R_ja R_jb| > h_a h_b`` with ``h_a² = 1 -
R_ja²``.
"""

from __future__ import annotations

import numpy as np

from sparsest.runtime.jit import kernel

# Number of features in a block; the largest entries between blocks are compared first.
BLOCK = 64


@kernel
def scan_triples(R, peaks, margin, J, found):
    """Find the triples ``j > a > b``, j in block J, on which R is not positive semidefinite; return their number.

    As many as fit are written to the rows of ``found``.  ``margin`` is 1 less an allowance for rounding errors.  There
    is no such triple of three blocks if ``x² + y² + z² + 2xyz ≤ 1`` for the largest entries x, y, z between them
    (``peaks``).
    """
    size = R.shape[0]
    begin, end = J * BLOCK, min((J + 1) * BLOCK, size)
    H = np.empty((end - begin, end), dtype=np.float32)
    for j in range(begin, end):
        for a in range(end):
            H[j - begin, a] = np.sqrt(max(margin - R[j, a] * R[j, a], np.float32(0.0)))
    count = 0
    for A in range(J + 1):
        x = peaks[J, A]
        B = 0
        while B <= A:
            # Skip blocks without such triples, then take the blocks up to the next one without.
            if 1.0 - x * x - peaks[J, B] ** 2 - peaks[A, B] ** 2 - 2.0 * x * peaks[J, B] * peaks[A, B] >= 1e-4:
                B += 1
                continue
            first = B * BLOCK
            while B <= A and (
                1.0 - x * x - peaks[J, B] ** 2 - peaks[A, B] ** 2 - 2.0 * x * peaks[J, B] * peaks[A, B] < 1e-4
            ):
                B += 1
            for a in range(A * BLOCK, min((A + 1) * BLOCK, end)):
                last = min(B * BLOCK, a)
                row = R[a, first:last]
                for j in range(max(begin, a + 1), end):
                    # Views, so that the loop needs no check of negative indices and is vectorised: ten times as fast.
                    e, h = R[j, first:last], H[j - begin, first:last]
                    e_a, h_a = R[j, a], H[j - begin, a]
                    hits = 0
                    for b in range(row.size):
                        hits += abs(row[b] - e_a * e[b]) > h_a * h[b]
                    if hits > 0:
                        for b in range(row.size):
                            if abs(row[b] - e_a * e[b]) > h_a * h[b]:
                                if count < found.shape[0]:
                                    found[count, 0], found[count, 1], found[count, 2] = j, a, first + b
                                count += 1
    return count
