"""Names of the arrays' types, and read-only views of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """A read-only view: kernels are compiled for this one type, whether the caller's array may be written or not."""
    view = array.view()
    view.flags.writeable = False
    return view
