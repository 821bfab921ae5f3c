"""The interface for the models of a grid: fits of supports, scores of moves, and relaxations for rounding."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from sparsest.core.arrays import Array, Indices
from sparsest.core.problem import Problem
from sparsest.subset.moves import LocalModel
from sparsest.subset.relaxation.engine import Policy, Source
from sparsest.subset.relaxation.entering import Entering
from sparsest.subset.relaxation.kernels.entering import threshold_of
from sparsest.subset.relaxation.solution import Relaxed

# Options for the quadratic models of a relaxation that is only rounded.
ROUNDING_OPTIONS: dict[str, Any] = {"most_iterations": 300, "newton": False}
# Gap at which a relaxation is rounded, relative to the loss without features.
_GAP = 1e-3
# A relaxation continues if the gain of a feature outside exceeds the threshold by this factor.
_EXCESS = 1.01


class RidgeModel(NamedTuple):
    """The model of a support and its objective."""

    support: Indices
    w: Array
    b: float
    value: float


class Fitted(NamedTuple):
    """A model, and the state that its space needs to score moves: predictions, or the inverse of its matrix."""

    model: RidgeModel
    state: Array


class Space(ABC):
    """The data of a grid, with products or columns that all of its models share.

    Attributes
    ----------
    null : the sum of losses without features
    norms : the norms of all columns
    improvement : smallest relative improvement of the objective by a move; smaller ones are rounding errors
    trials : number of moves that are fitted without success before a support counts as a local optimum
    swapped_up_to : largest number of features of supports that are improved by swaps; larger ones are only completed,
        several features at a time
    working_gap : gap of the relaxation on a working set, relative to ``null``
    most_iterations : largest number of iterations of a relaxation
    """

    null: float
    norms: Array
    improvement: float
    trials: int
    swapped_up_to: float
    working_gap: float
    most_iterations: int

    @abstractmethod
    def fit(self, support: Indices, ridge: float, w: Array, b: float, unless: float = np.inf) -> Fitted | None:
        """The model of a support; ``w`` and ``b`` are its warm start.

        None if its objective is found or expected not to be below ``unless``.
        """

    @abstractmethod
    def gradient(self, fitted: Fitted) -> Array:
        """The gradient of the loss for all features."""

    @abstractmethod
    def local_model(self, fitted: Fitted, gradient: Array, candidates: Indices, ridge: float) -> LocalModel:
        """The quadratic model at a fit, for some features outside of its support."""

    @abstractmethod
    def source(self, problem: Problem) -> Source:
        """The data source of a relaxation."""


class ToRounding(Policy):
    """Stop when a relaxation is precise enough for rounding: at a gap, when no feature enters, or at a limit.

    The limit on iterations matters for large γ, where a relaxation takes thousands of iterations and contains little
    information about supports.
    """

    entering = Entering(share=1.0, kept_share=0.6, least=100, growth=1.0)
    most_rounds = 10

    def __init__(self, space: Space) -> None:
        self.space = space

    def is_done(self, best: Relaxed) -> bool:
        """Whether the solution is precise enough."""
        if best.rounds == 0:
            return False
        if best.primal - best.dual <= _GAP * self.space.null or best.iterations >= self.space.most_iterations:
            return True
        outside = best.region.state == 0
        outside[best.features] = False
        return not bool((best.q[outside] > _EXCESS * threshold_of(best.sigma)).any())

    def tolerance(self, best: Relaxed) -> float:
        """The gap of a working set's solution."""
        return self.space.working_gap * self.space.null
