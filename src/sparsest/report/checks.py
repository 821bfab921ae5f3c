"""Diagnostics of a report: correlations, held-out predictions, influential rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

from sparsest.core.arrays import Array
from sparsest.core.data import encode_labels
from sparsest.report import figures
from sparsest.results.markup import table
from sparsest.results.result import Result, probabilities
from sparsest.selection.diagnostics import Diagnosis

_MOST_PAIRS, _MOST_ROWS = 12, 8
_WORTH_TELLING = 0.3
_BINS = 8


class HeldOut(NamedTuple):
    """Charts of held-out predictions, and the score in a sentence."""

    sentence: str
    charts: list[Markup]


def correlated_pairs(result: Result, found: Diagnosis) -> Markup | None:
    """The chosen features that correlate most with each other; None if none do."""
    m = result.support.size
    pairs = [(float(found.correlations[i, j]), i, j) for i in range(m) for j in range(i)]
    pairs = [pair for pair in sorted(pairs, key=lambda pair: -abs(pair[0])) if abs(pair[0]) >= _WORTH_TELLING]
    if not pairs:
        return None
    rows = [[result.names[j], result.names[i], f"{value:+.2f}"] for value, i, j in pairs[:_MOST_PAIRS]]
    return table(["feature", "and", "correlation"], rows, right=(2,), names=(0, 1))


def substitute_table(result: Result, found: Diagnosis) -> Markup:
    """For every feature, the columns outside the model that correlate most with it."""
    names = result.feature_names
    rows = []
    for name, near in zip(result.names, found.substitutes, strict=True):
        like = [f"{one.column if names is None else names[one.column]} ({one.correlation:+.2f})" for one in near]
        rows.append([name, ", ".join(like) or "–"])
    return table(["chosen", "most correlated features outside the model"], rows, names=(0, 1))


def held_out_part(result: Result, scores: Array, y: Any, weights: Array | None, target: str) -> HeldOut:
    """Predictions for rows that the model had not seen."""
    from sklearn.metrics import r2_score

    if result.classes is not None:
        return _classes_held_out(result, scores, encode_labels(y)[0], weights)
    observed = np.asarray(y, dtype=np.float64)
    r2 = r2_score(observed, scores, sample_weight=weights)
    error = float(np.sqrt(np.average((observed - scores) ** 2, weights=weights)))
    share = f"it explains {100 * r2:.1f} % of the variance of {target} (R²)"
    if r2 <= 0.0:
        share = f"it predicts {target} no better than its mean would (R² = {r2:.2f})"
    charts = [
        figures.predicted_and_observed(scores, observed, target),
        figures.residuals(scores, observed, target),
    ]
    return HeldOut(f"On rows that the model had not seen, {share}, with a typical error of {error:.4g}.", charts)


def _classes_held_out(result: Result, scores: Array, y: Array, weights: Array | None) -> HeldOut:
    from sklearn.calibration import calibration_curve
    from sklearn.metrics import roc_auc_score, roc_curve

    positive = y > 0
    area = roc_auc_score(positive, scores, sample_weight=weights)
    right = float(np.average((scores > 0) == positive, weights=weights))
    false_positives, true_positives, _ = roc_curve(positive, scores, sample_weight=weights)
    charts = [figures.roc(false_positives, true_positives)]
    if result.statement.loss == "logistic":
        observed, predicted = calibration_curve(
            positive, probabilities(scores)[:, 1], n_bins=_BINS, strategy="quantile"
        )
        charts.append(figures.calibration(predicted, observed))
    sentence = (
        f"On rows that the model had not seen, {100 * right:.1f} % of the labels are right, and {100 * area:.1f} % of "
        "the pairs of rows with different labels are ranked correctly (area under the ROC curve)."
    )
    return HeldOut(sentence, charts)


def influential_rows(result: Result, found: Diagnosis, ids: Sequence[str] | None) -> Markup | None:
    """The most influential rows above the usual threshold; None if there are none, or the loss has no curvature."""
    if found.influence is None:
        return None
    # Four times the average of a well-behaved fit is the usual threshold.
    limit = 4.0 / max(found.influence.size, 1)
    order = np.argsort(-found.influence, kind="stable")[:_MOST_ROWS]
    rows = [
        [str(i + 1) if ids is None else str(ids[i]), f"{found.influence[i]:.3g}", f"{found.influence[i] / limit:.1f} ×"]
        for i in order.tolist()
        if found.influence[i] > limit
    ]
    heads = ["row", "influence (Cook's distance)", "over the usual threshold 4/n"]
    return table(heads, rows, right=(1, 2)) if rows else None
