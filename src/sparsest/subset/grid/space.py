"""What the models of a grid share: the data as one loss sees them, fits of supports, and relaxations to round."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from sparsest.core.arrays import Array, Indices
from sparsest.core.problem import Problem
from sparsest.subset.moves import LocalModel
from sparsest.subset.relaxation.engine import Entering, Policy, Source
from sparsest.subset.relaxation.kernels.entering import threshold_of
from sparsest.subset.relaxation.solution import Relaxed

# How the quadratic models of a relaxation that is to be rounded are solved.
TO_ROUND: dict[str, Any] = {"most_iterations": 300, "newton": False}
# The gap at which a relaxation is rounded, as a part of the loss without features.
_GAP = 1e-3
# A relaxation goes on where the gain of a feature exceeds the threshold by this factor.
_EXCESS = 1.01


class RidgeModel(NamedTuple):
    """The model of a support and its objective."""

    support: Indices
    w: Array
    b: float
    value: float


class Fitted(NamedTuple):
    """A model, and what its space needs to score moves: predictions, or the inverse of its matrix."""

    model: RidgeModel
    state: Array


class Space(ABC):
    """The data of a grid, with products or columns that all of its models share.

    Attributes
    ----------
    null : the sum of losses without features
    norms : the norms of all columns
    improvement : moves that improve the objective by less than this part are rounding
    trials : the number of moves that are fitted before a support counts as the best of its neighbours
    working_gap : the gap to which working sets of a relaxation are solved, as a part of ``null``
    most_iterations : the largest number of iterations of a relaxation
    """

    null: float
    norms: Array
    improvement: float
    trials: int
    working_gap: float
    most_iterations: int

    @abstractmethod
    def fit(self, support: Indices, ridge: float, w: Array, b: float, unless: float = np.inf) -> Fitted | None:
        """The model of a support, from coefficients and an intercept.

        None as soon as its objective seems not to be below ``unless``.
        """

    @abstractmethod
    def gradient(self, fitted: Fitted) -> Array:
        """The gradient of the loss for all features."""

    @abstractmethod
    def local_model(self, fitted: Fitted, gradient: Array, candidates: Indices, ridge: float) -> LocalModel:
        """The quadratic model about a fit, for some features outside of its support."""

    @abstractmethod
    def source(self, problem: Problem) -> Source:
        """The source of columns of a relaxation."""


class ToRounding(Policy):
    """Stop when a relaxation is good enough to be rounded: at a gap, when no feature enters, or after many iterations.

    Large γ have relaxations that say nothing about supports and take thousands of iterations.
    """

    entering = Entering(share=1.0, kept_share=0.6, least=100, growth=1.0)
    most_rounds = 10

    def __init__(self, space: Space) -> None:
        self.space = space

    def is_done(self, best: Relaxed) -> bool:
        """Whether the solution is good enough."""
        if best.rounds == 0:
            return False
        if best.primal - best.dual <= _GAP * self.space.null or best.iterations >= self.space.most_iterations:
            return True
        outside = best.region.state == 0
        outside[best.features] = False
        return not bool((best.q[outside] > _EXCESS * threshold_of(best.sigma)).any())

    def tolerance(self, best: Relaxed) -> float:
        """A part of the gap at which relaxations are rounded."""
        return self.space.working_gap * self.space.null
