"""The default ridge, and the grid of ridges that validation chooses from."""

from __future__ import annotations

import numpy as np

from sparsest.core.arrays import Array
from sparsest.core.data import Data

# The ridge of a typical column, relative to the curvature of its losses: coefficients shrink by about a tenth.
_STRENGTH = 0.1
# Number of times that the first γ of a grid is doubled.
_DOUBLINGS = 20
# Squares of rows are summed over at most this many columns, evenly spaced.
_COLUMNS_FOR_ROWS = 1000


def default_gamma(data: Data) -> float:
    """The γ at which a typical column's ridge is a tenth of the curvature of its losses at the model without features.

    That is ``10 / (h s)``, with s the mean sum of squares of a column, centred under an intercept, and h the mean
    curvature of the loss: 10/n for the squared loss on standardised columns, 40/n for the logistic loss with balanced
    classes.  Constant columns do not count.
    """
    squares = data.column_norms[data.column_norms > 0.0] ** 2
    return 1.0 / (_STRENGTH * data.curvature * float(squares.mean())) if squares.size else 1.0


def gamma_grid(data: Data, k: int) -> Array:
    """``γ0 = p / (k n h max_i ‖x_i‖²)``, doubled twenty times (Bertsimas, Pauphilet and Van Parys 2020).

    The first γ shrinks models of k features nearly to zero, the last hardly at all.  As in
    :func:`default_gamma`, h is the mean curvature of the loss; n is the sum of the weights.
    """
    subset = np.unique(np.linspace(0, data.p - 1, min(data.p, _COLUMNS_FOR_ROWS)).astype(np.intp))
    squares = (data.design.columns(subset) ** 2).sum(axis=1).max() * data.p / subset.size
    scale = max(k, 1) * float(data.weights.sum()) * data.curvature * float(squares)
    first = data.p / scale if scale > 0.0 else 1.0
    return np.asarray(first * 2.0 ** np.arange(_DOUBLINGS + 1), dtype=np.float64)
