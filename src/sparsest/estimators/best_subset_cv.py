"""Best subset as scikit-learn estimators that choose the number of features and the ridge by cross-validation."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np

from sparsest.core.arrays import Array
from sparsest.core.checks import by_number
from sparsest.core.data import Data, make_data
from sparsest.core.limits import check_limits
from sparsest.core.losses import Loss
from sparsest.core.problem import pose
from sparsest.core.ridge import default_gamma
from sparsest.core.structure.posing import group_labels
from sparsest.core.structure.user_rules import Groups, Structure
from sparsest.estimators.base import SparseClassifier, SparseRegressor, with_parameters
from sparsest.estimators.best_subset import BestSubsetFit
from sparsest.estimators.cross_validated import CrossValidated, check_jobs
from sparsest.results.result import Result
from sparsest.runtime.clock import Callback, Clock
from sparsest.runtime.events import Status
from sparsest.selection.exploration import explore, strongest_ridge
from sparsest.selection.grids import k_grid, ridge_grid
from sparsest.selection.subsets import SubsetGrid
from sparsest.subset.api import Columns, Limits
from sparsest.subset.solvers import make_solver, without_proof
from sparsest.subset.subset_grid import check_gammas, check_ks
from sparsest.subset.task import SEARCH_SETTINGS, Search, make_search, pose_task


@dataclass(eq=False, repr=False)
class _BestSubsetCV(CrossValidated, BestSubsetFit):
    """The parameters and the fit that regression and classification share.

    Every fold is centred and scaled separately; all models of a fold share its data, Gram columns and starting points.

    Parameters
    ----------
    ks : numbers of features to try; by default 0 to 10, then up to 22 if the score at 10 is within half a standard
        error (of the difference) of the best, then up to about 250 as long as the largest number has the best score.
        From 100 on, larger numbers are tried only if the largest is better than half as many by two standard errors
    gammas : ridges ``‖w‖²/(2γ)`` to try: "auto" (the default γ of :func:`sparsest.best_subset`, a quarter and a
        sixteenth of it, and further ones where the smallest or the largest is the best), a list, or one number
    selection : "best" for the best mean score, or "one_se" for the fewest features within one standard error of it.
        With ``gammas="auto"``, "best" takes the strongest ridge whose best mean score is within one standard error (of
        the difference) of the overall best: on small data, the ridge with the best score is mostly a matter of chance
    fold_method : method for the models of the folds, one of those for ``method``
    method : method for the model of all data: "tree", "cuts", "relaxation", "subgradient" or "local"
    n_jobs : number of folds that are fitted in parallel, by joblib and its backend; also the number of threads of the
        tree
    time_limit : seconds for the model of all data, and for each model of a fold by another method than "relaxation"
    callback : called with an event for every fold, then with every event of the search for the model of all data;
        returning True stops the fit

    Ctrl-C, or a callback that returns True, ends the validation with the folds that are done.  The model is then fitted
    by the method "local", and ``status_`` is "INTERRUPTED".  Before the first fold is done KeyboardInterrupt is raised.

    A UserWarning is given if the best number of features (from 100 on if it is clearly better than half as many), or
    the best ridge, is at the end of a given grid, or of an automatic one that cannot be extended further.

    Attributes
    ----------
    k_, gamma_ : the chosen number of features and gamma
    best_score_, best_index_ : mean score of the chosen pair, and its row in ``cv_results_``
    at_an_end_ : the text of that warning; empty without one
    cv_results_ : a row for each k and gamma: ``param_k``, ``param_gamma``, ``mean_test_score``, ``se_test_score``
        (standard error), ``rank_test_score``, ``split0_test_score`` …, ``mean_n_features``
    coef_, intercept_ : the linear model, for the data as given
    support_ : the columns of the model, the same as ``get_support(indices=True)``
    objective_, lower_bound_, gap_, status_ : objective, proved lower bound, their relative gap, and status
    result_ : the :class:`sparsest.Result` with the certificate; it does not hold the data
    """

    ks: Any = None
    _: KW_ONLY
    gammas: Any = "auto"
    max_coef: float | None = None
    lower: Limits = None
    upper: Limits = None
    positive: bool = False
    cv: Any = None
    scoring: Any = None
    selection: str = "best"
    fold_method: str = "relaxation"
    method: str = "tree"
    loss: str | Loss | None = None
    epsilon: float | None = None
    delta: float | None = None
    quantile: float | None = None
    theta: float | None = None
    standardize: bool = True
    fit_intercept: bool = True
    include: Columns = ()
    exclude: Columns = ()
    feature_groups: Groups | None = None
    structure: Structure | None = None
    time_limit: float = 60.0
    gap_tol: float = 1e-4
    engine: str | None = None
    n_jobs: int | None = None
    node_limit: int | None = None
    max_memory: float | None = None
    callback: Callback | None = None
    verbose: bool = False
    options: dict[str, Any] | None = None

    def _fit_linear(
        self, X: Any, y: Array, sample_weight: Any, offset: Any = None, exposure: Any = None, **routed: Any
    ) -> None:
        search, preparation = make_search(**self._search()), Clock(np.inf)
        data = make_data(
            X, y, loss=self._loss, fit_intercept=self.fit_intercept, standardize=self.standardize,
            sample_weight=sample_weight, offset=offset, exposure=exposure,
        )  # fmt: skip
        seconds = preparation.seconds()
        grid, (least, most) = self._grid(data)
        found = explore(grid, self._judge(data, X, y, sample_weight, **routed), most, least)
        ks, gammas, validation = found.tried
        self._warn_if_interrupted(validation)
        index = validation.choose(self.selection, ks)
        if grid.more_gammas and self.selection == "best":
            index = strongest_ridge(found.tried)
        self._keep_validation(validation, index, k=ks, gamma=gammas)
        self.k_, self.gamma_ = int(ks[index]), float(gammas[index])
        self._tell_of_an_end(found.at_an_end)
        self._keep_result(self._final(data, grid, search, seconds, found.interrupted))

    def _search(self) -> dict[str, Any]:
        """Settings of the search for the model of all data."""
        names = [name for name in SEARCH_SETTINGS if hasattr(self, name)]
        return {name: getattr(self, name) for name in names} | {"n_jobs": self._n_threads()}

    def _final(self, data: Data, grid: SubsetGrid, search: Search, seconds: float, interrupted: bool) -> Result:
        """The model of all data; after an interruption it is fitted by the method "local", which is fast.

        Parameters
        ----------
        seconds : time spent on preparing the data, which counts towards the time limit of this model
        """
        restrictions = {name: value for name, value in grid.restrictions.items() if name != "names"}
        task = pose_task(data, self._names(), k=self.k_, gamma=self.gamma_, **restrictions)
        if interrupted:
            search = make_search(method="local", callback=self.callback, verbose=self.verbose)
        result, _ = search.solve(lambda: task, None, Clock(search.time_limit, spent=seconds))
        return replace(result, status=Status.INTERRUPTED) if interrupted else result

    def _grid(self, data: Data) -> tuple[SubsetGrid, tuple[int, int]]:
        """The first grid, and the smallest and the largest number of features that a model may have."""
        names = self._names()
        lower, upper = check_limits(data.p, names, self.lower, self.upper, self.positive)
        forced = {name: by_number(getattr(self, name), name, names) for name in ("include", "exclude")}
        groups = None if self.feature_groups is None else group_labels(self.feature_groups, data.p, names)
        restrictions: dict[str, Any] = {
            **forced, "max_coef": self.max_coef, "lower": lower, "upper": upper, "feature_groups": groups,
            "structure": self.structure, "names": names,
        }  # fmt: skip
        least, most = pose(data, data.p, **restrictions).sizes
        ks = k_grid(most, least) if self.ks is None else sorted(set(check_ks(self.ks)))
        pose(data, ks[0], **restrictions)
        auto = isinstance(self.gammas, str) and self.gammas == "auto"
        gammas = ridge_grid(default_gamma(data)) if auto else sorted(set(check_gammas(self.gammas, data, ks[-1])))
        solver = without_proof(make_solver(self.fold_method, time_limit=self.time_limit, gap_tol=self.gap_tol))
        grid = SubsetGrid(
            tuple(ks), tuple(gammas), solver, restrictions, repeat_unchanged=auto, more_ks=self.ks is None,
            more_gammas=auto,
        )  # fmt: skip
        return grid, (least, most)

    def _n_threads(self) -> int | None:
        """Threads of the tree, which accepts no negative number; other methods use one."""
        n_jobs = check_jobs(self.n_jobs)
        return n_jobs if self.method == "tree" and n_jobs is not None and n_jobs > 0 else None


@with_parameters(_BestSubsetCV)
class BestSubsetRegressorCV(_BestSubsetCV, SparseRegressor):
    """The best regression with few features, their number and the ridge chosen by cross-validation, with a proof.

    Examples
    --------
    >>> import sparsest
    >>> data = sparsest.datasets.make_toeplitz(n=200, p=50, k=3, snr=5.0, rng=0)
    >>> model = sparsest.BestSubsetRegressorCV(ks=range(6)).fit(data.X, data.y)
    >>> model.k_, model.support_.tolist() == data.support.tolist()
    (3, True)
    """


@with_parameters(_BestSubsetCV)
@dataclass(eq=False, repr=False, kw_only=True)
class BestSubsetClassifierCV(_BestSubsetCV, SparseClassifier):
    """The best classifier of two classes with few features, their number and the ridge chosen by cross-validation.

    Examples
    --------
    >>> import sparsest
    >>> data = sparsest.datasets.load_breast_cancer()
    >>> model = sparsest.BestSubsetClassifierCV(ks=range(8), gammas=[0.1, 1.0, 10.0]).fit(data.X, data.y)
    >>> model.k_, model.gamma_, model.status_.name
    (6, 1.0, 'OPTIMAL')
    """

    class_weight: dict[Any, float] | str | None = None
