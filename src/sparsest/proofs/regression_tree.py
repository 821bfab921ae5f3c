"""Bounds of many regions by least squares in Gram space: squared loss, at most k of few features, little or no ridge.

Let S be the features forced into a region, and A those not forced out.  The regression ``f(A)`` on A bounds every
support.  If i free features must be left out, every support misses one of any set J of all but i - 1 free features, so
``min f(A - {j})`` over J is a bound, too.  If at most two features remain to be chosen, all choices are tried.

Most leaves are closed in batches (:mod:`sparsest.proofs.regression_leaves`), the others one by one.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sparsest.proofs.data import Data
from sparsest.proofs.regression_leaves import FREE, IN, LEAST_TARGET, OUT, Completions, Exclusions, States
from sparsest.proofs.regression_sums import RegressionSums, Sums
from sparsest.proofs.rounding import UNIT, Indices, growth
from sparsest.proofs.statement import Statement
from sparsest.proofs.steps import LEAF, RegressionTree
from sparsest.proofs.threads import mapped

Mask = NDArray[np.bool_]

# With fewer entries of a tree, threads cost more than they save.
_WORTH_THREADS = 2000
# Relative amounts by which a target is lowered if a leaf misses it.
_LADDER = (0.0, 1e-10, 1e-8, 1e-6, 1e-4)


class RegressionBounds(RegressionSums):
    """The regression on some features, which are numbered by their positions."""

    def __init__(self, data: Data, statement: Statement, features: Indices, step: RegressionTree) -> None:
        if statement.loss != "squared" or statement.k is None:
            raise ValueError("a regression tree needs the squared loss and a number of features")
        self.k: int = statement.k
        self.step = step
        super().__init__(data, statement.gamma, features, step)

    def prove(self, entries: NDArray[np.int32], forced: Indices, enough: float) -> float:
        """Return the smallest bound over the leaves of a tree; above ``enough`` it need not be as large as possible."""
        threads = self.room.threads if entries.size > _WORTH_THREADS else 1
        batches = self.leaves(entries, forced)
        return min(mapped(lambda batch: self._bound_of_batch(*batch, enough), batches, threads))

    # Overflow and NaN prove nothing.
    @np.errstate(all="ignore")
    def _bound_of_batch(self, states: States, last: Indices, enough: float) -> float:
        held = self.held(states, last, enough)
        lowest = enough if held.any() else np.inf
        for state in states[~held]:
            lowest = min(lowest, self.bound(np.flatnonzero(state == IN).tolist(), state != OUT, enough))
        return float(lowest)

    def leaves(self, entries: NDArray[np.int32], forced: Indices) -> Iterator[tuple[States, Indices]]:
        """The states of the features in the leaves of a tree, in batches, and the last feature branched on, or -1."""
        m = self.features.size
        position = {int(feature): j for j, feature in enumerate(self.features)}
        state = bytearray([FREE]) * m
        for j in np.searchsorted(self.features, forced).tolist():
            state[j] = IN
        # The depths of the branches above whose other side is open, and the features of all branches above.
        pending, path = list[int](), list[int]()
        leaves, last = list[bytes](), list[int]()
        most, finished = max(1, self.room.leaves // max(m, 1)), False
        for entry in entries.tolist():
            if finished:
                raise ValueError("a tree has entries after its end")
            if entry != LEAF:
                j = position.get(entry, -1)
                if j < 0 or state[j] != FREE:
                    raise ValueError("a tree branches on a feature that is not free")
                state[j] = IN
                pending.append(len(path))
                path.append(j)
                continue
            leaves.append(bytes(state))
            last.append(path[pending[-1]] if pending else -1)
            if len(leaves) >= most:
                yield _stacked(leaves, m), np.array(last)
                leaves, last = [], []
            finished = not pending
            if pending:
                at = pending.pop()
                for j in path[at + 1 :]:
                    state[j] = FREE
                del path[at + 1 :]
                state[path[at]] = OUT
        if not finished:
            raise ValueError(f"a tree leaves {len(pending) + 1} region(s) open")
        if leaves:
            yield _stacked(leaves, m), np.array(last)

    def held(self, states: States, last: Indices, enough: float) -> Mask:
        """Which leaves the tests in batches prove to have the bound ``enough``."""
        held = np.zeros(last.size, dtype=bool)
        if not LEAST_TARGET < enough < np.inf:
            return held
        left = self.k - (states == IN).sum(axis=1)
        two, more = np.flatnonzero((left == 2) & (last >= 0)), np.flatnonzero(left > 2)
        if two.size:
            held[two] = Completions(self, enough).hold(states[two], last[two])
        if more.size:
            held[more] = Exclusions(self, self.k, enough).hold(states[more])
        return held

    def bound(self, inside: list[int], alive: Mask, enough: float = np.inf) -> float:
        """Return the bound of a region; above ``enough`` it need not be as large as possible."""
        left = self.k - len(inside)
        if left <= 0:
            alive = np.zeros_like(alive)
            alive[inside] = True
        drop = int(alive.sum()) - max(self.k, len(inside))
        # A loss is nonnegative.
        best = 0.0
        if 0 < left <= 2 and drop > 0 and np.isfinite(enough):
            best = max(best, self._completed(inside, alive, left, enough))
        if best < enough:
            best = max(best, self._regression(self.sums_of(alive), alive, inside, drop, enough))
        return best

    def _completed(self, inside: list[int], alive: Mask, left: int, enough: float) -> float:
        """``enough``, or slightly less, if every choice of at most two further features has that objective; else 0."""
        chosen = np.zeros_like(alive)
        chosen[inside] = True
        sums = self.sums_of(chosen)
        for less in _LADDER:
            target = enough - less * abs(enough)
            if self._no_completion_is_better(sums, inside, alive, left, target):
                return target
        return 0.0

    def _regression(self, sums: Sums, alive: Mask, inside: list[int], drop: int, enough: float) -> float:
        """The larger of ``f(A)`` and, if ``drop`` free features must be left out, ``min f(A - {j})`` over J."""
        A = np.flatnonzero(alive)
        H, h = self.H[np.ix_(A, A)], sums.h[A]
        if not A.size:
            return sums.c - sums.c_error
        N = np.linalg.inv(H)
        w = N @ h
        whole = float(self.below(sums, h, w[:, None], (h - H @ w)[:, None])[0])
        if drop <= 0 or whole >= enough:
            return whole
        free = np.flatnonzero(~np.isin(A, inside))
        pivots = np.maximum(N.diagonal(), 1e-300)
        # Total coefficients are w plus those that the sums are taken about; a feature is left out if its total is zero.
        about = np.zeros(self.features.size)
        about[self.center] = self.w0
        about = about[A]
        costs = (w[free] + about[free]) ** 2 / pivots[free]
        J = free[np.argsort(-costs, kind="stable")[: free.size - drop + 1]]
        W = w[:, None] - N[:, J] * ((w[J] + about[J]) / pivots[J])
        fixed = np.arange(A.size)[:, None] == J
        W[fixed] = np.broadcast_to(-about[:, None], W.shape)[fixed]
        return max(whole, float(self.below(sums, h, W, h[:, None] - H @ W, fixed).min()))

    def _no_completion_is_better(self, sums: Sums, inside: list[int], alive: Mask, left: int, target: float) -> bool:
        """Whether no one or two further features bring the regression on those inside below a target.

        Features T gain ``½r_T'C_TT^{-1}r_T``, C and r what the features inside leave of H and h.  That is at most
        ``t/2`` exactly when ``C_TT - r_T r_T'/t`` is positive semidefinite: pairs are tried by its minors.  For any K,
        ``[-K, I]'H[-K, I]`` exceeds C by ``Γ'H_SS^{-1}Γ``, ``Γ = H_SF - H_SS K``.
        """
        S = np.array(inside, dtype=np.intp)
        F = np.flatnonzero(alive & ~np.isin(np.arange(alive.size), S))
        H_SS, H_SF, h_S = self.H[np.ix_(S, S)], self.H[np.ix_(S, F)], sums.h[S]
        N = np.linalg.inv(H_SS)
        w, K = N @ h_S, N @ H_SF
        g, gamma = h_S - H_SS @ w, H_SF - H_SS @ K
        value = float(self.below(sums, h_S, w[:, None], g[:, None])[0]) if S.size else sums.c - sums.c_error
        t = 2.0 * (value - target) * (1.0 - 8.0 * UNIT)
        if not t > 0.0:
            return False
        sizes = 1.0 + np.abs(K).sum(axis=0)
        rounding = growth(3 * S.size + 16) * self.largest + self.H_error
        slack = np.sqrt(np.square(gamma).sum(axis=0)) + np.sqrt(S.size) * rounding * sizes
        residue = slack / np.sqrt(self.least) * 1.01
        C = self.H[np.ix_(F, F)] - K.T @ H_SF - H_SF.T @ K + K.T @ (H_SS @ K)
        C_error = 1.01 * rounding * np.outer(sizes, sizes) + np.outer(residue, residue)
        r = sums.h[F] - H_SF.T @ w
        w_size, h_size = float(np.abs(w).sum()), float(np.abs(sums.h).max())
        step = sums.h_error + rounding * w_size + growth(S.size + 8) * h_size
        g_size = float(np.linalg.norm(g)) * 1.01 + np.sqrt(S.size) * (step + rounding * w_size)
        r_error = step + (sizes + slack / self.least) * g_size * 1.01
        upper = np.abs(r) + r_error
        lowest = C.diagonal() - C_error.diagonal() - upper * upper / t * (1.0 + 8.0 * UNIT)
        if not lowest.min(initial=np.inf) > 0.0:
            return False
        if left == 1:
            return True
        off = np.abs(C - np.outer(r, r) / t) + C_error
        off += (np.outer(upper, r_error) + np.outer(r_error, upper) + 8.0 * UNIT * np.outer(upper, upper)) / t
        off.flat[:: F.size + 1] = 0.0
        return bool((off * off * (1.0 + 8.0 * UNIT) <= np.outer(lowest, lowest)).all())


def _stacked(leaves: list[bytes], m: int) -> States:
    return np.frombuffer(b"".join(leaves), dtype=np.uint8).reshape(len(leaves), m)
