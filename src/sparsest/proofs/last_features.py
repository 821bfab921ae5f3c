"""Regions with at most three features to choose: all choices are tried; squared loss.

Let S be the features forced into a region, and C and r the Schur complements for the others (``last_columns``).  Adding
features T reduces the objective by ``½r_T'C_TT⁻¹r_T``.  No choice of q features has an objective below a target B if

    D_TT ⪰ 0   for all T of q features,     D = C - rr'/t,   t = 2(f(S) + λ0(|S| + q) - B) > 0.

Let ε bound the errors of all entries of D, and ``h_a² ≤ D_aa - qε``.  Divide rows and columns of D by ``h_a``, and set
the diagonal to 1.  The condition holds if the computed matrix R̃ is positive semidefinite on T, because ``qε`` times
the identity bounds the errors on T.  R̃ is one matrix product.  Pairs need ``|R̃_ab| ≤ 1``; ``last_triples`` tests
triples.  Choices that fail are tried with their features forced in, or one by one.

Limits of coefficients only raise objectives.  With them, choices that fail are tested again by ``last_limits``, and
those that fail this test, too, are tried one by one.

A structure without groups only excludes supports.  Those that fail the test are ignored if they are not admissible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from copy import copy
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np

from sparsest.proofs.data import Data
from sparsest.proofs.dependence import independent_columns
from sparsest.proofs.last_columns import LastColumns, Residuals
from sparsest.proofs.last_limits import LimitedChoices, Limits, solution
from sparsest.proofs.last_triples import TooMany, failing_triples
from sparsest.proofs.regression import regression_bound
from sparsest.proofs.rounding import UNIT, Array, Indices, growth
from sparsest.proofs.statement import Statement
from sparsest.proofs.threads import mapped

# The largest number of features to choose.
MOST_LAST_FEATURES = 3
# Features in a block of products: the products of two blocks fit into the cache.
_BLOCK = 512
# With fewer products, threads cost more than they save.
_WORTH_THREADS = 2_000_000
# Largest number of choices that are tried one by one.
_MOST_TRIALS = 3000
# Largest number of choices that fail the test, where some are ignored: those that exceed a limit or a budget, and those
# that the bound need not hold for.
_MOST_FAILING = 30_000
# Largest number of hard features, those without an h: each is forced in, with all choices of the others.
_MOST_HARD = 200
# The work of a trial for each observation and pair of features.  Trials take 20 to 40 ns for each of them (5 to 120
# features, 1000 and 10,000 observations), so the work of a step takes about ten seconds at most.
_WORK_OF_TRIAL = 1e3
# Coefficients at limits of a single support that are bounded together.
_MOST_AT_LIMITS = 3
# The relative amount by which the bound of a support may differ if sums are taken in another order.
_OTHER_ORDER = 1e-11
# The smallest distance from a target, relative to the sum of squares, for which the test is used.
_LEAST_DISTANCE = 1e-100


class Scaled(NamedTuple):
    """``R̃ = left @ right.T``, with its diagonal set to 1, for the features at these positions."""

    positions: Indices
    left: Array
    right: Array


class ByTrying:
    """The check of regions over shared columns.

    ``by_dual`` bounds a support by a dual point.  The bounds need not hold for the ``excepted`` supports.
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
        rules = statement.structure
        if rules is not None and (rules.units is not None or rules.prices is not None):
            raise ValueError("trying the last features ignores groups and prices of single features")
        # Whether a support may be replaced by another one that is at least as good.
        self.replaceable = rules is None and not excepted
        self._most_failing = _MOST_TRIALS if self.replaceable else _MOST_FAILING
        self.data, self.statement, self.caution, self.excepted = data, statement, caution, excepted
        self.threads = threads or data.room.threads
        self._by_dual = by_dual
        self.columns = LastColumns(data, statement.gamma, features)
        limited = statement.max_coef is not None or statement.bounds_coefficients
        self.limits = Limits.of(data, statement, self.columns, caution) if limited else None
        self._position: Indices = np.full(data.p, -1)
        self._position[features] = np.arange(features.size)
        self._work, self._lowest = 0.0, np.inf

    def prove(self, forced: Indices, free: Indices, target: float) -> float:
        """A lower bound of the objective over the supports of a region: ``target``, or less if that does not hold.

        Losses are nonnegative, so the price of the features forced in is always a bound.
        """
        # Several threads may prove regions at a time.
        return copy(self)._prove(forced, free, target)

    def _prove(self, forced: Indices, free: Indices, target: float) -> float:
        floor = self.statement.price * forced.size * (1.0 - growth(2))
        most = most_features(self.statement, forced.size, free.size, target)
        if not floor < target < np.inf or most > MOST_LAST_FEATURES:
            return floor
        S, F = self._position[forced], np.sort(self._position[free])
        if self.replaceable:
            # A constant column explains nothing, so a support without it is as good.
            F = F[~self.columns.constant[F]]
        self._work, self._lowest = 0.0, target
        # Without a price, a larger choice is at least as good.
        alone = self.statement.price == 0.0 and self.replaceable
        most = min(most, F.size)
        try:
            for q in (most,) if alone else range(most + 1):
                self._check(S, F, q, target)
        except TooMany:
            return floor
        return max(self._lowest, floor)

    def _check(self, S: Indices, F: Indices, q: int, target: float) -> None:
        """Prove that S with any q features of F has at least the target as its objective, or lower the bound."""
        if self._is_exceeded(S):
            return
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
        if residuals is not None and self.limits is not None:
            self._check_limited(S, F, q, target, residuals, scaled)
            return
        hard = np.setdiff1d(F, scaled.positions)
        if hard.size > _MOST_HARD:
            raise TooMany
        # A spanned feature adds nothing.  Without these features there may be fewer than q; then all of them are tried.
        spanned = np.array([a for a in hard if self._is_spanned(S, int(a))], dtype=np.intp)
        F, hard = np.setdiff1d(F, spanned), np.setdiff1d(hard, spanned)
        q = min(q, F.size)
        for i, a in enumerate(hard):
            self._check_with(S, [int(a)], np.setdiff1d(F, hard[: i + 1]), q - 1, target)
        if q <= 1:
            return
        out, known = self._check_pairs(S, F, q, scaled, target)
        if q == 3:
            kept = np.flatnonzero(~np.isin(scaled.positions, out))
            at, left, right = scaled.positions[kept], scaled.left[kept], scaled.right[kept]
            known = np.searchsorted(at, known[np.isin(known, at).all(axis=1)])
            for triple in failing_triples(left, right, known, self.threads, self.data.room):
                self._try(np.append(S, at[triple]))

    def _check_with(self, S: Indices, more: list[int], F: Indices, q: int, target: float) -> None:
        """The same with more features forced in, for at most two others."""
        self._spend(self.columns.n * F.size * (4.0 * (S.size + 3) + (F.size if q > 1 else 0)))
        self._check(np.append(S, more), F, q, target)

    def _check_limited(
        self, S: Indices, F: Indices, q: int, target: float, residuals: Residuals, scaled: Scaled
    ) -> None:
        """The same with limits of coefficients; those of S are used only where a single support is tried."""
        assert self.limits is not None
        price = self.statement.price * (S.size + q)
        needed = target - price + 8.0 * UNIT * (abs(target) + price)
        choices = LimitedChoices.of(self.columns, self.limits, residuals, F, needed, self.caution)
        good = np.searchsorted(F, scaled.positions)
        hard = np.setdiff1d(np.arange(F.size), good)
        if q == 1:
            failing = hard[:, None]
            failing = failing[~choices.hold(failing)]
        elif q == 2:
            # All pairs with a hard feature fail the first test.
            left, right = np.zeros((2, F.size, scaled.left.shape[1]))
            left[good], right[good] = scaled.left, scaled.right
            parts = self._failing_pairs(Scaled(F, left, right), choices, hard)
            failing = np.concatenate([np.empty((0, 2), dtype=np.intp), *parts])
        else:
            if hard.size > _MOST_HARD:
                raise TooMany
            for i, a in enumerate(hard):
                self._check_with(S, [int(F[a])], np.setdiff1d(F, F[hard[: i + 1]]), q - 1, target)
            none = np.empty((0, 2), dtype=np.intp)
            failing = good[failing_triples(scaled.left, scaled.right, none, self.threads, self.data.room)]
            failing = failing[~choices.hold(failing)]
        if failing.shape[0] > self._most_failing:
            raise TooMany
        for choice in failing:
            self._try(np.append(S, F[choice]))

    def _try_all(self, S: Indices, F: Indices, q: int) -> None:
        """Try all choices one by one, if there are few."""
        if comb(F.size, q) > _MOST_TRIALS:
            raise TooMany
        for choice in combinations(F.tolist(), q):
            self._try(np.append(S, choice))

    def _scaled(self, found: Residuals, S: Indices, F: Indices, q: int, target: float) -> Scaled | None:
        """``D`` divided by ``h``, for the features that have an h; None if S alone is below the target."""
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
        """Test all pairs; return features that need no further test, and the pairs that were forced in."""
        out: list[int] = []
        known: list[tuple[int, int]] = []
        at, found = scaled.positions, self._failing_pairs(scaled)
        for pairs in found:
            for i, j in pairs:
                a, b = int(at[i]), int(at[j])
                if a in out or b in out:
                    continue
                if self._is_spanned(np.append(S, a), b):
                    # A choice with b is not better than the choice with a instead, or without b.
                    out.append(b)
                elif q == 2:
                    self._try(np.append(S, [a, b]))
                else:
                    self._check_with(S, [a, b], F[~np.isin(F, [a, b])], q - 2, target)
                    known.append((a, b))
        return out, np.array(known, dtype=np.intp).reshape(-1, 2)

    def _failing_pairs(
        self, scaled: Scaled, choices: LimitedChoices | None = None, hard: Indices | None = None
    ) -> list[Indices]:
        """The pairs that violate ``|R̃| ≤ 1`` and, with limits, the second test; one in each row, in batches.

        All pairs with a ``hard`` feature violate the first test.
        """
        size = scaled.positions.size
        is_hard = np.zeros(size, dtype=np.bool_)
        if hard is not None:
            is_hard[hard] = True

        def blocks() -> Iterator[tuple[int, int]]:
            for i in range(0, size, _BLOCK):
                for j in range(i, size, _BLOCK):
                    yield i, j

        def failing(block: tuple[int, int]) -> Indices:
            i, j = block
            R = scaled.left[i : i + _BLOCK] @ scaled.right[j : j + _BLOCK].T
            R[is_hard[i : i + _BLOCK]] = R[:, is_hard[j : j + _BLOCK]] = np.inf
            if i == j:
                R.flat[:: R.shape[0] + 1] = 0.0
            # NaN fails the comparison, too.
            if R.max() <= 1.0 and R.min() >= -1.0:
                return np.empty((0, 2), dtype=np.intp)
            found = np.argwhere(~(np.abs(R) <= 1.0)) + np.array([i, j])
            found = found[found[:, 0] < found[:, 1]]
            if choices is not None:
                found = found[~choices.pairs_hold(found, i, j, _BLOCK)]
            if found.shape[0] > self._most_failing:
                raise TooMany
            return found

        several = size * size > _WORTH_THREADS
        parts = [part for part in mapped(failing, blocks(), self.threads if several else 1) if part.size]
        if sum(part.shape[0] for part in parts) > self._most_failing:
            raise TooMany
        return parts

    def _is_spanned(self, S: Indices, a: int) -> bool:
        """Whether, without a ridge, a feature is provably a combination of others and so adds nothing."""
        if np.isfinite(self.statement.gamma) or not self.replaceable or self.limits is not None:
            return False
        self._spend_on_trial(S)
        features = self.columns.features[np.append(S, a)]
        return a not in self._position[independent_columns(self.data, features)]

    def _try(self, S: Indices) -> None:
        """Bound a single support."""
        support = np.sort(self.columns.features[S])
        if tuple(support.tolist()) in self.excepted or self._is_exceeded(S):
            return
        rules = self.statement.structure
        admissible = rules is None or not rules.complaints(support, self.data.p)
        self._spend_on_trial(S if admissible else S[:0])
        if not admissible:
            return
        bound = regression_bound(self.data, self.statement, support, support.size)
        if bound < self._lowest and (np.isfinite(self.statement.gamma) or self.limits is not None):
            w = self._coefficients(S)
            if self.limits is not None:
                bound = max(bound, self._within_limits(S, w))
            if bound < self._lowest:
                bound = max(bound, self._by_dual(support, self._dual_point(S, w)))
        bound -= (self.caution - 1.0) * _OTHER_ORDER * abs(bound)
        self._lowest = min(self._lowest, bound if np.isfinite(bound) else -np.inf)

    def _is_exceeded(self, S: Indices) -> bool:
        """Whether features exceed a limit or a budget, so that no support that contains them is admissible."""
        rules = self.statement.structure
        return rules is not None and rules.exceeded_by(set(self.columns.features[S].tolist()))

    def _spend_on_trial(self, S: Indices) -> None:
        self._spend(max(self.data.room.work / _MOST_TRIALS, _WORK_OF_TRIAL * self.columns.n * S.size**2))

    def _spend(self, work: float) -> None:
        """Count work; TooMany if there has been too much before."""
        if self._work >= self.data.room.work:
            raise TooMany
        self._work += work

    def _dual_point(self, S: Indices, w: Array) -> Array:
        """The residual of the regression on some features, as a dual point."""
        X, root = self.columns.lines[S], np.sqrt(self.data.weights)
        return np.asarray(-root * (self.columns.z - w @ X))

    def _coefficients(self, S: Indices) -> Array:
        """Coefficients near the best ones of a support."""
        X = self.columns.lines[S]
        H = X @ X.T
        H.flat[:: S.size + 1] += self.columns.ridge[S]
        if self.limits is None:
            return np.asarray(np.linalg.lstsq(H, X @ self.columns.z, rcond=None)[0])
        return solution(H[None], (X @ self.columns.z)[None], self.limits.low[S][None], self.limits.high[S][None])[0]

    def _within_limits(self, S: Indices, w: Array) -> float:
        """Bound a support by the test with limits: T has its coefficients at limits, and S the others, unlimited."""
        assert self.limits is not None
        at_limit = (w <= self.limits.low[S]) | (w >= self.limits.high[S])
        count = int(at_limit.sum())
        found = self.columns.residuals(S[~at_limit], S[at_limit]) if 0 < count <= _MOST_AT_LIMITS else None
        if found is None:
            return -np.inf
        choices = LimitedChoices.of(self.columns, self.limits, found, S[at_limit], 0.0, self.caution)
        bound, price = choices.bound(np.arange(count)), self.statement.price * S.size
        return bound + price - growth(4) * (abs(bound) + price)


def most_features(statement: Statement, n_forced: int, n_free: int, target: float) -> int:
    """The largest number of free features of a support below a target, by k and by the price."""
    most = n_free if statement.k is None else min(max(statement.k - n_forced, 0), n_free)
    if statement.price > 0.0 and np.isfinite(target):
        for q in range(min(most, MOST_LAST_FEATURES + 1)):
            # One more feature would have at least this price.
            if statement.price * (n_forced + q + 1) * (1.0 - growth(4)) >= target:
                return q
    return most
