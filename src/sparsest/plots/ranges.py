"""Ranges of coefficients over all models near the optimum, and how many of the models contain each feature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparsest.core.arrays import Array
from sparsest.plots.style import BLACK, BLUE, PALE, axes, finish
from sparsest.subset.tree.importance import Importance
from sparsest.subset.tree.near_optimal import NearOptimal


@dataclass
class ImportanceDisplay:
    """For each feature the range of its effect over models, and the share of the models that contain it.

    Parameters
    ----------
    lower, upper : smallest and largest effect per standard deviation of the feature
    share : share of the models that contain the feature
    names : names of the features, the most important first
    n_models : number of models
    complete : whether these are all models near the optimum

    Examples
    --------
    >>> import sparsest
    >>> data = sparsest.datasets.load_diabetes_quadratic()
    >>> result = sparsest.best_subset(data.X, data.y, k=2)
    >>> near = sparsest.near_optimal(result, data.X, data.y, within=0.05)
    >>> display = sparsest.plots.ImportanceDisplay.from_near_optimal(near).plot()
    >>> display.ax_.get_xlabel()
    'coefficient per standard deviation of the feature'
    """

    lower: Array
    upper: Array
    share: Array
    names: Sequence[str]
    n_models: int
    complete: bool = True

    @classmethod
    def from_near_optimal(cls, near: NearOptimal | Importance, n_shown: int = 20) -> ImportanceDisplay:
        """Make the display of a result of :func:`sparsest.near_optimal`, for the features that are in most models."""
        found = near.importance() if isinstance(near, NearOptimal) else near
        low, high = (values[:n_shown] * found.deviations[:n_shown] for values in (found.lower, found.upper))
        return cls(low, high, found.share[:n_shown], found.names[:n_shown], found.n_models, found.complete)

    def plot(self, ax: Any = None) -> ImportanceDisplay:
        """Draw a line for each feature, solid if all models contain it, with the share of models at the right."""
        self.ax_ = ax = axes(ax)
        self.figure_ = ax.figure
        places = np.arange(len(self.names))
        always = self.share == 1.0
        for which, colour, style, label in (
            (always, BLUE, "-", "in every model"),
            (~always, BLACK, "--", "in some models"),
        ):
            if which.any():
                ax.hlines(places[which], self.lower[which], self.upper[which], colour, style, linewidth=2, label=label)
                for ends in (self.lower, self.upper):
                    ax.plot(ends[which], places[which], "o" if style == "-" else "s", color=colour, markersize=5)
        ax.axvline(0.0, color=PALE, linewidth=1, zorder=0)
        ax.set_yticks(places, self.names, fontsize=8)
        ax.set_ylim(len(self.names) - 0.5, -0.5)
        beside = ax.secondary_yaxis("right")
        beside.set_yticks(places, [f"{share:.0%}" for share in self.share], fontsize=8)
        beside.set_ylabel("share of the models that contain it")
        beside.tick_params(length=0)
        of = f"{self.n_models} models" if self.complete else f"{self.n_models} models that were found (more may exist)"
        finish(ax, "coefficient per standard deviation of the feature", "feature", of)
        beside.spines["right"].set_visible(False)
        ax.legend(frameon=False, loc="best")
        return self
