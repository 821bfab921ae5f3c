"""The last two or three features of a region by trying all of them: squared loss, any ridge or none.

The features S are forced in.  The residuals of the other columns and of the response on S give the Schur complements C
and r, which include the ridge.  Adding features T lowers the objective by ``½r_T'C_TT⁻¹r_T``.  This exceeds the
required decrease ``t/2`` if and only if ``C - rr'/t``, divided by the roots of its diagonal, is not positive
semidefinite on T.  The scaled matrix is one matrix product; pairs are found by the size of its entries and triples by a
compiled kernel.

The *gain* of a choice T is twice the decrease, so a choice is good enough if its gain exceeds t.  Limits of
coefficients only lower gains.  Choices that are good enough without limits are tested again with the limits of T.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from math import comb
from typing import Any, NamedTuple

import numpy as np

from sparsest.core.arrays import Array, Indices, Mask
from sparsest.core.losses import Squared
from sparsest.core.problem import Problem
from sparsest.core.sparsity import Sparsity
from sparsest.proofs.last_features import MOST_LAST_FEATURES
from sparsest.runtime.threads import single_threaded
from sparsest.subset.tree.choice_gains import DEPENDENT, gains_of
from sparsest.subset.tree.kernels.last_features import BLOCK, scan_triples

# A function like ``map``.
Apply = Callable[..., Iterator[Any]]
# Number of features in a block of the scaled matrix.
_BLOCK_SIZE = 512
# Largest number of features of which one thread tests all pairs: they take up to 20 ms, and to start threads several.
_MOST_PAIRED_ALONE = 2048
# Largest number of good choices that are kept.
_MOST_CHOICES = 20_000
# Largest number of strong features, which are good enough by themselves and are treated one by one.
_MOST_STRONG = 64
# Largest number of pairs with strong features that are tested, if coefficients have limits.
_MOST_STRONG_PAIRS = 4_000_000
# For larger entries of the scaled matrix single precision has too few digits.
_NEARLY_DEPENDENT = 1.0 - 1e-5
# Columns that agree in this number of decimals count as copies.
_DIGITS = 12
# The diagonal, less an allowance for the errors of single precision.
_MARGIN = np.float32(1.0 - 128.0 * 2.0**-24)
# Numbers of choices above this one are replaced by it, because larger integers overflow floating-point numbers.
_MOST_COUNTED = 10**300
# CPU seconds, including the check, for a product of two numbers, for a pair and for a triple.  On 71 × 4088 the scan
# takes 0.1 ns a triple and the check 0.6 ns.
_SECONDS_OF_PRODUCT, _SECONDS_OF_PAIR, _SECONDS_OF_TRIPLE = 4e-11, 2e-9, 8e-10


class Choices(NamedTuple):
    """Choices of features that are good enough, by position: a row for each choice, the best first.

    ``values`` are their objectives, or lower bounds of them if coefficients have limits.  ``complete`` means that no
    other choice is good enough.
    """

    features: Indices
    values: Array
    complete: bool


class TooLong(Exception):
    """Trying all choices would take more time or memory than is available."""

    def __init__(self, seconds: float, memory: float) -> None:
        super().__init__(f"trying all choices takes about {seconds:.3g} s and {memory:.3g} bytes")
        self.seconds, self.memory = seconds, memory


def can_try(problem: Problem) -> bool:
    """Whether last features can be tried: squared loss, without groups and without prices of single features."""
    rule = problem.sparsity
    single = isinstance(rule, Sparsity) or rule.n_units == problem.p
    return isinstance(problem.loss, Squared) and single and (not rule.priced or rule.l0_penalty is not None)


def price_of(problem: Problem) -> float:
    """The price of each feature."""
    return problem.sparsity.l0_penalty or 0.0


def most_last_features(problem: Problem, n_forced: int, n_free: int, cutoff: float) -> int:
    """The largest number of free features of a support below ``cutoff``, by k and by the price of a feature."""
    most = max(0, min(problem.sparsity.most(problem.p) - n_forced, n_free))
    price = price_of(problem)
    if price > 0.0:
        most = min(most, max(0, int(np.floor(min(cutoff / price, 1e9))) - n_forced))
    return most


def seconds_of(n: int, size: int, q: int, threads: int) -> float:
    """The expected number of seconds for trying all choices of q features, including the check."""
    pairs = 0.5 * size * size * (n * _SECONDS_OF_PRODUCT + _SECONDS_OF_PAIR)
    return ((min(comb(size, q), _MOST_COUNTED) * _SECONDS_OF_TRIPLE if q > 2 else 0.0) + pairs) / threads


class LastFeatures:
    """Columns scaled to length 1, as rows, and the response; rounding errors are left to the checker."""

    def __init__(self, problem: Problem, features: Indices, n_jobs: int | None = None, max_memory: float = 2e9) -> None:
        self.problem, self.features, self.max_memory = problem, features, max_memory
        self.price = price_of(problem)
        self.threads = n_jobs or os.cpu_count() or 1
        # Whether the checker might not prove what was found: columns are so nearly dependent that rounding may have
        # hidden choices, or too many choices are not admissible.
        self.doubtful = False
        root = np.sqrt(problem.weights)
        lines = np.ascontiguousarray(problem.design.columns(features).T)
        lines *= root
        norms = np.sqrt(np.einsum("ij,ij->i", lines, lines))
        # The scale of a constant column is arbitrary.
        scale = np.where(norms > 0.0, norms, 1.0)
        lines /= scale[:, None]
        self.lines: Array = lines
        self.usable = norms > 0.0
        self.bounds = problem.bounds.of(features).times(scale)
        if np.isinf(problem.gamma) and not self.bounds.exist and isinstance(problem.sparsity, Sparsity):
            # Without a ridge a copy of a column cannot improve a model with that column.
            self.usable &= _is_first(lines)
        self.ridge: Array = problem.ridge / scale**2
        mean = problem.weights @ problem.y / problem.weights.sum() if problem.fit_intercept else 0.0
        self.z: Array = root * (problem.y - mean)

    def below(
        self, S: Indices, F: Indices, q: int, cutoff: float, allowed: float, expired: Callable[[], bool]
    ) -> Choices:
        """The choices of q features of F whose objective together with S is below ``cutoff``; all are positions.

        This and its check may take ``allowed`` seconds; TooLong is raised if they are expected to take longer.
        """
        F = F[self.usable[F]]
        if q == 0 or F.size < q:
            value = self._value(S) + self.price * S.size
            count = int(q == 0 and value < cutoff)
            return Choices(np.empty((count, 0), dtype=np.intp), np.full(count, value), True)
        rows, z, basis_ridge = self._residuals(S, F)
        square = float(z @ z)
        t = square + 2.0 * (self.price * (S.size + q) - cutoff)
        if not t > 0.0:
            return Choices(np.empty((0, q), dtype=np.intp), np.empty(0), False)
        r = rows @ z
        bounds = self.bounds.of(F)
        scaled = _Scaled.of(rows, r, basis_ridge, t)
        strong = np.setdiff1d(np.arange(F.size), scaled.positions)

        def are_good(choices: Indices) -> Mask:
            return gains_of(rows, r, basis_ridge, choices, bounds) > t

        found: list[tuple[float, tuple[int, ...]]] = []
        hits, complete = np.empty((0, q), dtype=np.intp), True
        if not bounds.exist or q == 3:
            found, complete = self._with_strong(S, F, strong, q, cutoff, allowed, expired)
        elif strong.size * F.size <= _MOST_STRONG_PAIRS:
            self.doubtful |= bool((scaled.squares[strong] < DEPENDENT).any())
            hits = _choices_with(strong, F.size, q)
            hits = hits[are_good(hits)]
        else:
            complete = False
        if q > 1:
            others, all_others = self._hits(scaled, q, allowed, expired, are_good if bounds.exist else None)
            hits, complete = np.concatenate([hits, others]), complete and all_others
        gains = gains_of(rows, r, basis_ridge, hits, bounds)
        self.doubtful |= q == 2 and bool((gains <= t).any())
        found += [(gain, tuple(F[hit])) for gain, hit in zip(gains.tolist(), hits.tolist(), strict=True) if gain > t]
        found.sort(key=lambda one: -one[0])
        chosen = [choice for _, choice in found]
        values = 0.5 * (square - np.array([gain for gain, _ in found])) + self.price * (S.size + q)
        return Choices(np.array(chosen, dtype=np.intp).reshape(-1, q), values, complete and not expired())

    def _with_strong(
        self,
        S: Indices,
        F: Indices,
        strong: Indices,
        q: int,
        cutoff: float,
        allowed: float,
        expired: Callable[[], bool],
    ) -> tuple[list[tuple[float, tuple[int, ...]]], bool]:
        """The good choices with a strong feature, and whether these are all; features that S spans are left out."""
        found: list[tuple[float, tuple[int, ...]]] = []
        complete, value = strong.size <= _MOST_STRONG, self._value(S) if strong.size else 0.0
        for i, at in enumerate(strong[:_MOST_STRONG].tolist()):
            with_it = np.append(S, F[at])
            rows, _, ridge = self._residuals(S, F[at : at + 1])
            if float(rows[0] @ rows[0]) + float(ridge[0]) < DEPENDENT:
                self.doubtful = True
                continue
            others = np.setdiff1d(F, F[strong[: i + 1]])
            more = self.below(with_it, others, q - 1, cutoff, allowed, expired)
            complete &= more.complete
            for choice in more.features.tolist():
                gain = 2.0 * (value - self._value(np.append(with_it, choice).astype(np.intp)))
                found.append((gain, (int(F[at]), *choice)))
        return found, complete

    def _value(self, S: Indices) -> float:
        _, z, _ = self._residuals(S, S[:0])
        return 0.5 * float(z @ z)

    def _residuals(self, S: Indices, F: Indices) -> tuple[Array, Array, Array]:
        """The residuals of features F and the response on S, whose ridge is in additional entries of its columns."""
        rows, z = self.lines[F], self.z
        if S.size:
            columns = np.concatenate([self.lines[S].T, np.diag(np.sqrt(self.ridge[S]))])
            Q = np.linalg.qr(columns)[0]
            rows = np.concatenate([rows, np.zeros((F.size, S.size))], axis=1)
            z = np.concatenate([z, np.zeros(S.size)])
            # The second projection removes the rounding errors of the first.
            for _ in range(2):
                rows, z = rows - (rows @ Q) @ Q.T, z - Q @ (Q.T @ z)
        return rows, z, self.ridge[F]

    def _hits(
        self,
        scaled: _Scaled,
        q: int,
        allowed: float,
        expired: Callable[[], bool],
        keep: Callable[[Indices], Mask] | None,
    ) -> tuple[Indices, bool]:
        """The choices without strong features that may be good enough, by position, and whether these are all.

        ``keep`` tells which of some choices are good enough within limits; None if there are no limits.
        """
        size = scaled.positions.size
        if size < q:
            return np.empty((0, q), dtype=np.intp), True
        with self._mapping(size > (_MOST_PAIRED_ALONE if q == 2 else _BLOCK_SIZE)) as apply:
            if q == 2:
                return _listed(apply(lambda block: scaled.pairs(block, expired, keep), scaled.blocks()), scaled)
            memory = 4.0 * size * size
            if memory > 0.5 * self.max_memory:
                raise TooLong(seconds_of(scaled.left.shape[1], size, q, self.threads), memory)
            R = scaled.matrix(apply)
            peaks = _peaks(R, apply)
            self.doubtful |= bool(peaks.max() > _NEARLY_DEPENDENT)
            seconds = _open_triples(peaks) * _SECONDS_OF_TRIPLE / self.threads
            if seconds > allowed:
                raise TooLong(seconds, memory)

            def scan(J: int) -> tuple[Indices, bool]:
                if expired():
                    return np.empty((0, 3), dtype=np.intp), False
                found = np.empty((_MOST_CHOICES, 3), dtype=np.int64)
                count = int(scan_triples(R, peaks, _MARGIN, J, found))
                return found[:count].astype(np.intp), count <= _MOST_CHOICES

            # The last blocks take longest.
            return _listed(apply(scan, range(peaks.shape[0] - 1, -1, -1)), scaled)

    @contextmanager
    def _mapping(self, in_threads: bool) -> Iterator[Apply]:
        """A function like ``map``, in this thread or in several."""
        if not in_threads:
            yield map
            return
        with single_threaded(), ThreadPoolExecutor(self.threads) as pool:
            yield pool.map


def _is_first(lines: Array) -> Mask:
    """Which rows are not a multiple of an earlier one, apart from rounding errors."""
    peaks = np.take_along_axis(lines, np.abs(lines).argmax(axis=1)[:, None], axis=1)
    keys = np.round(lines * np.where(peaks < 0.0, -1.0, 1.0), _DIGITS) + 0.0
    first = np.zeros(lines.shape[0], dtype=bool)
    first[np.unique(keys, axis=0, return_index=True)[1]] = True
    return first


class _Scaled(NamedTuple):
    """``left @ right.T`` is ``C - rr'/t`` of some features, divided by the roots of its diagonal.

    ``squares`` is the diagonal of C for all features.
    """

    squares: Array
    positions: Indices
    left: Array
    right: Array

    @classmethod
    def of(cls, rows: Array, r: Array, ridge: Array, t: float) -> _Scaled:
        """The scaled matrix without strong features, whose diagonal is not positive."""
        squares = np.einsum("ij,ij->i", rows, rows) + ridge
        diagonal = squares - r * r / t
        good = np.flatnonzero(diagonal > DEPENDENT)
        scale = 1.0 / np.sqrt(diagonal[good])
        last = scale * r[good] / np.sqrt(t)
        scaled = scale[:, None] * rows[good]
        return cls(squares, good, np.column_stack([scaled, last]), np.column_stack([scaled, -last]))

    def blocks(self) -> Iterator[tuple[int, int]]:
        """All blocks of pairs."""
        for i in range(0, self.positions.size, _BLOCK_SIZE):
            for j in range(i, self.positions.size, _BLOCK_SIZE):
                yield i, j

    def pairs(
        self, block: tuple[int, int], expired: Callable[[], bool], keep: Callable[[Indices], Mask] | None
    ) -> tuple[Indices, bool]:
        """The good pairs of a block, and whether these are all."""
        if expired():
            return np.empty((0, 2), dtype=np.intp), False
        i, j = block
        R = self.left[i : i + _BLOCK_SIZE] @ self.right[j : j + _BLOCK_SIZE].T
        if i == j:
            R.flat[:: R.shape[0] + 1] = 0.0
        if R.max() <= 1.0 and R.min() >= -1.0:
            return np.empty((0, 2), dtype=np.intp), True
        found = np.argwhere(np.abs(R) > 1.0) + np.array([i, j])
        found = found[found[:, 0] < found[:, 1]]
        if keep is not None:
            found = found[keep(self.positions[found])]
        return found[:_MOST_CHOICES], found.shape[0] <= _MOST_CHOICES

    def matrix(self, apply: Apply) -> np.ndarray:
        """The whole matrix in single precision, with 0 on its diagonal."""
        size = self.positions.size
        R = np.empty((size, size), dtype=np.float32)

        def fill(begin: int) -> None:
            R[begin : begin + _BLOCK_SIZE] = self.left[begin : begin + _BLOCK_SIZE] @ self.right.T

        list(apply(fill, range(0, size, _BLOCK_SIZE)))
        R.flat[:: size + 1] = 0.0
        return R


def _listed(parts: Iterator[tuple[Indices, bool]], scaled: _Scaled) -> tuple[Indices, bool]:
    """The choices of all parts, and whether all parts are complete."""
    found = list(parts)
    return scaled.positions[np.concatenate([part for part, _ in found])], all(complete for _, complete in found)


def _peaks(R: np.ndarray, apply: Apply) -> Array:
    """The largest absolute entries between blocks of features."""
    starts = np.arange(0, R.shape[0], BLOCK)

    def of_rows(begin: int) -> Array:
        rows = R[begin : begin + BLOCK]
        both = np.maximum(rows.max(axis=0), -rows.min(axis=0))
        return np.maximum.reduceat(both, starts).astype(np.float64)

    return np.array(list(apply(of_rows, starts.tolist())))


def _open_triples(peaks: Array) -> float:
    """The approximate number of triples that the largest entries between blocks do not exclude."""
    total = 0
    for J in range(peaks.shape[0]):
        x, y, z = peaks[J, : J + 1, None], peaks[J, None, : J + 1], peaks[: J + 1, : J + 1]
        total += int(np.count_nonzero(np.tril(x * x + y * y + z * z + 2.0 * x * y * z > 1.0)))
    return total * float(BLOCK) ** 3


def _choices_with(strong: Indices, size: int, q: int) -> Indices:
    """All choices of q features, one or two, that contain a strong feature."""
    if q == 1:
        return strong[:, None]
    pairs = np.array([(a, b) for a in strong.tolist() for b in range(size)], dtype=np.intp).reshape(-1, 2)
    both = np.isin(pairs[:, 1], strong)
    return pairs[~both | (pairs[:, 0] < pairs[:, 1])]


__all__ = ["MOST_LAST_FEATURES", "Choices", "LastFeatures", "TooLong", "can_try", "most_last_features", "seconds_of"]
