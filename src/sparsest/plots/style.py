"""Colours, lines and axes that all plots share.

The colours are those of Okabe and Ito, which colour-blind readers can distinguish; lines and markers differ as well,
for greyscale.
"""

from __future__ import annotations

from itertools import cycle, islice
from typing import Any, NamedTuple

from sparsest.core.arrays import Array

BLACK, ORANGE, BLUE, GREEN, VERMILION = "#000000", "#E69F00", "#0072B2", "#009E73", "#D55E00"
PALE = "#B0B0B0"
_COLOURS = (BLUE, VERMILION, GREEN, BLACK, "#CC79A7", ORANGE, "#56B4E9")
_DASHES = ("-", "--", "-.", ":")


class LineStyle(NamedTuple):
    """Colour, dashes and marker of a line."""

    color: str
    linestyle: str


def line_styles(count: int) -> list[LineStyle]:
    """Styles for ``count`` lines; consecutive ones differ in colour and dashes."""
    return [LineStyle(*look) for look in islice(zip(cycle(_COLOURS), cycle(_DASHES), strict=False), count)]


def axes(ax: Any) -> Any:
    """The axes to draw on: those given, or new ones."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(7.0, 4.3), layout="constrained")[1]


def finish(ax: Any, x: str, y: str, title: str = "") -> None:
    """Label the axes and remove the upper and right sides of the frame."""
    ax.set(xlabel=x, ylabel=y)
    if title:
        ax.set_title(title, loc="left")
    ax.spines[["top", "right"]].set_visible(False)


def spread(heights: Array, distance: float) -> list[float]:
    """Heights of labels near the given ones, at least a distance apart, in the same order."""
    order = sorted(range(len(heights)), key=lambda i: heights[i])
    placed: dict[int, float] = {}
    last = -float("inf")
    for i in order:
        last = placed[i] = max(float(heights[i]), last + distance)
    # Labels were only moved up: move them down by half of the largest shift.
    shift = 0.5 * max((placed[i] - float(heights[i]) for i in order), default=0.0)
    return [placed[i] - shift for i in range(len(heights))]
