"""Elastic net, MCP, SCAD and Lasso: each size is the last point of a path with at most that many features."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sparsest.paths.api import penalty_path
from sparsest.paths.path_result import PathResult
from sparsest.studies.procedures.base import Plan, Procedure, Row, error_of, row_of, timed, timed_row
from sparsest.studies.samples import Sample

Shape = dict[str, float]

# Paths end at this multiple of the true number of features: in the paper the elastic net chose five times as many.
_FALSE_FEATURES = 12


def path_of(sample: Sample, penalty: str, most: int, **shape: Any) -> PathResult:
    """A path that ends at ``most`` features; points that do not converge are used all the same."""
    loss = "squared" if sample.task == "regression" else "logistic"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return penalty_path(
            *sample.train, penalty, loss=loss, max_features=most, fit_intercept=sample.fit_intercept,
            standardize=False, **shape,
        )  # fmt: skip


def _model(method: str, k: int, sample: Sample, path: PathResult, point: int, **more: Any) -> Row:
    coef = path.coefs[:, [point]].toarray()[:, 0]
    return row_of(method, k, sample, coef, float(path.intercepts[point]), alpha=float(path.alphas[point]), **more)


class _ScoredPath(NamedTuple):
    """A path, its shape, and the error of each of its points on validation rows."""

    shape: Shape
    path: PathResult
    errors: list[float]

    def last(self, k: int) -> int | None:
        """The last point with at most k features."""
        points = np.flatnonzero(self.path.n_nonzero[: len(self.errors)] <= k)
        return int(points[-1]) if points.size else None


def _scored_path(sample: Sample, penalty: str, most: int, shape: Shape) -> _ScoredPath:
    path = path_of(sample, penalty, most, **shape)
    n_solved = int(path.solved.sum())
    predictions = np.asarray(sample.validation.X @ path.coefs[:, :n_solved]) + path.intercepts[:n_solved]
    errors = [error_of(sample.task, sample.validation, prediction) for prediction in predictions.T]
    return _ScoredPath(shape, path, errors)


def _most_features(sample: Sample, plan: Plan) -> int:
    """The number of features at which paths end: a multiple of the true number, or p if the truth is not known."""
    if sample.support is None:
        return sample.train.X.shape[1]
    return max(*plan.ks, plan.timed_k, _FALSE_FEATURES * sample.support.size)


def _penalised(method: str, penalty: str, shapes: Callable[[Plan], Sequence[Shape]]) -> Procedure:
    """Paths for every mixing or concavity; for each size the model with the smallest error on validation rows.

    The model with the smallest error among all sizes is marked ``free``: these methods choose a penalty strength, which
    determines the number of features.
    """

    def run(sample: Sample, plan: Plan) -> Iterator[Row]:
        paths = [_scored_path(sample, penalty, _most_features(sample, plan), shape) for shape in shapes(plan)]
        best_shape = paths[0].shape
        for k in plan.ks:
            candidates = [(one.errors[point], one, point) for one in paths if (point := one.last(k)) is not None]
            if not candidates:
                continue
            _, best, point = min(candidates, key=lambda candidate: candidate[0])
            if k == plan.timed_k:
                best_shape = best.shape
            yield _model(method, k, sample, best.path, point, **best.shape)
        _, best, point = min(
            ((min(one.errors), one, int(np.argmin(one.errors))) for one in paths), key=lambda candidate: candidate[0]
        )
        size = int(best.path.n_nonzero[point])
        yield _model(method, size, sample, best.path, point, free=True, **best.shape)
        yield timed_row(method, plan.timed_k, timed(lambda: path_of(sample, penalty, plan.timed_k, **best_shape))[1])

    def estimate(n: int, p: int, plan: Plan) -> float:
        return len(shapes(plan)) * (2e-8 * n * p * 100 / 20 + 0.1)

    return Procedure(run, estimate)


def _mixings(plan: Plan) -> list[Shape]:
    return [{"l1_ratio": float(r)} for r in np.linspace(1.0, 0.1, plan.n_mixings)]


def _concavities(low: float) -> Callable[[Plan], list[Shape]]:
    return lambda plan: [{"concavity": float(g)} for g in np.geomspace(low, 4.5, plan.n_concavities)]


def _reference(sample: Sample, plan: Plan) -> Iterator[Row]:
    """The Lasso path that ends at the timed size, to which other times are compared."""
    path, seconds, _ = timed(lambda: path_of(sample, "l1", plan.timed_k))
    last = max(int(path.solved.sum()) - 1, 0)
    yield _model("reference", plan.timed_k, sample, path, last, seconds=seconds)


PROCEDURES = (
    ("elastic_net", _penalised("elastic_net", "elastic_net", _mixings)),
    ("mcp", _penalised("mcp", "mcp", _concavities(2.0))),
    ("scad", _penalised("scad", "scad", _concavities(3.0))),
    ("lasso", _penalised("lasso", "l1", lambda plan: [{}])),
    ("reference", Procedure(_reference, lambda n, p, plan: 0.1 + 1e-7 * n * p)),
)
