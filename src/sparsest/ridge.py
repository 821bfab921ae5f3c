"""The default ridge."""

from __future__ import annotations

import numpy as np

from sparsest.data import Data

# The default penalises the coefficients of a typical column by this part of the curvature that the losses have there:
# they shrink by about a tenth.
_STRENGTH = 0.1


def default_gamma(data: Data) -> float:
    """The γ at which a typical column's ridge is a tenth of the curvature of its losses at the model without features.

    That is ``10 / (h s)``, with s the mean sum of squares of a column, centred under an intercept, and h the mean
    curvature of the loss: 10/n for the squared loss on standardised columns, 40/n for the logistic loss with balanced
    classes.  Constant columns do not count.
    """
    squares = data.column_norms[data.column_norms > 0.0] ** 2
    return 1.0 / (_STRENGTH * curvature_at_null(data) * float(squares.mean())) if squares.size else 1.0


def curvature_at_null(data: Data) -> float:
    """The mean curvature of the losses at the model without features.

    Piecewise linear losses have none; theirs is that of the parabola with the same mean value and mean square slope,
    whose least value is zero, which is the right one for the squared loss too.
    """
    margin = np.full(data.n, data.intercept_for(np.zeros(data.n)))
    weights = data.weights / data.weights.sum()
    second = float(weights @ data.loss.second_derivative(data.y, margin))
    if second > 0.0:
        return second
    value = float(weights @ data.loss.value(data.y, margin))
    slope = float(weights @ data.loss.derivative(data.y, margin) ** 2)
    return slope / (2.0 * value) if value > 0.0 and slope > 0.0 else 1.0
