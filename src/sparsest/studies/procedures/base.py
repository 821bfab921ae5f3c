"""Parts that all procedures share: the plan, the row of a model, and the measurement of times."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from sparsest.core.arrays import Array
from sparsest.metrics import false_features, support_of, true_features
from sparsest.studies.samples import Rows, Sample

Row = dict[str, Any]
T = TypeVar("T")

# Fits that take fewer seconds are repeated up to this many times, and the shortest time counts: a first fit also loads
# compiled code, and times of a few milliseconds vary.
_SHORT, _REPEATS = 1.0, 3


@dataclass(frozen=True)
class Plan:
    """The settings of a procedure.

    Attributes
    ----------
    ks : sizes of the models.
    timed_k : the size whose fit is timed.
    exact_seconds : time limit of one exact fit, in CPU seconds.
    relaxed_seconds : time limit of one relaxation.
    iterations : largest number of iterations of the sub-gradient method.
    n_gammas : largest number of values of γ, each twice the one before.
    n_mixings, n_concavities : numbers of values to try for the elastic net, and for MCP and SCAD.
    gamma_factor : in fits without tuning, γ as a multiple of ``p / (k n max‖x_i‖²)`` with the true k.
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
    """A procedure, and an estimate of its seconds for n rows, p features and a plan."""

    run: Callable[[Sample, Plan], Iterator[Row]]
    estimate: Callable[[int, int, Plan], float]


def error_of(task: str, rows: Rows, prediction: Array) -> float:
    """The mean squared error, or 1 - AUC."""
    if task == "regression":
        return float(np.mean((rows.y - prediction) ** 2))
    from sklearn.metrics import roc_auc_score

    return 1.0 - float(roc_auc_score(rows.y > 0, prediction))


def row_of(method: str, k: int, sample: Sample, coef: Array, intercept: float, **more: Any) -> Row:
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
    return {"method": method, "k": k, "n_selected": int(support.size), **known, **errors, **more}


def base_gamma(sample: Sample, k: int) -> float:
    """``p / (k n max_i‖x_i‖²)``, the first value of γ that is tried."""
    n, p = sample.train.X.shape
    return p / (k * n * float(np.einsum("ij,ij->i", sample.train.X, sample.train.X).max()))


class Timed(NamedTuple, Generic[T]):
    """The result of a fit, its CPU seconds, and its elapsed seconds, waiting included."""

    found: T
    seconds: float
    elapsed: float


def timed(fit: Callable[[], T]) -> Timed[T]:
    """Run and time a fit; short fits are repeated, and the shortest times count."""
    best: Timed[T] | None = None
    for _ in range(_REPEATS):
        began = time.process_time(), time.perf_counter()
        found = fit()
        seconds, elapsed = time.process_time() - began[0], time.perf_counter() - began[1]
        best = Timed(found, *(seconds, elapsed) if best is None else (min(best[1], seconds), min(best[2], elapsed)))
        if best.seconds >= _SHORT:
            break
    assert best is not None
    return best


def timed_row(method: str, k: int, seconds: float) -> Row:
    """The time of a fit of the timed size without a starting point, with the chosen tuning parameters."""
    return {"method": f"{method} timed", "k": k, "seconds": seconds}
