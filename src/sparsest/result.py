"""What a solver returns, and the events it sends on the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsest.arrays import Array, Indices
from sparsest.proofs.certificate import Certificate, relative_gap

if TYPE_CHECKING:
    from sparsest.problem import Problem

Names = Sequence[str] | NDArray[np.str_]


class Status(Enum):
    """How a search ended; the text is what to tell the user."""

    OPTIMAL = "proved optimal within the gap tolerance"
    TIME_LIMIT = "stopped at the time limit; the gap is what is not yet proved"
    NODE_LIMIT = "stopped at the node or memory limit; the gap is what is not yet proved"
    INTERRUPTED = "interrupted; the gap is what is not yet proved"
    HEURISTIC = "a good solution; the gap is what one dual bound leaves open"


class Root(NamedTuple):
    """The root bound is known."""

    seconds: float
    lower_bound: float
    n_free: int


class Incumbent(NamedTuple):
    """A better solution was found."""

    seconds: float
    objective: float
    support: tuple[int, ...]


class Bound(NamedTuple):
    """The lower bound or the number of nodes has moved."""

    seconds: float
    lower_bound: float
    objective: float
    n_nodes: int


class Done(NamedTuple):
    """The search has ended."""

    seconds: float
    lower_bound: float
    objective: float
    status: Status


Event = Root | Incumbent | Bound | Done


@dataclass(frozen=True, eq=False)
class Result:
    """A model, the bound no other model can beat, and the proof of it.

    ``coef`` and ``intercept`` are for the data as given; ``objective`` and ``lower_bound`` are values of the
    problem that was solved (on standardised columns if that was asked for).
    """

    coef: Array
    intercept: float
    support: Indices
    objective: float
    lower_bound: float
    status: Status
    certificate: Certificate | None = None
    trace: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    n_nodes: int = 0
    problem: Problem | None = field(default=None, repr=False)

    @property
    def gap(self) -> float:
        """Relative distance between objective and lower bound."""
        return relative_gap(self.objective, self.lower_bound)

    def to_dict(self, feature_names: Names | None = None) -> dict[str, Any]:
        """Return the model and what is proved of it in JSON's types."""
        names = [str(j) if feature_names is None else str(feature_names[j]) for j in self.support]
        return {
            "features": dict(zip(names, self.coef[self.support].tolist(), strict=True)),
            "support": self.support.tolist(),
            "intercept": float(self.intercept),
            "objective": self.objective,
            "lower_bound": self.lower_bound,
            "gap": self.gap,
            "status": self.status.name,
            "seconds": self.seconds,
            "n_nodes": self.n_nodes,
        }

    def __repr__(self) -> str:
        """Objective, bound, gap and size at a glance."""
        return (
            f"Result({self.status.name}, {self.support.size} features, objective={self.objective:.6g}, "
            f"lower_bound={self.lower_bound:.6g}, gap={self.gap:.2e}, seconds={self.seconds:.3g})"
        )
