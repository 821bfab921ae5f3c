"""Regions in which at most three features are still to choose: all choices are tried; squared loss.

Let the features S of a region be forced in, and let C and r be what they leave of the others (``last_columns``).
Further features T gain ``½r_T'C_TT⁻¹r_T``, and no choice of q features brings the objective below a target B if

    D_TT ⪰ 0   for all T of q features,     D = C - rr'/t,   t = 2(f(S) + λ0(|S| + q) - B) > 0.

With columns and products divided by ``h_a``, ``h_a² ≤ D_aa - qε``, where ε bounds all errors of entries of D, that
holds if the matrix R̃ of what was computed, with 1 on its diagonal, is positive semidefinite on T: the errors on T are
at most ``qε`` times the identity.  R̃ is one matrix product; pairs need ``|R̃_ab| ≤ 1``, triples are looked at in
``last_triples``.  What is not shown in that way is tried with the features in question forced in, or by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np

from sparsest.proofs.data import Data
from sparsest.proofs.dependence import independent_columns
from sparsest.proofs.last_columns import LastColumns, Residuals
from sparsest.proofs.last_triples import TooMany, failing_triples
from sparsest.proofs.regression import regression_bound
from sparsest.proofs.rounding import UNIT, Array, Indices, growth
from sparsest.proofs.statement import Statement
from sparsest.proofs.threads import mapped

# At most so many features are tried at a time.
MOST_LAST_FEATURES = 3
# Features of a block of products: the products of two blocks stay in the cache.
_BLOCK = 512
# With fewer products, threads cost more than they save.
_WORTH_THREADS = 2_000_000
# Choices that are tried by themselves, each of which takes about a millisecond.
_MOST_TRIALS = 3000
# Features that are tried one by one, with all choices of the others.
_MOST_HARD = 200
# What a support is bounded by might be so much less, as a part of it, where sums are in another order.
_OTHER_ORDER = 1e-11
# Distances from a target, as a part of the sum of squares, below which nothing is decided.
_LEAST_DISTANCE = 1e-100


class Scaled(NamedTuple):
    """``R̃ = left @ right.T`` with a diagonal that is 1, of the features at some positions."""

    positions: Indices
    left: Array
    right: Array


class ByTrying:
    """The check of regions over shared columns.

    ``by_dual`` bounds a support by a dual point.  Nothing is shown of the ``excepted`` supports.
    """

    def __init__(
        self,
        data: Data,
        statement: Statement,
        features: Indices,
        by_dual: Callable[[Indices, Array], float],
        caution: float = 1.0,
        excepted: Set[tuple[int, ...]] = frozenset(),
        threads: int | None = None,
    ) -> None:
        if statement.loss != "squared":
            raise ValueError("trying the last features needs the squared loss")
        self.data, self.statement, self.caution, self.excepted = data, statement, caution, excepted
        self.threads = threads or data.room.threads
        self._by_dual = by_dual
        self.columns = LastColumns(data, statement.gamma, features)
        self._position: Indices = np.full(data.p, -1)
        self._position[features] = np.arange(features.size)
        self._trials, self._lowest = 0, np.inf

    def prove(self, forced: Indices, free: Indices, target: float) -> float:
        """A lower bound of the objective over the supports of a region: ``target``, or less where that does not hold.

        Losses are not negative, so the price of the features forced in is a bound in any case.
        """
        floor = self.statement.price * forced.size * (1.0 - growth(2))
        most = most_features(self.statement, forced.size, free.size, target)
        if not floor < target < np.inf or most > MOST_LAST_FEATURES:
            return floor
        S, F = self._position[forced], np.sort(self._position[free])
        if not self.excepted:
            # A constant column explains nothing, and a support does as well without it.
            F = F[~self.columns.constant[F]]
        self._trials, self._lowest = 0, target
        # Without a price a choice explains no more than any larger one.
        alone = self.statement.price == 0.0 and not self.excepted
        most = min(most, F.size)
        try:
            for q in (most,) if alone else range(most + 1):
                self._check(S, F, q, target)
        except TooMany:
            return floor
        return max(self._lowest, floor)

    def _check(self, S: Indices, F: Indices, q: int, target: float) -> None:
        """Show that no q features of F bring the objective on S below a target, or lower the bound to what holds."""
        if q == 0:
            self._try(S)
            return
        if F.size < q:
            return
        residuals = self.columns.residuals(S, F)
        scaled = None if residuals is None else self._scaled(residuals, S, F, q, target)
        if scaled is None:
            self._try_all(S, F, q)
            return
        hard = np.setdiff1d(F, scaled.positions)
        if hard.size > _MOST_HARD:
            raise TooMany
        for i, a in enumerate(hard):
            if not self._is_spanned(S, int(a)):
                self._check(np.append(S, a), np.setdiff1d(F, hard[: i + 1]), q - 1, target)
        if q == 1:
            return
        out, known = self._check_pairs(S, F, q, scaled, target)
        if q == 3:
            kept = np.flatnonzero(~np.isin(scaled.positions, out))
            at, left, right = scaled.positions[kept], scaled.left[kept], scaled.right[kept]
            known = np.searchsorted(at, known[np.isin(known, at).all(axis=1)])
            for triple in failing_triples(left, right, known, self.threads, self.data.room):
                self._try(np.append(S, at[triple]))

    def _try_all(self, S: Indices, F: Indices, q: int) -> None:
        """Try all choices by themselves, where there are few."""
        if comb(F.size, q) > _MOST_TRIALS:
            raise TooMany
        for choice in combinations(F.tolist(), q):
            self._try(np.append(S, choice))

    def _scaled(self, found: Residuals, S: Indices, F: Indices, q: int, target: float) -> Scaled | None:
        """``D`` divided by ``h``, for the features for which that is possible; None if S alone is below the target."""
        price = self.statement.price * (S.size + q)
        base = found.value + price
        t = 2.0 * (base - target) - 16.0 * UNIT * (base + abs(target))
        square = self.columns.z_norm**2
        if not t > _LEAST_DISTANCE * square:
            return None
        part = 1.01 * square / t
        row, product = found.row_error, found.product_error
        error = 2.03 * row + row * row + (2.03 * self.columns.z_norm * product + product * product) / t
        error = 1.03 * self.caution * (error + growth(found.response.size + 32) * (1.03 + 1.03 * part))
        r, ridge = found.products, self.columns.ridge[F]
        squares = np.einsum("ij,ij->i", found.rows, found.rows) + ridge * (1.0 - 8.0 * UNIT) - r * r / t
        squares -= (q + 1) * error + 8.0 * UNIT * ridge
        good = np.flatnonzero(squares > 0.0)
        scale = (1.0 + 8.0 * UNIT) / np.sqrt(squares[good])
        last = scale * r[good] / np.sqrt(t)
        rows = scale[:, None] * found.rows[good]
        return Scaled(F[good], np.column_stack([rows, last]), np.column_stack([rows, -last]))

    def _check_pairs(self, S: Indices, F: Indices, q: int, scaled: Scaled, target: float) -> tuple[list[int], Indices]:
        """Go through all pairs; return features that need no further look, and the pairs that were forced in."""
        out: list[int] = []
        known: list[tuple[int, int]] = []
        at, found = scaled.positions, self._failing_pairs(scaled)
        for pairs in found:
            for i, j in pairs:
                a, b = int(at[i]), int(at[j])
                if a in out or b in out:
                    continue
                if self._is_spanned(np.append(S, a), b):
                    # Choices with b are no better than those with a in its place, or without b.
                    out.append(b)
                elif q == 2:
                    self._try(np.append(S, [a, b]))
                else:
                    self._check(np.append(S, [a, b]), F[~np.isin(F, [a, b])], q - 2, target)
                    known.append((a, b))
        return out, np.array(known, dtype=np.intp).reshape(-1, 2)

    def _failing_pairs(self, scaled: Scaled) -> list[Indices]:
        """The pairs of which ``|R̃| ≤ 1`` does not hold, a row for each, in parts."""
        size = scaled.positions.size

        def blocks() -> Iterator[tuple[int, int]]:
            for i in range(0, size, _BLOCK):
                for j in range(i, size, _BLOCK):
                    yield i, j

        def failing(block: tuple[int, int]) -> Indices:
            i, j = block
            R = scaled.left[i : i + _BLOCK] @ scaled.right[j : j + _BLOCK].T
            if i == j:
                R[np.tril_indices(R.shape[0])] = 0.0
            # What is no number is not below 1 either.
            if R.max() <= 1.0 and R.min() >= -1.0:
                return np.empty((0, 2), dtype=np.intp)
            found = np.argwhere(~(np.abs(R) <= 1.0)) + np.array([i, j])
            if found.shape[0] > _MOST_TRIALS:
                raise TooMany
            return found

        several = size * size > _WORTH_THREADS
        parts = [part for part in mapped(failing, blocks(), self.threads if several else 1) if part.size]
        if sum(part.shape[0] for part in parts) > _MOST_TRIALS:
            raise TooMany
        return parts

    def _is_spanned(self, S: Indices, a: int) -> bool:
        """Whether a feature is provably a combination of others, without a ridge, so that it adds nothing to them."""
        if np.isfinite(self.statement.gamma) or self.excepted or self.statement.max_coef is not None:
            return False
        self._count()
        features = self.columns.features[np.append(S, a)]
        return a not in self._position[independent_columns(self.data, features)]

    def _try(self, S: Indices) -> None:
        """Bound one support by itself."""
        support = np.sort(self.columns.features[S])
        if tuple(support.tolist()) in self.excepted:
            return
        self._count()
        bound = regression_bound(self.data, self.statement, support, support.size)
        if np.isfinite(self.statement.gamma) and bound < self._lowest:
            bound = max(bound, self._by_dual(support, self._dual_point(S)))
        bound -= (self.caution - 1.0) * _OTHER_ORDER * abs(bound)
        self._lowest = min(self._lowest, bound if np.isfinite(bound) else -np.inf)

    def _count(self) -> None:
        self._trials += 1
        if self._trials > _MOST_TRIALS:
            raise TooMany

    def _dual_point(self, S: Indices) -> Array:
        """The residual that the ridge regression on some features leaves, as a dual point."""
        X, root = self.columns.lines[S], np.sqrt(self.data.weights)
        M = X @ X.T
        M.flat[:: S.size + 1] += self.columns.ridge[S]
        w = np.linalg.lstsq(M, X @ self.columns.z, rcond=None)[0]
        return np.asarray(-root * (self.columns.z - w @ X))


def most_features(statement: Statement, n_forced: int, n_free: int, target: float) -> int:
    """How many free features a support below a target may have: by k, and because more of them cost too much."""
    most = n_free if statement.k is None else min(max(statement.k - n_forced, 0), n_free)
    if statement.price > 0.0 and np.isfinite(target):
        for q in range(min(most, MOST_LAST_FEATURES + 1)):
            # One feature more has at least this price.
            if statement.price * (n_forced + q + 1) * (1.0 - growth(4)) >= target:
                return q
    return most
