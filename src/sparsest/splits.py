"""Bounds for the squared loss in which indicators divide more, or other parts, of the quadratic than the ridge.

A diagonal δ may be divided if ``X'ΩX + λI - diag(δ)`` is positive semidefinite, which is checked here from the data.
"""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray

from sparsest.losses import Squared
from sparsest.problem import ROUNDING, Problem, Region, is_column_set

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_UNIT = 0.5 * float(np.finfo(float).eps)


class Split(NamedTuple):
    """A diagonal δ with ``X_F'ΩX_F + λI - diag(δ)`` positive semidefinite for the features F; squared loss only.

    With a ``base``, the number of an earlier split below the ridge, it differs from that one for these features only.
    """

    features: Indices
    delta: Array
    base: int = -1


class SplitPoint(NamedTuple):
    """Sparse coefficients w whose bound uses a split.

    With ``Q = X_F'ΩX_F + λI - diag(δ)`` and ``g = X_F'Ωy - Qw`` it is ``½y'Ωy - ½w'Qw - gain(q)``,
    ``q_j = g_j²/(2δ_j)``, for every region within F.
    """

    features: Indices
    values: Array
    split: int

    def nbytes(self) -> int:
        """Memory it takes."""
        return 16 * self.values.size


def split_error(problem: Problem, split: Split) -> float:
    """How far below zero rounding may leave an eigenvalue of a split's quadratic, as a part of its diagonal.

    Errors of the Gram matrix M, summed over √n blocks of √n rows, are at most ``2√n·u·√(M_ii M_jj)``, and those of a
    Cholesky factorisation at most ``(m + 1)u`` of the trace, u half of the machine precision; all relative to δ.
    Splits with a base have to be far enough inside.
    """
    if split.base >= 0 or not (split.delta > problem.ridge).any():
        return 0.0
    diagonal = problem.column_norms[split.features] ** 2 + problem.ridge
    count = 2.0 * np.sqrt(problem.n) + split.features.size + 10.0
    return float(_UNIT * count * (diagonal / split.delta).sum())


class SplitForm:
    """The quadratic ``Q = X_F'ΩX_F + diag(shift)`` of a split, checked with the data alone.

    Where rounding may hide a negative eigenvalue, as much of the diagonal δ goes back to the quadratic as makes it
    positive semidefinite whatever the rounding errors are.
    """

    def __init__(self, problem: Problem, split: Split) -> None:
        if not isinstance(problem.loss, Squared):
            raise ValueError("a split proves bounds for the squared loss only")
        _insist_on_diagonal(problem, split)
        self.ridge: float = problem.ridge
        self.features: Indices = split.features
        root = np.sqrt(problem.weights)
        self.target: Array = root * (problem.y - problem.intercept_for(np.zeros(problem.n)))
        self.block: Array = np.asfortranarray(root[:, None] * problem.design.columns(split.features))
        back = 0.0
        if (split.delta > problem.ridge).any():
            back = _needed_back(self.block, problem.ridge, split.delta, split_error(problem, split))
        self.delta: Array = (1.0 - back) * split.delta
        self.position: Indices = np.full(problem.p, -1)
        self.position[self.features] = np.arange(self.features.size)

    @cached_property
    def _reduced(self) -> tuple[Array, float]:
        """``L^{-1}X`` and η for ``LL' = A = I + XF^{-1}X'``, F what the features gave of the ridge.

        As A is at least I, errors of its entries, of its factor and of the solutions change ``X'A^{-1}X`` by a factor
        of at most ``1 ± η``.
        """
        given = self.ridge - self.delta
        if not (given > 0.0).all():
            raise ValueError("a split is based on one that is not below the ridge")
        n, m = self.block.shape
        scaled = self.block / np.sqrt(given)
        A = scaled @ scaled.T
        A.flat[:: n + 1] += 1.0
        trace = float(np.trace(A))
        factor = la.cholesky(A, lower=True, overwrite_a=True, check_finite=False)
        half = la.solve_triangular(factor, self.block, lower=True, check_finite=False)
        return half, _UNIT * ((m + n + 10.0) * trace + 4.0 * n * np.sqrt(trace))

    def raised(self, problem: Problem, split: Split) -> SplitForm:
        """The form of a split based on this one.

        Where features S have E more than the ridge, ``X'X + diag(F) - diag(F + E)_S`` is positive semidefinite if and
        only if ``X_S'A^{-1}X_S - diag(EF/(E + F))`` is, and where they have less than before, it stays so.
        """
        _insist_on_diagonal(problem, split)
        chosen = self.position[split.features]
        if (chosen < 0).any():
            raise ValueError("a split has features that its base does not have")
        half, eta = self._reduced
        given = self.ridge - self.delta[chosen]
        more = split.delta - self.delta[chosen]
        chosen, given, more = chosen[more > 0.0], given[more > 0.0], more[more > 0.0]
        K = half[:, chosen].T @ half[:, chosen]
        errors = 2.0 * _UNIT * (half.shape[0] + chosen.size + 10.0) * float(np.trace(K))
        K *= 1.0 - 2.0 * eta
        K.flat[:: chosen.size + 1] -= given * (1.0 - given / more) + errors
        try:
            la.cholesky(K, lower=True, check_finite=False)
        except la.LinAlgError:
            raise ValueError("a split does not leave a positive semidefinite quadratic") from None
        form = copy(self)
        form.delta = self.delta.copy()
        form.delta[self.position[split.features]] = split.delta
        return form

    def bound(self, problem: Problem, point: SplitPoint, region: Region) -> tuple[float, Array]:
        """Return the point's bound for a region within the split's features, and all gains q."""
        used = self.position[point.features] if is_column_set(point.features, problem.p) else np.array([-1])
        if point.values.shape != point.features.shape or (used < 0).any() or not np.isfinite(point.values).all():
            raise ValueError("a point's coefficients do not fit its split")
        free = region.free(problem.p)
        if (self.position[free] < 0).any() or (self.position[region.forced_in] < 0).any():
            raise ValueError("a split does not cover the region")
        w, shift = point.values, self.ridge - self.delta[used]
        fitted = self.block[:, used] @ w
        g = self.block.T @ (self.target - fitted)
        g[used] -= shift * w
        q = np.zeros(problem.p)
        q[self.features] = 0.5 * g**2 / self.delta
        constant = 0.5 * float(self.target @ self.target)
        quadratic, shifted = 0.5 * float(fitted @ fitted), 0.5 * shift * w**2
        gain = problem.sparsity.gain(q[region.forced_in], q[free])
        margin = ROUNDING * (constant + quadratic + float(np.abs(shifted).sum()) + abs(gain))
        return constant - quadratic - float(shifted.sum()) - gain - margin, q


def _insist_on_diagonal(problem: Problem, split: Split) -> None:
    """Say so unless a split has a positive number for each of its features."""
    if not is_column_set(split.features, problem.p) or split.delta.shape != split.features.shape:
        raise ValueError("a split does not fit the columns of the data")
    if not (np.isfinite(split.delta).all() and (split.delta > 0).all()):
        raise ValueError("a split's diagonal is not positive")


def _needed_back(block: Array, ridge: float, delta: Array, error: float) -> float:
    """Return the part of δ that has to go back to make the quadratic positive semidefinite, or say that it never is."""
    n, m = block.shape
    Q = np.zeros((m, m))
    rows = max(1, int(np.sqrt(n)))
    for begin in range(0, n, rows):
        Q += block[begin : begin + rows].T @ block[begin : begin + rows]
    Q.flat[:: m + 1] += ridge - delta
    scaled = Q / np.sqrt(np.outer(delta, delta))
    for back in (0.0, error, 2.0 * error):
        try:
            la.cholesky(scaled + (back - error) * np.eye(m), lower=True, check_finite=False)
        except la.LinAlgError:
            continue
        if back < 1.0:
            return back
    least = float(la.eigvalsh(scaled, subset_by_index=[0, 0], check_finite=False)[0])
    raise ValueError(f"a split leaves an eigenvalue of {least:.3g} of its diagonal; rounding explains {-error:.3g}")
