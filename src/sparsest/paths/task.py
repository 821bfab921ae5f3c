"""What does not change along a path."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsest.core.arrays import Array, Mask
from sparsest.core.data import Data
from sparsest.core.designs import Design
from sparsest.core.losses import Loss, PiecewiseLinear, Squared
from sparsest.core.penalties import Penalty, Rescaled


@dataclass(frozen=True, eq=False)
class Task:
    """The data and the penalty of a path.

    Attributes
    ----------
    view : the design, standardised if the user wants that.
    y, y_offset : the response, and the constant that was subtracted from it.
    weights : weights of the observations, which sum to one.
    factor : factors of λ, one for each feature.
    norms : ``√(Σ ω x²)`` of the view's columns; zero for those that are constant.
    null_gradient : ``X'θ`` of the model without features, from the first pass over the data.
    tol : relative duality gap, or violation, at which a solution is precise enough.
    max_iter : sweeps for each λ.
    """

    view: Design
    y: Array
    y_offset: float
    weights: Array
    loss: Loss
    penalty: Penalty
    fit_intercept: bool
    factor: Array
    norms: Array
    null_gradient: Array
    tol: float
    max_iter: int

    @property
    def rescaled(self) -> bool:
        """Whether the penalty acts on coefficients times the curvature of the loss."""
        return isinstance(self.penalty, Rescaled)

    @property
    def usable(self) -> Mask:
        """The columns that are not constant."""
        return self.norms > 0.0


def is_quadratic(loss: Loss) -> bool:
    """Whether the loss is quadratic, so that one model of it is exact everywhere; its curvature is 1."""
    return isinstance(loss, Squared)


def make_task(data: Data, penalty: Penalty, factor: Array, tol: float, max_iter: int) -> Task:
    """Take from checked data what a path needs: weights that sum to one, and norms with these."""
    if isinstance(data.loss, PiecewiseLinear):
        raise ValueError(f"paths need a smooth loss, and {data.loss.name!r} has kinks: use its squared form or 'huber'")
    total = data.weights.sum()
    if isinstance(penalty, Rescaled) and is_quadratic(data.loss):
        penalty = penalty.penalty
    return Task(
        view=data.design,
        y=data.y,
        y_offset=data.y_offset,
        weights=data.weights / total,
        loss=data.loss,
        penalty=penalty,
        fit_intercept=data.fit_intercept,
        factor=factor,
        norms=data.column_norms / np.sqrt(total),
        null_gradient=data.null.products / total,
        tol=tol,
        max_iter=max_iter,
    )
