"""What is done with a data set: models of every size wanted, tuned on the validation rows, each as one row.

A row has the method, the number of features asked for (``k``) and found (``n_selected``), true and false ones (``tf``,
``ff``) where the truth is known, the errors on validation and test rows (mean squared error, or 1 - AUC), the seconds
of the fit with the tuning that was chosen, and for a best subset its gap, status and whether the relaxation was tight.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sparsest.api import penalty_path
from sparsest.arrays import Array
from sparsest.data import Data, make_data
from sparsest.metrics import false_features, support_of, true_features
from sparsest.path_result import PathResult
from sparsest.problem import Problem, pose
from sparsest.result import Result
from sparsest.settings import make_solver
from sparsest.studies.samples import Rows, Sample

Row = dict[str, Any]

# Values of γ after the best one that are tried before larger ones are given up.
_PATIENCE = 3


@dataclass(frozen=True)
class Plan:
    """What a procedure is to do.

    Attributes
    ----------
    ks : sizes of the models.
    timed_k : the size whose fit is timed by itself.
    exact_seconds : limit of one exact fit.
    relaxed_seconds : limit of one relaxation.
    iterations : limit of the sub-gradient method.
    n_gammas : how often γ is doubled at most, less one.
    n_mixings, n_concavities : values tried for the elastic net, and for MCP and SCAD.
    gamma_factor : for fits without tuning, γ as a multiple of ``p / (k n max‖x_i‖²)``.
    """

    ks: tuple[int, ...] = ()
    timed_k: int = 0
    exact_seconds: float = 60.0
    relaxed_seconds: float = 60.0
    iterations: int = 200
    n_gammas: int = 20
    n_mixings: int = 10
    n_concavities: int = 7
    gamma_factor: float = 0.0


class Procedure(NamedTuple):
    """A procedure, and roughly how many seconds it takes for n rows, p features and a plan."""

    run: Callable[[Sample, Plan], Iterator[Row]]
    estimate: Callable[[int, int, Plan], float]


def error_of(task: str, rows: Rows, prediction: Array) -> float:
    """The mean squared error, or 1 - AUC."""
    if task == "regression":
        return float(np.mean((rows.y - prediction) ** 2))
    from sklearn.metrics import roc_auc_score

    return 1.0 - float(roc_auc_score(rows.y > 0, prediction))


def _row(method: str, k: int, sample: Sample, coef: Array, intercept: float, seconds: float, **more: Any) -> Row:
    """One model as a row."""
    support = support_of(coef)
    part = coef[support]
    errors = {
        name: error_of(sample.task, rows, rows.X[:, support] @ part + intercept)
        for name, rows in (("validation", sample.validation), ("test", sample.test))
    }
    known: Row = {}
    if sample.support is not None:
        known = {"tf": true_features(support, sample.support), "ff": false_features(support, sample.support)}
    return {"method": method, "k": k, "n_selected": int(support.size), "seconds": seconds, **known, **errors, **more}


def base_gamma(sample: Sample, k: int) -> float:
    """``p / (k n max_i‖x_i‖²)``, where the doubling begins."""
    n, p = sample.train.X.shape
    return p / (k * n * float(np.einsum("ij,ij->i", sample.train.X, sample.train.X).max()))


def _best_subset_data(sample: Sample) -> Data:
    """Columns as they are, which is the paper's problem; the hinge loss for classes."""
    loss = "squared" if sample.task == "regression" else "hinge"
    return make_data(*sample.train, loss=loss, fit_intercept=sample.fit_intercept, standardize=False)


def _tuned(
    sample: Sample, data: Data, k: int, first: float, solver: Any, plan: Plan
) -> tuple[Problem, Result, int, float]:
    """Double γ from ``first``, each fit starting from the one before; return the best, its number and its error."""
    best: tuple[Problem, Result, int, float] | None = None
    result: Result | None = None
    for doubling in range(plan.n_gammas):
        problem = pose(data, k, gamma=first * 2.0**doubling)
        result = solver.solve(problem, result)
        prediction = sample.validation.X[:, result.support] @ result.coef[result.support] + result.intercept
        error = error_of(sample.task, sample.validation, prediction)
        if best is None or error < best[3]:
            best = problem, result, doubling, error
        elif doubling - best[2] >= _PATIENCE:
            break
    assert best is not None
    return best


def _proved(result: Result) -> Row:
    return {"gap": result.gap, "status": result.status.name, "objective": result.objective}


def cardinality(sample: Sample, plan: Plan) -> Iterator[Row]:
    """The relaxation, tuned; and from its answer the exact search, at the same γ."""
    data = _best_subset_data(sample)
    relaxation = make_solver("relaxation", None, time_limit=plan.relaxed_seconds, gap_tol=1e-4)
    exact = make_solver("tree", {"proof": False}, time_limit=plan.exact_seconds, gap_tol=1e-4, n_jobs=1)
    for k in plan.ks:
        first = base_gamma(sample, k)
        problem, relaxed, doubling, _ = _tuned(sample, data, k, first, relaxation, plan)
        tuning = {"gamma": problem.gamma, "doubling": doubling}
        tight = bool(relaxed.trace["relaxation"]["tight"])
        yield _row(
            "relaxation", k, sample, relaxed.coef, relaxed.intercept, relaxed.seconds, tight=tight,
            **tuning, **_proved(relaxed),
        )  # fmt: skip
        found = exact.solve(problem, relaxed)
        seconds = relaxed.seconds + found.seconds
        yield _row("exact", k, sample, found.coef, found.intercept, seconds, tight=tight, **tuning, **_proved(found))


def subgradient(sample: Sample, plan: Plan) -> Iterator[Row]:
    """The published dual sub-gradient method, tuned."""
    data = _best_subset_data(sample)
    options = {"max_iterations": plan.iterations}
    solver = make_solver("subgradient", options, time_limit=plan.relaxed_seconds, gap_tol=1e-4)
    for k in plan.ks:
        problem, found, doubling, _ = _tuned(sample, data, k, base_gamma(sample, k), solver, plan)
        more = {"gamma": problem.gamma, "doubling": doubling, **_proved(found)}
        yield _row("subgradient", k, sample, found.coef, found.intercept, found.seconds, **more)


def forward(sample: Sample, plan: Plan) -> Iterator[Row]:
    """Forward selection in blocks and swaps, without a bound worth the name, tuned."""
    data = _best_subset_data(sample)
    solver = make_solver("local", None, time_limit=plan.relaxed_seconds, gap_tol=1e-4)
    for k in plan.ks:
        problem, found, doubling, _ = _tuned(sample, data, k, base_gamma(sample, k), solver, plan)
        more = {"gamma": problem.gamma, "doubling": doubling}
        yield _row("forward", k, sample, found.coef, found.intercept, found.seconds, **more)


def _path(sample: Sample, penalty: str, most: int, **shape: Any) -> PathResult:
    """A path that ends at so many features; points that do not converge in time count as they are."""
    loss = "squared" if sample.task == "regression" else "logistic"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return penalty_path(
            *sample.train, penalty, loss=loss, max_features=most, fit_intercept=sample.fit_intercept,
            standardize=False, **shape,
        )  # fmt: skip


def _penalised(method: str, penalty: str, shapes: Callable[[Plan], Sequence[dict[str, float]]]) -> Procedure:
    """Paths for every mixing or concavity; each size is the last point with at most so many features."""

    def run(sample: Sample, plan: Plan) -> Iterator[Row]:
        tried = []
        for shape in shapes(plan):
            path = _path(sample, penalty, max(plan.ks), **shape)
            n_solved = int(path.solved.sum())
            predictions = np.asarray(sample.validation.X @ path.coefs[:, :n_solved]) + path.intercepts[:n_solved]
            errors = [error_of(sample.task, sample.validation, prediction) for prediction in predictions.T]
            tried.append((shape, path, errors))
        best_shape: dict[str, float] = {}
        for k in plan.ks:
            candidates = []
            for shape, path, errors in tried:
                points = np.flatnonzero(path.n_nonzero[: len(errors)] <= k)
                if points.size:
                    candidates.append((errors[points[-1]], shape, path, int(points[-1])))
            if not candidates:
                continue
            _, shape, path, point = min(candidates, key=lambda candidate: candidate[0])
            if k == plan.timed_k:
                best_shape = shape
            coef = path.coefs[:, [point]].toarray()[:, 0]
            yield _row(
                method, k, sample, coef, float(path.intercepts[point]), path.seconds,
                alpha=float(path.alphas[point]), **shape,
            )  # fmt: skip
        if plan.timed_k:
            began = time.perf_counter()
            _path(sample, penalty, plan.timed_k, **best_shape)
            yield {"method": f"{method} timed", "k": plan.timed_k, "seconds": time.perf_counter() - began}

    def estimate(n: int, p: int, plan: Plan) -> float:
        return len(shapes(plan)) * (2e-8 * n * p * 100 / 20 + 0.1)

    return Procedure(run, estimate)


def _mixings(plan: Plan) -> list[dict[str, float]]:
    return [{"l1_ratio": float(r)} for r in np.linspace(1.0, 0.1, plan.n_mixings)]


def _concavities(low: float) -> Callable[[Plan], list[dict[str, float]]]:
    return lambda plan: [{"concavity": float(g)} for g in np.geomspace(low, 4.5, plan.n_concavities)]


def lasso(sample: Sample, plan: Plan) -> Iterator[Row]:
    """The Lasso path that ends at the timed size: what other times are compared with."""
    began = time.perf_counter()
    path = _path(sample, "l1", plan.timed_k)
    seconds = time.perf_counter() - began
    last = max(int(path.solved.sum()) - 1, 0)
    coef = path.coefs[:, [last]].toarray()[:, 0]
    yield _row("lasso", plan.timed_k, sample, coef, float(path.intercepts[last]), seconds)


def abess(sample: Sample, plan: Plan) -> Iterator[Row]:
    """The package abess, an extra, for every size; it has no ridge to tune."""
    from abess import LinearRegression, LogisticRegression

    model = LinearRegression if sample.task == "regression" else LogisticRegression
    y = sample.train.y if sample.task == "regression" else (sample.train.y > 0).astype(int)
    for k in plan.ks:
        began = time.perf_counter()
        fitted = model(support_size=k, fit_intercept=sample.fit_intercept).fit(sample.train.X, y)
        seconds = time.perf_counter() - began
        intercept = float(np.ravel(fitted.intercept_)[0]) if sample.fit_intercept else 0.0
        yield _row("abess", k, sample, np.ravel(fitted.coef_), intercept, seconds)


def _untuned(method: str, **options: Any) -> Procedure:
    """One fit of the timed size at a given γ."""

    def run(sample: Sample, plan: Plan) -> Iterator[Row]:
        problem = pose(
            _best_subset_data(sample), plan.timed_k, gamma=plan.gamma_factor * base_gamma(sample, plan.timed_k)
        )
        limit = plan.exact_seconds if method == "tree" else plan.relaxed_seconds
        further = {"max_iterations": plan.iterations} if method == "subgradient" else options
        found = make_solver(method, further, time_limit=limit, gap_tol=1e-4).solve(problem)
        name = "exact" if method == "tree" else method
        more = {"gamma": problem.gamma, "n_gamma": problem.gamma * problem.n, **_proved(found)}
        yield _row(name, plan.timed_k, sample, found.coef, found.intercept, found.seconds, **more)

    def estimate(n: int, p: int, plan: Plan) -> float:
        return 0.5 * plan.exact_seconds if method == "tree" else 0.5 + 4e-9 * n * p * 20

    return Procedure(run, estimate)


def _estimate_cardinality(n: int, p: int, plan: Plan) -> float:
    return len(plan.ks) * (plan.n_gammas * (0.02 + 3e-8 * n * p) + 0.8 * plan.exact_seconds)


def _estimate_subgradient(n: int, p: int, plan: Plan) -> float:
    return len(plan.ks) * plan.n_gammas * plan.iterations * (1e-4 + 2e-9 * n * p)


def _estimate_local(n: int, p: int, plan: Plan) -> float:
    return len(plan.ks) * plan.n_gammas * (0.02 + 2e-8 * n * p)


PROCEDURES = {
    "cardinality": Procedure(cardinality, _estimate_cardinality),
    "subgradient": Procedure(subgradient, _estimate_subgradient),
    "forward": Procedure(forward, _estimate_local),
    "elastic_net": _penalised("elastic_net", "elastic_net", _mixings),
    "mcp": _penalised("mcp", "mcp", _concavities(2.0)),
    "scad": _penalised("scad", "scad", _concavities(3.0)),
    "lasso": Procedure(lasso, lambda n, p, plan: 0.1 + 1e-7 * n * p),
    "abess": Procedure(abess, _estimate_local),
    "exact_once": _untuned("tree", proof=False),
    "relaxation_once": _untuned("relaxation"),
    "subgradient_once": _untuned("subgradient"),
}
