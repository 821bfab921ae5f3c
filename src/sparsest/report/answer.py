"""The chosen features: their coefficients in units of the data, and how much each adds."""

from __future__ import annotations

import math

import numpy as np
from markupsafe import Markup

from sparsest.results.markup import bar, table
from sparsest.results.result import Result
from sparsest.selection.diagnostics import Diagnosis


def feature_table(result: Result, found: Diagnosis, target: str) -> Markup:
    """One row for each feature or group, those that add most first; columns of a group follow the row of the group."""
    logistic = result.statement.loss == "logistic"
    coef = result.coef[result.support]
    adds = np.maximum(found.explained - found.without, 0.0)
    heads = ["feature", "adds", "coefficient per unit", "standard deviation"]
    rows: list[list[str]] = []
    for term, columns in sorted(_columns_of_terms(result).items(), key=lambda entry: -adds[entry[1][0]]):
        added = adds[columns[0]]
        share = Markup('<span class="whole">{:.2f} % {}</span>').format(
            100.0 * added, bar(added / max(adds.max(), 1e-300))
        )
        alone = len(columns) == 1
        rows += [] if alone else [[term, share, "", "", ""]]
        for j in columns:
            step = coef[j] * found.deviations[j]
            effect = f"× {math.exp(min(step, 700.0)):.3g}" if logistic else f"{step:+.4g}"
            name = result.names[j] if alone else f"– {result.names[j]}"
            rows.append([name, share if alone else "", f"{coef[j]:+.5g}", f"{found.deviations[j]:.4g}", effect])
    rows.append(["(intercept)", "", f"{result.intercept:+.5g}", "", ""])
    return table([*heads, f"{_effect(result, target)} per standard deviation"], rows, right=(2, 3, 4), names=(0,))


def _columns_of_terms(result: Result) -> dict[str, list[int]]:
    """The positions in the support of the columns of each group; without groups, every column is a group."""
    groups = result.feature_groups
    found: dict[str, list[int]] = {}
    for at, j in enumerate(result.support.tolist()):
        found.setdefault(str(j if groups is None else groups[j]), []).append(at)
    return found


def _effect(result: Result, target: str) -> str:
    if result.statement.loss == "logistic" and result.classes is not None:
        return f"odds of “{result.classes[1]}”"
    if result.loss.log_link:
        return f"change of log {target}"
    return f"change of {target}" if result.classes is None else "change of the score"


def explanation(result: Result, found: Diagnosis, target: str) -> str:
    """What the columns of the table mean."""
    if result.loss.log_link:
        unit = f"A coefficient is the change of the logarithm of the expected {target} for one unit of the feature"
    elif result.classes is None:
        unit = f"A coefficient is the change of the predicted {target}, in its own units, for one unit of the feature"
    elif result.statement.loss == "logistic":
        unit = f"A coefficient is the change of the log-odds of “{result.classes[1]}” for one unit of the feature"
    else:
        unit = f"A coefficient is the change of the score for “{result.classes[1]}” for one unit of the feature"
    return (
        f"{unit}, with the others held fixed. The model explains {100 * found.explained:.1f} % of the misfit of the "
        "model without features; “adds” is the part of this percentage that is lost if the feature"
        f"{'' if result.feature_groups is None else ', or the whole group of columns,'} is left out and the others are "
        "fitted again."
    )
