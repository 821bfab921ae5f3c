"""A search over time: incumbent, bound and the gap between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparsest.core.arrays import Array
from sparsest.plots.style import BLUE, VERMILION, axes, finish
from sparsest.proofs.certificate import relative_gap
from sparsest.runtime.events import Bound, Done, Event, Incumbent, Root


@dataclass
class GapDisplay:
    """The incumbent from above and the bound from below, over seconds.

    Parameters
    ----------
    seconds : times of the events
    objective, bound : best objective and lower bound from then on; NaN before there is one

    Examples
    --------
    >>> import sparsest
    >>> data = sparsest.datasets.load_diabetes_quadratic()
    >>> events = []
    >>> result = sparsest.best_subset(data.X, data.y, k=4, callback=events.append)
    >>> display = sparsest.plots.GapDisplay.from_events(events).plot()
    >>> display.ax_.get_xlabel()
    'time (seconds)'
    """

    seconds: Array
    objective: Array
    bound: Array

    @classmethod
    def from_events(cls, events: Sequence[Event]) -> GapDisplay:
        """Of the events of a search: ``events = []; best_subset(..., callback=events.append)``."""
        if not events:
            raise ValueError("there are no events: give callback=events.append to the search that is to be drawn")
        rows, objective, bound = [], np.nan, np.nan
        for event in events:
            if isinstance(event, (Incumbent, Bound, Done)):
                objective = event.objective
            if isinstance(event, (Root, Bound, Done)):
                bound = event.lower_bound
            rows.append((event.seconds, objective, bound))
        return cls(*np.array(rows).T)

    def plot(self, ax: Any = None) -> GapDisplay:
        """Draw incumbent and bound, and the gap as the area between them."""
        self.ax_ = ax = axes(ax)
        self.figure_ = ax.figure
        s = self.seconds
        ax.step(s, self.objective, where="post", color=VERMILION, linewidth=1.8, label="incumbent (best objective)")
        ax.step(s, self.bound, where="post", color=BLUE, linewidth=1.8, linestyle="--", label="lower bound")
        ax.fill_between(
            s, self.bound, self.objective, step="post", color="#BBBBBB", alpha=0.5, linewidth=0, label="gap"
        )
        gap = relative_gap(float(self.objective[-1]), float(self.bound[-1]))
        finish(ax, "time (seconds)", "objective", f"gap at the end: {gap:.2g}")
        # Small gaps of large objectives need all digits: a constant beside the axis would have to be added to each.
        ax.ticklabel_format(axis="y", useOffset=False)
        ax.legend(frameon=False)
        return self
