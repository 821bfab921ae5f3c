"""Proofs of a lower bound: what they consist of, and how they are checked from the problem alone.

A proof is a list of steps in preorder over the regions of the search, starting from all admissible supports:

- ``Leaf(point)``: the point's bound holds for the whole region;
- ``Branch(feature)``: two proofs follow, for the region with the feature in, then with it out;
- ``Fix(point, inside, outside)``: for each listed feature the point's bound closes the other side; one proof follows,
  for the region in which all of them are fixed;
- ``Cuts(points)``: the smallest value of the cuts of several dual points over the region, found anew by HiGHS;
- ``LeastSquaresTree(features, values, entries)``: a whole tree of branches and leaves, bounded by least squares.

The bound proved is the smallest over all closed regions.  Everything is recomputed here in float64 NumPy, each bound
lowered by ``ROUNDING`` times the sizes of its terms to cover rounding errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsest.least_squares import LeastSquares
from sparsest.losses import dual_from_margin
from sparsest.milp import MILP_MARGIN, Master
from sparsest.problem import ROUNDING, Cardinality, Problem, Region, is_column_set
from sparsest.splits import Split, SplitForm, SplitPoint

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_BALANCE_TOLERANCE = 1e-9
_REMEMBERED = 200  # forms of splits


class DualPoint(NamedTuple):
    """A dual point given by its n entries."""

    values: Array

    def alpha(self, problem: Problem) -> Array:
        """The dual point."""
        if self.values.shape != (problem.n,):
            raise ValueError(f"a dual point has {self.values.size} entries for {problem.n} observations")
        if not np.isfinite(self.values).all():
            raise ValueError("the dual point is not finite")
        return problem.feasible(self.values)

    def nbytes(self) -> int:
        """Memory it takes."""
        return 8 * self.values.size


class PrimalPoint(NamedTuple):
    """A dual point that follows from sparse coefficients: ``scale · ωℓ'(y, Xw + b)``, smoothed by ``mu``."""

    features: Indices
    values: Array
    intercept: float
    mu: float
    scale: float

    def alpha(self, problem: Problem) -> Array:
        """The dual point."""
        if self.values.shape != self.features.shape or not is_column_set(self.features, problem.p):
            raise ValueError("a point's coefficients do not fit the columns of the data")
        margin = problem.design.columns(self.features) @ self.values + self.intercept
        alpha = dual_from_margin(problem.loss, problem.y, margin, problem.weights, self.mu)
        return problem.feasible(self.scale * alpha)

    def nbytes(self) -> int:
        """Memory it takes."""
        return 16 * self.values.size


Point = DualPoint | PrimalPoint | SplitPoint


class Leaf(NamedTuple):
    """Close the region by a point."""

    point: int


class Branch(NamedTuple):
    """Split the region on a feature: in first, then out."""

    feature: int


class Fix(NamedTuple):
    """Close one side of each listed feature by a point."""

    point: int
    inside: Indices
    outside: Indices


class Cuts(NamedTuple):
    """Close the region by the best support for the cuts of several dual points, a linear program that HiGHS solves."""

    points: Indices


class LeastSquaresTree(NamedTuple):
    """Close the region by a tree whose leaves are bounded by least squares, see :class:`LeastSquares`.

    ``entries`` has the tree in preorder: a feature to branch on, or -1 for a leaf; sums are about the coefficients
    ``values`` of ``features``.
    """

    features: Indices
    values: Array
    entries: NDArray[np.int32]


Step = Leaf | Branch | Fix | Cuts | LeastSquaresTree


def dual_bound(problem: Problem, alpha: Array, region: Region) -> tuple[float, Array]:
    """Return the bound that a feasible dual point proves for a region, and all gains q."""
    q = problem.gains(alpha)
    return bound_from_gains(problem, alpha, q[region.forced_in], q[region.free(problem.p)]), q


def bound_from_gains(problem: Problem, alpha: Array, q_in: Array, q_free: Array) -> float:
    """``-Σωℓ*(α/ω) - gain(q)``, less the rounding margin; -inf where an overflow leaves no number."""
    terms = problem.weights * problem.loss.conjugate(problem.y, alpha / problem.weights)
    gain = problem.sparsity.gain(q_in, q_free)
    bound = float(-terms.sum() - gain - ROUNDING * (np.abs(terms).sum() + abs(gain)))
    return -np.inf if np.isnan(bound) else bound


class _View(NamedTuple):
    """The columns a region still needs: all of the design, or a packed copy of the few that are left."""

    features: Indices
    block: Array | None

    def products(self, problem: Problem, alpha: Array) -> Array:
        return problem.design.tdot(alpha) if self.block is None else self.block.T @ alpha

    def narrow(self, problem: Problem, region: Region) -> _View:
        """Pack the columns that are left when they are few."""
        keep = np.setdiff1d(self.features, region.forced_out)
        if 4 * keep.size > self.features.size:
            return self
        return _View(keep, problem.design.columns(keep))


class _Checker:
    """Bounds of points for regions; splits are checked when they are first used."""

    def __init__(self, problem: Problem, points: Sequence[Point], splits: Sequence[Split]) -> None:
        self.problem, self.points, self.splits = problem, points, splits
        self._forms: dict[int, SplitForm] = {}

    def bound(self, number: int, region: Region, view: _View) -> tuple[float, Array]:
        """Return a point's bound for a region and all gains q, or say why it proves nothing."""
        problem = self.problem
        point = self._point(number)
        if isinstance(point, SplitPoint):
            return self._form(point.split).bound(problem, point, region)
        alpha = self._alpha(number)
        q = np.zeros(problem.p)
        q[view.features] = problem.gains_from(view.products(problem, alpha), alpha, view.features)
        return bound_from_gains(problem, alpha, q[region.forced_in], q[region.free(problem.p)]), q

    def _point(self, number: int) -> Point:
        if not 0 <= number < len(self.points):
            raise ValueError(f"there is no point {number}")
        return self.points[number]

    def _alpha(self, number: int) -> Array:
        """Return a point's feasible dual point."""
        point = self._point(number)
        if not isinstance(point, (DualPoint, PrimalPoint)):
            raise ValueError("a cut needs a dual point")
        alpha = point.alpha(self.problem)
        # Comparisons with NaN are false, so a point that is not a number would pass for any bound.
        if not np.isfinite(alpha).all():
            raise ValueError("the dual point is not finite")
        if self.problem.fit_intercept and abs(alpha.sum()) > _BALANCE_TOLERANCE * (1e-300 + np.abs(alpha).sum()):
            raise ValueError("the dual point does not sum to zero")
        return alpha

    def bound_of_cuts(self, numbers: Indices, region: Region) -> float:
        """Return the smallest value over a region's supports of the cuts ``-Σωℓ*(α/ω) - q's``."""
        problem = self.problem
        features = np.union1d(region.forced_in, region.free(problem.p))
        sparsity = problem.sparsity
        k = sparsity.k if isinstance(sparsity, Cardinality) else None
        alphas = [self._alpha(int(number)) for number in numbers]
        constants = [-problem.conjugate_sum(alpha) for alpha in alphas]
        forced = np.isin(features, region.forced_in)
        scale = max(*np.abs(constants), 1e-300) if constants else 1.0
        master = Master(features.size, forced, k, sparsity.cost(1), scale)
        for constant, alpha in zip(constants, alphas, strict=True):
            master.add(constant, problem.gains(alpha)[features])
        return master.solve(np.inf).bound - 0.1 * MILP_MARGIN * scale

    def bound_of_tree(self, step: LeastSquaresTree, region: Region, enough: float) -> float:
        """Return the smallest bound of a tree's leaves; above ``enough`` it need not be the best."""
        features = np.setdiff1d(np.arange(self.problem.p), region.forced_out)
        if not is_column_set(step.features, self.problem.p):
            raise ValueError("the coefficients to expand about do not fit the region")
        least_squares = LeastSquares(self.problem, features, step.features, step.values)
        return least_squares.prove(step.entries, region.forced_in, enough)

    def _form(self, number: int) -> SplitForm:
        if not 0 <= number < len(self.splits):
            raise ValueError(f"there is no split {number}")
        if number not in self._forms:
            split = self.splits[number]
            if split.base >= number:
                raise ValueError("a split is based on a later one")
            if split.base >= 0:
                if len(self._forms) > _REMEMBERED:  # a proof goes through one part of the tree after the other
                    self._forms = {key: form for key, form in self._forms.items() if self.splits[key].base < 0}
                self._forms[number] = self._form(split.base).raised(self.problem, split)
            else:
                self._forms[number] = SplitForm(self.problem, split)
        return self._forms[number]


def check(
    problem: Problem,
    points: Sequence[Point],
    steps: Sequence[Step],
    splits: Sequence[Split] = (),
    enough: float = np.inf,
) -> tuple[float, list[str]]:
    """Check that the steps cover every admissible support; return the smallest bound, and what is wrong.

    Where that saves work, a bound above ``enough`` is not made as large as it could be.
    """
    lowest = np.inf
    checker = _Checker(problem, points, splits)
    stack = [(problem.root, _View(np.arange(problem.p), None))]
    for position, step in enumerate(steps):
        if not stack:
            return -np.inf, [f"step {position} follows a finished proof"]
        region, view = stack.pop()
        try:
            if isinstance(step, Branch):
                inside, outside = _split_region(problem, region, step.feature)
                stack += [(outside, view), (inside, view)]
                continue
            if isinstance(step, Cuts):
                lowest = min(lowest, checker.bound_of_cuts(step.points, region))
                continue
            if isinstance(step, LeastSquaresTree):
                lowest = min(lowest, checker.bound_of_tree(step, region, enough))
                continue
            bound, q = checker.bound(step.point, region, view)
            # Comparisons with NaN are false: it would be skipped as a gain and pass for any bound.
            if np.isnan(bound) or np.isnan(q).any():
                raise ValueError("an overflow leaves no bound")
            if isinstance(step, Leaf):
                lowest = min(lowest, bound)
                continue
            lowest = min(lowest, _closed_by(problem, step, region, q, bound))
        except ValueError as error:
            return -np.inf, [f"step {position}: {error}"]
        narrowed = force(region, step.inside, step.outside)
        stack.append((narrowed, view.narrow(problem, narrowed)))
    if stack:
        return -np.inf, [f"the proof leaves {len(stack)} region(s) open"]
    return lowest, []


def _split_region(problem: Problem, region: Region, feature: int) -> tuple[Region, Region]:
    if feature not in region.free(problem.p):
        raise ValueError(f"branches on feature {feature}, which is not free")
    return force(region, [feature], []), force(region, [], [feature])


def _closed_by(problem: Problem, step: Fix, region: Region, q: Array, bound: float) -> float:
    """Return the smallest bound over the sides that a ``Fix`` closes."""
    free = region.free(problem.p)
    fixed = np.concatenate([step.inside, step.outside])
    if np.setdiff1d(fixed, free).size or np.unique(fixed).size != fixed.size:
        raise ValueError("a feature is fixed that is not free")
    if bound == -np.inf:
        return bound
    cost_in, cost_out = problem.sparsity.forcing_costs(q[region.forced_in], q[free])
    costs = np.concatenate([cost_out[np.searchsorted(free, step.inside)], cost_in[np.searchsorted(free, step.outside)]])
    return bound + float(costs.min(initial=np.inf))


def force(region: Region, inside: Sequence[int] | Indices, outside: Sequence[int] | Indices) -> Region:
    """Return the region with further features forced in and out."""

    def joined(old: Indices, new: Any) -> Indices:
        return np.concatenate([old, np.asarray(new, dtype=np.intp)])

    return Region(joined(region.forced_in, inside), joined(region.forced_out, outside))
