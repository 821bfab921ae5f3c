"""The interface between the tree and the classes that bound its nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sparsest.core.arrays import Array, Indices
from sparsest.core.problem import Problem
from sparsest.proofs.steps import Point, RowPrices, Split
from sparsest.runtime.faults import reach
from sparsest.subset.relaxation.solution import Start
from sparsest.subset.tree.row_prices import PricedRows
from sparsest.subset.tree.tuning import DEFAULT_TUNING, Tuning

# Over the surviving features: 1 forced in, -1 forced out, 0 free.
State = NDArray[np.int8]


class OutOfTime(Exception):
    """The time limit was reached before branch and bound could begin."""


def pack(problem: Problem, features: Indices, expired: Callable[[], bool], bytes_at_once: int) -> Array:
    """Return the columns of these features, copied only if necessary; raise OutOfTime at the time limit."""
    stored = problem.design.stored_columns() if features.size == problem.p else None
    if stored is not None:
        return stored
    columns = np.empty((problem.n, features.size), order="F")
    width = max(1, bytes_at_once // (8 * problem.n))
    for begin in range(0, features.size, width):
        reach("columns")
        if expired():
            raise OutOfTime
        columns[:, begin : begin + width] = problem.design.columns(features[begin : begin + width])
    return columns


def covered(problem: Problem, alive: Indices, largest_copy: float) -> Indices:
    """The features that a bounder should cover: those alive, or all if that avoids a copy larger than the limit."""
    if 8 * problem.n * alive.size <= largest_copy or problem.design.stored_columns() is None:
        return alive
    return np.arange(problem.p) if (problem.weights == 1.0).all() else alive


def copied_bytes(problem: Problem, columns: Array) -> float:
    """Bytes of columns that :func:`pack` has copied; 0 if they are those of the design."""
    return 0.0 if columns is problem.design.stored_columns() else float(columns.nbytes)


class BounderOptions(NamedTuple):
    """What bounders are told besides the problem and its survivors.

    Points of proofs are stored rounded if that lowers a bound by at most about ``rounding``.  Once ``expired()`` is
    true, relaxations end early: their bounds remain valid but are less tight.  Optional data that speed up the search
    are stored only if they take a small part of ``max_bytes``.
    """

    rounding: float = 0.0
    expired: Callable[[], bool] = lambda: False
    tuning: Tuning = DEFAULT_TUNING
    max_bytes: float = np.inf


DEFAULT_OPTIONS = BounderOptions()


class WarmStart(NamedTuple):
    """A warm start of a relaxation: coefficients at ``positions`` among the survivors, and an intercept.

    ``alpha`` is the dual point, if it does not follow from the coefficients.  ``diagonal`` is the diagonal that the
    bound of the parent used.  ``u`` are the products ``c - Hw``, if they are kept instead of being computed again.
    ``rows`` are the prices of rows of a structure that the parent's bound used.
    """

    positions: Indices
    w: Array
    b: float
    alpha: Array | None = None
    diagonal: Any = None
    u: Array | None = None
    rows: PricedRows | None = None

    def nbytes(self) -> int:
        """Memory in bytes."""
        rows = 0 if self.rows is None else self.rows.nbytes()
        return 16 * self.w.size + sum(8 * part.size for part in (self.alpha, self.u) if part is not None) + rows


class Request(NamedTuple):
    """A region to relax; ``adapt`` also adapts the diagonal to it, which costs as much as a second relaxation."""

    warm: WarmStart
    state: State
    adapt: bool = False


class NodeOutcome(NamedTuple):
    """The outcome of relaxing a region; ``primal`` is infinite if the bound reached the cutoff, which closes it.

    ``multipliers`` are those of the limits that contain each feature, plus its price; None if they are all the same.
    """

    point: Any
    bound: float
    primal: float
    indicator: Array
    iterations: int
    # Increase of the bound by adapting the diagonal; None if that was not tried.
    lift: float | None = None
    multipliers: Array | None = None


class Tightened(NamedTuple):
    """The bound of a point for a region, the features that it fixes in and out, and what their proof requires.

    Fixing a feature closes the opposite side; ``closed`` is the smallest bound of all sides closed in this way.  Bound
    and fixings remain valid in the larger region in which only the features ``needed`` are forced out; None means that
    all features forced out are needed.
    """

    bound: float
    inside: Indices
    outside: Indices
    needed: Indices | None
    closed: float


class Bounder(Protocol):
    """Bounds of regions over the surviving features; used by several threads at the same time."""

    survivors: Indices
    # Whether the diagonal exceeds the ridge for every feature, so that all bounds are tighter than with the ridge.
    strong: bool
    # The number of regions per call of ``solve`` that is fastest.
    batch_size: int

    def strengthen(self) -> None:
        """Tighten the bounds using the survivors' Gram matrix, if possible."""

    def stop(self, stopped: bool) -> None:
        """Stop running relaxations early while ``stopped``; called from another thread that checks the time limit."""

    def adapt(self, regions: Sequence[tuple[NodeOutcome, State]], max_bytes: float) -> None:
        """Prepare tighter bounds for regions like these in at most ``max_bytes``; never called during ``solve``."""

    def nbytes(self) -> float:
        """Bytes of copied columns and of everything else that is kept between regions."""

    def start(self, start: Start) -> WarmStart:
        """The warm start from an earlier relaxation, restricted to the survivors."""

    def compress(self, point: Any, keep_products: bool = False) -> WarmStart:
        """The part of a point that an open node keeps; ``keep_products`` includes products that could be recomputed."""

    def tighten(self, point: Any, state: State, cutoff: float) -> Tightened:
        """Return the bound of a point for a region, and the features that it fixes against ``cutoff``.

        ``state`` is updated with the fixed features.
        """

    def solve(self, requests: Sequence[Request], cutoff: float) -> list[NodeOutcome]:
        """Relax regions until each bound reaches ``cutoff`` or is precise enough to choose a branching feature."""

    def proof_point(self, point: Any, splits: list[Split]) -> Point:
        """The point in the form that a certificate stores; its diagonal is appended to ``splits`` if necessary."""

    def row_prices(self, point: Any) -> RowPrices | None:
        """The prices of rows of a structure that the bounds of a point use; None without any."""
