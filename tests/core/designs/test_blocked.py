"""Designs in blocks: the contract for every division, chosen rows and columns, packs, and moments of blocks."""

import numpy as np
import pytest

from core.designs.storages import matrix
from design_contract import DesignContract
from sparsest.core.designs.blocked import Blocked
from sparsest.proofs.grid import ArrayGrid

CUTS = {"whole": ([], []), "columns": ([], [1, 4]), "rows": ([2, 7], []), "both": ([3], [2, 3])}


def grid(X, cuts):
    rows, columns = CUTS[cuts]
    return ArrayGrid([np.split(part, columns, axis=1) for part in np.split(X, rows)])


class TestBlocked(DesignContract):
    @pytest.fixture(params=CUTS)
    def pair(self, request):
        X = matrix()
        return Blocked(grid(X, request.param)), X


class TestBlockedWithoutCopies(DesignContract):
    @pytest.fixture(params=CUTS)
    def pair(self, request):
        X = matrix().astype(np.float32)
        return Blocked(grid(X, request.param), copy_bytes=0, pack_bytes=0), X.astype(np.float64)


class TestChosenRowsAndColumns(DesignContract):
    """Rows in another order and one of them twice; the other rows are not finite."""

    @pytest.fixture(params=CUTS)
    def pair(self, request):
        X = matrix()
        rows, columns = np.array([9, 0, 4, 5, 9, 8, 1, 7, 2]), np.array([4, 0, 2, 1])
        spoiled = X.copy()
        spoiled[np.setdiff1d(np.arange(X.shape[0]), rows)] = np.nan
        design = Blocked(grid(spoiled, request.param), copy_bytes=0, pack_bytes=0)
        return design.rows(rows).take(columns), X[np.ix_(rows, columns)]


class TestNotAligned(DesignContract):
    """Blocks whose entries begin at odd addresses, as they may come over a network."""

    @pytest.fixture(params=["C", "F"])
    def pair(self, request):
        X = matrix()
        memory = np.empty(X.nbytes + 1, dtype=np.uint8)[1:]
        shifted = memory.view(np.float64).reshape(X.shape, order=request.param)
        shifted[:] = X
        assert not shifted.flags.aligned
        return Blocked(ArrayGrid([[shifted[:5]], [shifted[5:]]])), X
