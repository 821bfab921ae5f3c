"""Lasso, elastic net, MCP and SCAD as scikit-learn estimators, for one penalty strength."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparsest.core.arrays import Array
from sparsest.core.checks import number
from sparsest.core.losses import Loss
from sparsest.estimators.base import SparseClassifier, SparseLinearModel, SparseRegressor, with_parameters
from sparsest.paths.api import penalty_path
from sparsest.paths.path_result import PathResult


class PenalizedFit(SparseLinearModel):
    """What a fitted penalised model has."""

    gap_: float | None
    kkt_violation_: float
    n_iter_: int
    result_: PathResult

    def _keep_path(self, path: PathResult, at: int) -> None:
        """Take over one model of a path."""
        self.result_ = path
        self.coef_ = path.coefs[:, [at]].toarray()[:, 0]
        self.intercept_ = float(path.intercepts[at])
        self.support_ = np.flatnonzero(self.coef_)
        self.gap_ = None if path.dual_gaps is None else float(path.dual_gaps[at])
        self.kkt_violation_ = float(path.kkt_violations[at])
        self.n_iter_ = max(1, int(path.n_iter[at]))


class _Penalized(PenalizedFit):
    """The parameters and the fit that regression and classification share.

    Parameters
    ----------
    penalty : {"l1", "elastic_net", "mcp", "scad"}, or an object of :mod:`sparsest.core.penalties`
    alpha : penalty strength, > 0; the loss is the weighted mean over the observations
    l1_ratio : share of the l1 part, in (0, 1], for the elastic net, MCP and SCAD; the rest is a ridge
    concavity : the g of MCP (default 3) or SCAD (default 3.7), relative to the curvature of the loss: see the notes of
        :func:`sparsest.penalty_path`
    loss : by default "squared" for regression, "logistic" for classification; a name, or an object that has the
        parameters epsilon, delta or theta itself
    epsilon, delta, theta : parameters of the loss (regressors only), see :func:`sparsest.best_subset`
    class_weight : factors of the weights of each class, a dictionary or "balanced" (classifiers only)
    standardize : penalise the coefficients of columns of mean square 1; coefficients are for the data as given
    fit_intercept : whether to fit an intercept, which is not penalised
    penalty_factor : factor of alpha for every feature; 0 means never penalised
    tol : duality gap relative to the loss of the constant model; for MCP and SCAD violation relative to alpha

    Attributes
    ----------
    coef_, intercept_ : the linear model, for the data as given
    support_ : columns with a nonzero coefficient
    gap_ : relative duality gap, or None for MCP and SCAD
    kkt_violation_ : largest violation of the optimality conditions, relative to alpha; with MCP and SCAD and a loss
        that is not squared, of the estimating equation
    n_iter_ : sweeps of coordinate descent
    result_ : the path of one alpha behind the fit
    """

    def __init__(
        self,
        penalty: str = "l1",
        alpha: float = 0.01,
        *,
        l1_ratio: float = 1.0,
        concavity: float | None = None,
        loss: str | Loss | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
        theta: float | None = None,
        standardize: bool = True,
        fit_intercept: bool = True,
        penalty_factor: Any = None,
        tol: float = 1e-5,
    ) -> None:
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.concavity = concavity
        self.loss = loss
        self.epsilon = epsilon
        self.delta = delta
        self.theta = theta
        self.standardize = standardize
        self.fit_intercept = fit_intercept
        self.penalty_factor = penalty_factor
        self.tol = tol

    def _fit_linear(self, X: Any, y: Array, sample_weight: Any, **added: Any) -> None:
        result = penalty_path(
            X,
            y,
            self.penalty,
            loss=self._loss,
            alphas=[number(self.alpha, "alpha", above=0)],
            l1_ratio=self.l1_ratio,
            concavity=self.concavity,
            fit_intercept=self.fit_intercept,
            standardize=self.standardize,
            penalty_factor=self.penalty_factor,
            tol=self.tol,
            sample_weight=sample_weight,
            **added,
        )
        self._keep_path(result, 0)


@with_parameters(_Penalized)
class PenalizedRegressor(SparseRegressor, _Penalized):
    """A linear regression with an l1, elastic-net, MCP or SCAD penalty."""


@with_parameters(_Penalized)
class PenalizedClassifier(SparseClassifier, _Penalized):
    """A linear classifier of two classes with an l1, elastic-net, MCP or SCAD penalty."""

    def __init__(
        self,
        penalty: str = "l1",
        alpha: float = 0.01,
        *,
        l1_ratio: float = 1.0,
        concavity: float | None = None,
        loss: str | Loss | None = None,
        class_weight: dict[Any, float] | str | None = None,
        standardize: bool = True,
        fit_intercept: bool = True,
        penalty_factor: Any = None,
        tol: float = 1e-5,
    ) -> None:
        super().__init__(
            penalty,
            alpha,
            l1_ratio=l1_ratio,
            concavity=concavity,
            loss=loss,
            standardize=standardize,
            fit_intercept=fit_intercept,
            penalty_factor=penalty_factor,
            tol=tol,
        )
        self.class_weight = class_weight
