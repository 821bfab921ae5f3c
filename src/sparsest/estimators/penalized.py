"""Lasso, elastic net, MCP and SCAD as scikit-learn estimators, for one penalty strength."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from sparsest.core.checks import number
from sparsest.core.limits import check_limits
from sparsest.core.losses import Loss
from sparsest.estimators.base import SparseClassifier, SparseLinearModel, SparseRegressor, with_parameters
from sparsest.paths.api import penalty_path
from sparsest.paths.path_result import PathResult


class PenalizedFit(SparseLinearModel):
    """Attributes that all fitted penalised models have."""

    gap_: float | None
    kkt_violation_: float
    n_iter_: int
    result_: PathResult

    @property
    def _column_names(self) -> tuple[str, ...] | None:
        """The names of the columns, if X was a data frame."""
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else tuple(names.tolist())

    def _keep_path(self, path: PathResult, at: int) -> None:
        """Set the attributes from one model of a path."""
        self.result_ = path
        self.coef_ = path.coefs[:, [at]].toarray()[:, 0]
        self.intercept_ = float(path.intercepts[at])
        self.support_ = np.flatnonzero(self.coef_)
        self.gap_ = None if path.dual_gaps is None else float(path.dual_gaps[at])
        self.kkt_violation_ = float(path.kkt_violations[at])
        self.n_iter_ = max(1, int(path.n_iter[at]))


@dataclass(eq=False, repr=False)
class _Penalized(PenalizedFit):
    """The parameters and the fit that regression and classification share.

    Parameters
    ----------
    alpha : penalty strength, > 0; the loss is the weighted mean over the observations
    standardize : whether the penalty acts on columns of mean square 1.  Coefficients are for the data as given
    feature_groups : labels of the columns; those with the same label enter a model together, see
        :func:`sparsest.penalty_path`

    Attributes
    ----------
    coef_, intercept_ : the linear model, for the data as given
    support_ : columns with a nonzero coefficient
    gap_ : relative duality gap, or None for MCP and SCAD
    kkt_violation_ : largest violation of the optimality conditions, relative to alpha; for MCP and SCAD with another
        loss than the squared one, of the estimating equation
    n_iter_ : sweeps of coordinate descent
    result_ : the path, which has one alpha
    """

    penalty: str = "l1"
    alpha: float = 0.01
    _: KW_ONLY
    l1_ratio: float = 1.0
    concavity: float | None = None
    loss: str | Loss | None = None
    standardize: bool = True
    fit_intercept: bool = True
    penalty_factor: Any = None
    lower: Any = None
    upper: Any = None
    positive: bool = False
    feature_groups: Any = None
    tol: float = 1e-5

    def _fit_linear(self, X: Any, y: Any, sample_weight: Any, **added: Any) -> None:
        lower, upper = check_limits(X.shape[1], self._column_names, self.lower, self.upper, self.positive)
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
            lower=lower,
            upper=upper,
            feature_groups=self.feature_groups,
            tol=self.tol,
            sample_weight=sample_weight,
            **added,
        )
        self._keep_path(result, 0)


@with_parameters(_Penalized)
@dataclass(eq=False, repr=False, kw_only=True)
class PenalizedRegressor(SparseRegressor, _Penalized):
    """A linear regression with an l1, elastic-net, MCP or SCAD penalty.

    Examples
    --------
    >>> import sparsest
    >>> data = sparsest.datasets.make_toeplitz(n=200, p=50, k=3, snr=5.0, rng=0)
    >>> model = sparsest.PenalizedRegressor("mcp", alpha=0.5).fit(data.X, data.y)
    >>> model.support_.tolist(), data.support.tolist()
    ([2, 12, 15], [2, 12, 15])
    """

    epsilon: float | None = None
    delta: float | None = None
    theta: float | None = None


@with_parameters(_Penalized)
@dataclass(eq=False, repr=False, kw_only=True)
class PenalizedClassifier(SparseClassifier, _Penalized):
    """A linear classifier of two classes with an l1, elastic-net, MCP or SCAD penalty.

    Examples
    --------
    >>> import sparsest
    >>> data = sparsest.datasets.load_breast_cancer()
    >>> model = sparsest.PenalizedClassifier("l1", alpha=0.1).fit(data.X, data.y)
    >>> model.support_.size, round(model.score(data.X, data.y), 2)
    (4, 0.94)
    """

    class_weight: dict[Any, float] | str | None = None
