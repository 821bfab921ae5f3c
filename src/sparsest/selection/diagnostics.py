"""Diagnostics of a model: contribution of each feature, substitutes, held-out predictions, influential rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sparsest.core.arrays import Array, Indices
from sparsest.core.data import encode_labels, make_data
from sparsest.core.designs import as_design
from sparsest.core.leverages import squared_lengths
from sparsest.core.losses import PiecewiseLinear
from sparsest.core.problem import Problem
from sparsest.results.result import Result
from sparsest.subset.fits.support import fit_support
from sparsest.subset.solvers import make_solver
from sparsest.subset.task import posed_again, problem_of

_SUBSTITUTES = 3
_FOLDS = 5


class Substitute(NamedTuple):
    """A column that was not chosen, and its correlation with one that was."""

    column: int
    correlation: float


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What :func:`diagnose` finds about a result with m features.

    Attributes
    ----------
    explained : share of the constant model's objective that the model explains; close to R² for the squared loss
    without : the same for the refit without each feature (and without the other features of its group)
    deviations : standard deviations of the chosen columns
    correlations : the m × m correlation matrix of the chosen columns
    substitutes : for every feature, the columns outside the model that correlate most with it
    influence : Cook's distance of every row, by one Newton step; None for losses without curvature
    """

    explained: float
    without: Array
    deviations: Array
    correlations: Array
    substitutes: list[list[Substitute]]
    influence: Array | None


def diagnose(result: Result, X: Any, y: Any, *, sample_weight: Any = None, **added: Any) -> Diagnosis:
    """Compute diagnostics of a model from its data.

    Parameters
    ----------
    result : what ``best_subset`` returned
    X, y, sample_weight : the data of the fit, which the result does not hold
    **added : their ``offset`` and ``exposure``
    """
    problem = problem_of(result, X, y, sample_weight=sample_weight, **added)
    return diagnose_on(result, problem, sample_weight)


def diagnose_on(result: Result, problem: Problem, sample_weight: Any = None) -> Diagnosis:
    """The same for data that are already prepared."""
    chosen = result.support
    empty = fit_support(problem, np.empty(0, dtype=np.intp)).primal
    full = fit_support(problem, chosen).primal
    units = np.array([result.statement.units_of([j])[0] for j in chosen.tolist()])
    values = {unit: fit_support(problem, chosen[units != unit]).primal for unit in set(units.tolist())}
    weights, columns = problem.data.weights, problem.data.design.columns(chosen)
    products = problem.data.design.tdot(weights[:, None] * columns)
    norms = problem.data.column_norms
    with np.errstate(divide="ignore", invalid="ignore"):
        correlations = np.nan_to_num(products / norms[:, None] / norms[chosen])
    used = np.ones(problem.n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    return Diagnosis(
        explained=_share(full, empty),
        without=np.array([_share(values[unit], empty) for unit in units.tolist()]),
        deviations=problem.data.deviations(chosen),
        correlations=correlations[chosen],
        substitutes=[_substitutes(correlations[:, j], chosen) for j in range(chosen.size)],
        influence=_influence(problem, chosen, used),
    )


def _share(value: float, of: float) -> float:
    return 1.0 - value / of if of > 0.0 else 0.0


def _substitutes(correlations: Array, chosen: Indices) -> list[Substitute]:
    size = np.abs(correlations)
    size[chosen] = -1.0
    best = np.argsort(-size, kind="stable")[:_SUBSTITUTES]
    return [Substitute(int(j), float(correlations[j])) for j in best if size[j] > 0.0]


def _influence(problem: Problem, chosen: Indices, used: Array) -> Array | None:
    """``(ωℓ')² z'H⁻¹z / (1-h)²`` divided by the number of coefficients and the noise, with ``h = ωℓ'' z'H⁻¹z``.

    z is a row of the chosen columns with the intercept's 1, H the Hessian of the objective.  For the squared loss
    without a ridge this is Cook's distance; the noise is 1 for losses of classes.
    """
    data = problem.data
    if isinstance(data.loss, PiecewiseLinear):
        return None
    fit = fit_support(problem, chosen)
    columns = data.design.columns(chosen)
    margin = columns @ fit.w + fit.b
    slope = data.weights * data.loss.derivative(data.y, margin)
    curvature = data.weights * data.loss.second_derivative(data.y, margin)
    lengths = squared_lengths(columns, curvature, problem.ridge, data.fit_intercept)
    size = chosen.size + data.fit_intercept
    free = max(data.n - size, 1)
    noise = (
        1.0 if data.loss.classification or data.loss.log_link else float(data.weights @ (data.y - margin) ** 2) / free
    )
    inside = np.clip(1.0 - curvature * lengths, 1e-12, None)
    distance = slope**2 * lengths / inside**2 / max(size, 1) / max(noise, np.finfo(float).tiny)
    every = np.zeros(used.size)
    every[np.flatnonzero(used)] = distance
    return every


def held_out(result: Result, X: Any, y: Any, **rows: Any) -> Array | None:
    """Predict every row (scores for classes) by a model selected and fitted without it.

    The rows are divided into five parts.  For each part, features are selected on the other four by the method "local".
    None if there are too few rows, or too few of one class.
    """
    from sparsest.selection.folds import random_folds

    about, design, target = result.statement, as_design(X), np.asarray(y)
    smallest = design.shape[0]
    if result.classes is not None:
        smallest = int(np.unique(encode_labels(target)[0], return_counts=True)[1].min())
    if smallest < 2 * _FOLDS:
        return None
    folds = random_folds(_FOLDS, classification=result.classes is not None)
    scores = np.empty(design.shape[0])
    given = {name: np.asarray(values) for name, values in rows.items() if values is not None}
    for train, test in folds.split(np.zeros((target.size, 1)), target):
        data = make_data(
            design.rows(train), target[train], loss=result.loss, fit_intercept=about.fit_intercept,
            standardize=about.standardize, **{name: values[train] for name, values in given.items()},
        )  # fmt: skip
        model = make_solver("local").solve(posed_again(about, data))
        added = {name: values[test] for name, values in given.items() if name != "sample_weight"}
        predict = model.predict if result.classes is None else model.decision_function
        scores[test] = predict(design.rows(test), **added)
    return scores
