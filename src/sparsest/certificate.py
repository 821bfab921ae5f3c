"""Certificates: proofs of a lower bound that anybody can check without the solver.

A proof is a list of steps in preorder over the regions of the search, starting from all admissible supports:

- ``Leaf(point)``: the dual point's bound holds for the whole region;
- ``Branch(feature)``: two proofs follow, for the region with the feature in, then with it out;
- ``Fix(point, inside, outside)``: for each listed feature the dual point's bound closes the other side; one
  proof follows, for the region in which all of them are fixed.

The bound proved is the smallest over all closed regions.  Everything is recomputed here in float64 NumPy, each
dual value lowered by ``ROUNDING`` times the sizes of its terms to cover rounding errors.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsest.losses import dual_from_margin, make_loss
from sparsest.problem import Cardinality, Penalty, Problem, Region, make_problem
from sparsest.result import relative_gap

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

ROUNDING = 1e-12
_OBJECTIVE_TOLERANCE = 1e-9
_ROUNDING_OF_DATA = 1e-14
_BALANCE_TOLERANCE = 1e-9


class DualPoint(NamedTuple):
    """A dual point given by its n entries."""

    values: Array

    def alpha(self, problem: Problem) -> Array:
        """The dual point."""
        if self.values.shape != (problem.n,):
            raise ValueError(f"a dual point has {self.values.size} entries for {problem.n} observations")
        return problem.feasible(self.values)


class PrimalPoint(NamedTuple):
    """A dual point that follows from sparse coefficients: ``scale · ωℓ'(y, Xw + b)``, smoothed by ``mu``."""

    features: Indices
    values: Array
    intercept: float
    mu: float
    scale: float

    def alpha(self, problem: Problem) -> Array:
        """The dual point."""
        if self.values.shape != self.features.shape or not _is_column_set(self.features, problem.p):
            raise ValueError("a point's coefficients do not fit the columns of the data")
        margin = problem.design.columns(self.features) @ self.values + self.intercept
        alpha = dual_from_margin(problem.loss, problem.y, margin, problem.weights, self.mu)
        return problem.feasible(self.scale * alpha)


Point = DualPoint | PrimalPoint


class Leaf(NamedTuple):
    """Close the region by a dual point."""

    point: int


class Branch(NamedTuple):
    """Split the region on a feature: in first, then out."""

    feature: int


class Fix(NamedTuple):
    """Close one side of each listed feature by a dual point."""

    point: int
    inside: Indices
    outside: Indices


Step = Leaf | Branch | Fix


class Verdict(NamedTuple):
    """What a check found; true exactly when nothing is wrong."""

    valid: bool
    reasons: tuple[str, ...]
    objective: float
    lower_bound: float

    def __bool__(self) -> bool:
        """Whether the certificate holds."""
        return self.valid

    @property
    def gap(self) -> float:
        """The relative gap that was proved."""
        return relative_gap(self.objective, self.lower_bound)


def dual_bound(problem: Problem, alpha: Array, region: Region) -> tuple[float, Array]:
    """Return the bound that a feasible dual point proves for a region, and all gains q."""
    q = problem.gains(alpha)
    return bound_from_gains(problem, alpha, q[region.forced_in], q[region.free(problem.p)]), q


def bound_from_gains(problem: Problem, alpha: Array, q_in: Array, q_free: Array) -> float:
    """``-Σωℓ*(α/ω) - gain(q)``, less the rounding margin."""
    terms = problem.weights * problem.loss.conjugate(problem.y, alpha / problem.weights)
    gain = problem.sparsity.gain(q_in, q_free)
    return float(-terms.sum() - gain - ROUNDING * (np.abs(terms).sum() + abs(gain)))


@dataclass(frozen=True, eq=False)
class Certificate:
    """An incumbent, a claimed lower bound, and the proof of the latter."""

    description: dict[str, Any]
    support: Indices
    coef: Array
    intercept: float
    objective: float
    lower_bound: float
    points: tuple[Point, ...]
    steps: tuple[Step, ...]

    def verify(self, X: Any, y: Any, sample_weight: Any = None) -> Verdict:
        """Recompute everything from the data; the verdict says what, if anything, is wrong."""
        try:
            problem = _rebuild(self.description, X, y, sample_weight)
        except (TypeError, ValueError) as error:
            return Verdict(False, (f"the data do not fit the certificate: {error}",), np.nan, -np.inf)
        reasons: list[str] = []
        if (problem.n, problem.p) != (self.description["n"], self.description["p"]):
            shape = (self.description["n"], self.description["p"])
            return Verdict(False, (f"the certificate is for data of shape {shape}",), np.nan, -np.inf)
        objective, complaint = self._check_incumbent(problem)
        reasons += complaint
        proved, complaint = _walk(problem, self.points, self.steps)
        reasons += complaint
        if not self.lower_bound <= proved + ROUNDING * abs(proved):
            reasons.append(f"the bound claimed is {self.lower_bound!r}, the proof gives {proved!r}")
        return Verdict(not reasons, tuple(reasons), objective, min(proved, self.lower_bound))

    def _check_incumbent(self, problem: Problem) -> tuple[float, list[str]]:
        support = np.asarray(self.support)
        if not _is_column_set(support, problem.p):
            return np.nan, ["the incumbent's support is not a set of columns"]
        if self.coef.shape != support.shape:
            return np.nan, [f"the incumbent has {self.coef.size} coefficients for {support.size} columns"]
        reasons = []
        if np.setdiff1d(problem.include, support).size or np.intersect1d(problem.exclude, support).size:
            reasons.append("the incumbent does not respect include and exclude")
        if isinstance(problem.sparsity, Cardinality) and support.size > problem.sparsity.k:
            reasons.append(f"the incumbent has {support.size} features, more than k = {problem.sparsity.k}")
        margin = problem.design.columns(support) @ self.coef + self.intercept
        objective = problem.primal(margin, self.coef, support.size)
        # A perfect fit's objective is rounding error of the data, which differs with their storage.
        empty = problem.primal(np.zeros(problem.n), np.zeros(0), 0)
        if not abs(objective - self.objective) <= _OBJECTIVE_TOLERANCE * abs(objective) + _ROUNDING_OF_DATA * empty:
            reasons.append(f"the objective claimed is {self.objective!r}, recomputed {objective!r}")
        if not problem.fit_intercept and self.intercept != 0.0:
            reasons.append("the incumbent has an intercept where none is allowed")
        return objective, reasons

    def to_json(self) -> str:
        """Return the certificate as text; arrays are base64 of little-endian numbers, so nothing is rounded."""
        return json.dumps(
            {
                "format": "sparsest certificate",
                "version": 1,
                "problem": self.description,
                "incumbent": {
                    "support": _pack(self.support, "<i4"),
                    "coef": _pack(self.coef, "<f8"),
                    "intercept": self.intercept,
                    "objective": self.objective,
                },
                "lower_bound": self.lower_bound,
                "points": [_point_to_json(point) for point in self.points],
                "steps": [_step_to_json(step) for step in self.steps],
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """Read what ``to_json`` wrote."""
        try:
            data = json.loads(text)
            if data["format"] != "sparsest certificate" or data["version"] != 1:
                raise ValueError(f"unknown format {data['format']!r}, version {data['version']!r}")
            if set(data["problem"]) != _DESCRIPTION:
                raise ValueError(f"the problem must be described by {', '.join(sorted(_DESCRIPTION))}")
            incumbent = data["incumbent"]
            return cls(
                data["problem"],
                _unpack(incumbent["support"], "<i4").astype(np.intp),
                _unpack(incumbent["coef"], "<f8"),
                float(incumbent["intercept"]),
                float(incumbent["objective"]),
                float(data["lower_bound"]),
                tuple(_point_from_json(point) for point in data["points"]),
                tuple(_step_from_json(step) for step in data["steps"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"this is not a readable certificate: {error}") from error


def _is_column_set(features: Indices, p: int) -> bool:
    """Whether these are distinct columns of a matrix of p."""
    if features.ndim != 1 or np.unique(features).size != features.size:
        return False
    return not features.size or bool(0 <= features.min() and features.max() < p)


def certify(
    problem: Problem,
    support: Indices,
    coef: Array,
    intercept: float,
    points: Sequence[Point],
    steps: Sequence[Step],
) -> Certificate:
    """Build the certificate of an incumbent; objective and bound are computed here, not taken on trust."""
    margin = problem.design.columns(support) @ coef + intercept
    objective = problem.primal(margin, coef, support.size)
    bound, complaints = _walk(problem, points, steps)
    if complaints:
        raise ValueError(f"the proof does not hold: {'; '.join(complaints)}")
    return Certificate(describe(problem), support, coef, intercept, objective, bound, tuple(points), tuple(steps))


_DESCRIPTION = frozenset(
    ("n", "p", "loss", "epsilon", "gamma", "k", "l0_penalty", "include", "exclude", "fit_intercept", "standardize")
)


def describe(problem: Problem) -> dict[str, Any]:
    """All of the problem but its data, in JSON's types."""
    sparsity = problem.sparsity
    return {
        "n": problem.n,
        "p": problem.p,
        "loss": problem.loss.name,
        "epsilon": getattr(problem.loss, "epsilon", 0.0),
        "gamma": problem.gamma,
        "k": sparsity.k if isinstance(sparsity, Cardinality) else None,
        "l0_penalty": sparsity.l0 if isinstance(sparsity, Penalty) else None,
        "include": problem.include.tolist(),
        "exclude": problem.exclude.tolist(),
        "fit_intercept": problem.fit_intercept,
        "standardize": problem.standardize,
    }


def _rebuild(description: dict[str, Any], X: Any, y: Any, sample_weight: Any) -> Problem:
    settings = {name: value for name, value in description.items() if name not in ("n", "p", "loss", "epsilon")}
    loss = make_loss(description["loss"], description["epsilon"])
    return make_problem(X, y, loss=loss, sample_weight=sample_weight, **settings)


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


def _walk(problem: Problem, points: Sequence[Point], steps: Sequence[Step]) -> tuple[float, list[str]]:
    """Check that the steps cover every admissible support; return the smallest bound."""
    lowest = np.inf
    stack = [(problem.root, _View(np.arange(problem.p), None))]
    for position, step in enumerate(steps):
        if not stack:
            return -np.inf, [f"step {position} follows a finished proof"]
        region, view = stack.pop()
        if isinstance(step, Branch):
            if step.feature not in region.free(problem.p):
                return -np.inf, [f"step {position} branches on feature {step.feature}, which is not free"]
            inside, outside = _force(region, [step.feature], []), _force(region, [], [step.feature])
            stack += [(outside, view), (inside, view)]
            continue
        try:
            alpha = _dual_point(problem, points, step.point)
        except ValueError as error:
            return -np.inf, [f"step {position}: {error}"]
        q = np.zeros(problem.p)
        q[view.features] = problem.gains_from(view.products(problem, alpha), alpha, view.features)
        free = region.free(problem.p)
        bound = bound_from_gains(problem, alpha, q[region.forced_in], q[free])
        if isinstance(step, Leaf):
            lowest = min(lowest, bound)
            continue
        closed, complaint = _closed_by(problem, step, region, q, bound)
        if complaint:
            return -np.inf, [f"step {position}: {complaint}"]
        lowest = min(lowest, closed)
        narrowed = _force(region, step.inside, step.outside)
        stack.append((narrowed, view.narrow(problem, narrowed)))
    if stack:
        return -np.inf, [f"the proof leaves {len(stack)} region(s) open"]
    return lowest, []


def _dual_point(problem: Problem, points: Sequence[Point], number: int) -> Array:
    """Return a point's α, or say why it proves nothing."""
    if not 0 <= number < len(points):
        raise ValueError(f"there is no point {number}")
    alpha = points[number].alpha(problem)
    # Comparisons with NaN are false, so a point that is not a number would pass for any bound.
    if not np.isfinite(alpha).all():
        raise ValueError("the dual point is not finite")
    if problem.fit_intercept and abs(alpha.sum()) > _BALANCE_TOLERANCE * (1e-300 + np.abs(alpha).sum()):
        raise ValueError("the dual point does not sum to zero")
    return alpha


def _closed_by(problem: Problem, step: Fix, region: Region, q: Array, bound: float) -> tuple[float, str]:
    """Return the smallest bound over the sides that a ``Fix`` closes."""
    free = region.free(problem.p)
    if (
        np.setdiff1d(np.concatenate([step.inside, step.outside]), free).size
        or np.intersect1d(step.inside, step.outside).size
    ):
        return -np.inf, "a feature is fixed that is not free"
    if bound == -np.inf:
        return bound, ""
    cost_in, cost_out = problem.sparsity.forcing_costs(q[region.forced_in], q[free])
    costs = np.concatenate([cost_out[np.searchsorted(free, step.inside)], cost_in[np.searchsorted(free, step.outside)]])
    return bound + costs.min(initial=np.inf), ""


def _force(region: Region, inside: Sequence[int] | Indices, outside: Sequence[int] | Indices) -> Region:
    def joined(old: Indices, new: Any) -> Indices:
        return np.concatenate([old, np.asarray(new, dtype=np.intp)])

    return Region(joined(region.forced_in, inside), joined(region.forced_out, outside))


def _pack(values: NDArray[Any], dtype: str) -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype=dtype).tobytes()).decode()


def _unpack(text: str, dtype: str) -> NDArray[Any]:
    return np.frombuffer(base64.b64decode(text, validate=True), dtype=dtype)


def _point_to_json(point: Point) -> list[Any]:
    if isinstance(point, DualPoint):
        return ["dual", _pack(point.values, "<f8")]
    values = _pack(point.values, "<f8")
    return ["primal", _pack(point.features, "<i4"), values, point.intercept, point.mu, point.scale]


def _point_from_json(data: list[Any]) -> Point:
    if data[0] == "dual":
        return DualPoint(_unpack(data[1], "<f8"))
    features, values = _unpack(data[1], "<i4").astype(np.intp), _unpack(data[2], "<f8")
    return PrimalPoint(features, values, float(data[3]), float(data[4]), float(data[5]))


def _step_to_json(step: Step) -> list[Any]:
    if isinstance(step, Leaf):
        return ["leaf", step.point]
    if isinstance(step, Branch):
        return ["branch", step.feature]
    return ["fix", step.point, _pack(step.inside, "<i4"), _pack(step.outside, "<i4")]


def _step_from_json(data: list[Any]) -> Step:
    kind = data[0]
    if kind == "leaf":
        return Leaf(int(data[1]))
    if kind == "branch":
        return Branch(int(data[1]))
    if kind != "fix":
        raise ValueError(f"unknown step {kind!r}")
    return Fix(int(data[1]), _unpack(data[2], "<i4").astype(np.intp), _unpack(data[3], "<i4").astype(np.intp))
