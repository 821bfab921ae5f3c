"""The check in exact arithmetic: rational numbers, and enclosures of logarithms; needs python-flint.

It is slow.  Tests use it as an oracle: the bounds of :mod:`sparsest.proofs.check` must not exceed these.  Both checks
share the walk through the steps and the exactly feasible dual points, but each computes all bounds itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from sparsest.proofs.check import Checker, Job, Proved, run
from sparsest.proofs.columns import Columns, PackedColumns
from sparsest.proofs.data import Data
from sparsest.proofs.enclosures import Number, above, library, log, rational, root
from sparsest.proofs.exact_algebra import Vector, gain_without_limits, is_semidefinite, largest_gain
from sparsest.proofs.exact_structure import ExactRegions
from sparsest.proofs.last_features import MOST_LAST_FEATURES
from sparsest.proofs.points import witnesses
from sparsest.proofs.regions import State
from sparsest.proofs.rounding import Indices
from sparsest.proofs.statement import Statement
from sparsest.proofs.steps import LEAF, LastFeatures, Proof, RegressionTree, SplitPoint
from sparsest.proofs.structured_regions import Units

# For each point: the constant, and the gains of all columns, None for an infinite one.
Cuts = dict[int, tuple[Number, list[Number | None]]]

flint = library()


def prove_exactly(data: Data, statement: Statement, proof: Proof) -> Proved:
    """Check a proof in exact arithmetic."""
    if flint is None:
        raise ValueError("the exact check needs python-flint: install it with pip install 'sparsest[exact]'")
    return run(_ExactChecker(data, statement, proof), PackedColumns(data, np.arange(data.p)))


def _down(value: Number) -> float:
    """The largest floating-point number that is at most a rational."""
    exact = Fraction(int(value.p), int(value.q))
    try:
        near = float(exact)
    except OverflowError:
        return float(np.finfo(float).max) if exact > 0 else -np.inf
    return near if Fraction(near) <= exact else float(np.nextafter(near, -np.inf))


class _ExactChecker(Checker):
    """Bounds of regions in rational arithmetic, over scaled columns."""

    def __init__(self, data: Data, statement: Statement, proof: Proof) -> None:
        super().__init__(data, statement, proof, np.inf)
        self.threads = 1
        self.weights = [rational(x) for x in data.weights]
        self.y = [rational(x) for x in data.response]
        self.total = sum(self.weights, flint.fmpq(0))
        self.price = rational(statement.price)
        self.gamma = None if np.isinf(statement.gamma) else rational(statement.gamma)
        self.most = None if statement.max_coef is None else rational(statement.max_coef)
        self._columns: dict[int, Vector] = {}
        self._definite: set[int] = set()

    def column(self, feature: int) -> Vector:
        """A scaled column: minus its shift, times a power of two, without rounding."""
        if feature not in self._columns:
            raw = self.data.raw(np.array([feature]))
            shift = rational(self.data.shifts(raw)[0])
            factor = rational(np.ldexp(1.0, -int(self.data.scale(raw)[1][0])))
            self._columns[feature] = [(rational(x) - shift) * factor for x in raw[:, 0]]
        return self._columns[feature]

    def ridge(self, feature: int) -> Number:
        """``d_j`` of a scaled column."""
        x = self.column(feature)
        if not any(x):
            return flint.fmpq(1)
        if not self.statement.standardize:
            exponent = int(self.data.scale(self.data.raw(np.array([feature])))[1][0])
            return flint.fmpq(1, 4**exponent) if exponent >= 0 else flint.fmpq(4**-exponent)
        square = self._sum(w * v * v for w, v in zip(self.weights, x, strict=True)) / self.total
        if not self.statement.fit_intercept:
            return square
        mean = self._sum(w * v for w, v in zip(self.weights, x, strict=True)) / self.total
        return square - mean * mean

    @staticmethod
    def _sum(terms: Any) -> Number:
        return sum(terms, flint.fmpq(0))

    def centred(self, values: Vector) -> Vector:
        """A vector minus its weighted mean; unchanged without an intercept."""
        if not self.statement.fit_intercept:
            return values
        mean = self._sum(w * v for w, v in zip(self.weights, values, strict=True)) / self.total
        return [v - mean for v in values]

    def inner(self, a: Vector, b: Vector) -> Number:
        """``a'Ωb``."""
        return self._sum(w * v * u for w, v, u in zip(self.weights, a, b, strict=True))

    # Points

    def bound_of_jobs(self, jobs: Sequence[Job], numbers: Indices, columns: Columns) -> float:
        """The smallest bound of some regions by points with these numbers."""
        points = [self.proof.points[i] for i in numbers]
        found = witnesses(self.data, self.statement.rule, points, columns)
        cuts = {}
        for i, number in enumerate(numbers.tolist()):
            if isinstance(points[i], SplitPoint):
                used = dict(zip(found.used[i].tolist(), found.coefficients[i].tolist(), strict=True))
                cuts[number] = self._split_cut(points[i].split, used, columns)
            else:
                cuts[number] = self._dual_cut([rational(a) for a in found.alpha[:, i]], columns)
        if self.statement.structure is None:
            return min(self._bound_of_job(job, cuts, self._region_bound) for job in jobs)
        return min(self._bound_of_units(job, cuts, columns) for job in jobs)

    def _bound_of_units(self, job: Job, cuts: Cuts, columns: Columns) -> float:
        """The same for regions of units."""
        units = Units.of(self.statement, columns.features)
        regions = ExactRegions(self.statement, units.numbers, self.proof.row_prices)

        def bound(constant: Number, gains: list[Number | None], state: State) -> float:
            sums: list[Number | None] = [flint.fmpq(0)] * units.numbers.size
            for gain, unit in zip(gains, units.of_columns.tolist(), strict=True):
                before = sums[unit]
                sums[unit] = None if gain is None or before is None else before + gain
            found = regions.bound(constant, sums, state, job.row_prices)
            return np.inf if found is None else _down(found)

        return self._bound_of_job(job, cuts, bound)

    def _dual_cut(self, alpha: Vector, columns: Columns) -> tuple[Number, list[Number | None]]:
        """The constant and the gains of a dual point; None for an infinite gain."""
        if self.statement.fit_intercept and self._sum(alpha) != 0:
            raise ValueError("a dual point does not sum to zero")
        gains: list[Number | None] = []
        for feature in columns.features.tolist():
            u = self._sum(a * x for a, x in zip(alpha, self.column(feature), strict=True))
            gains.append(self._gain(feature, u, self._ridge_term(feature)))
        return -self._conjugate(alpha), gains

    def _gain(self, feature: int, u: Number, ridge: Number) -> Number | None:
        """``max -uw - ½ ridge w²`` within the limits of w, or a rational slightly above it; None if it is infinite."""
        limit = self._limit(feature, 1 if u < 0 else -1)
        if u == 0 or limit == 0:
            return flint.fmpq(0)
        size = abs(u)
        inside = limit is None or size <= ridge * limit
        if self.most is not None:
            # The box of a scaled column is M/√d, which may be irrational.
            d = self.ridge(feature)
            smaller = limit is None or limit * limit * d > self.most * self.most
            if d > 0 and smaller and u * u * d > ridge * ridge * self.most * self.most:
                return self.most * above(lambda: root(u * u / d)) - ridge * self.most * self.most / (2 * d)
        if not inside:
            return limit * size - ridge * limit * limit / 2
        return None if ridge == 0 else u * u / (2 * ridge)

    def _limit(self, feature: int, side: int) -> Number | None:
        """How far the coefficient of a scaled column may be from zero on one side; None without a limit."""
        limits = self.statement.limits_above if side > 0 else -self.statement.limits_below
        if np.isinf(limits[feature]):
            return None
        exponent = int(self.data.scale(self.data.raw(np.array([feature])))[1][0])
        return rational(limits[feature]) * (2**exponent if exponent >= 0 else flint.fmpq(1, 2**-exponent))

    def _conjugate(self, alpha: Vector) -> Number:
        """``Σωℓ*(y, α/ω)``, or a rational slightly above it; ValueError outside of the domain."""
        rule, total = self.statement.rule, flint.fmpq(0)
        for i, (a, y, w) in enumerate(zip(alpha, self.y, self.weights, strict=True)):
            if not rule.contains(y, a, w):
                raise ValueError("a dual point is not in the domain of the conjugate")
            total += rule.exact_conjugate(y, a, w) + self._offset_term(i, a)
        return total

    def _offset_term(self, i: int, a: Number) -> Number:
        """The term ``-oα`` that an offset adds to the conjugate, or a rational slightly above it."""
        data, total = self.data, flint.fmpq(0)
        if data.given_offset is not None:
            total -= rational(data.given_offset[i]) * a
        if data.given_exposure is not None:
            exposure = rational(data.given_exposure[i])
            total += above(lambda: -a * log(exposure))
        return total

    def _split_cut(self, number: int, used: dict[int, float], columns: Columns) -> tuple[Number, list[Number | None]]:
        """The constant of the residual α* minus ``½Σ(ridge - δ)w²``, and the gains of g and δ."""
        delta = self.diagonals.diagonal(number, columns)
        covered = [i for i in range(delta.size) if delta[i] > 0.0]
        self._require_definite(number, [int(columns.features[i]) for i in covered], [delta[i] for i in covered])
        w = {j: rational(v) for j, v in used.items() if v}
        fitted = [flint.fmpq(0)] * self.data.n
        for j, v in w.items():
            fitted = [f + v * x for f, x in zip(fitted, self.column(j), strict=True)]
        residual = self.centred([y - f for y, f in zip(self.y, fitted, strict=True)])
        alpha = [-o * r for o, r in zip(self.weights, residual, strict=True)]
        constant = -self._sum(y * a for y, a in zip(self.y, alpha, strict=True)) - self.inner(residual, residual) / 2
        gains: list[Number | None] = []
        for i, feature in enumerate(columns.features.tolist()):
            if delta[i] <= 0.0:
                gains.append(None)
                continue
            shift = self._ridge_term(feature) - rational(delta[i])
            v = w.get(feature, flint.fmpq(0))
            constant -= shift * v * v / 2
            g = -self._sum(a * x for a, x in zip(alpha, self.column(feature), strict=True)) - shift * v
            gains.append(self._gain(feature, -g, rational(delta[i])))
        return constant, gains

    def _ridge_term(self, feature: int) -> Number:
        return flint.fmpq(0) if self.gamma is None else self.ridge(feature) / self.gamma

    def _require_definite(self, number: int, features: list[int], delta: list[float]) -> None:
        if number in self._definite:
            return
        H, _ = self._normal_equations(features)
        for i, d in enumerate(delta):
            H[i][i] -= rational(d)
        if not is_semidefinite(H):
            raise ValueError("a split does not leave a positive semidefinite matrix")
        self._definite.add(number)

    def _bound_of_job(
        self, job: Job, cuts: Cuts, region_bound: Callable[[Number, list[Number | None], State], float]
    ) -> float:
        total = self._sum(rational(m) for m in job.multipliers)
        constant: Number = flint.fmpq(0)
        gains: list[Number | None] = [flint.fmpq(0)] * len(cuts[int(job.points[0])][1])
        for number, multiplier in zip(job.points.tolist(), job.multipliers.tolist(), strict=True):
            part = rational(multiplier) / total
            constant += part * cuts[number][0]
            gains = [
                None if old is None or new is None else old + part * new
                for old, new in zip(gains, cuts[number][1], strict=True)
            ]
        if not job.inside.size + job.outside.size:
            return region_bound(constant, gains, job.state)
        bounds = []
        for features, side in ((job.inside, -1), (job.outside, 1)):
            for j in features.tolist():
                state = job.state.copy()
                state[j] = side
                bounds.append(region_bound(constant, gains, state))
        return min(bounds)

    def _region_bound(self, constant: Number, gains: list[Number | None], state: State) -> float:
        forced = np.flatnonzero(state == 1)
        if self.statement.k is not None and forced.size > self.statement.k:
            return np.inf
        floor = self.price * int(forced.size)
        alive = np.flatnonzero(state >= 0).tolist()
        if any(gains[j] is None for j in alive):
            return _down(floor)
        bound = constant + floor - self._sum(gains[j] for j in forced)
        worth: Vector = [max(gains[j] - self.price, flint.fmpq(0)) for j in np.flatnonzero(state == 0)]
        left = len(worth) if self.statement.k is None else max(self.statement.k - forced.size, 0)
        bound -= self._sum(sorted(worth, reverse=True)[:left])
        return _down(max(bound, floor))

    # Least squares

    def _normal_equations(self, features: list[int]) -> tuple[list[Vector], Vector]:
        """``X'ΩX + ridge`` and ``X'Ωy`` of centred columns."""
        columns = [self.centred(self.column(j)) for j in features]
        y = self.centred(self.y)
        H = [[self.inner(a, b) for b in columns] for a in columns]
        for i, j in enumerate(features):
            H[i][i] += self._ridge_term(j)
        return H, [self.inner(a, y) for a in columns]

    def value(self, features: list[int]) -> Number:
        """The smallest objective on some columns."""
        y = self.centred(self.y)
        return self.inner(y, y) / 2 - gain_without_limits(*self._normal_equations(features))

    def bound_of_regression(self, features: Indices, forced: Indices) -> float:
        """The bound of a region by least squares on the features that it admits."""
        if self.statement.loss != "squared":
            raise ValueError("least squares bounds need the squared loss")
        price = self.price * int(forced.size)
        if self.statement.structure is not None:
            units = self.statement.units_of(forced)
            price = ExactRegions(self.statement, units, ()).floor(np.ones(units.size, dtype=np.int8))
        return _down(self.value(features.tolist()) + price)

    def bound_of_tree(self, step: RegressionTree, alive: Indices, forced: Indices) -> float:
        """The smallest bound over the leaves of a regression tree: the smallest value of their supports."""
        if self.statement.loss != "squared" or self.statement.k is None:
            raise ValueError("a regression tree needs the squared loss and a number of features")
        lowest = np.inf
        stack = [(frozenset(forced.tolist()), frozenset(alive.tolist()))]
        for entry in step.entries.tolist():
            if not stack:
                raise ValueError("a tree has entries after its end")
            inside, admitted = stack.pop()
            if entry == LEAF:
                lowest = min(lowest, self._least_completion(inside, admitted))
                continue
            if entry not in admitted or entry in inside:
                raise ValueError("a tree branches on a feature that is not free")
            stack += [(inside, admitted - {entry}), (inside | {entry}, admitted)]
        if stack:
            raise ValueError(f"a tree leaves {len(stack)} region(s) open")
        return float(lowest)

    def bound_of_last(self, step: LastFeatures, forced: Indices, free: Indices, columns: Columns) -> float:
        """The bound of a region by trying all supports of at most three further features."""
        if self.statement.loss != "squared":
            raise ValueError("trying the last features needs the squared loss")
        rules = self.statement.structure
        if rules is not None and (rules.units is not None or rules.prices is not None):
            raise ValueError("trying the last features ignores groups and prices of single features")
        left = free.size if self.statement.k is None else min(max(self.statement.k - forced.size, 0), free.size)
        tried = min(left, MOST_LAST_FEATURES)
        bounds = [self.price * (forced.size + tried + 1)] if left > tried else []
        # Without a price, a larger choice is at least as good, if it is admissible.
        for size in range(tried + 1) if self.price > 0 or rules is not None else (tried,):
            price = self.price * (forced.size + size)
            for choice in combinations(free.tolist(), size):
                support = [*forced.tolist(), *choice]
                if rules is None or not rules.complaints(np.array(support, dtype=np.intp), self.data.p):
                    bounds.append(self._limited(support) + price)
        return _down(min(bounds)) if bounds else np.inf

    def _limited(self, features: list[int]) -> Number:
        """The smallest objective on some columns within the limits of coefficients, or a bound of it."""
        if self.most is None and not self.statement.bounds_coefficients:
            return self.value(features)
        H, h = self._normal_equations(features)
        limits = [[self._farthest(j, side) for side in (-1, 1)] for j in features]
        y = self.centred(self.y)
        return self.inner(y, y) / 2 - largest_gain(H, h, limits)

    def _farthest(self, feature: int, side: int) -> Number | None:
        """The same as ``_limit``, with ``max_coef``, or a rational slightly farther from zero."""
        limit, most = self._limit(feature, side), self.most
        d = self.ridge(feature)
        if most is None or d == 0 or (limit is not None and limit * limit * d <= most * most):
            return limit
        return above(lambda: root(most * most / d))

    def _least_completion(self, inside: frozenset[int], admitted: frozenset[int]) -> float:
        assert self.statement.k is not None
        left = max(min(self.statement.k - len(inside), len(admitted) - len(inside)), 0)
        choices = combinations(sorted(admitted - inside), left)
        return _down(min(self.value(sorted(inside | set(choice))) for choice in choices))
