"""The default ridge."""

from __future__ import annotations

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
    return 1.0 / (_STRENGTH * data.curvature * float(squares.mean())) if squares.size else 1.0
