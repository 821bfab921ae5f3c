"""Data as the checker of proofs reads them, and their fingerprint."""

from __future__ import annotations

from typing import Any
from weakref import WeakMethod

from sparsest.data import Data
from sparsest.designs import Design, stored_matrix, stores_matrix, unstandardized
from sparsest.losses import parameters_of
from sparsest.proofs.data import Data as CheckedData
from sparsest.proofs.data import fingerprint
from sparsest.proofs.losses import RULES
from sparsest.proofs.reading import ColumnBlocks


def as_checker_reads(data: Data) -> CheckedData:
    """The same data for the checker, which shares nothing with the solvers."""
    loss = data.stated_loss
    rule = RULES[loss.name](**parameters_of(loss))
    settings = rule, data.fit_intercept, data.standardize, data.offset, data.exposure
    return CheckedData(_readable(data.design), data.response, data.weights, *settings)


def fingerprint_of(data: Data) -> str:
    """The fingerprint that a result of these data has."""
    return fingerprint(as_checker_reads(data), unstandardized(data.design).digests)


def _readable(design: Design) -> Any:
    """The matrix of a design; where none is stored, its columns in blocks, for as long as the design is there."""
    if stores_matrix(design):
        return stored_matrix(design)
    base = unstandardized(design)
    columns = WeakMethod(base.columns)
    return ColumnBlocks(base.shape, lambda features: columns()(features))  # type: ignore[misc]
