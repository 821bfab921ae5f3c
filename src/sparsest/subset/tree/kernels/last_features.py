"""All triples of features of a scaled matrix, in single precision.

R has entries ``D_ab/(h_a h_b)``, ``D = C - rr'/t``: three features gain more than ``t/2`` where R, with 1 on its
diagonal, is not positive semidefinite on them, that is where ``|R_ab - R_ja R_jb| > h_a h_b``, ``h_a² = 1 - R_ja²``.
"""

from __future__ import annotations

import numpy as np

from sparsest.runtime.jit import kernel

# Features of a block whose largest entries are compared first.
BLOCK = 64


@kernel
def scan_triples(R, peaks, margin, J, found):
    """Find the triples ``j > a > b``, j in a block J, that gain too much; return how many there are.

    As many as fit are written to the rows of ``found``.  ``margin`` is 1 less what rounding may hide.  If x, y, z are
    the largest entries between three blocks (``peaks``), no triple of these does with ``1 ≥ x² + y² + z² + 2xyz``.
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
            # A run of blocks that have to be looked at.
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
