"""What the tree asks of whatever bounds its regions."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sparsest.proof import Point, Split

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
# Over the surviving features: 1 forced in, -1 forced out, 0 free.
State = NDArray[np.int8]


class Warm(NamedTuple):
    """Coefficients and an intercept to start a relaxation from, and a dual point where it does not follow from them."""

    positions: Indices
    w: Array
    b: float
    alpha: Array | None = None

    def nbytes(self) -> int:
        """Memory it takes."""
        return 16 * self.w.size + (0 if self.alpha is None else 8 * self.alpha.size)


class NodeOutcome(NamedTuple):
    """What relaxing a region gave; ``primal`` is infinite when the region was closed on the way."""

    point: Any
    bound: float
    primal: float
    indicator: Array
    iterations: int


class Nodes(Protocol):
    """Bounds of regions over the surviving features; used by several threads at once."""

    survivors: Indices
    # The diagonal that a proof has to know of, and whether it is more than the ridge.
    split: Split | None
    strong: bool

    def strengthen(self) -> None:
        """Improve the bounds by what is known of the survivors, where that is possible."""

    def stored(self) -> float:
        """Bytes kept from one region to the next, which grow on the way."""

    def start(self, features: Indices, w: Array, b: float) -> Warm:
        """Coefficients of an earlier relaxation, as far as their features survived."""

    def compress(self, point: Any) -> Warm:
        """What an open node keeps of a point."""

    def tighten(self, point: Any, state: State, cutoff: float) -> tuple[float, Indices, Indices]:
        """Return the bound of a point for a region, and the features that it fixes in and out against ``cutoff``.

        They are fixed in ``state``.
        """

    def solve(self, warm: Warm, state: State, cutoff: float) -> NodeOutcome:
        """Relax a region until its bound passes ``cutoff`` or is precise enough to decide what to do with it."""

    def proof_point(self, point: Any) -> Point:
        """The point in the form a certificate keeps."""
