"""Best subset as scikit-learn estimators."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, fields
from typing import Any

from sparsest.core.checks import whole_number
from sparsest.core.limits import check_limits
from sparsest.core.losses import Loss
from sparsest.core.structure.user_rules import Groups, Structure
from sparsest.estimators.base import SparseClassifier, SparseLinearModel, SparseRegressor, with_parameters
from sparsest.estimators.time_budget import TimeBudget, seconds_of
from sparsest.results.result import Result
from sparsest.runtime.clock import Callback
from sparsest.runtime.events import Status
from sparsest.selection.certified import CertifiedChoice
from sparsest.selection.certified_search import certified_choice, settings_of_a_choice
from sparsest.selection.criteria import CRITERIA
from sparsest.subset.api import Columns, Limits, best_subset


class BestSubsetFit(SparseLinearModel):
    """Attributes that all fitted best subsets have."""

    objective_: float
    lower_bound_: float
    gap_: float
    status_: Status
    result_: Result

    def _names(self) -> tuple[str, ...] | None:
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else tuple(names)

    def _keep_result(self, result: Result) -> None:
        self.result_ = result
        self.coef_, self.intercept_ = result.coef, result.intercept
        self.support_, self.status_ = result.support, result.status
        self.objective_, self.lower_bound_, self.gap_ = result.objective, result.lower_bound, result.gap


@dataclass(eq=False, repr=False)
class _BestSubset(BestSubsetFit):
    """The parameters and the fit that regression and classification share.

    Parameters
    ----------
    k : largest number of features (all of them if there are fewer); or "aic", "aicc", "bic", "ebic", "gic" or "mbic" to
        choose the number by this criterion, with a proof, see :func:`sparsest.certified_choice`
    l0_penalty : price of a feature; if it is given, ``k`` is ignored
    time_limit : seconds for each fit, without those for compiling kernels; or a :class:`sparsest.TimeBudget` that all
        clones share

    A search over settings, such as scikit-learn's ``GridSearchCV``, fits many models that need no proof: give it
    an estimator with ``method="relaxation"``, which takes milliseconds, and fit the best settings with the default
    ``method="tree"``.  ``BestSubsetRegressorCV`` and ``BestSubsetClassifierCV`` do just that for the number of
    features and the ridge.  Otherwise every fit may take ``time_limit`` seconds, or its share of a ``TimeBudget``.

    Attributes
    ----------
    coef_, intercept_ : the linear model, for the data as given
    support_ : the columns of the model, the same as ``get_support(indices=True)``
    objective_, lower_bound_, gap_, status_ : objective, proved lower bound, their relative gap, and status
    result_ : the :class:`sparsest.Result` with the certificate; it does not hold the data
    choice_ : the :class:`sparsest.CertifiedChoice` if a criterion chose the number of features, else None
    """

    k: int | str = 10
    _: KW_ONLY
    l0_penalty: float | None = None
    gamma: float | str = "auto"
    max_coef: float | None = None
    lower: Limits = None
    upper: Limits = None
    positive: bool = False
    loss: str | Loss | None = None
    method: str = "tree"
    standardize: bool = True
    fit_intercept: bool = True
    include: Columns = ()
    exclude: Columns = ()
    feature_groups: Groups | None = None
    structure: Structure | None = None
    start: Any = None
    screen: int | None = None
    screen_by: str = "relaxation"
    time_limit: float | TimeBudget = 60.0
    gap_tol: float = 1e-4
    engine: str | None = None
    n_jobs: int | None = None
    node_limit: int | None = None
    max_memory: float | None = None
    callback: Callback | None = None
    verbose: bool = False
    options: dict[str, Any] | None = None

    def _fit_linear(self, X: Any, y: Any, sample_weight: Any, **added: Any) -> None:
        settings = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in _NOT_PASSED}
        settings |= {"loss": self._chosen_loss, "feature_names": getattr(self, "feature_names_in_", None)}
        settings |= {"sample_weight": sample_weight, **added}
        limits = check_limits(X.shape[1], self._names(), self.lower, self.upper, self.positive)
        settings["lower"], settings["upper"] = limits
        k: Any = self.k if self.l0_penalty is None else None
        if isinstance(k, str) and k not in CRITERIA:
            k = whole_number(k, "k", least=0, or_else=f"one of {', '.join(CRITERIA)}")
        self.choice_: CertifiedChoice | None = None
        with seconds_of(self.time_limit) as settings["time_limit"]:
            if isinstance(k, str):
                self.choice_ = certified_choice(X, y, k, **settings_of_a_choice(settings))
                self._keep_result(self.choice_.result)
            else:
                self._keep_result(best_subset(X, y, k, **settings))


# Parameters that are not passed to the solver unchanged.
_NOT_PASSED = ("k", "lower", "upper", "positive", "loss", "class_weight")


@with_parameters(_BestSubset)
@dataclass(eq=False, repr=False, kw_only=True)
class BestSubsetRegressor(SparseRegressor, _BestSubset):
    """The best regression with at most ``k`` features, with a proof.

    Examples
    --------
    >>> import sparsest
    >>> data = sparsest.datasets.load_diabetes_quadratic()
    >>> model = sparsest.BestSubsetRegressor(k=3).fit(data.X, data.y)
    >>> model.support_.tolist(), model.status_.name
    ([2, 3, 8], 'OPTIMAL')
    >>> model.transform(data.X).shape
    (442, 3)
    """

    epsilon: float | None = None
    delta: float | None = None
    quantile: float | None = None
    theta: float | None = None


@with_parameters(_BestSubset)
@dataclass(eq=False, repr=False, kw_only=True)
class BestSubsetClassifier(SparseClassifier, _BestSubset):
    """The best classifier of two classes with at most ``k`` features, with a proof.

    Examples
    --------
    >>> import sparsest
    >>> data = sparsest.datasets.load_breast_cancer()
    >>> model = sparsest.BestSubsetClassifier(k=2).fit(data.X, data.y)
    >>> data.feature_names[model.support_].tolist()
    ['worst radius', 'worst concave points']
    >>> round(model.score(data.X, data.y), 2)
    0.94
    """

    class_weight: dict[Any, float] | str | None = None
