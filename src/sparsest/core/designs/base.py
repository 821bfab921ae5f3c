"""The interface of a design: an n × p matrix that is accessed through its products."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from sparsest.core.arrays import Array, Indices, Mask
from sparsest.core.designs.packs import DensePack, Pack

Subset = Sequence[int] | Indices

# Columns with a mean of more than this many standard deviations are centred in a copy: products with them lose the
# digits of this number.  Three of sixteen digits are acceptable, and such columns are rare.
FAR = 1e3
_SMALLEST = float(np.finfo(np.float64).tiny)


class PassStopped(Exception):
    """A pass over the matrix was stopped between two blocks."""


@contextmanager
def stopping(design: Design, stop: Callable[[], bool]) -> Iterator[None]:
    """Let passes over a design that is read on demand end with :class:`PassStopped` when ``stop`` returns True."""
    reading = design.reading
    if reading is None:
        yield
        return
    before, reading.stop = reading.stop, stop
    try:
        yield
    finally:
        reading.stop = before


class Moments(NamedTuple):
    """Weighted moments of columns; the mean is ``mean + rest``, where ``mean`` is the nearest float.

    The variance is zero if and only if all entries of a column are equal.  It is accurate to a few roundings for means
    of any size, because deviations are taken from a float near the mean; for entries near it they are exact.
    """

    mean: Array
    rest: Array
    variance: Array

    def far(self) -> Indices:
        """Columns whose means are too large for accurate products."""
        return np.flatnonzero(np.abs(self.mean) > FAR * np.sqrt(self.variance))


class Survey(NamedTuple):
    """Results of the first pass over a matrix: moments of the columns, and ``X'Y``."""

    moments: Moments
    products: Array


class Design(ABC):
    """An n × p matrix of finite numbers, accessed through products.

    Every design follows these rules; ``DesignContract`` in the tests checks them.

    - Results are new float64 arrays that the caller may change.  The matrix and the arguments never change.
    - Sums are float64 for any storage.  They do not depend on how a design divides its work among threads, except for
      products by BLAS, which may depend on the number of its threads.
    - A *vector* may be a block of vectors in columns; the result then has a column for each.
    - A *subset* holds column numbers in any order, possibly repeated; results are in its order.  Vectors that belong to
      a subset are packed: entry q is for column ``subset[q]``.
    - ``survey`` is the only method that checks whether entries are finite; it is called first.
    - Products and ``survey`` read every stored entry once; ``survey`` may read single columns again, such as those
      whose first rows differ from the others.  (Compressed columns take a few passes over their entries.)
    - Only ``columns``, ``rows`` and ``take`` copy parts of the matrix for the caller.  Other methods copy at most a
      fixed number of bytes, except that ``gram`` copies its two subsets and a pack its columns.

    Attributes
    ----------
    accurate : whether sums have no other errors than those of adding n products in double precision, in any order, so
        that the checker may use them with bounds of these errors.  It reads the columns of other designs itself.
    names : names of the columns, or None.
    reading : counts of what was read, for designs that are read on demand; None for others.
    """

    accurate: bool = False
    names: Any = None
    reading: Any = None

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""

    @abstractmethod
    def survey(self, weights: Array, targets: Array | None = None) -> Survey:
        """Weighted moments of the columns and ``X'Y``, in one pass; ValueError if entries are not finite.

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
        """``Xw``, or ``X_S w``; if most entries of w are zero, their columns are skipped."""

    @abstractmethod
    def tdot(self, r: Array, subset: Subset | None = None) -> Array:
        """``X'r``, or ``X_S'r``."""

    def at_hand(self, subset: Indices) -> Mask:
        """Which of these columns can be read without reading others."""
        return np.ones(subset.size, dtype=bool)

    def tdot_some(
        self, r: Array, wanted: Indices, others: Mask, likely: Callable[[], Indices]
    ) -> tuple[Indices, Array]:
        """``X_S'r`` for the wanted columns, and for others too if they have to be read anyway; S and the products.

        Parameters
        ----------
        r : a vector
        others : which columns S may have; the wanted ones are among them
        likely : returns columns that will probably be wanted next, the likeliest first; where reading them costs
            nothing more, some are copied, so that they are ``at_hand``
        """
        return wanted, self.tdot(r, wanted)

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
        """Bytes of these columns as they are stored."""

    @property
    def resident_bytes(self) -> int:
        """Bytes of memory that the matrix takes; 0 if it is read on demand."""
        return self.nbytes_of(np.arange(self.shape[1]))

    def fingerprinted(self) -> Design:
        """The same design; one that is read on demand prepares a fingerprint in its survey."""
        return self

    def counted(self) -> Design:
        """The same design; one that is read on demand counts what is read from now on."""
        return self

    def reporting(self, listener: Callable[[float, int], Any]) -> Design:
        """The same design; one that is read on demand calls ``listener`` after every block.

        Its arguments are the passes and the bytes so far.
        """
        return self

    def stored_columns(self) -> Array | None:
        """All columns as a float64 matrix in Fortran order, if they are stored like that; None if not."""
        return None

    def digests(self, keys: NDArray[np.uint64]) -> NDArray[np.uint64] | None:
        """Products of the bits of all columns with two vectors of keys, for the fingerprint: a row for each key.

        None if reading the columns in blocks is as fast.
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

    def pack_of_view(self, view: Design, shift: Array, scale: Array, centred: bool) -> Pack:
        """Return an empty pack for columns of a view of this design, ``(x_j - shift_j) / scale_j``."""
        return DensePack(view, centred)


def settled(about: Array, rest: Array, variance: Array, constant: NDArray[np.bool_], first: NDArray[Any]) -> Moments:
    """Return the moments with the mean ``about + rest`` rounded once, and exact moments of constant columns.

    Parameters
    ----------
    constant : which columns have equal entries
    first : an entry of each column
    """
    mean = about + rest
    rest = (about - mean) + rest
    # If all squares underflow, the column is still not constant.
    variance = np.where(variance <= 0.0, _SMALLEST, variance)
    return Moments(np.where(constant, first, mean), np.where(constant, 0.0, rest), np.where(constant, 0.0, variance))


def refuse_entries() -> NoReturn:
    """Raise the ValueError about entries that are not finite."""
    raise ValueError("X contains NaN or infinity: impute or drop those entries first")
