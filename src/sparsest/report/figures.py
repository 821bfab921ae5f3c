"""The charts of the reports."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from sparsest.core.arrays import Array
from sparsest.paths.path_result import PathResult
from sparsest.results.markup import Series, chart, paths_chart
from sparsest.runtime.progress import Record

# The chart of a search shows at least this share of the misfit, so that negligible gaps do not look large.
_LEAST_HEIGHT = 0.05


def bound_and_incumbent(record: Record) -> Markup:
    """The progress of a search: the best model found, and the lower bound."""
    seconds, objective, bound = (np.array(part, dtype=float) for part in zip(*record.points, strict=True))
    lines = [Series(seconds, objective, "best model found", "step"), Series(seconds, bound, "proved limit", "step")]
    return chart(lines, "seconds", "misfit (less is better)", least_height=_LEAST_HEIGHT * abs(objective[-1]))


def path_lines(path: PathResult, names: Sequence[str], alpha: float | None = None) -> Markup:
    """Coefficients over the penalty; the largest are labelled, and a line marks the chosen penalty."""
    used, known = np.unique(path.coefs.indices), path.solved
    lines = path.coefs[used].toarray()[:, known]
    return paths_chart(path.alphas[known], lines, [names[j] for j in used], alpha)


def features_over_penalty(path: PathResult, alpha: float | None = None) -> Markup:
    """How many features each model has."""
    lines = [Series(path.alphas[path.solved], path.n_nonzero[path.solved].astype(float), "", "step")]
    return chart(lines, "penalty (stronger to the right)", "number of features", log_x=True, upright=alpha)


def predicted_and_observed(predicted: Array, observed: Array, target: str) -> Markup:
    """Observed values over held-out predictions."""
    return chart([Series(predicted, observed, "", "dots")], f"predicted {target}", f"observed {target}", diagonal=True)


def residuals(predicted: Array, observed: Array, target: str) -> Markup:
    """Held-out errors over predictions."""
    return chart([Series(predicted, observed - predicted, "", "dots")], f"predicted {target}", "error", level=0.0)


def roc(false_positives: Array, true_positives: Array) -> Markup:
    """The receiver operating characteristic."""
    lines = [Series(false_positives, true_positives)]
    return chart(lines, "false alarms (share of negatives)", "found (share of positives)", diagonal=True)


def calibration(predicted: Array, observed: Array) -> Markup:
    """Calibration: observed shares over predicted probabilities."""
    lines = [Series(predicted, observed), Series(predicted, observed, "", "dots", like=0)]
    return chart(lines, "predicted probability", "observed share", diagonal=True)
