"""Types of arrays, and read-only views."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """A read-only view, so that kernels are compiled for one type of array only."""
    view = array.view()
    view.flags.writeable = False
    return view
