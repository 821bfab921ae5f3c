"""Progress of a search: incumbent, lower bound and gap over time."""

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
    """The objective of the incumbent and the lower bound over time.

    Parameters
    ----------
    seconds : times of the events
    objective, bound : best objective and lower bound from each of these times on; NaN before there is one

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
        """Make the display of the events of a search: ``events = []; best_subset(..., callback=events.append)``."""
        if not events:
            raise ValueError("there are no events: call the search with callback=events.append and pass that list")
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
        # Show all digits: matplotlib's offset notation would make the reader add a constant to each tick.
        ax.ticklabel_format(axis="y", useOffset=False)
        ax.legend(frameon=False)
        return self
