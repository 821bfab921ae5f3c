"""NumPy arrays, and SciPy's compressed sparse arrays, that are mapped from files.

Large arrays are read in blocks; small ones are used like arrays in memory, because the system caches them.
"""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparsest.core.designs.base import Design
from sparsest.core.designs.sources import ArraySource, CompressedSource
from sparsest.core.designs.streamed import Streamed
from sparsest.runtime.sizes import sizes


def read(X: Any) -> Design | None:
    """The design of a large mapped array; None for anything else."""
    if sp.issparse(X):
        return _compressed(X) if X.format in ("csc", "csr") and X.data.nbytes >= sizes().large_matrix else None
    contiguous = isinstance(X, np.ndarray) and X.ndim == 2 and (X.flags.c_contiguous or X.flags.f_contiguous)
    if not contiguous or X.dtype.kind not in "fiub" or X.nbytes < sizes().large_matrix or not is_mapped(X):
        return None
    return Streamed(ArraySource(np.asarray(X)))


def is_mapped(array: Any) -> bool:
    """Whether an array is mapped from a file."""
    while isinstance(array, np.ndarray):
        if isinstance(array, np.memmap):
            return True
        array = array.base
    return isinstance(array, (mmap.mmap, memoryview)) and isinstance(getattr(array, "obj", array), mmap.mmap)


def _compressed(X: Any) -> Design | None:
    if not (is_mapped(X.data) or is_mapped(X.indices)) or X.dtype.kind not in "fiub":
        return None
    source = CompressedSource(X.data, X.indices, np.asarray(X.indptr, dtype=np.int64), X.shape, X.format == "csr")
    source.concurrent = True
    return Streamed(source)
