"""The parts of a proof.

A proof covers all admissible supports by regions (features forced in, forced out, free).  Its steps are a tree in
preorder; the first region contains all admissible supports:

- ``Leaf``: a point bounds the whole region;
- ``Fix``: for each listed feature a point closes the other side; one proof follows, with all of them fixed;
- ``Branch``: two proofs follow, for the region with the feature in, then with it out;
- ``Combination``: a convex combination of the cuts of several dual points bounds the region;
- ``Regression``: least squares on all features that the region admits;
- ``RegressionTree``: a whole tree of branches whose leaves are bounded by least squares;
- ``LastFeatures``: at most three features remain to be chosen, and all choices are tried.

If the statement has a structure, its rules decide further features after each step, and leaves and fixings may use
prices of the rows that the rules imply.

Coefficients and diagonals are for columns divided by ``√d_j``.  They may be rounded: the checker computes the bound of
the stored point.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsest.proofs.rounding import Array, Indices


class DualPoint(NamedTuple):
    """A dual point α, given by its n entries."""

    values: NDArray[np.floating]

    def nbytes(self) -> int:
        """Memory it takes."""
        return self.values.nbytes


class PrimalPoint(NamedTuple):
    """The dual point ``α = ωℓ'(y, Xw + b)`` for sparse w and an approximate intercept b, with centred columns."""

    features: Indices
    values: NDArray[np.floating]
    intercept: float

    def nbytes(self) -> int:
        """Memory it takes."""
        return self.features.nbytes + self.values.nbytes


class SplitPoint(NamedTuple):
    """Sparse coefficients w for a bound with a split; squared loss only."""

    features: Indices
    values: NDArray[np.floating]
    split: int

    def nbytes(self) -> int:
        """Memory it takes."""
        return self.features.nbytes + self.values.nbytes


Point = DualPoint | PrimalPoint | SplitPoint


class Split(NamedTuple):
    """A diagonal δ for the features F, with ``X_F'ΩX_F + ridge - diag(δ)`` positive semidefinite.

    ``base`` is the number of an earlier split that lies below the ridge and has no base.  Then the diagonal is that of
    the base except for these features.
    """

    features: Indices
    delta: Array
    base: int | None = None


class RowPrices(NamedTuple):
    """Prices ν ≥ 0 of some rows of ``A s ≤ β``, which the structure of the statement implies."""

    rows: Indices
    values: Array

    def require_valid(self, count: int) -> None:
        """Raise a ValueError unless there is one finite, nonnegative number for each of several distinct rows."""
        rows, values = np.asarray(self.rows), np.asarray(self.values, dtype=np.float64)
        is_list = rows.dtype.kind in "iu" and rows.ndim == 1 and values.shape == rows.shape
        if not is_list or np.unique(rows).size != rows.size:
            raise ValueError("row prices need distinct rows, and one number for each of them")
        if rows.size and not 0 <= rows.min() <= rows.max() < count:
            raise ValueError(f"row prices refer to a row that does not exist: the structure has {count}")
        if not (np.isfinite(values).all() and (values >= 0.0).all()):
            raise ValueError("row prices must be finite and nonnegative")


class Leaf(NamedTuple):
    """Close the region by a point, and by prices of rows if there are any."""

    point: int
    row_prices: int | None = None


class Branch(NamedTuple):
    """Split the region on a feature: in first, then out."""

    feature: int


class Fix(NamedTuple):
    """Close one side of each listed feature by a point, and by prices of rows if there are any."""

    point: int
    inside: Indices
    outside: Indices
    row_prices: int | None = None


class Combination(NamedTuple):
    """Close the region by a convex combination of the bounds of dual points."""

    points: Indices
    multipliers: Array

    def shares(self) -> Array:
        """The multipliers divided by their sum; ValueError unless there is one for each point."""
        m = np.asarray(self.multipliers, dtype=np.float64)
        shaped = m.shape == np.shape(self.points) and m.ndim == 1 and m.size > 0
        if not shaped or not np.isfinite(m).all() or (m < 0.0).any():
            raise ValueError("a combination needs one multiplier >= 0 for each point")
        total = float(m.sum())
        if not 0.0 < total < np.inf:
            raise ValueError("the multipliers of a combination have no positive, finite sum")
        return np.asarray(m / total)


class Regression(NamedTuple):
    """Close the region by least squares on the features it admits; squared loss only."""


class RegressionTree(NamedTuple):
    """Close the region by a tree whose leaves are bounded by least squares; squared loss, at most k features.

    ``entries`` has the tree in preorder: a feature to branch on, or LEAF.  Sums of squares are taken about the
    coefficients ``values`` of ``features``.
    """

    features: Indices
    values: Array
    entries: NDArray[np.int32]


class LastFeatures(NamedTuple):
    """Close a region with at most three features to choose: no choice has an objective below ``bound``; squared loss.

    The region may admit more features if their price alone exceeds the bound.
    """

    bound: float


Step = Leaf | Branch | Fix | Combination | Regression | RegressionTree | LastFeatures

# Marks a leaf in the preorder of a regression tree.
LEAF = -1


class Proof(NamedTuple):
    """The steps, and the points, splits and prices of rows that they refer to by number."""

    steps: Sequence[Step]
    points: Sequence[Point] = ()
    splits: Sequence[Split] = ()
    row_prices: Sequence[RowPrices] = ()


def is_column_set(features: Indices, p: int) -> bool:
    """Whether these are distinct column numbers of a matrix with p columns."""
    if features.ndim != 1 or np.unique(features).size != features.size:
        return False
    return not features.size or bool(features.min() >= 0 and features.max() < p)
