"""How stable a choice is: the section of a report about a bootstrap."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from sparsest.results.markup import bar, table
from sparsest.selection.bootstrap_result import BootstrapResult

_SHOWN, _SHOWN_MODELS = 20, 5


class Stability(NamedTuple):
    """Sentences, and tables of features and of models."""

    sentences: list[str]
    features: Markup
    models: Markup


def describe(found: BootstrapResult) -> Stability:
    """The selections of the resamples, compared with that on all rows."""
    low, median, high = found.percentiles()
    own = tuple(found.support.tolist())
    rows = []
    for j in found.used[:_SHOWN].tolist():
        share = Markup('<span class="whole">{:.0f} % {}</span>').format(
            100 * found.inclusion[j], bar(found.inclusion[j])
        )
        compared = _number(found.rmsd_ratio[j], ".2f"), _number(100 * found.relative_conditional_bias[j], "+.0f", " %")
        spread = f"{median[j]:.4g}", f"{low[j]:.4g} … {high[j]:.4g}"
        rows.append([found.name(j), "yes" if j in own else "", share, *spread, *compared])
    heads = ["feature", "in the model", "chosen in", "median coefficient", "95 % of resamples", "RMSD ratio", "bias"]
    models = [
        [", ".join(found.name(j) for j in one.support) or "(none)", f"{100 * one.frequency:.1f} %"]
        for one in found.models[:_SHOWN_MODELS]
    ]
    sentences = [
        f"The whole selection was repeated on {found.n_resamples} resamples of the rows. In "
        f"{100 * found.model_frequency:.1f} % of them exactly the features of this model were chosen; there were "
        f"{len(found.models)} different choices.",
        "Coefficients are zero where a feature was not chosen. The RMSD ratio compares their scatter with the standard "
        "error of a model without selection: above 1, the selection adds to the scatter. The bias is the relative "
        "difference from that model's coefficient where the feature was chosen. Both include the shrinkage by a ridge.",
    ]
    return Stability(
        sentences,
        table(heads, rows, right=(3, 4, 5, 6), names=(0,)),
        table(["chosen together", "share of the resamples"], models, right=(1,), names=(0,)),
    )


def _number(value: float, form: str, unit: str = "") -> str:
    return "–" if not np.isfinite(value) else f"{value:{form}}{unit}"
