"""The data for the checker of proofs, with sums from the first pass over them.

The check inside a solver takes sums of squares and products from the design, with rigorous bounds of their errors.
``Certificate.verify`` reads everything itself.
"""

from __future__ import annotations

from threading import Thread

import numpy as np

from sparsest.core.arrays import Array, Indices
from sparsest.core.designs import Design, Moments, Streamed, stored_matrix, stores_matrix
from sparsest.core.losses import Loss, parameters_of
from sparsest.proofs.bounds import Bounds
from sparsest.proofs.columns import AllColumns, Columns
from sparsest.proofs.data import Block, Data
from sparsest.proofs.fingerprint import fingerprint
from sparsest.proofs.losses import RULES
from sparsest.proofs.reading import ColumnBlocks, RowBlocks
from sparsest.proofs.rounding import growth
from sparsest.runtime.faults import reach

# Sums of a survey are used for columns whose mean is at most this many standard deviations from zero and whose sums of
# squares are far from overflow and underflow; the checker reads the other columns.
_NEAR_ZERO = 8.0
_SMALLEST_SQUARES, _LARGEST_SQUARES = 1e-200, 1e200
# Up to this many bytes of other columns are read and kept; with more of them the checker reads everything.
_MOST_APART = 1 << 26
# The relative error of variances of a survey, as a multiple of γ_2n.  In compressed columns the share of the zeros has
# an error of γ_n, which is multiplied by the square of the mean, up to 64 variances; other errors are smaller.
_SURVEY_ERROR = 512.0


class Evidence:
    """The data for the checker, and their fingerprint, which a thread may compute in the background."""

    def __init__(
        self,
        design: Design,
        moments: Moments,
        response: Array,
        weights: Array,
        loss: Loss,
        fit_intercept: bool,
        standardize: bool,
        offset: Array | None,
        exposure: Array | None,
    ) -> None:
        matrix = stored_matrix(design) if stores_matrix(design) else _blocks_of(design)
        rule = RULES[loss.name](**parameters_of(loss))
        self.data = Data(matrix, response, weights, rule, fit_intercept, standardize, offset, exposure)
        self._design, self._moments = design, moments
        self._found: list[str] = []
        self._thread: Thread | None = None

    def begin_fingerprint(self) -> None:
        """Start to compute the fingerprint in a thread, so that the search does not wait for it.

        Not for columns that are stored elsewhere: only one thread at a time may read them, and the search does.
        """
        if self._thread is None and stores_matrix(self._design):
            self._thread = Thread(target=self._compute, name="sparsest-fingerprint", daemon=True)
            self._thread.start()

    def _compute(self) -> None:
        if not reach("fingerprint"):
            self._found.append(fingerprint(self.data, self._design.digests))

    def fingerprint(self) -> str:
        """The fingerprint of the data; computed now, without kernels, if no thread does, for example after a fork."""
        if self._thread is not None:
            self._thread.join()
        if not self._found:
            known = (
                fingerprint(self.data) if stores_matrix(self._design) else fingerprint(self.data, self._design.digests)
            )
            self._found.append(known)
        return self._found[0]

    def columns(self) -> Columns:
        """All columns with the sums of the survey if these are accurate enough; otherwise the checker reads them."""
        if not self._design.accurate:
            return AllColumns(self.data)
        squares = self.data.total * (self._moments.variance + self._moments.mean**2)
        ordinary = (squares >= _SMALLEST_SQUARES) & (squares <= _LARGEST_SQUARES)
        ordinary &= self._moments.mean**2 <= _NEAR_ZERO**2 * self._moments.variance
        apart = np.flatnonzero(~ordinary)
        if 8 * self.data.n * apart.size > _MOST_APART:
            return AllColumns(self.data)
        return SurveyedColumns(self.data, self._design, self._moments, apart)


def _blocks_of(design: Design) -> ColumnBlocks | RowBlocks:
    """The entries of a design that does not store a matrix, in blocks of the lines that it reads together."""
    if isinstance(design, Streamed) and design.reads_rows:
        height = design.source.width(design.block_bytes)
        return RowBlocks(design.shape, design.read_rows, height, design.columns)
    return ColumnBlocks(design.shape, design.columns)


class SurveyedColumns(Columns):
    """All columns ``x̃_j = x_j`` with the sums of a survey and the products of the design; a few are read separately."""

    def __init__(self, data: Data, design: Design, moments: Moments, apart: Indices) -> None:
        super().__init__(data, np.arange(data.p))
        self._design, self._apart = design, apart
        error = _SURVEY_ERROR * growth(2 * data.n + 64)
        square = moments.variance + moments.mean**2
        ridge = (moments.variance if data.fit_intercept else square) if data.scaled else np.ones(data.p)
        spread = error if data.scaled else 0.0
        bounds = Bounds(
            np.zeros(data.p, dtype=np.intc),
            np.sqrt(data.total * square) * (1.0 + error),
            ridge * (1.0 - spread),
            ridge * (1.0 + spread),
            1.0 / np.sqrt(np.where(ridge > 0.0, ridge, 1.0)),
        )
        block = data.block(apart)
        self._of_apart = block.values
        bounds.put(apart, block.bounds)
        self._bounds = bounds

    @property
    def bounds(self) -> Bounds:
        return self._bounds

    def products(self, vectors: Array) -> Array:
        products = self._design.tdot(vectors).T
        products[:, self._apart] = vectors.T @ self._of_apart
        return products

    def block(self, positions: Indices) -> Block:
        return self.data.block(positions)
