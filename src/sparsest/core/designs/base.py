"""The contract of a design: an n × p matrix known by its products."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from sparsest.core.arrays import Array, Indices
from sparsest.core.designs.packs import Pack

Subset = Sequence[int] | Indices

# Products with a column lose as many digits to its mean as this, times its deviation, has; columns with larger means
# are centred in a copy.  Three digits of sixteen are no loss, and such columns are rare.
FAR = 1e3
_SMALLEST = float(np.finfo(np.float64).tiny)


class Moments(NamedTuple):
    """Weighted moments of columns; the mean is ``mean + rest``, where ``mean`` is the float nearest to it.

    The variance is zero for columns whose entries are all equal and for no others, and to a few roundings right
    however large the means: deviations are taken from a float near the mean, which is exact for entries near it.
    """

    mean: Array
    rest: Array
    variance: Array

    def far(self) -> Indices:
        """Columns whose means are so large that plain products with them lose digits."""
        return np.flatnonzero(np.abs(self.mean) > FAR * np.sqrt(self.variance))


class Survey(NamedTuple):
    """What the first pass over a matrix finds: moments of the columns, and ``X'Y``."""

    moments: Moments
    products: Array


class Design(ABC):
    """An n × p matrix of finite numbers, known by what can be computed with it.

    Every design keeps this contract; ``DesignContract`` in the tests checks it.

    - Results are new float64 arrays that the caller may change; the matrix itself never changes, and neither do the
      arguments.
    - Sums are float64 whatever the storage.  How a design divides its work among threads does not change a bit of
      them; products that are left to BLAS depend on its number of threads as far as BLAS does.
    - A *vector* may be a block of vectors, one in each column; the result then has a column for each.
    - A *subset* holds column numbers in any order, also repeatedly; results are in its order.  Vectors that belong to
      a subset are packed: entry q is for column ``subset[q]``.
    - ``survey`` is the only method that looks whether the entries are finite; it comes first.
    - Products and ``survey`` read every stored entry once; ``survey`` may look again at single columns, such as those
      whose first rows are not like the others.  (Compressed columns are surveyed in a few passes over their entries.)
    - Only ``columns``, ``rows`` and ``take`` copy parts of the matrix for the caller; what other methods copy is
      bounded by a fixed number of bytes, ``gram`` packs its two subsets, and a pack holds what it is made for.
    """

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""

    @abstractmethod
    def survey(self, weights: Array, targets: Array | None = None) -> Survey:
        """Weighted moments of the columns and ``X'Y``, in one pass; ValueError where entries are not finite.

        Parameters
        ----------
        weights : n weights of the rows, not negative and not all zero
        targets : Y, a vector of n entries or a block of vectors; none by default, and no products
        """

    def moments(self, weights: Array) -> Moments:
        """Weighted means of the columns, and weighted means of squares about them."""
        return self.survey(weights).moments

    @abstractmethod
    def dot(self, w: Array, subset: Subset | None = None) -> Array:
        """``Xw``, or ``X_S w``; columns with a zero weight cost nothing when most are zero."""

    @abstractmethod
    def tdot(self, r: Array, subset: Subset | None = None) -> Array:
        """``X'r``, or ``X_S'r``."""

    @abstractmethod
    def columns(self, subset: Subset) -> Array:
        """``X_S``, packed, in Fortran order."""

    @abstractmethod
    def rows(self, keep: Indices) -> Design:
        """The design of these rows alone, in this order, stored like this one."""

    @abstractmethod
    def take(self, subset: Subset) -> Design:
        """The design of these columns alone, stored like this one."""

    def gram(self, subset: Subset, other: Subset | None = None, weights: Array | None = None) -> Array:
        """``X_S' diag(ω) X_T``; T is S and ω is one by default."""
        left = self.columns(subset)
        right = left if other is None else self.columns(other)
        return left.T @ (right if weights is None else weights[:, None] * right)

    @abstractmethod
    def nbytes_of(self, subset: Subset) -> int:
        """Bytes that these columns take as they are stored: what a packed copy of them costs."""

    def digests(self, keys: NDArray[np.uint64]) -> NDArray[np.uint64] | None:
        """Products of the bits of all columns with two vectors of keys, as a fingerprint has them: a row for each key.

        None where nothing here finds them faster than reading the columns in blocks.
        """
        return None

    @abstractmethod
    def pack(self, centred: bool) -> Pack:
        """Return an empty pack for columns of this design, in the form that suits its storage.

        Parameters
        ----------
        centred : whether the pack's quadratic is that of columns centred under the pack's weights; a view that shifts
            its columns may refuse False with a ValueError
        """


def settled(about: Array, rest: Array, variance: Array, constant: NDArray[np.bool_], first: NDArray[Any]) -> Moments:
    """Return the moments with the mean ``about + rest`` rounded once, and those of constant columns as they are.

    Parameters
    ----------
    constant : which columns have equal entries
    first : an entry of each column
    """
    mean = about + rest
    rest = (about - mean) + rest
    # Squares that vanish are still no constant.
    variance = np.where(variance <= 0.0, _SMALLEST, variance)
    return Moments(np.where(constant, first, mean), np.where(constant, 0.0, rest), np.where(constant, 0.0, variance))


def refuse_entries() -> NoReturn:
    """Raise the complaint about entries that are not finite."""
    raise ValueError("X contains NaN or infinity: impute or drop those entries first")
