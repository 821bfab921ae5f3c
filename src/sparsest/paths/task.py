"""The data and settings that do not change along a path."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsest.core.arrays import Array, Indices, Mask
from sparsest.core.data import Data
from sparsest.core.designs import Design
from sparsest.core.losses import Loss, PiecewiseLinear, Squared
from sparsest.core.penalties import Penalty, Rescaled, plain_penalty, wrapped_penalty
from sparsest.paths.features import FeatureRules
from sparsest.paths.sides import FeatureSides, GroupSides, Sides


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
    null_theta, null_gradient : θ of the model without features, and ``X'θ``, from the first pass over the data.
    tol : relative duality gap, or violation, at which a solution is precise enough.
    max_iter : sweeps for each λ.
    rescaled : whether the penalty acts on coefficients times the curvature of the loss.
    lower, upper : limits of the view's coefficients, which include zero; None for no limits.
    groups : the number of each feature's group; None if features are penalised one by one.
    """

    view: Design
    y: Array
    y_offset: float
    weights: Array
    loss: Loss
    penalty: Penalty
    rescaled: bool
    fit_intercept: bool
    factor: Array
    norms: Array
    null_theta: Array
    null_gradient: Array
    tol: float
    max_iter: int
    lower: Array | None = None
    upper: Array | None = None
    groups: Indices | None = None

    @property
    def plain(self) -> Penalty:
        """The penalty as a function of λ alone."""
        return plain_penalty(self.penalty)

    @property
    def sides(self) -> Sides:
        """The directions in which coefficients may move."""
        if self.groups is not None:
            return GroupSides(self.factor, self.norms, self.groups, self.lower, self.upper)
        return FeatureSides(self.factor, self.norms, self.lower, self.upper)

    @property
    def usable(self) -> Mask:
        """The columns that are not constant, and whose coefficients may differ from zero."""
        return (self.norms > 0.0) & self.sides.movable


def is_quadratic(loss: Loss) -> bool:
    """Whether the loss is quadratic, so that one model of it is exact everywhere; its curvature is 1."""
    return isinstance(loss, Squared)


def make_task(data: Data, penalty: Penalty, rules: FeatureRules, tol: float, max_iter: int) -> Task:
    """Prepare a path from checked data: weights that sum to one, and norms with these weights."""
    if isinstance(data.loss, PiecewiseLinear):
        raise ValueError(f"paths need a smooth loss, and {data.loss.name!r} has kinks: use its squared form or 'huber'")
    total = data.weights.sum()
    rescaled = isinstance(penalty, Rescaled) and not is_quadratic(data.loss)
    lower, upper = rules.limits_of(data.design)
    return Task(
        view=data.design,
        y=data.y,
        y_offset=data.y_offset,
        weights=data.weights / total,
        loss=data.loss,
        penalty=wrapped_penalty(plain_penalty(penalty), rescaled=rescaled, bounded=lower is not None),
        rescaled=rescaled,
        fit_intercept=data.fit_intercept,
        factor=rules.factor,
        norms=data.column_norms / np.sqrt(total),
        null_theta=data.null.alpha / total,
        null_gradient=data.null.products / total,
        tol=tol,
        max_iter=max_iter,
        lower=lower,
        upper=upper,
        groups=rules.groups,
    )
