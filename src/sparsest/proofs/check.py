"""The check of a proof: the steps cover all admissible supports, and the proof is worth its smallest bound.

A region is a row of states, one for each feature: 1 forced in, -1 forced out, 0 free.  The steps alone determine the
regions.  Their bounds are computed in batches, with one matrix product for each batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from threading import Lock
from typing import NamedTuple

import numpy as np

from sparsest.proofs.columns import AllColumns, Columns, PackedColumns
from sparsest.proofs.data import Data, box_above, ridge_below
from sparsest.proofs.last_features import ByTrying
from sparsest.proofs.points import Witnesses, witnesses
from sparsest.proofs.regions import RegionBounds, State, region_bounds
from sparsest.proofs.regression import RegressionBounds, regression_bound
from sparsest.proofs.rounding import TINY, UNDERFLOW, UNIT, Array, Indices, growth
from sparsest.proofs.splits import Diagonals
from sparsest.proofs.statement import Statement
from sparsest.proofs.steps import (
    Branch,
    Combination,
    DualPoint,
    Fix,
    LastFeatures,
    Leaf,
    Point,
    PrimalPoint,
    Proof,
    Regression,
    RegressionTree,
    SplitPoint,
)
from sparsest.proofs.threads import Workers

# A leaf of a regression tree that just reaches a bound may miss it by this share if sums are taken in another order.
_OTHER_ORDER = 1e-11

# With more regions than this whose last features are tried, each is tried by one thread.
_MANY_TRIED = 8


class Job(NamedTuple):
    """A region, the points and multipliers that bound it, and the features whose other side they close."""

    step: int
    points: Indices
    multipliers: Array
    state: State
    inside: Indices
    outside: Indices


class Proved(NamedTuple):
    """The bound that was proved, or -inf and what is wrong with the proof."""

    bound: float
    complaints: tuple[str, ...]


def prove(
    data: Data,
    statement: Statement,
    proof: Proof,
    enough: float = np.inf,
    whole: Columns | None = None,
    caution: float = 1.0,
    excepted: Set[tuple[int, ...]] = frozenset(),
    threads: int | None = None,
) -> Proved:
    """Check a proof.

    Parameters
    ----------
    enough : a bound above this one need not be as large as possible, which saves work
    whole : all columns, if they have been read
    caution : multiplies the bounds of rounding errors; a bound proved with a larger factor is also proved by checks
        that sum in another order
    excepted : sorted supports that the bound need not hold for, if a leaf contains nothing else
    """
    checker = Checker(data, statement, proof, enough, caution, excepted)
    checker.threads = threads or checker.threads
    return run(checker, whole)


@np.errstate(all="ignore")
def prove_closed(
    data: Data, statement: Statement, fixes: Sequence[Fix], points: Sequence[Point], whole: Columns, caution: float
) -> float:
    """The smallest bound over the sides that these steps close, which fix features of the first region in turn."""
    checker = Checker(data, statement, Proof(fixes, points), np.inf, caution)
    checker.fix_first(whole)
    checker.bound_jobs(whole)
    return checker.lowest


# Overflow and NaN prove nothing, and need no warning.
@np.errstate(all="ignore")
def run(checker: Checker, whole: Columns | None = None) -> Proved:
    """Run a checker and catch what is wrong with its proof."""
    try:
        return Proved(checker.run(whole or AllColumns(checker.data)), ())
    except Refusal as refusal:
        return Proved(-np.inf, (f"step {refusal.step}: {refusal}",))
    except ValueError as error:
        return Proved(-np.inf, (f"step {checker.step}: {error}",))


class Refusal(ValueError):
    """What is wrong with a step, or with another step of its batch."""

    def __init__(self, step: int, reason: str) -> None:
        super().__init__(reason)
        self.step = step


class Checker:
    """The walk through the steps, with the jobs that wait for the next batch."""

    def __init__(
        self,
        data: Data,
        statement: Statement,
        proof: Proof,
        enough: float,
        caution: float = 1.0,
        excepted: Set[tuple[int, ...]] = frozenset(),
    ) -> None:
        self.data, self.statement, self.proof, self.enough = data, statement, proof, enough
        self.caution, self.excepted = caution, excepted
        # In exact arithmetic one precision holds for all threads.
        self.threads = data.room.threads
        self.diagonals = Diagonals(data, statement.gamma, proof.splits)
        self.step = 0
        self.lowest = np.inf
        self._jobs: list[Job] = []
        self._by_trying: ByTrying | None = None
        self._lock = Lock()

    def run(self, columns: Columns) -> float:
        """Return the smallest bound.

        The first fixings need one pass over all columns, and a single leaf after them shares it.  Later steps read
        only the columns of features that are not fixed out.
        """
        state, steps = self.fix_first(columns), self.proof.steps
        if self.step == len(steps) - 1 and isinstance(steps[-1], Leaf):
            self._walk(state, columns)
        else:
            self.bound_jobs(columns)
            alive = np.flatnonzero(state >= 0)
            self._walk(state[alive], PackedColumns(self.data, alive))
        return float(self.lowest)

    def fix_first(self, columns: Columns) -> State:
        """Apply the fixings at the beginning of the proof; return the states of the features after them."""
        state = np.zeros(self.data.p, dtype=np.int8)
        state[list(self.statement.include)] = 1
        state[list(self.statement.exclude)] = -1
        steps = self.proof.steps
        while self.step < len(steps) and isinstance(fix := steps[self.step], Fix):
            state = self._fix(fix, state, columns)
            self.step += 1
        return state

    def _walk(self, state: State, columns: Columns) -> None:
        """Walk through the tree with one state, which is changed and restored; there is no recursion."""
        # The number of jobs in a batch.
        most = max(1, self.data.room.gains // (8 * max(columns.features.size, self.data.n)))
        several = len(self.proof.steps) - self.step > most or self._tries_often
        with Workers[float](self.threads if several else 1, self._tries_often) as workers:
            self._walk_with(workers, most, state, columns)

    def _walk_with(self, workers: Workers[float], most: int, state: State, columns: Columns) -> None:
        state, fixed = state.copy(), list[int]()
        # For each branch above whose other side is open: its feature, and the number of features fixed before it.
        pending: list[tuple[int, int]] = []
        finished = False
        for step in self.proof.steps[self.step :]:
            if finished:
                raise ValueError("the proof has steps after its end")
            if isinstance(step, Branch):
                at = int(self._free(np.array([step.feature]), state, columns)[0])
                pending.append((at, len(fixed)))
                state[at] = 1
                fixed.append(at)
            elif isinstance(step, Fix):
                after = self._fix(step, state.copy(), columns)
                fixed += np.flatnonzero(after != state).tolist()
                state = after
            else:
                self._close(step, state.copy(), columns, workers)
                finished = not pending
                if pending:
                    at, before = pending.pop()
                    state[fixed[before:]] = 0
                    del fixed[before:]
                    state[at] = -1
                    fixed.append(at)
            if len(self._jobs) >= most:
                self._submit_jobs(workers, columns)
            self.step += 1
        self._submit_jobs(workers, columns)
        self._note(*workers.collect())
        if not finished:
            raise ValueError(f"the proof ends with {len(pending) + 1} region(s) open")

    def _free(self, features: Indices, state: State, columns: Columns) -> Indices:
        """The positions of features that must be free and different from each other."""
        features = np.asarray(features, dtype=np.intp)
        if features.size and (features.min() < 0 or features.max() >= self.data.p):
            raise ValueError("there is no such feature")
        at = columns.position[features]
        if (at < 0).any() or state[at].any() or np.unique(at).size != at.size:
            raise ValueError("a step branches on or fixes a feature that is not free")
        return at

    def _fix(self, step: Fix, state: State, columns: Columns) -> State:
        both = self._free(np.concatenate([step.inside, step.outside]), state, columns)
        inside, outside = both[: len(step.inside)], both[len(step.inside) :]
        self._jobs.append(Job(self.step, np.array([step.point]), np.ones(1), state, inside, outside))
        state = state.copy()
        state[inside], state[outside] = 1, -1
        return state

    @property
    def _tries_often(self) -> bool:
        """Whether so many regions are closed by trying their last features that each has a thread of its own."""
        return sum(isinstance(step, LastFeatures) for step in self.proof.steps) > _MANY_TRIED

    def _close(self, step: object, state: State, columns: Columns, workers: Workers[float]) -> None:
        none = np.empty(0, dtype=np.intp)
        if isinstance(step, Leaf):
            self._jobs.append(Job(self.step, np.array([step.point]), np.ones(1), state, none, none))
        elif isinstance(step, Combination):
            self._jobs.append(Job(self.step, step.points, _multipliers(step), state, none, none))
        elif isinstance(step, Regression):
            self._note(self.bound_of_regression(self._admitted(state, columns), int((state == 1).sum())))
        elif isinstance(step, RegressionTree):
            alive, forced = columns.features[state >= 0], columns.features[state == 1]
            self._note(self.bound_of_tree(step, alive, forced))
        elif isinstance(step, LastFeatures):
            at, forced, free = self.step, columns.features[state == 1], columns.features[state == 0]
            workers.submit(lambda: self._refusing(at, lambda: self.bound_of_last(step, forced, free, columns)))
        else:
            raise ValueError("a step has an unknown type")

    def _note(self, *bounds: float) -> None:
        """Keep the smallest bound; NaN counts as -inf, because it compares as not smaller than any number."""
        self.lowest = min(self.lowest, *(-np.inf if np.isnan(bound) else bound for bound in bounds))

    def bound_of_regression(self, features: Indices, n_forced: int) -> float:
        """The bound of a region by least squares on the features that it admits."""
        return regression_bound(self.data, self.statement, features, n_forced)

    def bound_of_tree(self, step: RegressionTree, alive: Indices, forced: Indices) -> float:
        """The smallest bound of a regression tree's leaves."""
        bound = RegressionBounds(self.data, self.statement, alive, step).prove(step.entries, forced, self.enough)
        return bound - (self.caution - 1.0) * _OTHER_ORDER * abs(bound)

    def bound_of_last(self, step: LastFeatures, forced: Indices, free: Indices, columns: Columns) -> float:
        """The bound of a region by trying its last features; all regions are of these columns."""
        with self._lock:
            if self._by_trying is None:
                given = self.data, self.statement, columns.features, self._bound_of_support, self.caution, self.excepted
                self._by_trying = ByTrying(*given, 1 if self._tries_often else self.threads)
        return self._by_trying.prove(forced, free, min(float(step.bound), self.enough))

    @staticmethod
    @np.errstate(all="ignore")
    def _refusing(step: int, bound: Callable[[], float]) -> float:
        """A bound, or a refusal that names the step."""
        try:
            found = bound()
        except ValueError as error:
            raise Refusal(step, str(error)) from error
        return -np.inf if np.isnan(found) else found

    def _bound_of_support(self, support: Indices, alpha: Array) -> float:
        """The bound of a single support by a dual point."""
        checker = Checker(self.data, self.statement, Proof((), (DualPoint(alpha),)), np.inf, self.caution)
        none, first = np.empty(0, dtype=np.intp), np.zeros(1, dtype=np.intp)
        job = Job(self.step, first, np.ones(1), np.ones(support.size, dtype=np.int8), none, none)
        return checker.bound_of_jobs([job], first, PackedColumns(self.data, support))

    def _admitted(self, state: State, columns: Columns) -> Indices:
        """The features that supports of a region may have: those forced in, and the free ones unless k is reached."""
        full = self.statement.k is not None and (state == 1).sum() >= self.statement.k
        return columns.features[state == 1 if full else state >= 0]

    def bound_jobs(self, columns: Columns) -> None:
        """Bound the waiting regions and empty the list."""
        with Workers[float](1) as workers:
            self._submit_jobs(workers, columns)
            self._note(*workers.collect())

    def _submit_jobs(self, workers: Workers[float], columns: Columns) -> None:
        jobs, self._jobs = self._jobs, []
        workers.submit(lambda: self._bound_of_batch(jobs, columns))

    @np.errstate(all="ignore")
    def _bound_of_batch(self, jobs: Sequence[Job], columns: Columns) -> float:
        """The smallest bound of some regions; infinite for an empty list."""
        if not jobs:
            return np.inf
        numbers = np.unique(np.concatenate([job.points for job in jobs]))
        try:
            if numbers.size and not 0 <= numbers[0] <= numbers[-1] < len(self.proof.points):
                raise ValueError("there is no such point")
            if 8 * numbers.size * max(columns.features.size, self.data.n) > self.data.room.most:
                raise ValueError("a combination has more points than fit into memory")
            return self.bound_of_jobs(jobs, numbers, columns)
        except ValueError as error:
            raise Refusal(jobs[0].step, str(error)) from error

    def bound_of_jobs(self, jobs: Sequence[Job], numbers: Indices, columns: Columns) -> float:
        """The smallest bound of some regions by points with these numbers."""
        gains, constants = self._gains(numbers, columns)
        bounds = self._bounds_of_jobs(jobs, numbers, gains, constants)
        for i in range(len(jobs) if self.excepted else 0):
            if self._is_excepted(jobs[i], columns):
                bounds[i] = np.inf
        return float(bounds.min())

    def _is_excepted(self, job: Job, columns: Columns) -> bool:
        """Whether a leaf contains a single support, and that one is excepted."""
        single = job.state.all() and not (job.inside.size or job.outside.size)
        return bool(single) and tuple(columns.features[job.state == 1].tolist()) in self.excepted

    def _bounds_of_jobs(self, jobs: Sequence[Job], numbers: Indices, gains: Array, constants: Array) -> Array:
        """Bounds of regions and of the sides of features that their points close."""
        rows, base = np.empty((len(jobs), gains.shape[1])), np.empty(len(jobs))
        for i, job in enumerate(jobs):
            at = np.searchsorted(numbers, job.points)
            if job.points.size == 1:
                rows[i], base[i] = gains[at[0]], constants[at[0]]
            else:
                # The multipliers sum to 1 up to rounding; the factors of the products and sums below cover that error.
                error = self.caution * growth(2 * job.points.size + 16)
                rows[i] = job.multipliers @ gains[at] * (1.0 + error)
                base[i] = job.multipliers @ constants[at] - error * (job.multipliers @ np.abs(constants[at]))
        states = np.stack([job.state for job in jobs])
        found: RegionBounds = region_bounds(self.statement, rows, states, base, self.caution)
        bounds = found.bounds.copy()
        for i, job in enumerate(jobs):
            if job.inside.size + job.outside.size:
                bounds[i] = found.closed_by(i, rows[i], job.inside, job.outside)
        return bounds

    def _gains(self, numbers: Indices, columns: Columns) -> tuple[Array, Array]:
        """Upper bounds of all gains ``q``, a row for each point, and lower bounds of the constants."""
        data, gamma = self.data, self.statement.gamma
        points = [self.proof.points[i] for i in numbers]
        if not all(isinstance(point, (DualPoint, PrimalPoint, SplitPoint)) for point in points):
            raise ValueError("a point has an unknown type")
        found = witnesses(data, self.statement.rule, points, columns, self.caution)
        # Gains overwrite products.
        gains = columns.products(found.alpha)
        # Rounding of the column, of n products and of their sum.  Underflow of each product and of the
        # bounds themselves, so that the error is zero for constant columns and for α = 0 only.
        errors = self.caution * growth(data.n + 8) * found.norms
        underflow = (data.n + 8) * TINY * (columns.bounds.weighted_norms > 0.0)
        constants = found.constants - found.lost
        bounds, low = columns.bounds, self._ridge_low(columns)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ridge, box = ridge_below(low, gamma), box_above(low, self.statement.max_coef)
            for i, point in enumerate(points):
                error = errors[i] * bounds.weighted_norms + underflow * (found.norms[i] > 0.0)
                if isinstance(point, SplitPoint):
                    gains[i], lost = self._split_gains(point, found, i, gains[i], error, columns)
                    constants[i] -= lost
                else:
                    gains[i] = _gain_above(np.abs(gains[i]) + error, ridge, box)
        return gains, constants

    def _ridge_low(self, columns: Columns) -> Array:
        """Lower bounds of ``d_j``; variances (3n roundings) are reduced, as other checks may find them smaller."""
        low = columns.bounds.ridge_low
        return low * (1.0 - 2.0 * (self.caution - 1.0) * growth(3 * self.data.n + 24)) if self.data.scaled else low

    def _split_gains(
        self, point: SplitPoint, found: Witnesses, i: int, products: Array, error: Array, columns: Columns
    ) -> tuple[Array, float]:
        """The gains of ``g = -X'α - (ridge - δ)w`` and δ, and an upper bound of ``½Σ(ridge - δ)w²``."""
        delta, bounds = self.diagonals.diagonal(point.split, columns), columns.bounds
        used, w = columns.position[found.used[i]], found.coefficients[i]
        if (used < 0).any() and w[used < 0].any():
            raise ValueError("a point has coefficients for features that are forced out")
        exponents, given, used = found.exponents[i][used >= 0], w[used >= 0], used[used >= 0]
        moved = bounds.exponents[used] - exponents
        w = np.ldexp(given, moved)
        if (np.ldexp(w, -moved) != given).any():
            raise ValueError("a point's coefficients are out of range")
        gamma = self.statement.gamma
        low, high = (
            np.zeros(used.size) if np.isinf(gamma) else ridge[used] / gamma
            for ridge in (bounds.ridge_low, bounds.ridge_high)
        )
        if not np.isfinite(low).all() or not (delta[used] > 0.0).all():
            raise ValueError("a point has coefficients for features that its split does not cover")
        shift = high - delta[used]
        g = np.abs(products)
        g[used] = np.abs(products[used] + shift * w)
        error = error + bounds.weighted_norms * found.spreads[i] * 1.01
        spread = self.caution * ((high - low) + 8.0 * UNIT * (high + delta[used]))
        error[used] += np.abs(w) * spread + 8.0 * self.caution * UNIT * (np.abs(products[used]) + np.abs(shift * w))
        terms, sizes = 0.5 * shift * w * w, 0.5 * (high + delta[used]) * w * w
        lost = float(terms.sum()) + self.caution * growth(used.size + 16) * float(sizes.sum()) * 1.01
        # The split gives no bound for features that it does not cover, whatever their box.
        box = np.where(delta > 0.0, box_above(self._ridge_low(columns), self.statement.max_coef), np.inf)
        return _gain_above(g + error, delta, box), lost


def _gain_above(u: Array, ridge: Array, box: Array) -> Array:
    """An upper bound of ``max {uw - ½ ridge w²: |w| ≤ box}`` for u ≥ 0; infinite without ridge and box, unless u is 0.

    It is at most ``u²/(2 ridge)``, which is attained if that w is in the box.
    """
    q = np.where(ridge > 0.0, 0.5 * u / ridge * u * (1.0 + growth(8)) + UNDERFLOW, np.inf)
    if np.isfinite(box).any():
        outside = np.isfinite(box) & (u > ridge * box * (1.0 + growth(8)))
        q = np.where(outside, box * (u - 0.5 * ridge * box) * (1.0 + growth(8)) + UNDERFLOW, q)
    return np.where(u == 0.0, 0.0, q)


def _multipliers(step: Combination) -> Array:
    """The multipliers of a combination, divided by their sum."""
    m = np.asarray(step.multipliers, dtype=np.float64)
    if m.shape != np.shape(step.points) or m.ndim != 1 or not m.size or not np.isfinite(m).all() or (m < 0.0).any():
        raise ValueError("a combination needs one multiplier >= 0 for each point")
    total = float(m.sum())
    if not 0.0 < total < np.inf:
        raise ValueError("the multipliers of a combination have no positive, finite sum")
    return m / total
