"""Columns that were read lately: a matrix that is stored by rows is not read again for them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsest.core.arrays import Array, Indices, Mask


class Recent(NamedTuple):
    """Copies of some columns, which nobody changes.

    Attributes
    ----------
    numbers : of the columns, in increasing order
    block : the columns, in Fortran order
    """

    numbers: Indices
    block: Array

    def places(self, index: Indices) -> Indices:
        """Where some columns are in the block; -1 for those that are not there."""
        if not self.numbers.size:
            return np.full(index.size, -1)
        at = np.minimum(np.searchsorted(self.numbers, index), self.numbers.size - 1)
        return np.where(self.numbers[at] == index, at, -1)

    def extended(self, numbers: Indices) -> tuple[Recent, Mask]:
        """A block for these increasing numbers, with the columns that are here; and which have to be filled in."""
        at = self.places(numbers)
        known, block = at >= 0, np.empty((self.block.shape[0], numbers.size), order="F")
        block[:, known] = self.block[:, at[known]]
        return Recent(numbers, block), ~known

    def take(self, places: Indices) -> Array:
        """A copy of the columns at these places, in Fortran order."""
        return np.take(self.block.T, places, axis=0).T


def nothing_known(n: int) -> Recent:
    """No columns."""
    return Recent(np.empty(0, dtype=np.intp), np.empty((n, 0), order="F"))
