"""Lists of row chunks as designs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsest.core.checks import as_numbers
from sparsest.core.designs.blocked import Blocked
from sparsest.core.designs.dense import STORED_TYPES
from sparsest.proofs.grid import is_sequence_of_matrices, row_chunks


def read(X: Any) -> Blocked | None:
    """The design of a list or tuple of matrices that are stacked on top of each other; None for other lists."""
    if not is_sequence_of_matrices(X):
        return None
    return Blocked(row_chunks([as_stored(part) for part in X]))


def as_stored(block: NDArray[Any]) -> NDArray[Any]:
    """A block in one of the types that kernels read, aligned and with contiguous rows or columns.

    It is copied only if necessary: data received over a network, for example, may not be aligned.
    """
    if block.dtype not in STORED_TYPES:
        return block.astype(np.float32) if block.dtype == np.float16 else as_numbers(block, "X")
    flags = block.flags
    return block if flags.aligned and (flags.c_contiguous or flags.f_contiguous) else np.array(block, order="F")


def stored_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type of a block after ``as_stored``."""
    if dtype in STORED_TYPES:
        return dtype
    return np.dtype(np.float32 if dtype == np.float16 else np.float64)
