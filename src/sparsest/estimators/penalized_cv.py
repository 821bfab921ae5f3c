"""Lasso, elastic net, MCP and SCAD as scikit-learn estimators that choose their parameters by cross-validation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from sparsest.core.arrays import Array
from sparsest.core.checks import as_array, as_numbers, flag
from sparsest.core.data import Data, make_data
from sparsest.core.losses import Loss
from sparsest.core.penalties import path_penalty
from sparsest.core.settings import checked
from sparsest.estimators.base import SparseClassifier, SparseRegressor, with_parameters
from sparsest.estimators.cross_validated import CrossValidated, Judge
from sparsest.estimators.penalized import PenalizedFit
from sparsest.paths.api import check_alphas, warn_unconverged
from sparsest.paths.features import make_rules
from sparsest.paths.path import PathSolver
from sparsest.paths.path_result import PathResult, Stop
from sparsest.runtime.clock import Clock
from sparsest.selection.cross_validation import Validation
from sparsest.selection.penalized import BLENDS, PenaltyGrid, blended

# Default grids of the parameters other than alpha.
_L1_RATIOS = {"elastic_net": (0.1, 0.5, 0.9, 1.0), "mcp": (1.0,), "scad": (1.0,)}
_CONCAVITIES = {"mcp": (3.0,), "scad": (3.7,)}
# The tolerance of the gap is multiplied by this in folds, whose models are only compared with each other.  On a
# 900 × 5000 matrix this saves a quarter of the time and changes scores by at most 1e-3, a fraction of their errors.
_FOLD_TOL_FACTOR = 100.0
# Automatic alphas are extended at most this often, each time by half as many, if the smallest alpha is better than the
# one before it by this fraction of the standard error.
_EXTENSIONS, _NOTABLE = 2, 0.01


def _continued(alphas: Array) -> Array:
    """Log-spaced alphas, extended by half as many smaller ones."""
    ratio = alphas[-1] / alphas[-2]
    return np.append(alphas, alphas[-1] * ratio ** np.arange(1, alphas.size // 2 + 1))


def _best_end(grid: PenaltyGrid, validation: Validation, paths: list[PathResult]) -> str:
    """Whether the best alpha is the "smallest" or the "largest", and clearly better than the one beside it; "" if not.

    A largest alpha is mentioned only if it leaves penalised features in the model, a smallest one only if all alphas of
    its path were tried.
    """
    number, strengths, _ = grid.cells()
    best, families = validation.best(), grid.families()
    rows, path = np.flatnonzero(families == families[best]), paths[number[best]]
    if validation.n_missing or rows.size < 2:
        return ""
    order = rows[np.argsort(strengths[rows])]
    error = np.nan_to_num(validation.standard_error[best])

    def clearly_better_than(other: int) -> bool:
        return bool(validation.mean[best] - validation.mean[other] > _NOTABLE * error)

    if best == order[0] and path.stopped is Stop.COMPLETE and clearly_better_than(order[1]):
        return "smallest"
    largest = path.coefs[:, [int(np.argmax(path.alphas))]]
    shrunk = bool((grid.rules.factor[largest.indices] > 0.0).any())
    return "largest" if best == order[-1] and shrunk and clearly_better_than(order[-2]) else ""


@dataclass(eq=False, repr=False)
class _PenalizedCV(CrossValidated, PenalizedFit):
    """The parameters and the fit that regression and classification share.

    Parameters
    ----------
    penalty : {"l1", "elastic_net", "mcp", "scad"}
    alphas : penalty strengths to try: a list, or how many to choose from the data.  If the smallest automatic alpha is
        clearly the best, half as many smaller ones are tried, at most twice; after that a UserWarning is given, as it
        is if the best of given alphas is the smallest or the largest
    l1_ratios : shares of the l1 part to try, a list or one number; the rest is a ridge.  By default 0.1, 0.5, 0.9 and 1
        for the elastic net, and 1 for MCP and SCAD
    concavities : the g of MCP (3 by default) or SCAD (3.7) to try, a list or one number, relative to the curvature of
        the loss: see the notes of :func:`sparsest.penalty_path`
    relax : whether to also try blends of each model with the unpenalised refit on its support (the relaxed Lasso)
    selection : "best" for the best mean score, or "one_se" for the largest alpha within one standard error of it
    standardize : whether the penalty acts on columns of mean square 1.  Coefficients are for the data as given
    feature_groups : labels of the columns; those with the same label enter a model together, see
        :func:`sparsest.penalty_path`
    n_jobs : number of folds that are fitted in parallel, by joblib and its backend

    Attributes
    ----------
    alpha_, l1_ratio_, concavity_, blend_ : the chosen values; None if the penalty has no such parameter.  The blend is
        the share of the penalised model, 1 without ``relax``
    best_score_, best_index_ : mean score of the chosen model, and its row in ``cv_results_``
    at_an_end_ : the text of the warning about the end of a grid; empty without one
    cv_results_ : a row for each choice: ``param_alpha``, ``param_l1_ratio``, ``param_concavity``, ``param_blend``,
        ``mean_test_score``, ``se_test_score`` (standard error), ``rank_test_score``, ``split0_test_score`` …,
        ``mean_n_features``
    coef_, intercept_ : the linear model, for the data as given
    support_ : columns with a nonzero coefficient
    gap_ : relative duality gap of the penalised model, or None for MCP and SCAD
    kkt_violation_ : largest violation of the optimality conditions, relative to alpha
    n_iter_ : sweeps of coordinate descent
    result_ : the path of all data that contains the chosen model
    """

    penalty: str = "l1"
    _: KW_ONLY
    alphas: Any = 100
    l1_ratios: Any = None
    concavities: Any = None
    relax: bool = False
    cv: Any = None
    scoring: Any = None
    selection: str = "best"
    loss: str | Loss | None = None
    epsilon: float | None = None
    delta: float | None = None
    theta: float | None = None
    standardize: bool = True
    fit_intercept: bool = True
    penalty_factor: Any = None
    lower: Any = None
    upper: Any = None
    positive: bool = False
    feature_groups: Any = None
    tol: float = 1e-5
    n_jobs: int | None = None

    def _fit_linear(
        self, X: Any, y: Array, sample_weight: Any, offset: Any = None, exposure: Any = None, **routed: Any
    ) -> None:
        preparation = Clock(np.inf)
        data = make_data(
            X, y, loss=self._loss, fit_intercept=self.fit_intercept, standardize=self.standardize,
            sample_weight=sample_weight, offset=offset, exposure=exposure,
        )  # fmt: skip
        seconds = preparation.seconds()
        settings, relaxed = list(self._settings()), flag(self.relax, "relax")
        checked("selection", self.selection)
        rules = make_rules(
            data.p, self._column_names, penalty_factor=self.penalty_factor, lower=self.lower, upper=self.upper,
            positive=self.positive, feature_groups=self.feature_groups,
        )  # fmt: skip
        if relaxed and rules.lower is not None:
            raise ValueError("relax=True ignores limits in its refits: leave out lower, upper and positive")
        alphas, tol = check_alphas(self.alphas), checked("tol", self.tol)
        # Paths of folds with starts from the Lasso take up to 1.4 times as long, and predict no better.  Those of all
        # data are found in the same way, so that the scores are those of the models that are chosen.
        penalties = [path_penalty(self.penalty, **one) for one in settings]
        solvers = [PathSolver(penalty, alphas, tol=tol, with_lasso=False) for penalty in penalties]
        grid = PenaltyGrid((), rules, BLENDS if relaxed else (1.0,), min(_FOLD_TOL_FACTOR * tol, 0.1))
        judge = self._judge(data, X, y, sample_weight, **routed)
        grid, paths, validation = self._explore(data, grid, solvers, judge)
        self._warn_if_interrupted(validation)
        which, strengths, blends = grid.cells()
        index = validation.choose(self.selection, -strengths, grid.families())
        chosen = {name: [one.get(name) for one in settings] for name in ("l1_ratio", "concavity")}
        columns = {name: np.array(values)[which] for name, values in chosen.items() if values[0] is not None}
        self._keep_validation(validation, index, alpha=strengths, **columns, blend=blends)
        self.alpha_, self.blend_ = float(strengths[index]), float(blends[index])
        self.l1_ratio_, self.concavity_ = (values[which[index]] for values in chosen.values())
        path = paths[which[index]]
        self._refit(data, replace(path, seconds=seconds + path.seconds), solvers[0])

    def _explore(
        self, data: Data, grid: PenaltyGrid, solvers: list[PathSolver], judge: Judge
    ) -> tuple[PenaltyGrid, list[PathResult], Validation]:
        """Paths of all data and the scores of their models; automatic alphas are extended while the last is best."""
        automatic = isinstance(self.alphas, (int, np.integer))
        left = _EXTENSIONS if automatic else 0
        while True:
            paths = [solver.solve(data, grid.rules) for solver in solvers]
            solved = (path.alphas[path.solved] for path in paths)
            grid = replace(grid, paths=tuple(zip((one.penalty for one in solvers), solved, strict=True)))
            validation = judge(grid)
            end = _best_end(grid, validation, paths)
            if end != "smallest" or not left:
                break
            left -= 1
            solvers = [replace(one, alphas=_continued(path.alphas)) for one, path in zip(solvers, paths, strict=True)]
        told = "" if automatic and end == "largest" else end
        best = float(grid.cells()[1][validation.best()])
        way = "smaller" if told == "smallest" else "larger"
        self._tell_of_an_end(told and f"the best alpha, {best:.3g}, is the {told} one that was tried: try {way} alphas")
        return grid, paths, validation

    def _refit(self, data: Data, path: PathResult, solver: PathSolver) -> None:
        """Set the attributes from the chosen model of all data."""
        at = int(np.flatnonzero(path.alphas == self.alpha_)[0])
        names = None if self._column_names is None else list(self._column_names)
        self._keep_path(replace(path, loss=data.stated_loss, feature_names=names, classes=data.classes), at)
        if not path.converged[at]:
            warn_unconverged(path, solver)
        if self.blend_ < 1.0:
            support, coef, self.intercept_ = list(blended(data, path, (self.blend_,)))[at]
            self.coef_[support] = coef

    def _settings(self) -> Iterator[dict[str, Any]]:
        """The grid of parameters other than alpha, as arguments of a path."""
        grids: dict[str, list[float]] = {}
        for name, given, defaults in (
            ("l1_ratio", self.l1_ratios, _L1_RATIOS),
            ("concavity", self.concavities, _CONCAVITIES),
        ):
            if given is not None and self.penalty not in defaults:
                raise ValueError(f"penalty {self.penalty!r} has no parameter {name}: remove the values given for it")
            if self.penalty in defaults:
                values = defaults[self.penalty] if given is None else as_numbers(as_array(given, name), name)
                grids[name] = np.unique(values).tolist()
        yield from (dict(zip(grids, values, strict=True)) for values in product(*grids.values()))


@with_parameters(_PenalizedCV)
class PenalizedRegressorCV(_PenalizedCV, SparseRegressor):
    """A linear regression with an l1, elastic-net, MCP or SCAD penalty, chosen by cross-validation.

    Examples
    --------
    >>> import sparsest
    >>> data = sparsest.datasets.make_toeplitz(n=200, p=50, k=3, snr=5.0, rng=0)
    >>> model = sparsest.PenalizedRegressorCV("mcp").fit(data.X, data.y)
    >>> model.support_.tolist() == data.support.tolist()
    True
    """


@with_parameters(_PenalizedCV)
@dataclass(eq=False, repr=False, kw_only=True)
class PenalizedClassifierCV(_PenalizedCV, SparseClassifier):
    """A classifier of two classes with an l1, elastic-net, MCP or SCAD penalty, chosen by cross-validation.

    Examples
    --------
    >>> import sparsest
    >>> data = sparsest.datasets.load_breast_cancer()
    >>> model = sparsest.PenalizedClassifierCV("l1", alphas=20, selection="one_se").fit(data.X, data.y)
    >>> round(model.score(data.X, data.y), 2)
    0.98
    """

    class_weight: dict[Any, float] | str | None = None
