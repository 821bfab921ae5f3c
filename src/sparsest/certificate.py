"""Certificates: an incumbent, a lower bound, and the proof of it, which anybody can check without the solver."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsest.losses import make_loss
from sparsest.problem import ROUNDING, Cardinality, Penalty, Problem, is_column_set, make_problem
from sparsest.proof import (
    Branch,
    Cuts,
    DualPoint,
    Fix,
    Leaf,
    LeastSquaresTree,
    Point,
    PrimalPoint,
    Step,
    check,
)
from sparsest.result import relative_gap
from sparsest.splits import Split, SplitPoint

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_OBJECTIVE_TOLERANCE = 1e-9
_ROUNDING_OF_DATA = 1e-14


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
    splits: tuple[Split, ...] = ()

    @classmethod
    def claim(
        cls,
        problem: Problem,
        support: Indices,
        coef: Array,
        intercept: float,
        lower_bound: float,
        points: Sequence[Point],
        steps: Sequence[Step],
        splits: Sequence[Split] = (),
    ) -> Certificate:
        """Build a certificate of a solver's bound; the objective is computed here."""
        margin = problem.design.columns(support) @ coef + intercept
        objective = problem.primal(margin, coef, support.size)
        parts = tuple(points), tuple(steps), tuple(splits)
        return cls(describe(problem), support, coef, intercept, objective, lower_bound, *parts)

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
        proved, complaint = check(problem, self.points, self.steps, self.splits, self.lower_bound)
        reasons += complaint
        if not self.lower_bound <= proved + ROUNDING * abs(proved):
            reasons.append(f"the bound claimed is {self.lower_bound!r}, the proof gives {proved!r}")
        return Verdict(not reasons, tuple(reasons), objective, min(proved, self.lower_bound))

    def _check_incumbent(self, problem: Problem) -> tuple[float, list[str]]:
        support = np.asarray(self.support)
        if not is_column_set(support, problem.p):
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
        """Return the certificate as strict JSON; arrays are base64 of little-endian numbers: nothing is rounded."""
        return json.dumps(
            {
                "format": "sparsest certificate",
                "version": 2,
                "problem": {**self.description, "gamma": _number(self.description["gamma"])},
                "incumbent": {
                    "support": _pack(self.support, "<i4"),
                    "coef": _pack(self.coef, "<f8"),
                    "intercept": _number(self.intercept),
                    "objective": _number(self.objective),
                },
                "lower_bound": _number(self.lower_bound),
                "points": [_point_to_json(point) for point in self.points],
                "steps": [_step_to_json(step) for step in self.steps],
                "splits": [[_pack(s.features, "<i4"), _pack(s.delta, "<f8"), s.base] for s in self.splits],
            },
            allow_nan=False,
        )

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """Read what ``to_json`` wrote."""
        try:
            data = json.loads(text)
            if data["format"] != "sparsest certificate" or data["version"] != 2:
                raise ValueError(f"unknown format {data['format']!r}, version {data['version']!r}")
            if set(data["problem"]) != _DESCRIPTION:
                raise ValueError(f"the problem must be described by {', '.join(sorted(_DESCRIPTION))}")
            incumbent = data["incumbent"]
            return cls(
                {**data["problem"], "gamma": float(data["problem"]["gamma"])},
                _unpack_indices(incumbent["support"]),
                _unpack(incumbent["coef"], "<f8"),
                float(incumbent["intercept"]),
                float(incumbent["objective"]),
                float(data["lower_bound"]),
                tuple(_point_from_json(point) for point in data["points"]),
                tuple(_step_from_json(step) for step in data["steps"]),
                tuple(Split(_unpack_indices(s[0]), _unpack(s[1], "<f8"), int(s[2])) for s in data["splits"]),
            )
        except (LookupError, TypeError, ValueError) as error:
            raise ValueError(f"this is not a readable certificate: {error}") from error


def certify(
    problem: Problem, support: Indices, coef: Array, intercept: float, points: Sequence[Point], steps: Sequence[Step]
) -> Certificate:
    """Build a certificate whose bound is computed here from its proof, not taken on trust."""
    bound, complaints = check(problem, points, steps)
    if complaints:
        raise ValueError(f"the proof does not hold: {'; '.join(complaints)}")
    return Certificate.claim(problem, support, coef, intercept, bound, points, steps)


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


def _number(value: float) -> float | str:
    """A number as JSON has it; infinity and NaN, which it has not, become text that ``float`` reads."""
    return value if np.isfinite(value) else str(float(value))


def _pack(values: NDArray[Any], dtype: str) -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype=dtype).tobytes()).decode()


def _unpack(text: str, dtype: str) -> NDArray[Any]:
    return np.frombuffer(base64.b64decode(text, validate=True), dtype=dtype)


def _unpack_indices(text: str) -> Indices:
    return _unpack(text, "<i4").astype(np.intp)


def _point_to_json(point: Point) -> list[Any]:
    if isinstance(point, DualPoint):
        return ["dual", _pack(point.values, "<f8")]
    features, values = _pack(point.features, "<i4"), _pack(point.values, "<f8")
    if isinstance(point, SplitPoint):
        return ["split", features, values, point.split]
    return ["primal", features, values, _number(point.intercept), _number(point.mu), _number(point.scale)]


def _point_from_json(data: list[Any]) -> Point:
    kind = data[0]
    if kind == "dual":
        return DualPoint(_unpack(data[1], "<f8"))
    if kind not in ("primal", "split"):
        raise ValueError(f"unknown point {kind!r}")
    features, values = _unpack_indices(data[1]), _unpack(data[2], "<f8")
    if kind == "split":
        return SplitPoint(features, values, int(data[3]))
    return PrimalPoint(features, values, float(data[3]), float(data[4]), float(data[5]))


def _step_to_json(step: Step) -> list[Any]:
    if isinstance(step, Leaf):
        return ["leaf", step.point]
    if isinstance(step, Branch):
        return ["branch", step.feature]
    if isinstance(step, Cuts):
        return ["cuts", _pack(step.points, "<i4")]
    if isinstance(step, LeastSquaresTree):
        return ["least squares", _pack(step.features, "<i4"), _pack(step.values, "<f8"), _pack(step.entries, "<i4")]
    return ["fix", step.point, _pack(step.inside, "<i4"), _pack(step.outside, "<i4")]


def _step_from_json(data: list[Any]) -> Step:
    kind = data[0]
    if kind == "leaf":
        return Leaf(int(data[1]))
    if kind == "branch":
        return Branch(int(data[1]))
    if kind == "cuts":
        return Cuts(_unpack_indices(data[1]))
    if kind == "least squares":
        return LeastSquaresTree(_unpack_indices(data[1]), _unpack(data[2], "<f8"), _unpack(data[3], "<i4"))
    if kind != "fix":
        raise ValueError(f"unknown step {kind!r}")
    return Fix(int(data[1]), _unpack_indices(data[2]), _unpack_indices(data[3]))
