"""The squared loss with limits of coefficients, in rational arithmetic."""

from itertools import product

import flint
import numpy as np

from proofs.helpers import ExactSquares, fraction, rational


class LimitedSquares(ExactSquares):
    """The least objective with limits, over the faces on which the best coefficients are unique.

    Others have a best point on a face of fewer coefficients, or on one that is left out; then the value is too large.
    """

    def __init__(self, statement, X, y, weights=None):
        super().__init__(statement, X, y, weights)
        s = statement
        self.low, self.high = (
            [None if np.isinf(v) else rational(v) for v in side] for side in (s.limits_below, s.limits_above)
        )
        for j, x in enumerate(self.columns if s.max_coef is not None else ()):
            d = fraction(self.inner(x, x) / self.total) if s.standardize and any(x) else 1
            # Slightly inside of the box, whose limits may be irrational.
            most = rational(s.max_coef / np.sqrt(float(d)) * (1.0 - 4e-16 * (s.standardize and any(x))))
            self.low[j] = -most if self.low[j] is None else max(self.low[j], -most)
            self.high[j] = most if self.high[j] is None else min(self.high[j], most)

    def value(self, support):
        M, b, whole = self.equations(support)
        gains = [flint.fmpq(0)]
        sides = [[None, *(x for x in (self.low[j], self.high[j], flint.fmpq(0)) if x is not None)] for j in support]
        for face in product(*sides):
            w = _on_face(M, b, face)
            if w is not None and all(self._admits(j, v) for j, v in zip(support, w, strict=True)):
                linear = sum((u * v for u, v in zip(b, w, strict=True)), flint.fmpq(0))
                pairs = product(range(len(w)), repeat=2)
                gains.append(linear - sum((w[i] * M[i][j] * w[j] for i, j in pairs), flint.fmpq(0)) / 2)
        return whole - max(gains)

    def _admits(self, j, v):
        return (self.low[j] is None or v >= self.low[j]) and (self.high[j] is None or v <= self.high[j])


def _on_face(M, b, face):
    """The best coefficients with those fixed that the face gives; None if they are not unique."""
    free = [i for i, v in enumerate(face) if v is None]
    w = [flint.fmpq(0) if v is None else v for v in face]
    if not free:
        return w
    matrix = flint.fmpq_mat(len(free), len(free), [M[i][j] for i in free for j in free])
    if matrix.det() == 0:
        return None
    rest = [b[i] - sum((M[i][j] * v for j, v in enumerate(face) if v is not None), flint.fmpq(0)) for i in free]
    for i, v in zip(free, (matrix.inv() * flint.fmpq_mat(len(free), 1, rest)).entries(), strict=True):
        w[i] = v
    return w
