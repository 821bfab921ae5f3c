"""Linear algebra in rational numbers, for the check in exact arithmetic; needs python-flint."""

from __future__ import annotations

from typing import Any

from sparsest.proofs.enclosures import Number, library

Vector = list[Any]

flint = library()


def largest_gain(H: list[Vector], h: Vector, limits: list[list[Number | None]]) -> Number:
    """The largest ``h'w - ½w'Hw`` within the limits, or without them if H is singular.

    One of the limits that the best w without limits violates is reached.
    """
    size = len(h)
    if not size:
        return flint.fmpq(0)
    matrix = flint.fmpq_mat(size, size, [x for row in H for x in row])
    if matrix.rank() < size:
        return gain_without_limits(H, h)
    w = (matrix.inv() * flint.fmpq_mat(size, 1, h)).entries()
    gains = []
    for i, (v, (below, above_it)) in enumerate(zip(w, limits, strict=True)):
        end = above_it if v > 0 else below
        if end is None or abs(v) <= end:
            continue
        fixed = end if v > 0 else -end
        others = [j for j in range(size) if j != i]
        rest = [h[j] - H[j][i] * fixed for j in others]
        part = largest_gain([[H[a][b] for b in others] for a in others], rest, [limits[j] for j in others])
        gains.append(part + h[i] * fixed - H[i][i] * fixed * fixed / 2)
    return max(gains) if gains else sum((a * b for a, b in zip(h, w, strict=True)), flint.fmpq(0)) / 2


def gain_without_limits(H: list[Vector], h: Vector) -> Number:
    """The largest ``h'w - ½w'Hw``, by elimination: a column in the span of others has a zero pivot."""
    H, h, gain = [list(row) for row in H], list(h), flint.fmpq(0)
    for i in range(len(h)):
        if H[i][i] == 0:
            continue
        gain += h[i] * h[i] / (2 * H[i][i])
        for r in range(i + 1, len(h)):
            t = H[r][i] / H[i][i]
            h[r] -= t * h[i]
            H[r] = [x - t * z for x, z in zip(H[r], H[i], strict=True)]
    return gain


def is_semidefinite(H: list[Vector]) -> bool:
    """Whether a rational matrix is positive semidefinite, by elimination."""
    H = [list(row) for row in H]
    for i in range(len(H)):
        if H[i][i] < 0 or (H[i][i] == 0 and any(H[i][i:])):
            return False
        if H[i][i] == 0:
            continue
        for r in range(i + 1, len(H)):
            t = H[r][i] / H[i][i]
            H[r] = [x - t * z for x, z in zip(H[r], H[i], strict=True)]
    return True
