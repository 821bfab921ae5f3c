"""Best subset as scikit-learn estimators."""

from __future__ import annotations

from dataclasses import replace
from inspect import signature
from typing import Any

from sparsest.core.arrays import Array
from sparsest.core.checks import whole_number
from sparsest.core.losses import Loss
from sparsest.estimators.base import SparseClassifier, SparseLinearModel, SparseRegressor, with_parameters
from sparsest.results.result import Result
from sparsest.runtime.clock import Callback
from sparsest.runtime.events import Status
from sparsest.selection.certified import CertifiedChoice
from sparsest.selection.certified_search import certified_choice, settings_of_a_choice
from sparsest.selection.criteria import CRITERIA
from sparsest.subset.api import Columns, best_subset


class BestSubsetFit(SparseLinearModel):
    """What a fitted best subset has."""

    objective_: float
    lower_bound_: float
    gap_: float
    status_: Status
    result_: Result

    def _keep_result(self, result: Result) -> None:
        self.result_ = result
        self.coef_, self.intercept_ = result.coef, result.intercept
        self.support_, self.status_ = result.support, result.status
        self.objective_, self.lower_bound_, self.gap_ = result.objective, result.lower_bound, result.gap


class _BestSubset(BestSubsetFit):
    """The parameters and the fit that regression and classification share.

    Parameters
    ----------
    k : largest number of features (all of them when there are fewer); or "aic", "aicc", "bic", "ebic", "gic" or "mbic"
        for the number that this criterion chooses, with a proof, see :func:`sparsest.certified_choice`
    l0_penalty : price of a feature; ``k`` is ignored when it is given
    gamma : ridge ``‖w‖²/(2γ)``; "auto" is 10/n on standardised columns, "loo" the one with the smallest
        leave-one-out error of the chosen support, ``inf`` is none
    max_coef : an upper limit of the size of coefficients, see :func:`sparsest.best_subset`
    loss : by default "squared" for regression, "logistic" for classification; a name, or an object that has the
        parameters epsilon, delta, quantile or theta itself
    class_weight : factors of the weights of each class, a dictionary or "balanced" (classifiers only)
    standardize : solve for columns of mean square 1; coefficients are for the data as given
    fit_intercept : whether to fit an intercept, which is not penalised
    epsilon, delta, quantile, theta : parameters of the loss (regressors only), see :func:`sparsest.best_subset`
    method, include, exclude, start, screen, screen_by, time_limit, gap_tol, engine, n_jobs, node_limit, max_memory, \
callback, verbose, options : see :func:`sparsest.best_subset`

    A search over settings, such as scikit-learn's ``GridSearchCV``, fits many models that need no proof: give it
    an estimator with ``method="relaxation"``, which takes milliseconds, and fit the best settings with the default
    ``method="tree"``.  Otherwise every fit may take ``time_limit`` seconds.  ``BestSubsetRegressorCV`` and
    ``BestSubsetClassifierCV`` do just that for the number of features and the ridge.

    Attributes
    ----------
    coef_, intercept_ : the linear model, for the data as given
    support_ : the columns of the model, the same as ``get_support(indices=True)``
    objective_, lower_bound_, gap_, status_ : what is proved
    result_ : the :class:`sparsest.Result` with the certificate; it does not hold the data
    choice_ : the :class:`sparsest.CertifiedChoice` if a criterion chose the number of features, else None
    """

    choice_: CertifiedChoice | None

    def __init__(
        self,
        k: int | str = 10,
        *,
        l0_penalty: float | None = None,
        gamma: float | str = "auto",
        max_coef: float | None = None,
        loss: str | Loss | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
        quantile: float | None = None,
        theta: float | None = None,
        method: str = "tree",
        standardize: bool = True,
        fit_intercept: bool = True,
        include: Columns = (),
        exclude: Columns = (),
        start: Any = None,
        screen: int | None = None,
        screen_by: str = "relaxation",
        time_limit: float = 60.0,
        gap_tol: float = 1e-4,
        engine: str | None = None,
        n_jobs: int | None = None,
        node_limit: int | None = None,
        max_memory: float | None = None,
        callback: Callback | None = None,
        verbose: bool = False,
        options: dict[str, Any] | None = None,
    ) -> None:
        self.k = k
        self.l0_penalty = l0_penalty
        self.gamma = gamma
        self.max_coef = max_coef
        self.loss = loss
        self.epsilon = epsilon
        self.delta = delta
        self.quantile = quantile
        self.theta = theta
        self.method = method
        self.standardize = standardize
        self.fit_intercept = fit_intercept
        self.include = include
        self.exclude = exclude
        self.start = start
        self.screen = screen
        self.screen_by = screen_by
        self.time_limit = time_limit
        self.gap_tol = gap_tol
        self.engine = engine
        self.n_jobs = n_jobs
        self.node_limit = node_limit
        self.max_memory = max_memory
        self.callback = callback
        self.verbose = verbose
        self.options = options

    def _fit_linear(self, X: Any, y: Array, sample_weight: Any, **added: Any) -> None:
        settings = {name: getattr(self, name) for name in _SETTINGS}
        settings |= {"loss": self._chosen_loss, "feature_names": getattr(self, "feature_names_in_", None)}
        settings |= {"sample_weight": sample_weight, **added}
        self.choice_ = None
        k: Any = self.k if self.l0_penalty is None else None
        if isinstance(k, str) and k not in CRITERIA:
            k = whole_number(k, "k", least=0, or_else=f"one of {', '.join(CRITERIA)}")
        if isinstance(k, str):
            choice = certified_choice(X, y, k, **settings_of_a_choice(settings))
            self._keep_result(choice.result)
            self.choice_ = replace(choice, result=self.result_)
        else:
            self._keep_result(best_subset(X, y, k, **settings))


# The parameters that go to the solver as they are.
_SETTINGS = tuple(name for name in signature(_BestSubset).parameters if name not in ("k", "loss"))


@with_parameters(_BestSubset)
class BestSubsetRegressor(SparseRegressor, _BestSubset):
    """The best regression with at most ``k`` features, with a proof."""


@with_parameters(_BestSubset)
class BestSubsetClassifier(SparseClassifier, _BestSubset):
    """The best classifier of two classes with at most ``k`` features, with a proof."""

    def __init__(
        self,
        k: int | str = 10,
        *,
        l0_penalty: float | None = None,
        gamma: float | str = "auto",
        max_coef: float | None = None,
        loss: str | Loss | None = None,
        class_weight: dict[Any, float] | str | None = None,
        method: str = "tree",
        standardize: bool = True,
        fit_intercept: bool = True,
        include: Columns = (),
        exclude: Columns = (),
        start: Any = None,
        screen: int | None = None,
        screen_by: str = "relaxation",
        time_limit: float = 60.0,
        gap_tol: float = 1e-4,
        engine: str | None = None,
        n_jobs: int | None = None,
        node_limit: int | None = None,
        max_memory: float | None = None,
        callback: Callback | None = None,
        verbose: bool = False,
        options: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(
            k,
            l0_penalty=l0_penalty,
            gamma=gamma,
            max_coef=max_coef,
            loss=loss,
            method=method,
            standardize=standardize,
            fit_intercept=fit_intercept,
            include=include,
            exclude=exclude,
            start=start,
            screen=screen,
            screen_by=screen_by,
            time_limit=time_limit,
            gap_tol=gap_tol,
            engine=engine,
            n_jobs=n_jobs,
            node_limit=node_limit,
            max_memory=max_memory,
            callback=callback,
            verbose=verbose,
            options=options,
        )
        self.class_weight = class_weight

    def _keep_result(self, result: Result) -> None:
        super()._keep_result(replace(result, classes=self.classes_))
