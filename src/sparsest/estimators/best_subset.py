"""Best subset as scikit-learn estimators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sparsest.api import best_subset
from sparsest.arrays import Array
from sparsest.estimators.base import SparseClassifier, SparseLinearModel, SparseRegressor
from sparsest.result import Result, Status

_Class = TypeVar("_Class")


class _BestSubset(SparseLinearModel):
    """The parameters and the fit that regression and classification share.

    Parameters
    ----------
    k : largest number of features (all of them when there are fewer)
    l0_penalty : price of a feature; ``k`` is ignored when it is given
    gamma : ridge ``‖w‖²/(2γ)``; "auto" (also None) is 10/n on standardised columns, ``inf`` is none
    loss : by default "squared" for regression, "logistic" for classification
    epsilon, method, time_limit, gap_tol, include, exclude : see :func:`sparsest.best_subset`
    standardize : solve for columns of mean square 1; coefficients are for the data as given
    fit_intercept : whether to fit an intercept, which is not penalised
    """

    support_: NDArray[np.intp]
    objective_: float
    lower_bound_: float
    gap_: float
    status_: Status
    result_: Result

    def __init__(
        self,
        k: int = 10,
        *,
        l0_penalty: float | None = None,
        gamma: float | str | None = "auto",
        loss: str | None = None,
        epsilon: float = 0.1,
        method: str = "tree",
        standardize: bool = True,
        fit_intercept: bool = True,
        include: Sequence[int] = (),
        exclude: Sequence[int] = (),
        time_limit: float = 60.0,
        gap_tol: float = 1e-4,
    ) -> None:
        self.k = k
        self.l0_penalty = l0_penalty
        self.gamma = gamma
        self.loss = loss
        self.epsilon = epsilon
        self.method = method
        self.standardize = standardize
        self.fit_intercept = fit_intercept
        self.include = include
        self.exclude = exclude
        self.time_limit = time_limit
        self.gap_tol = gap_tol

    def _fit_linear(self, X: Any, y: Array, sample_weight: Any) -> None:
        result = best_subset(
            X,
            y,
            self.k if self.l0_penalty is None else None,
            l0_penalty=self.l0_penalty,
            gamma=self.gamma,
            loss=self._loss_name,
            epsilon=self.epsilon,
            method=self.method,
            standardize=self.standardize,
            fit_intercept=self.fit_intercept,
            sample_weight=sample_weight,
            include=self.include,
            exclude=self.exclude,
            time_limit=self.time_limit,
            gap_tol=self.gap_tol,
        )
        self.result_ = result
        self.coef_, self.intercept_ = result.coef, result.intercept
        self.support_, self.status_ = result.support, result.status
        self.objective_, self.lower_bound_, self.gap_ = result.objective, result.lower_bound, result.gap


def _with_parameters(cls: type[_Class]) -> type[_Class]:
    """Append the shared parameters to a class's docstring."""
    shared = (_BestSubset.__doc__ or "").partition("\n")[2]
    cls.__doc__ = f"{cls.__doc__}\n{shared}"
    return cls


@_with_parameters
class BestSubsetRegressor(SparseRegressor, _BestSubset):
    """The best regression with at most ``k`` features, with a proof."""


@_with_parameters
class BestSubsetClassifier(SparseClassifier, _BestSubset):
    """The best classifier of two classes with at most ``k`` features, with a proof."""
