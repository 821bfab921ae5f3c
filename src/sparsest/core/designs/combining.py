"""Results for a matrix from those of its blocks: surveys, digests, and the joined blocks themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sparsest.core.arrays import frozen
from sparsest.core.designs.base import Array, Design, Survey, settled
from sparsest.core.designs.dense import Dense
from sparsest.core.designs.packed import PackedBlock
from sparsest.core.designs.sources import PAGE
from sparsest.core.kernels.dense import line_digests
from sparsest.runtime.sizes import sizes


class RowSurveys:
    """The survey of a matrix from the surveys of blocks of its rows, added one by one.

    Means and variances are updated as by Chan, Golub and LeVeque: no squares of means are subtracted, so variances are
    accurate for means of any size.
    """

    def __init__(self, p: int) -> None:
        self._weight, self._n_blocks = 0.0, 0
        self._mean, self._rest, self._variance, self._first = np.zeros((4, p))
        self._constant = np.ones(p, dtype=bool)
        self._products: Array | float = 0.0

    # Entries near the largest float may give an infinite variance, as in a survey of the whole.
    @np.errstate(over="ignore", invalid="ignore")
    def add(self, survey: Survey, weight: float) -> None:
        """Add the survey of a block whose rows have this total weight."""
        (mean, rest, variance), products = survey
        if self._n_blocks == 0:
            self._mean, self._first = mean.copy(), mean.copy()
        self._constant &= (variance == 0.0) & (mean == self._first)
        self._n_blocks += 1
        self._products = self._products + products
        total = self._weight + weight
        if total == 0.0:
            return
        share = weight / total
        difference = (mean - self._mean) + (rest - self._rest)
        self._variance = (1.0 - share) * self._variance + share * variance + share * (1.0 - share) * difference**2
        self._rest = self._rest + share * difference
        self._weight = total

    def survey(self) -> Survey:
        """The survey of all rows so far."""
        return Survey(
            settled(self._mean, self._rest, self._variance, self._constant, self._first),
            np.asarray(self._products),
        )


def digests_of(design: Design, keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Products of the bits of all columns with two vectors of keys: a row for each key."""
    known = design.digests(keys)
    if known is not None:
        return known
    n, p = design.shape
    out = np.zeros((2, p), dtype=np.uint64)
    if isinstance(design, Dense) and design.array.flags.c_contiguous and not design.array.flags.f_contiguous:
        height = max(1, sizes().digest_entries // max(p, 1))
        for begin in range(0, n, height):
            part = slice(begin, min(begin + height, n))
            words = design.array[part].astype(np.float64).view(np.uint64)
            line_digests(frozen(words), frozen(keys[:, part]), False, out)
        return out
    width = max(1, sizes().digest_entries // max(n, 1))
    for begin in range(0, p, width):
        index = np.arange(begin, min(begin + width, p))
        found = Dense(design.columns(index)).digests(keys)
        assert found is not None
        out[:, index] = found
    return out


def dense_array(block: Design) -> NDArray[Any]:
    """The entries of a block as an array, in the type in which they are stored or unpacked, if it is dense."""
    if isinstance(block, PackedBlock):
        block = block.unpacked
    if isinstance(block, Dense):
        return block.array
    return block.columns(np.arange(block.shape[1]))


def touch(stored: Any) -> None:
    """Bring mapped pages into memory, so that reading and computing can be timed separately."""
    if isinstance(stored, np.ndarray) and (stored.flags.c_contiguous or stored.flags.f_contiguous):
        stored.reshape(-1, order="A").view(np.uint8)[::PAGE].max(initial=0)


def joined(found: list[tuple[Any, Any]], shape: tuple[int, int], by_rows: bool) -> Any:
    """One matrix of blocks, each with the positions of its lines."""
    if not found:
        return np.empty(shape, order="F")
    places = np.argsort(np.concatenate([at for at, _ in found]))
    if sp.issparse(found[0][1]):
        join = sp.vstack if by_rows else sp.hstack
        whole = join([block for _, block in found], format="csc")
        return sp.csc_array(whole[places] if by_rows else whole[:, places])
    lines = np.concatenate([block if by_rows else block.T for _, block in found])[places]
    return lines if by_rows else lines.T
