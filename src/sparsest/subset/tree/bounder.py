"""What the tree asks of whatever bounds its nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sparsest.core.arrays import Array, Indices
from sparsest.core.problem import Problem
from sparsest.proofs.steps import Point, Split
from sparsest.runtime.faults import reach
from sparsest.subset.relaxation.solution import Start

# Over the surviving features: 1 forced in, -1 forced out, 0 free.
State = NDArray[np.int8]


class OutOfTime(Exception):
    """Time has run out before a search by regions could begin."""


def pack(problem: Problem, features: Indices, expired: Callable[[], bool], bytes_at_once: int) -> Array:
    """Return the columns of these features; OutOfTime if that takes too long."""
    columns = np.empty((problem.n, features.size), order="F")
    width = max(1, bytes_at_once // (8 * problem.n))
    for begin in range(0, features.size, width):
        reach("columns")
        if expired():
            raise OutOfTime
        columns[:, begin : begin + width] = problem.design.columns(features[begin : begin + width])
    return columns


class Warm(NamedTuple):
    """Coefficients and an intercept to start a relaxation from.

    A dual point where it does not follow from them, what else the bounds of a region's parent depended on, and products
    that would have to be computed anew.
    """

    positions: Indices
    w: Array
    b: float
    alpha: Array | None = None
    division: Any = None
    u: Array | None = None

    def nbytes(self) -> int:
        """Memory it takes."""
        return 16 * self.w.size + sum(8 * part.size for part in (self.alpha, self.u) if part is not None)


class Request(NamedTuple):
    """A region to relax; with ``divide`` its bound is adapted to it, which costs as much as relaxing it again."""

    warm: Warm
    state: State
    divide: bool = False


class NodeOutcome(NamedTuple):
    """What relaxing a region gave; ``primal`` is infinite when the region was closed on the way."""

    point: Any
    bound: float
    primal: float
    indicator: Array
    iterations: int
    # By how much adapting the bound lifted it, if that was tried.
    lift: float | None = None


class Tightened(NamedTuple):
    """The bound of a point for a region, the features it fixes, and the least bound of the sides that this closes.

    All of it holds for the larger region as well in which of the features forced out only those ``needed`` are: all of
    them if None.
    """

    bound: float
    inside: Indices
    outside: Indices
    needed: Indices | None
    closed: float


class Bounder(Protocol):
    """Bounds of regions over the surviving features; used by several threads at once."""

    survivors: Indices
    # Whether the bounds are better than those of the ridge alone everywhere.
    strong: bool
    # Regions that are best solved by one call.
    together: int

    def strengthen(self) -> None:
        """Improve the bounds by what is known of the survivors, where that is possible."""

    def halt(self) -> None:
        """End what is being relaxed; called from another thread when time has run out."""

    def adapt(self, regions: Sequence[tuple[NodeOutcome, State]], room: float) -> None:
        """Prepare better bounds for regions like these, if ``room`` bytes are enough for it; called between solves."""

    def stored(self) -> float:
        """Bytes of copied columns, and of what is kept from one region to the next."""

    def start(self, start: Start) -> Warm:
        """Coefficients of an earlier relaxation, as far as their features survived."""

    def compress(self, point: Any, keep_products: bool = False) -> Warm:
        """What an open node keeps of a point; its products too, which can be computed anew, if asked for."""

    def tighten(self, point: Any, state: State, cutoff: float) -> Tightened:
        """Return the bound of a point for a region, and the features that it fixes against ``cutoff``.

        They are fixed in ``state``.
        """

    def solve(self, requests: Sequence[Request], cutoff: float) -> list[NodeOutcome]:
        """Relax regions until each bound passes ``cutoff`` or is precise enough to decide what to do with it."""

    def proof_point(self, point: Any, splits: list[Split]) -> Point:
        """The point in the form a certificate keeps; what it depends on is added to the splits."""
