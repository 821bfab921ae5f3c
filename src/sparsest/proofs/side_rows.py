"""Rows ``A s ≤ β`` of a structure, and the prices ν ≥ 0 of some rows in a step.

For every admissible s, ``q's ≤ ν'β + (q - A'ν)'s``, because ``ν'(β - A s) ≥ 0``.
"""

from __future__ import annotations

from itertools import chain
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from sparsest.proofs.rounding import UNDERFLOW, Array, growth
from sparsest.proofs.steps import RowPrices
from sparsest.proofs.structure import Rules


class PricedRows(NamedTuple):
    """``A'ν`` for all units, bounds of its errors relative to the unit roundoff, and an upper bound of ``ν'β``."""

    parts: Array
    sizes: Array
    total: float
    operations: int


class SideRows:
    """The rows of a structure."""

    def __init__(self, rules: Rules, count: int) -> None:
        rows = list(rules.rows())
        starts = np.cumsum([0, *(len(units) for units, _, _ in rows)])
        values = np.fromiter(chain.from_iterable(part for _, part, _ in rows), dtype=np.float64, count=starts[-1])
        units = np.fromiter(chain.from_iterable(part for part, _, _ in rows), dtype=np.intp, count=starts[-1])
        self.matrix = sp.csr_array((values, units, starts), shape=(len(rows), count))
        self.right: Array = np.array([right for _, _, right in rows], dtype=np.float64)

    def priced(self, prices: RowPrices, caution: float) -> PricedRows:
        """The effect of prices on the worth of units; ValueError unless they are finite and nonnegative."""
        prices.require_valid(self.right.size)
        rows, values = prices.rows, np.asarray(prices.values, dtype=np.float64)
        chosen = self.matrix[rows]
        parts, sizes = chosen.T @ values, abs(chosen).T @ values
        terms = values * self.right[rows]
        total = float(terms.sum()) + caution * growth(rows.size + 8) * float(np.abs(terms).sum()) + UNDERFLOW
        return PricedRows(parts, sizes, total, rows.size)
