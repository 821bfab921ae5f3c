"""Plots as display objects, made from results, estimators or plain arrays.

Every display has ``plot(ax=None)``, which returns it with ``figure_`` and ``ax_``; the first plot loads matplotlib.
"""

from sparsest.plots.paths import CoefficientPathDisplay
from sparsest.plots.ranges import ImportanceDisplay
from sparsest.plots.search import GapDisplay
from sparsest.plots.selection import FrequenciesDisplay, PairwiseInclusionDisplay, TrueFalseDisplay
from sparsest.plots.validation import ValidationCurveDisplay, ValidationMapDisplay

__all__ = [
    "CoefficientPathDisplay",
    "FrequenciesDisplay",
    "GapDisplay",
    "ImportanceDisplay",
    "PairwiseInclusionDisplay",
    "TrueFalseDisplay",
    "ValidationCurveDisplay",
    "ValidationMapDisplay",
]
