"""The check of a proof: the steps cover all admissible supports, and the proof is worth its smallest bound.

A region is a row of states, one for each feature (or unit, with a structure): 1 forced in, -1 forced out, 0 free.  The
steps and the rules of the structure alone determine the regions.  Their bounds are computed in batches, with one matrix
product for each batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from threading import Lock
from typing import NamedTuple

import numpy as np

from sparsest.proofs.columns import AllColumns, Columns, PackedColumns
from sparsest.proofs.data import Data
from sparsest.proofs.gains import Gains
from sparsest.proofs.last_features import ByTrying
from sparsest.proofs.regions import RegionBounds, State, region_bounds
from sparsest.proofs.regression import RegressionBounds, regression_bound
from sparsest.proofs.rounding import Array, Indices, growth
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
    RowPrices,
    SplitPoint,
)
from sparsest.proofs.structured_regions import StructuredBounds
from sparsest.proofs.threads import Workers
from sparsest.proofs.walks import Walk, walk_of

# A leaf of a regression tree that just reaches a bound may miss it by this share if sums are taken in another order.
_OTHER_ORDER = 1e-11

# With more regions than this whose last features are tried, each is tried by one thread.
_MANY_TRIED = 8


class Job(NamedTuple):
    """A region, the points and multipliers that bound it, and the features (or units) whose other side they close.

    ``row_prices`` is the number of the prices of rows that are used.
    """

    step: int
    points: Indices
    multipliers: Array
    state: State
    inside: Indices
    outside: Indices
    row_prices: int | None = None


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
    data: Data,
    statement: Statement,
    fixes: Sequence[Fix],
    points: Sequence[Point],
    whole: Columns,
    caution: float,
    row_prices: Sequence[RowPrices] = (),
) -> float:
    """The smallest bound over the sides that these steps close, which fix features of the first region in turn."""
    checker = Checker(data, statement, Proof(fixes, points, (), row_prices), np.inf, caution)
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
        plain = statement.structure is None
        self.structured = None if plain else StructuredBounds(statement, proof.row_prices, caution)
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
        walk, steps = self.fix_first(columns), self.proof.steps
        if not (self.step == len(steps) - 1 and isinstance(steps[-1], Leaf)):
            self.bound_jobs(columns)
            columns = PackedColumns(self.data, walk.alive())
            walk.pack(columns)
        self._walk(walk, columns)
        return float(self.lowest)

    def fix_first(self, columns: Columns) -> Walk:
        """Apply the fixings at the beginning of the proof; return the walk through the regions after them."""
        walk, steps = walk_of(self.statement, columns), self.proof.steps
        while self.step < len(steps) and isinstance(fix := steps[self.step], Fix):
            self._fix(fix, walk)
            self.step += 1
        return walk

    def _walk(self, walk: Walk, columns: Columns) -> None:
        """Walk through the tree of regions."""
        # The number of jobs in a batch.
        most = max(1, self.data.room.gains // (8 * max(columns.features.size, self.data.n)))
        several = len(self.proof.steps) - self.step > most or self._tries_often
        with Workers[float](self.threads if several else 1, self._tries_often) as workers:
            self._walk_with(workers, most, walk, columns)

    def _walk_with(self, workers: Workers[float], most: int, walk: Walk, columns: Columns) -> None:
        finished = False
        for step in self.proof.steps[self.step :]:
            if finished:
                raise ValueError("the proof has steps after its end")
            if isinstance(step, Branch):
                walk.branch(step.feature)
            elif isinstance(step, Fix):
                self._fix(step, walk)
            else:
                self._close(step, walk, columns, workers)
                finished = not walk.close()
            if len(self._jobs) >= most:
                self._submit_jobs(workers, columns)
            self.step += 1
        self._submit_jobs(workers, columns)
        self._note(*workers.collect())
        if not finished:
            raise ValueError(f"the proof ends with {walk.open() + 1} region(s) open")

    def _fix(self, step: Fix, walk: Walk) -> None:
        """Fix features, and bound their other sides."""
        empty, state = walk.empty, walk.state()
        inside, outside, whole = walk.fix(step.inside, step.outside)
        if whole:
            inside = outside = np.empty(0, dtype=np.intp)
        job = Job(self.step, np.array([step.point]), np.ones(1), state, inside, outside, step.row_prices)
        self._add(job, empty or not (whole or inside.size + outside.size))

    def _add(self, job: Job, proved: bool) -> None:
        """Bound a region later, or only check what it refers to if there is nothing to prove."""
        if job.row_prices is not None:
            if self.statement.structure is None:
                raise ValueError("prices of rows need a structure")
            if not 0 <= job.row_prices < len(self.proof.row_prices):
                count = len(self.proof.row_prices)
                raise ValueError(f"the step refers to prices of rows that do not exist: the proof has {count} of them")
        if not proved:
            self._jobs.append(job)
        elif not 0 <= int(job.points.min()) <= int(job.points.max()) < len(self.proof.points):
            raise ValueError(f"the step refers to a point that does not exist: the proof has {len(self.proof.points)}")

    @property
    def _tries_often(self) -> bool:
        """Whether enough regions are closed by trying their last features for each to be tried by one thread."""
        return sum(isinstance(step, LastFeatures) for step in self.proof.steps) > _MANY_TRIED

    def _close(self, step: object, walk: Walk, columns: Columns, workers: Workers[float]) -> None:
        none, state = np.empty(0, dtype=np.intp), walk.state()
        if isinstance(step, Leaf):
            job = Job(self.step, np.array([step.point]), np.ones(1), state, none, none, step.row_prices)
            self._add(job, walk.empty)
        elif isinstance(step, Combination):
            self._add(Job(self.step, step.points, step.shares(), state, none, none), walk.empty)
        elif isinstance(step, Regression):
            self._note(self._bound_by_regression(walk, columns))
        elif self.statement.structure is not None and isinstance(step, RegressionTree):
            raise ValueError("this step ignores the structure of the problem")
        elif isinstance(step, RegressionTree):
            alive, forced = columns.features[state >= 0], columns.features[state == 1]
            self._note(self.bound_of_tree(step, alive, forced))
        elif isinstance(step, LastFeatures):
            if walk.empty:
                return
            states = walk.column_states()
            at, forced, free = self.step, columns.features[states == 1], columns.features[states == 0]
            workers.submit(lambda: self._refusing(at, lambda: self.bound_of_last(step, forced, free, columns)))
        else:
            raise ValueError("a step has an unknown type")

    def _bound_by_regression(self, walk: Walk, columns: Columns) -> float:
        """The bound of a region by least squares on the features that its supports may have."""
        if walk.empty:
            return np.inf
        state = walk.column_states()
        forced = columns.features[state == 1]
        # Free features are out if k is reached; the rules of a structure have decided that already.
        full = self.statement.structure is None and self.statement.k is not None and forced.size >= self.statement.k
        return self.bound_of_regression(forced if full else columns.features[state >= 0], forced)

    def _note(self, *bounds: float) -> None:
        """Keep the smallest bound; NaN counts as -inf, because it compares as not smaller than any number."""
        self.lowest = min(self.lowest, *(-np.inf if np.isnan(bound) else bound for bound in bounds))

    def bound_of_regression(self, features: Indices, forced: Indices) -> float:
        """The bound of a region by least squares on the features that it admits."""
        if self.structured is None:
            return regression_bound(self.data, self.statement, features, forced.size)
        bound, price = regression_bound(self.data, self.statement, features, 0), self.statement.price_of(forced)
        return bound + price - growth(4) * (abs(bound) + price)

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
                count = len(self.proof.points)
                raise ValueError(f"the step refers to a point that does not exist: the proof has {count}")
            if 8 * numbers.size * max(columns.features.size, self.data.n) > self.data.room.most:
                raise ValueError("a combination has more points than fit into memory")
            return self.bound_of_jobs(jobs, numbers, columns)
        except ValueError as error:
            raise Refusal(jobs[0].step, str(error)) from error

    def bound_of_jobs(self, jobs: Sequence[Job], numbers: Indices, columns: Columns) -> float:
        """The smallest bound of some regions by points with these numbers."""
        gains, constants = self._gains(numbers, columns)
        cuts = self._combined(jobs, numbers, gains, constants)
        bounds = self._plain_bounds(jobs, *cuts) if self.structured is None else self._bounds(jobs, *cuts, columns)
        for i in range(len(jobs) if self.excepted else 0):
            if self._is_excepted(jobs[i], columns):
                bounds[i] = np.inf
        return float(bounds.min())

    def _is_excepted(self, job: Job, columns: Columns) -> bool:
        """Whether a leaf contains a single support, and that one is excepted."""
        if not job.state.all() or job.inside.size or job.outside.size:
            return False
        units = None if self.structured is None else self.structured.regions(columns.features).units
        state = job.state if units is None else job.state[units.of_columns]
        return tuple(columns.features[state == 1].tolist()) in self.excepted

    def _gains(self, numbers: Indices, columns: Columns) -> tuple[Array, Array]:
        """Upper bounds of all gains, a row for each point, and lower bounds of the constants."""
        points = [self.proof.points[i] for i in numbers]
        if not all(isinstance(point, (DualPoint, PrimalPoint, SplitPoint)) for point in points):
            raise ValueError("a point has an unknown type")
        return Gains(self.data, self.statement, self.diagonals, self.caution).of(points, columns)

    def _combined(self, jobs: Sequence[Job], numbers: Indices, gains: Array, constants: Array) -> tuple[Array, Array]:
        """The gains and the constant of each job."""
        at = np.searchsorted(numbers, np.concatenate([job.points for job in jobs]))
        if at.size == len(jobs):
            return gains[at], constants[at]
        rows, base, begin = np.empty((len(jobs), gains.shape[1])), np.empty(len(jobs)), 0
        for i, job in enumerate(jobs):
            begin, own = begin + job.points.size, at[begin : begin + job.points.size]
            if own.size == 1:
                rows[i], base[i] = gains[own[0]], constants[own[0]]
            else:
                # The multipliers sum to 1 up to rounding; the factors of the products and sums below cover that error.
                error = self.caution * growth(2 * own.size + 16)
                rows[i] = job.multipliers @ gains[own] * (1.0 + error)
                base[i] = job.multipliers @ constants[own] - error * (job.multipliers @ np.abs(constants[own]))
        return rows, base

    def _plain_bounds(self, jobs: Sequence[Job], rows: Array, base: Array) -> Array:
        """Bounds of regions and of the sides of features that their points close."""
        states = np.stack([job.state for job in jobs])
        found: RegionBounds = region_bounds(self.statement, rows, states, base, self.caution)
        bounds = found.bounds.copy()
        for i, job in enumerate(jobs):
            if job.inside.size + job.outside.size:
                bounds[i] = found.closed_by(i, rows[i], job.inside, job.outside)
        return bounds

    def _bounds(self, jobs: Sequence[Job], rows: Array, base: Array, columns: Columns) -> Array:
        """The same for regions of units."""
        assert self.structured is not None
        regions = self.structured.regions(columns.features)
        priced = {number: self.structured.priced(number) for number in {job.row_prices for job in jobs}}
        bounds = np.empty(len(jobs))
        for i, job in enumerate(jobs):
            given = rows[i], job.state, float(base[i]), priced[job.row_prices]
            closes = job.inside.size + job.outside.size
            bounds[i] = regions.bound_of_closed(*given, job.inside, job.outside) if closes else regions.bound(*given)
        return bounds
